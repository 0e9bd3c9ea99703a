#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product distro
# timeout: 180
# "cachectl record": a trace has what was read, in that order, and nothing of others.
. "$(dirname "$0")/lib.sh"

# A kernel that cannot run BPF programs on tracepoints says so.
output=$(cachectl record --duration=1ms --output=/dev/null / 2>&1)
status=$?
if [[ $output == *CONFIG_BPF_EVENTS* ]]; then
        is $status 1 'a kernel without CONFIG_BPF_EVENTS: exit status'
        like "$output" 'cannot run BPF programs on tracepoints' 'a kernel without CONFIG_BPF_EVENTS: message'
        skip 'a slice is recorded' 'this kernel has no CONFIG_BPF_EVENTS'
        done_testing
fi

directory=$(mktemp -d /var/tmp/record.XXXXXX)
file=$directory/data
trace=$directory/trace
dd if=/dev/urandom of="$file" bs=1M count=8 status=none
sync

# What is read, in pages: single ones, long reads of cached and not cached ones, over the end of the file, in
# small pieces, by a mapping; what is written. "expected" has a line a use, as the kernel counts uses.
cat >"$directory/load.py" <<'PYTHON'
import mmap, os, random, sys
path, expected = sys.argv[1], open(sys.argv[2], "w")
PAGES = os.stat(path).st_size // 4096
fd = os.open(path, os.O_RDWR)
last = None

def used(first, end, op="r"):
    for page in range(first, end):
        print(op, page, file=expected)

def read(offset, size):
    global last
    got = len(os.pread(fd, size, offset))
    # no use of the page in which the read before ended
    used(offset // 4096 + (offset // 4096 == last), (offset + got - 1) // 4096 + 1)
    last = (offset + got - 1) // 4096

os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
rng = random.Random(24)
for i in range(2000):
    read(rng.randrange(PAGES) * 4096, 4096)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for i in range(300):
    read(rng.randrange(PAGES * 4096), rng.randrange(1, 1000000))
read(PAGES * 4096 - 1, 1 << 20)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for i in range(0, 1 << 20, 1024):
    read(i, 1024)

memory = mmap.mmap(fd, PAGES * 4096, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
for page in 700, 3, 1200, 1999:
    memory[page * 4096 + 7]
    used(page, page + 1)

os.pwrite(fd, b"x" * 10000, 40960)
used(10, 13, "w")
os.fsync(fd) # they are clean again for the next time

# What is reclaimed, or dropped on request, is not gone; what is cut off, and what is deleted, is, when it is closed.
gone = os.open(path + ".gone", os.O_RDWR | os.O_CREAT, 0o600)
print(os.fstat(gone).st_ino, file=open(path + ".inode", "w"))
os.pwrite(gone, b"y" * 100 * 4096, 0)
os.fsync(gone)
os.ftruncate(gone, 60 * 4096 + 1)
os.unlink(path + ".gone")
os.pread(gone, 61 * 4096, 0)
cgroup = open("/proc/self/cgroup").read().split(":")[-1].strip()
try:
    os.write(os.open(f"/sys/fs/cgroup{cgroup}/memory.reclaim", os.O_WRONLY), b"64M")
except BlockingIOError:
    pass # there is less
os.pread(gone, 61 * 4096, 0)
os.close(gone)
PYTHON

# record_load ARGUMENTS…: records while the load runs in a service of the slice; what cachectl said is in the
# file "said".
record_load() {
        rm -f "$trace" "$directory/said"
        cachectl record recordt.slice --output="$trace" "$@" >/dev/null 2>"$directory/said" &
        recorder=$!
        eventually grep -q '^Recording ' "$directory/said" || return
        in_slice recordt-inner.slice python3 "$directory/load.py" "$file" "$directory/expected" || return
        cat "$file" >/dev/null # not of the slice
        kill -INT "$recorder"
        wait "$recorder"
}

# The uses of the file in a text trace, a line a page; of another one by its inode.
uses() { # [INODE]
        awk -v file="/${1:-$(stat -c %i "$file")}." '
                index($2, file) {
                        split($3, where, "+")
                        for (i = 0; i < (where[2] ? where[2] : 1); i++)
                                print $1, where[1] + i
                }' "$trace"
}

make_slice recordt.slice ''
systemctl start recordt.slice

record_load --text
is $? 0 'a slice is recorded until Ctrl-C, as text'
[[ -s $directory/expected && -s $trace ]] || die "nothing was recorded: $(<"$directory/said")"
like "$(<"$directory/said")" 'Recorded [1-9][0-9]* accesses' 'how much was recorded is told'
succeeds 'what was read, and only that, in order' diff -u <(grep '^r' "$directory/expected") \
        <(uses | grep '^r')
is "$(comm -23 <(grep '^w' "$directory/expected" | sort) <(uses | grep '^w' | sort))" '' 'what was written'
like "$(cat "$trace")" 'thread=python3' 'the thread is named'
is "$(grep -v '^#' "$trace" | sed 's/.* manager=//' | sort -u)" recordt-inner.slice \
        'and whose it is: of the control group below the one that is recorded'
is "$(uses | grep -c '^d')" 0 'what is reclaimed or dropped is not deleted'
is "$(uses "$(<"$file.inode")" | grep '^d' | sort -u -k 2n)" "$(seq -f 'd %.0f' 0 99)" \
        'what is cut off or deleted is'
is "$(uses "$(<"$file.inode")" | grep '^d' | sort | uniq -d)" '' 'and once'

record_load
is $? 0 'the same in the compact form'
succeeds 'it can be simulated' cachectl simulate "$trace" --policy=fifo --size=10%
requests=$(cachectl simulate "$trace" --policy=fifo --size=10% --json=short | jq .requests)
compare "$requests" -ge "$(wc -l <"$directory/expected")" 'no request is missing'
is "$(cachectl simulate "$trace" --policy=acfs --size=10% --json=short --level=recordt-inner.slice/0:mru \
        --files="*/$(stat -c %i "$file").*=1" | jq -c '.results[0].managers | keys')" '["recordt-inner.slice"]' \
        'with what its manager would have said'

record_load --text --readahead
is $? 0 'with what was read ahead'
succeeds 'what was read is the same' diff -u <(grep '^r' "$directory/expected") <(uses | grep '^r')
compare "$(uses | grep -c '^a')" -gt 100 'pages were read ahead'
is "$(uses "$(<"$file.inode")" | grep -c '^d')" 100 'what is deleted is so here, too'

# Names, paths, times, and what goes wrong.
cd "$directory" || die "there is no $directory"
succeeds 'a control group by its path, for a time' cachectl record --quiet --duration=100ms \
        /sys/fs/cgroup/recordt.slice
succeeds 'it went into a file of its name, compressed' test -s recordt.slice.trace.zst
fails 'that is not written over' cachectl record --quiet --duration=100ms recordt.slice
echo kept >kept.trace
for name in kept.trace new.trace; do
        output=$(setpriv --bounding-set=-bpf,-sys_admin,-perfmon --inh-caps=-bpf,-sys_admin,-perfmon \
                cachectl record --duration=1ms --output=$name recordt.slice 2>&1)
        is $? 1 "$name, who may not load programs: exit status"
        like "$output" 'Cannot record: ' "$name, who may not load programs: message"
done
is "$(<kept.trace)" kept 'what was in a file stays'
fails 'and none is made' test -e new.trace
succeeds 'a file that is named may exist' cachectl record --quiet --text --duration=100ms --output=kept.trace \
        recordt.slice
unlike "$(<kept.trace)" kept 'and is written over'
ln -s there.trace link.trace
succeeds 'or be a link' cachectl record --quiet --text --duration=100ms --output=link.trace recordt.slice
succeeds 'to a file that is made' test -s there.trace
cachectl record --duration=1ms nosuch.slice 2>"$directory/said"
is $? 4 'a unit that does not run: exit status'
like "$(<"$directory/said")" 'nosuch.slice is not active' 'a unit that does not run: message'
cachectl record --duration=1ms /no/such/group 2>"$directory/said"
is $? 4 'a control group that does not exist: exit status'
output=$(cachectl record --duration=2s --output=/dev/full / 2>&1)
is $? 1 'a full disk: exit status'
like "$output" 'Cannot write /dev/full: No space left on device' 'a full disk: message'

# The unit ends; it is started anew, in a control group of its own again.
make_unit record-ends.service $'[Service]\nExecStart=sleep infinity'
for how in stop restart; do
        systemctl start record-ends.service
        cachectl record --duration=600 --output="$how.zst" record-ends.service 2>"$directory/said" &
        recorder=$!
        eventually grep -q '^Recording ' "$directory/said"
        systemctl $how record-ends.service
        wait $recorder
        is $? 0 "the unit ends ($how): what there was is kept"
        like "$(<"$directory/said")" 'record-ends.service has ended, or was started anew' '... which is told'
done

cd /
rm -rf "$directory"
done_testing
