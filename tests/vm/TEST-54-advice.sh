#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# Programs say by posix_fadvise() which of their pages go first, and the policy acfs listens: what they say holds, and
# concerns nobody else; and whatever they say breaks nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

CALLS=${CALLS:-100000} # with anything in them

cat >advise.py <<'E'
# What is said of a file, and what comes of it; negative answers are errno.
import ctypes, mmap, os, random, struct, sys

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

def own_group():
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        return "/sys/fs/cgroup" + f.read().split(":")[2].strip()

def generations(fd, slice_path, times):
    """Short lives, one after the other, of managers that leave pages of their own; returns all answers."""
    home = own_group()
    answers = set()
    for i in range(times):
        group, mine = f"{slice_path}/t54-generation{i}", f"generation{i}"
        os.mkdir(group)
        join(group)
        with open(mine, "wb") as f:
            f.write(bytes(65536))
            os.fsync(f.fileno())
        answers.add(say(fd, SET_REPLACEMENT, 0, 1))
        answers.add(say(fd, SET_PRIORITY, 1))
        join(home)
        os.rmdir(group)
    return sorted(answers)

def join(group):
    with open(f"{group}/cgroup.procs", "w", encoding="utf-8") as f:
        f.write(str(os.getpid()))

def open_map(name):
    """The newest map of that name."""
    libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
    number, found = ctypes.c_uint32(), None
    while libbpf.bpf_map_get_next_id(number, ctypes.byref(number)) == 0:
        fd = libbpf.bpf_map_get_fd_by_id(number)
        info, length = ctypes.create_string_buffer(40), ctypes.c_uint32(40)
        if libbpf.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(length)) == 0 and \
                info.raw[24:].rstrip(b"\0") == name[:15].encode():
            found = fd
    return libbpf, found

def pages(group):
    """Of each level of a manager."""
    libbpf, managers = open_map("cachebpf_managers")
    manager, value = ctypes.create_string_buffer(64), ctypes.create_string_buffer(8)
    assert libbpf.bpf_map_lookup_elem(managers, struct.pack("Q", os.stat(group).st_ino), manager) == 0
    slot, = struct.unpack_from("I", manager.raw)
    libbpf, counts = open_map("cachebpf_pages")
    for level in range(5):
        assert libbpf.bpf_map_lookup_elem(counts, struct.pack("I", slot * 5 + level), value) == 0
        yield struct.unpack("q", value.raw)[0]

def shared(fd, path, slice_path):
    """Two managers have a file: its pages are those of who reads them first, and so is the say."""
    home, first, second = own_group(), f"{slice_path}/t54-first", f"{slice_path}/t54-second"
    open_map("none") # what is read for that is nobody's
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for group in first, second:
        os.mkdir(group)
    join(first)
    yield say(fd, SET_PRIORITY, 3), read(fd), *pages(first)
    join(second)
    yield say(fd, SET_PRIORITY, -1), say(fd, SET_TEMPORARY, -1), read(fd), *pages(second), *pages(first)
    join(first)
    yield say(fd, SET_PRIORITY, 1), say(fd, SET_TEMPORARY, -1), *pages(first)
    os.truncate(path, 4096)
    # without level 0, which has the blocks that the file system may have to read for that
    yield tuple(n for level, n in enumerate(pages(first), -1) if level)
    join(home)
    for group in first, second:
        os.rmdir(group)

def main(what, path, *more):
    fd = os.open(path, os.O_RDONLY)
    if what == "answers":
        for line in answers(fd):
            print(*line)
    elif what == "temporary":
        print(say(fd, SET_TEMPORARY, int(more[0])))
    elif what == "shared":
        for line in shared(fd, path, more[0]):
            print(*line)
    elif what == "blocked":
        held = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        assert say(fd, SET_REPLACEMENT, 0) == 0 and libc.mlockall(1) == 0 and len(bytes(held)) > 0
        print(read(os.open(more[0], os.O_RDONLY)))
    elif what == "loop":
        print(say(fd, SET_REPLACEMENT, 0, more[0] == "mru"), read(fd), read(fd))
    elif what == "keep":
        print(say(fd, SET_PRIORITY, int(more[0])), read(fd), read(os.open(more[1], os.O_RDONLY)), read(fd))
    elif what == "generations":
        print(*generations(fd, more[0], int(more[1])))
    elif what == "random":
        read(fd)
        draw = random.Random(54)
        # no list of them: of a million that would be more than the slice may have
        least = min(fadvise(fd, draw.getrandbits(64) - (1 << 63), draw.getrandbits(63), OWN | draw.getrandbits(16))
                    for _ in range(int(more[0])))
        print(more[0], least >= -4095)

main(*sys.argv[1:])
E

cat >speak_for.py <<'E'
# Speaks for control groups by the program managers_say of a policy that nobody runs.
import ctypes, errno, os, struct, sys

libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
for name in "open", "find_program_by_name", "find_map_by_name":
    getattr(libbpf, f"bpf_object__{name}").restype = ctypes.c_void_p
policy = ctypes.c_void_p(libbpf.bpf_object__open(sys.argv[1].encode()))
assert libbpf.bpf_object__load(policy) == 0
program = libbpf.bpf_program__fd(ctypes.c_void_p(libbpf.bpf_object__find_program_by_name(policy, b"managers_say")))
SET_PRIORITY, GET_PRIORITY, SET_REPLACEMENT = range(1, 4)

class Options(ctypes.Structure):
    _fields_ = [("sz", ctypes.c_size_t), ("data", ctypes.c_void_p * 2), ("data_size", ctypes.c_uint32 * 2),
                ("ctx_in", ctypes.c_char_p), ("ctx_out", ctypes.c_void_p), ("ctx_size_in", ctypes.c_uint32),
                ("ctx_size_out", ctypes.c_uint32), ("retval", ctypes.c_int32), ("more", ctypes.c_uint32 * 5)]

def say(manager, what, level, more=0, ino=0):
    said = struct.pack("QQIIiI", manager, ino, 1, 0, 0x43420000 | what << 8 | level << 4 | more, 0)
    options = Options(sz=ctypes.sizeof(Options), ctx_in=said, ctx_size_in=len(said))
    assert libbpf.bpf_prog_test_run_opts(program, ctypes.byref(options)) == 0
    return options.retval

def look_up(name, key, size):
    value = ctypes.create_string_buffer(size)
    fd = libbpf.bpf_map__fd(ctypes.c_void_p(libbpf.bpf_object__find_map_by_name(policy, name)))
    return value.raw if libbpf.bpf_map_lookup_elem(fd, key, value) == 0 else None

groups = []
def group():
    groups.append(f"{sys.argv[2]}/t54-spoken-for{len(groups)}")
    os.mkdir(groups[-1])
    return os.stat(groups[-1]).st_ino

first = group()
print(say(first, SET_REPLACEMENT, 2, 1), say(first, SET_PRIORITY, 4, ino=7), say(first, GET_PRIORITY, 0, ino=7),
      say(first, SET_PRIORITY, 9), say(first, 5, 0), say(1 << 40, SET_REPLACEMENT, 1))
print(struct.unpack("8I2Q", look_up(b"cachebpf_managers", struct.pack("Q", first), 64)[:48]),
      struct.unpack("I", look_up(b"cachebpf_priorities", struct.pack("QIIQ", 7, 1, 0, first), 4)))
last = [say(group(), SET_REPLACEMENT, 1) for _ in range(64)]
os.rmdir(groups[0])
print(set(last[:63]), errno.errorcode[-last[63]], say(group(), SET_REPLACEMENT, 1),
      look_up(b"cachebpf_managers", struct.pack("Q", first), 64),
      look_up(b"cachebpf_priorities", struct.pack("QIIQ", 7, 1, 0, first), 4))
for path in groups[1:]:
    os.rmdir(path)
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
# What these leave is in the level of who comes after them, and must not stay there.
is "$(say elder generations small "$(cgroup_of t54.slice)" 70)" 0 'who is gone makes room for others'
mru=$(say mru loop large mru)
diag "pages from the disk of 12288, in 32 MiB: LRU $lru, MRU $mru"
compare "${lru##* }" -gt 11000 'a loop over more than fits finds nothing'
compare "${mru##* }" -lt 8000 'MRU keeps what fits'

# What reclaim cannot have must not hide what is behind it.
echo 1 >/proc/sys/vm/drop_caches
proposed=$(policy_stat t54.slice evict_reclaimed) fallback=$(policy_stat t54.slice evict_fallback)
blocked=$(say blocked blocked small large)
proposed=$(($(policy_stat t54.slice evict_reclaimed) - proposed))
fallback=$(($(policy_stat t54.slice evict_fallback) - fallback))
diag "with 2048 pages locked at the head: $blocked read, $proposed proposed and reclaimed, $fallback not by the policy"
compare "$proposed" -gt 5000 'pages that are locked hide no others'
compare "$fallback" -lt 1000 'reclaim has what it wants of the policy'

cp small shared
sync shared
is "$(say sharer shared shared "$(cgroup_of t54.slice)")" "$(printf '%s\n' '0 2048 0 0 0 0 2048' \
        '0 0 0 0 0 0 0 0 0 0 0 0 2048' '0 0 0 0 2048 0 0' '0 1 0 0')" 'pages are those of who reads them first'

# What a program gives up for it, such as its own code, may come back: that is counted against it.
cachectl set --quiet t54.slice CachePolicyOptions=revoke_percent=0
echo 1 >/proc/sys/vm/drop_caches
plain=$(say plain keep small 0 large)
echo 1 >/proc/sys/vm/drop_caches
kept=$(say keeper keep small 3 large)
diag "pages of a file that are read again after a large one: $plain, with priority 3: $kept"
compare "${plain##* }" -gt 1800 'a file that was read before a large one is gone'
compare "${kept##* }" -lt 100 'unless it has a higher priority'

is "$(python3 speak_for.py "/usr/lib/cachebpf/policies/acfs.bpf.o" "$(cgroup_of t54.slice)" 2>&1)" \
        "$(printf '0 0 4 -22 -22 -2\n(0, 0, 4, 1, 0, 0, 0, 0, 0, 0) (4,)\n{0} ENOSPC 0 None None')" \
        'the daemon can speak for others'

# a quarter of them concerns the whole file
head -c 256K /dev/zero >few
sync few
echo 1 >/proc/sys/vm/drop_caches
is "$(say wild random few "$CALLS")" "$CALLS True" 'whatever is said there is an answer'
is "$(policy_key t54.slice policy)" acfs 'and the policy stays'
books_agree 'the kernel has lost nothing'
rm small large shared few
done_testing
