#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# Programs say by posix_fadvise() which of their pages go first, and the policy acfs listens: what they say holds, and
# concerns nobody else; and whatever they say breaks nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

cat >advise.py <<'E'
# What is said of a file, and what comes of it; negative answers are errno.
import ctypes, os, random, sys

libc = ctypes.CDLL(None, use_errno=True)
SYS_fadvise64 = 221
OWN = 0x43420000
SET_PRIORITY, GET_PRIORITY, SET_REPLACEMENT, GET_REPLACEMENT, SET_TEMPORARY = range(1, 6)

def say(fd, what, level=-1, more=0, start=0, length=0):
    return fadvise(fd, start, length, OWN | what << 8 | level + 1 << 4 | more)

def fadvise(fd, start, length, advice):
    r = libc.syscall(SYS_fadvise64, fd, ctypes.c_long(start), ctypes.c_long(length), ctypes.c_int(advice))
    return r if r >= 0 else -ctypes.get_errno()

def read(fd):
    """Page by page; returns how many came from the disk."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    before = from_disk()
    for at in range(0, os.fstat(fd).st_size, 4096):
        os.pread(fd, 1, at)
    return from_disk() - before

def from_disk():
    with open("/proc/self/io") as f:
        return int(next(line for line in f if line.startswith("read_bytes")).split()[1]) // 4096

def answers(fd):
    yield say(fd, GET_PRIORITY), say(fd, SET_PRIORITY, 3), say(fd, GET_PRIORITY), say(fd, SET_PRIORITY, 0)
    yield say(fd, GET_REPLACEMENT, 2), say(fd, SET_REPLACEMENT, 2, 1), say(fd, GET_REPLACEMENT, 2)
    yield say(fd, SET_PRIORITY, 4), say(fd, SET_REPLACEMENT, 0, 2), say(fd, 0), say(fd, 6), say(fd, 255)
    yield say(fd, SET_TEMPORARY, -1, 0, 1 << 50, 4096), say(fd, SET_TEMPORARY, -1, 0, -4096, 4096)

def main(what, path, *more):
    fd = os.open(path, os.O_RDONLY)
    if what == "answers":
        for line in answers(fd):
            print(*line)
    elif what == "temporary":
        print(say(fd, SET_TEMPORARY, int(more[0])))
    elif what == "loop":
        print(say(fd, SET_REPLACEMENT, 0, more[0] == "mru"), *(read(fd) for _ in range(4)))
    elif what == "keep":
        print(say(fd, SET_PRIORITY, int(more[0])), read(fd), read(os.open(more[1], os.O_RDONLY)), read(fd))
    elif what == "random":
        draw = random.Random(54)
        said = [fadvise(fd, draw.getrandbits(64) - (1 << 63), draw.getrandbits(63), OWN | draw.getrandbits(16))
                for _ in range(int(more[0]))]
        print(len(said), min(said) >= -4095)

main(*sys.argv[1:])
E

say() { # MANAGER WHAT…: as a program of t54-MANAGER.service in the slice
        systemd-run --quiet --wait --pipe --collect --slice=t54.slice --unit="t54-$1" --working-directory="$PWD" \
                --service-type=exec -- python3 advise.py "${@:2}" 2>&1
}

head -c 8M /dev/zero >small
head -c 48M /dev/zero >large
sync
make_slice t54.slice MemoryMax=32M
systemctl start t54.slice

is "$(say a temporary small 0)" -95 'without a policy nobody listens'
cachectl set --quiet t54.slice lfu
unit_runs t54.slice lfu
is "$(say a temporary small 0)" -95 'nor does every policy'
cachectl set --quiet t54.slice acfs
unit_runs t54.slice acfs
is "$(say a answers small)" "$(printf '1 0 4 0\n0 0 1\n-22 -22 -22 -22 -22\n0 -22')" 'acfs does'

echo 1 >/proc/sys/vm/drop_caches
lru=$(say lru loop large lru)
echo 1 >/proc/sys/vm/drop_caches
mru=$(say mru loop large mru)
diag "pages from the disk of 12288, in 32 MiB: LRU $lru, MRU $mru"
compare "${lru##* }" -gt 11000 'a loop over more than fits finds nothing'
compare "${mru##* }" -lt 8000 'MRU keeps what fits'

# What a program gives up for it, such as its own code, may come back: that is counted against it.
cachectl set --quiet t54.slice CachePolicyOptions=revoke_percent=0
echo 1 >/proc/sys/vm/drop_caches
plain=$(say plain keep small 0 large)
echo 1 >/proc/sys/vm/drop_caches
kept=$(say keeper keep small 3 large)
diag "pages of a file that are read again after a large one: $plain, with priority 3: $kept"
compare "${plain##* }" -gt 1800 'a file that was read before a large one is gone'
compare "${kept##* }" -lt 100 'unless it has a higher priority'

like "$(say wild random large 20000)" '^20000 True$' 'whatever is said there is an answer'
is "$(policy_key t54.slice policy)" acfs 'and the policy stays'
books_agree 'the kernel has lost nothing'
rm small large
done_testing
