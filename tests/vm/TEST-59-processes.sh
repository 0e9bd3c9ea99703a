#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product distro
# timeout: 180
# "--by=process": hits and misses of each process are what it did, and nothing is shown of others.
. "$(dirname "$0")/lib.sh"

directory=$(mktemp -d /var/tmp/processes.XXXXXX)
for name in cached random mapped whole; do
        dd if=/dev/urandom of="$directory/$name" bs=1M count=8 status=none
done
sync

# A process NAME waits for the file NAME.go, does what its verb says, writes to NAME.expected how many hits and misses
# that was, and stays until NAME.end is there. The kernel counts no use of the page in which the read before ended.
cat >"$directory/load.py" <<'PYTHON'
import _thread, mmap, os, random, sys, threading, time
name, verb = sys.argv[1:]
here = os.path.dirname(sys.argv[0])
open("/proc/self/comm", "w").write(name)
PAGE, hits, misses = 4096, 0, 0

def wait_for(what):
    while not os.path.exists(f"{here}/{name}.{what}"):
        time.sleep(0.1)

def cold(file):
    fd = os.open(f"{here}/{file}", os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return fd, os.fstat(fd).st_size // PAGE

def hit(fd, pages, n):
    global hits
    rng, last = random.Random(59), None
    for i in range(n):
        page = rng.randrange(pages)
        os.pread(fd, PAGE, page * PAGE)
        hits += page != last
        last = page

def read_whole(fd):
    while os.read(fd, 65536):
        pass

if verb == "hit":
    fd, pages = cold("cached")
    read_whole(fd)
    wait_for("go")
    for n in 3000, 2000:    # each by a thread of its own
        thread = threading.Thread(target=hit, args=(fd, pages, n))
        thread.start()
        thread.join()
elif verb == "miss":
    whole, pages = cold("whole")
    rand, _ = cold("random")
    os.posix_fadvise(rand, 0, 0, os.POSIX_FADV_RANDOM)
    mapped, _ = cold("mapped")
    memory = mmap.mmap(mapped, pages * PAGE, prot=mmap.PROT_READ)
    memory.madvise(mmap.MADV_RANDOM)
    wait_for("go")
    read_whole(whole)       # what is read ahead is a miss when it is used
    misses += pages
    for page in random.Random(59).sample(range(pages), 500):
        os.pread(rand, PAGE, page * PAGE)
        misses += 1
    for page in range(0, pages, 20):
        memory[page * PAGE]
        misses += 1
    again = mmap.mmap(mapped, pages * PAGE, prot=mmap.PROT_READ)
    again.madvise(mmap.MADV_RANDOM)
    for page in range(0, pages, 20):
        again[page * PAGE]
        hits += 1
    # what was written is cached, and was not brought in
    new = os.open(f"{here}/{name}.new", os.O_RDWR | os.O_CREAT)
    for page in range(1000):
        os.pwrite(new, bytes(PAGE), page * PAGE)
    for page in range(1000):
        os.pread(new, PAGE, page * PAGE)
        hits += 1
elif verb == "threads":     # many, one after the other; on a fast machine, too, who watches looks meanwhile
    fd, pages = cold("cached")
    read_whole(fd)
    wait_for("go")
    done = _thread.allocate_lock()
    def read_one(page):
        os.pread(fd, PAGE, page * PAGE)
        done.release()
    for i in range(4800):
        if i % 1000 == 0:
            began = time.monotonic()
        done.acquire()      # a threading.Thread costs twice as much
        _thread.start_new_thread(read_one, (i % pages,))
        hits += 1
        if i % 1000 == 999:
            time.sleep(max(0, began + 1.5 - time.monotonic()))
    done.acquire()
elif verb == "forever":
    fd, pages = cold("cached")
    read_whole(fd)
    wait_for("go")
    while not os.path.exists(f"{here}/{name}.end"):
        hit(fd, pages, 100)

with open(f"{here}/{name}.writing", "w") as f:
    print(hits, misses, file=f)
os.rename(f"{here}/{name}.writing", f"{here}/{name}.expected")
wait_for("end")
PYTHON

# begin SLICE NAME VERB: the process is there, and waits
begin() {
        systemd-run --quiet --collect --unit="$2" --slice="$1" --service-type=exec -- \
                python3 "$directory/load.py" "$2" "$3"
        eventually grep -q "^$2\$" "/proc/$(systemctl show --property=MainPID --value "$2")/comm"
}

# watch: begins to watch the slice; what it says is in the files "shown" and "said"
watch() {
        cachectl stats --by=process --duration=1h --json=short processes.slice >"$directory/shown" 2>"$directory/said" &
        watcher=$!
        eventually grep -q '^Watching ' "$directory/said" || die "nothing is watched: $(<"$directory/said")"
}

unwatch() {
        kill -INT "$watcher"
        kill -CONT "$watcher"
        wait "$watcher"
}

shown() { # NAME KEY
        jq --arg name "$1" ".processes[] | select(.name == \$name) | .$2" "$directory/shown"
}

# A point: about N, at most 300 more, since the interpreter reads and maps files, too.
about() { # NUMBER N DESCRIPTION
        if [[ $1 =~ ^[0-9]+$ && $1 -ge $2 && $1 -le $(($2 + 300)) ]]; then ok "$3"; else not_ok "$3" "$1, not $2"; fi
}

make_slice processes.slice ''
systemctl start processes.slice

begin processes.slice hitting hit
begin processes.slice missing miss
begin system.slice foreign hit
watch
touch "$directory"/{hitting,missing,foreign}.go
eventually test -e "$directory/hitting.expected"
eventually test -e "$directory/missing.expected"
eventually test -e "$directory/foreign.expected"
touch "$directory/missing.end"
eventually test ! -d "/sys/fs/cgroup/processes.slice/missing.service"
unwatch
is $? 0 'processes are watched until Ctrl-C'
read -r hits misses <"$directory/hitting.expected"
about "$(shown hitting hits)" "$hits" 'who hits, by two threads: hits'
compare "$(shown hitting misses)" -lt 100 'and nearly no misses'
read -r hits misses <"$directory/missing.expected"
about "$(shown missing misses)" "$misses" 'who misses, and has ended: misses'
about "$(shown missing hits)" "$hits" 'and hits'
about "$(($(shown missing bytes) / 4096))" "$misses" 'and what was brought in'
is "$(shown foreign pid)" '' 'a process of another unit is not shown'
is "$(jq .processes[0].name "$directory/shown")" '"missing"' 'the most misses come first'
is "$(jq .lost "$directory/shown")" 0 'nothing was lost'
touch "$directory"/{hitting,foreign}.end

# The room of threads that have ended is used again; if nobody looks meanwhile there is not enough.
begin processes.slice threads threads
watch
touch "$directory/threads.go"
eventually test -e "$directory/threads.expected"
unwatch
read -r hits misses <"$directory/threads.expected"
about "$(shown threads hits)" "$hits" 'more threads than there is room for, one after the other: hits'
is "$(jq .lost "$directory/shown")" 0 'and nothing was lost'
touch "$directory/threads.end"

begin processes.slice crowd threads
watch
kill -STOP "$watcher"
touch "$directory/crowd.go"
eventually test -e "$directory/crowd.expected"
unwatch
read -r hits misses <"$directory/crowd.expected"
lost=$(jq .lost "$directory/shown")
compare "$lost" -gt 300 'more threads than there is room for'
like "$(<"$directory/said")" "$lost accesses of threads for which there was no room" 'what was lost is told'
about "$(($(shown crowd hits) + lost))" "$hits" 'and it is all that was not counted'
touch "$directory/crowd.end"

# All but a few of N that the kernel has counted: it finds uses through mappings by itself.
nearly() { # NUMBER N DESCRIPTION
        if [[ $1 =~ ^[0-9]+$ && $1 -le $2 && $1 -ge $(($2 - 100)) ]]; then ok "$3"; else not_ok "$3" "$1, not $2"; fi
}

# Under a policy: what the kernel counts for it is what all its processes did, however short they lived.
if [[ -e /sys/kernel/cachebpf/stat ]]; then
        succeeds 'a policy' cachectl set processes.slice s3fifo
        sync
        echo 1 >/proc/sys/vm/drop_caches # what others read is theirs
        hits=$(policy_stat processes.slice hits)
        misses=$(policy_stat processes.slice misses)
        watch
        like "$(<"$directory/said")" 'as its policy counts' 'its counters are used'
        cp "$(command -v cat)" "$directory/reader"
        sync
        for file in whole whole random; do
                in_slice processes.slice "$directory/reader" "$directory/$file" >/dev/null
        done
        unwatch
        hits=$(($(policy_stat processes.slice hits) - hits))
        misses=$(($(policy_stat processes.slice misses) - misses))
        compare "$hits" -ge 2048 'the policy: hits'
        compare "$misses" -ge 4096 'the policy: misses'
        nearly "$(jq '[.processes[].hits] | add' "$directory/shown")" "$hits" 'all processes: hits'
        nearly "$(jq '[.processes[].misses] | add' "$directory/shown")" "$misses" 'all processes: misses'
        is "$(jq '[.processes[] | select(.name == "reader" and .hits >= 2048)] | length' "$directory/shown")" 1 \
                'one of three hits'
        succeeds 'no policy' cachectl reset processes.slice
fi

# As it happens, and without JSON.
begin processes.slice busy forever
touch "$directory/busy.go"
output=$(cachectl top --by=process --iterations=2 --delay=2s --sort=hits processes.slice)
is $? 0 'top: exit status'
like "$output" 'PID +NAME +HITS/s +MISSES/s +HIT% +READ IN/s' 'top: header'
like "$output" ' busy +[1-9][0-9.]*[KM]? +0 +100.0% ' 'top: a process that hits'
output=$(cachectl stats --by=process --duration=2s processes.slice 2>/dev/null)
like "$output" ' busy +[1-9][0-9]+ +0 100.0% ' 'the table'
output=$(cachectl stats --by=process --duration=2s 2>/dev/null)
like "$output" ' busy ' 'without a unit: all of the machine'
touch "$directory/busy.end"

# Who may not.
output=$(setpriv --reuid=65534 --clear-groups cachectl stats --by=process --duration=1ms processes.slice 2>&1)
is $? 1 'not root: exit status'
like "$output" 'Only root may watch what other processes do' 'not root: message'
output=$(setpriv --bounding-set=-bpf,-sys_admin,-perfmon --inh-caps=-bpf,-sys_admin,-perfmon \
        cachectl top --by=process processes.slice 2>&1)
is $? 1 'who may not load programs: exit status'
like "$output" 'Cannot watch processes: ' 'who may not load programs: message'
cachectl stats --by=process --duration=1ms nosuch.slice 2>"$directory/said"
is $? 4 'a unit that does not run: exit status'

rm -rf "$directory"
done_testing
