#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 400
# CacheReplay=yes: what a service read after its start is read again at its next start, by a process in its control
# group: the service itself waits for few requests then. Who looks is told. The recording is damaged, forgotten, does
# not fit on the disk; a unit that runs when the daemon comes is left alone. A unit has limits, or is stopped while its
# files are read.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

DIR=/var/lib/t65
REPLAY=/var/lib/cachebpf/replay
UNIT=t65.service
FILE=$REPLAY/$UNIT
rm -rf "$DIR"
mkdir -p "$DIR"
NULLB=/sys/kernel/config/nullb/t65
trap 'remove_test_units; umount "$REPLAY" "$DIR/slow" 2>/dev/null; rmdir "$NULLB" 2>/dev/null; rm -rf "$DIR"' EXIT

# Starts, waits until it is told to go on, imports modules and reads 256 pages that are apart; says how many bytes were
# read from disks on its behalf since it was told. On a busy host each request takes its time, and a minute is recorded.
cat >"$DIR/serve.py" <<'E2'
import os, time

DIR = "/var/lib/t65/"

def read_bytes():
    with open("/proc/self/io") as f:
        return int(next(line.split()[1] for line in f if line.startswith("read_bytes")))

while not os.path.exists(DIR + "go"):
    time.sleep(0.05)
before = read_bytes()
import email.parser, zipfile
fd = os.open(DIR + "line\nbreak", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for page in range(256):
    os.pread(fd, 4096, page * 32 * 4096)
with open(DIR + "new", "w") as f:
    f.write(str(read_bytes() - before))
os.rename(DIR + "new", DIR + "result")
time.sleep(1000000)
E2
head -c 32M /dev/urandom >"$DIR/line"$'\n'"break"
sync

has_file() { # NAME: is it there?
        [[ -e $DIR/$1 ]]
}

replay_line() { # UNIT: what "status" says of it
        cachectl status "$1" | sed -n 's/^ *Replay: //p'
}

property() { # UNIT NAME: a number on D-Bus
        busctl get-property org.cachebpf1 "/org/cachebpf1/unit/${1/./_2e}" org.cachebpf1.Unit "$2" | cut -d' ' -f2
}

entries() { # MESSAGE_ID UNIT: so many are in the journal since the test began
        journal --output=cat MESSAGE_ID="$1" UNIT="$2" | wc -l
}

is_kept() {
        [[ -s $FILE ]]
}

is_recorded() {
        [[ $(replay_line "$UNIT") =~ ^recording,\ [0-9]+\ s\ left$ ]]
}

is_kept_early() {
        is_kept && is_recorded
}

said() { # TEXT [NUMBER]: the daemon said it so often, once at least
        [[ $(daemon_log -c "$1") -ge ${2:-1} ]]
}

# Others of the same machine may have the service's libraries, and its own directory, in the cache.
cold() {
        sync
        echo 3 >/proc/sys/vm/drop_caches
}

start_cold() {
        rm -f "$DIR/go" "$DIR/result"
        cold
        systemctl start "$UNIT"
}

# What the service waits for once it may go on.
result() {
        touch "$DIR/go"
        eventually has_file result
        cat "$DIR/result"
}

make_unit "$UNIT" "[Service]
ExecStart=/usr/bin/python3 -B $DIR/serve.py
MemoryMax=256M
X-CacheReplay=yes"

# A process of the daemon does what is to be done for a unit. When one that began later has ended, those before have.
make_unit t65-mark.service "[Service]
ExecStart=/bin/sh -c 'cat $DIR/line*; sleep infinity'
StandardOutput=null
X-CacheReplay=yes"
n_marks=0
mark() {
        rm -f "$REPLAY/t65-mark.service"
        cold
        systemctl start t65-mark.service
        eventually uses_cache t65-mark.service
        systemctl stop t65-mark.service
        eventually said 't65-mark.service: Recorded' $((++n_marks))
}

uses_cache() { # UNIT: it has read a file of 32 MiB
        [[ $(memory_stat "$1" file) -ge $((16 << 20)) ]]
}

# --- the first start, and the next one

start_cold
# The daemon hears of a start a moment later, on a busy host after seconds. What is read before is not recorded.
succeeds 'status says that it is recorded' eventually is_recorded
first=$(result)
fails 'nothing is kept as long as it is recorded' is_kept_early # on a busy host it may be over
systemctl stop "$UNIT"
succeeds 'what was recorded is kept when the unit stops' eventually is_kept
like "$(daemon_log 'Recorded for its next start')" "^$UNIT: .* uses [0-9]+ pages of [0-9]+ files" 'the journal says so'
is "$(stat -c '%a %U' "$FILE")" '600 root' 'for the eyes of root'
is "$(stat -c '%a %U' "$REPLAY")" '700 root' 'and so is the directory'

start_cold
succeeds 'it is read at the next start' eventually said "$UNIT: Read "
like "$(replay_line "$UNIT")" '^[0-9.]+ MiB in [0-9]+ ranges read ahead .*; recording, ' 'status has it'
said=$(daemon_log "$UNIT: Read ")
diag "$said"
pages=$(sed 's/.*: Read \([0-9]*\) pages.*/\1/' <<<"$said")
compare "$pages" -ge 256 'all of it'
is "$(property "$UNIT" ReplayBytes)" $((pages * 4096)) 'D-Bus has the bytes'
compare "$(property "$UNIT" ReplayRecordedBytes)" -ge $((pages * 4096)) 'and those that are kept'
is "$(entries b73608f6f4e1438d8fde6534e0c0e5be "$UNIT")" 1 'the journal has an entry with an id'
compare "$(memory_stat "$UNIT" file)" -ge $((pages * 4096 / 2)) 'the pages are charged to the unit'
is "$(systemctl show --property=TasksCurrent --value "$UNIT")" 1 'who read them is gone'
second=$(result)
diag "bytes read for the service: $first at the first start, $second at the second"
compare "$((second * 20))" -lt "$first" 'the service itself waits for a twentieth'

# --- a unit that runs when the daemon comes

systemctl restart cachebpfd.service
eventually cachectl list
before=$(stat -c %i "$FILE")
systemctl stop "$UNIT"
mark
is "$(daemon_log -c "$UNIT: Read ")" 1 'for a unit that runs when the daemon comes nothing is read'
is "$(stat -c %i "$FILE")" "$before" 'nor recorded'

# --- other kinds of units

# A service that makes control groups of its own can do so at each start: nobody else is in its own one.
cat >"$DIR/delegated" <<'E2'
#!/bin/bash
own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
cat /var/lib/t65/line* >/dev/null
mkdir "$own/below"
echo $$ >"$own/below/cgroup.procs"
for ((i = 0; i < 20; i++)); do
        echo +pids >"$own/cgroup.subtree_control" || exit 1
        echo -pids >"$own/cgroup.subtree_control" || exit 1
        sleep 0.1
done
touch /var/lib/t65/delegated.done
sleep infinity
E2
chmod +x "$DIR/delegated"
make_unit t65-delegated.service "[Service]
ExecStart=$DIR/delegated
Delegate=yes
X-CacheReplay=yes"
for i in 1 2; do
        rm -f "$DIR/delegated.done"
        cold
        systemctl start t65-delegated.service
        succeeds "a service with Delegate=yes divides its control group ($i)" eventually has_file delegated.done
        systemctl stop t65-delegated.service
        mark
done
is "$(daemon_log -c 't65-delegated.service: Read ')" 0 'nothing is read ahead there'

make_unit t65-fork.service "[Service]
Type=forking
ExecStart=/bin/sh -c 'cat $DIR/line* >/dev/null; sleep infinity &'
X-CacheReplay=yes"
for i in 1 2; do
        cold
        systemctl start t65-fork.service
        pid=$(systemctl show --property=MainPID --value t65-fork.service)
        # it becomes that a moment after systemd has found it
        succeeds "the main process of a forking service is its own ($i)" eventually grep -qx sleep "/proc/$pid/comm"
        systemctl stop t65-fork.service
        [[ $i == 2 ]] || eventually said 't65-fork.service: Recorded'
done
succeeds 'it was read for that, too' eventually said 't65-fork.service: Read '

# --- limits

result_of() { # UNIT
        systemctl show --property=ActiveState,Result --value "$1" | xargs
}

# start_twice UNIT: it is recorded, and starts once more; both times it says when it is done.
start_twice() {
        local i
        for i in 1 2; do
                rm -f "$DIR/$1.done"
                cold
                systemctl start "$1"
                eventually has_file "$1.done"
                [[ $i == 2 ]] || systemctl stop "$1"
                eventually said "$1: Recorded"
        done
}

make_unit t65-tasks.service "[Service]
ExecStart=/bin/sh -c 'cat $DIR/line* >/dev/null; touch $DIR/t65-tasks.service.done; exec sleep infinity'
TasksMax=20
X-CacheReplay=yes"
start_twice t65-tasks.service
is "$(systemctl is-active t65-tasks.service)" active 'a service that has no room for more tasks starts'
said='t65-tasks.service: Nothing was read ahead: it has too little room for more tasks (TasksMax=).'
succeeds 'one message says why nothing is read' eventually said "$said"
is "$(entries eb3fde2b0f71457abcfdf71c027b86f4 t65-tasks.service)" 1 'with an id'
like "$(replay_line t65-tasks.service)" 'nothing was read ahead: .*TasksMax=' 'so does status'

# The service has twice as much of a file, and half of its limit as memory of its own.
make_unit t65-memory.service "[Service]
ExecStart=/bin/sh -c 'cat $DIR/line* >/dev/null; head -c 12M /dev/zero | tail -c 12M >/dev/null; \
        touch $DIR/t65-memory.service.done; exec sleep infinity'
MemoryMax=24M
X-CacheReplay=yes"
start_twice t65-memory.service
succeeds 'what fits is read for a service with little memory' eventually said 't65-memory.service: Read '
is "$(result_of t65-memory.service)" 'success active' 'it has the memory that it needs'
is "$(flat_key "$(cgroup_of t65-memory.service)/memory.events" oom_kill)" 0 'nobody was killed for want of memory'

# --- stopping while a slow disk is read

# 24 MiB in 192 requests, one at a time: 31 seconds.
slow_disk() {
        local setting
        mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
        mkdir "$NULLB" || return
        for setting in memory_backed=1 size=64 blocksize=4096 irqmode=2 completion_nsec=160000000 submit_queues=1 \
                hw_queue_depth=1 power=1; do
                echo "${setting#*=}" >"$NULLB/${setting%=*}" || return
        done
        mkdir "$DIR/slow"
        mkfs.ext4 -q -O ^has_journal /dev/t65 && mount "/dev/t65" "$DIR/slow"
}

reads() {
        pgrep -x cachebpfd-repl
}

reads_not() {
        ! reads
}

stop_while_reading() { # UNIT SETTINGS WHAT
        make_unit "$1" "[Service]
ExecStart=/bin/sh -c '[ -e $DIR/$1.done ] || cat $DIR/slow/file >/dev/null; touch $DIR/$1.done; exec sleep infinity'
$2
X-CacheReplay=yes"
        systemctl start "$1"
        eventually has_file "$1.done"
        systemctl stop "$1"
        eventually said "$1: Recorded"
        dd of="$DIR/slow/file" oflag=nocache conv=notrunc,fdatasync count=0 status=none
        systemctl start "$1"
        succeeds "$3: the file is read ahead" eventually reads
        systemctl stop "$1"
        is "$(result_of "$1")" 'success inactive' "$3: the unit stops"
        succeeds "$3: who reads ends" eventually reads_not
        is "$(daemon_log -c "$1: Read ")" 0 "$3: before the end of the file"
}

if slow_disk; then
        head -c 24M /dev/urandom >"$DIR/slow/file"
        sync
        stop_while_reading t65-signal.service $'KillSignal=SIGUSR1\nSuccessExitStatus=SIGUSR1' 'KillSignal=SIGUSR1'
        stop_while_reading t65-process.service 'KillMode=process' 'KillMode=process'
else
        skip 'a unit is stopped while a slow disk is read' 'this kernel has no such disk'
fi

# --- damaged, forgotten, a full disk

printf x | dd of="$FILE" bs=1 seek=100 conv=notrunc status=none
start_cold
succeeds 'a damaged file is ignored' eventually said "'$FILE' is damaged"
is "$(daemon_log -c 'is damaged')" 1 'with one message'
third=$(result)
compare "$third" -gt "$((second * 20))" 'and the service reads for itself'
systemctl stop "$UNIT"
succeeds 'and is recorded anew' eventually said "$UNIT: Recorded" 2

systemctl stop cachebpfd.service
cp "$FILE" "$DIR/kept"
mount -t tmpfs -o size=4k,mode=700 t65 "$REPLAY"
printf 'cannot be one' >"$FILE"
systemctl start cachebpfd.service
start_cold
result >/dev/null
systemctl stop "$UNIT"
full() { daemon_log "Cannot keep in '$REPLAY'" | grep -q 'No space left'; }
succeeds 'a full disk is said' eventually full
is "$(cat "$FILE")" 'cannot be one' 'and what was there stays'
umount "$REPLAY"

make_dropin "$UNIT" 60-no $'[Service]\nX-CacheReplay=no'
before=$(daemon_log -c "$UNIT: Read ")
start_cold
result >/dev/null
systemctl stop "$UNIT"
mark
is "$(daemon_log -c "$UNIT: Read ")" "$before" 'CacheReplay=no: nothing is read'
succeeds 'what was kept stays' is_kept
fails 'a value that is none is refused' cachectl set "$UNIT" CacheReplay=sometimes
is "$(cachectl forget "$UNIT")" "Removed $FILE." 'it can be forgotten'
fails 'and is gone' is_kept
is "$(cachectl forget "$UNIT")" "Nothing is kept for $UNIT." 'there is nothing more'

done_testing
