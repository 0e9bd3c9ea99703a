#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product distro
# timeout: 300
# CacheReplay=yes: what a service read after its start is read again at its next start, by a process in its control
# group: the service itself waits for few requests then. The recording is damaged, forgotten, does not fit on the disk;
# a unit that runs when the daemon comes is left alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

DIR=/var/lib/t65
REPLAY=/var/lib/cachebpf/replay
UNIT=t65.service
FILE=$REPLAY/$UNIT
rm -rf "$DIR"
mkdir -p "$DIR"
trap 'umount "$REPLAY" 2>/dev/null; rm -rf "$DIR"; remove_test_units' EXIT

# Starts, waits until it is told to go on, imports modules and reads 2048 pages that are apart; says how many bytes were
# read from disks on its behalf since it was told.
cat >"$DIR/serve.py" <<'E2'
import os, time

DIR = "/var/lib/t65/"

def read_bytes():
    with open("/proc/self/io") as f:
        return int(next(line.split()[1] for line in f if line.startswith("read_bytes")))

while not os.path.exists(DIR + "go"):
    time.sleep(0.05)
before = read_bytes()
import asyncio, email.parser, http.server, unittest, xml.dom.minidom, zipfile
fd = os.open(DIR + "line\nbreak", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for page in range(2048):
    os.pread(fd, 4096, page * 4 * 4096)
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

is_kept() {
        [[ -s $FILE ]]
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
first=$(result)
fails 'nothing is kept as long as it is recorded' is_kept
systemctl stop "$UNIT"
succeeds 'what was recorded is kept when the unit stops' eventually is_kept
like "$(daemon_log 'Recorded for its next start')" "^$UNIT: .* uses [0-9]+ pages of [0-9]+ files" 'the journal says so'
is "$(stat -c '%a %U' "$FILE")" '600 root' 'for the eyes of root'
is "$(stat -c '%a %U' "$REPLAY")" '700 root' 'and so is the directory'

start_cold
succeeds 'it is read at the next start' eventually said "$UNIT: Read "
said=$(daemon_log "$UNIT: Read ")
diag "$said"
pages=$(sed 's/.*: Read \([0-9]*\) pages.*/\1/' <<<"$said")
compare "$pages" -ge 2048 'all of it'
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
        is "$(cat "/proc/$pid/comm")" sleep "the main process of a forking service is its own ($i)"
        systemctl stop t65-fork.service
        [[ $i == 2 ]] || eventually said 't65-fork.service: Recorded'
done
succeeds 'it was read for that, too' eventually said 't65-fork.service: Read '

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
