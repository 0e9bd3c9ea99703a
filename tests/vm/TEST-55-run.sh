#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 500
# What programs say to a policy: by libcachebpf, in C and in Python; and by "cachectl run", without knowing it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

PROGRAMS=/usr/lib/cachebpf/tests/programs
EXAMPLES=/usr/share/doc/cachebpf/examples
dir=$(mktemp -d /var/tmp/t55.XXXXXX)
chmod 755 "$dir"
cd "$dir" || die "no directory"

clean_up() {
        cd / && rm -rf "$dir" /run/t55
        remove_test_units
}
trap clean_up EXIT

cat >call.py <<'E'
# Calls the library, and prints what it answers: each argument is a call, with FILE for a descriptor.
import ctypes, os, sys

library = ctypes.CDLL("libcachebpf.so.0")
answer = ctypes.c_int()

def call(name, *arguments):
    if name == "chroot":
        os.chroot(arguments[0])
        os.chdir("/")
        return 0
    if name.startswith("get"):
        arguments += ctypes.byref(answer),
    arguments = [ctypes.c_int64(int(a)) if isinstance(a, str) else a for a in arguments]
    r = getattr(library, "cachebpf_" + name)(*arguments)
    return answer.value if name.startswith("get") and r == 0 else r

def descriptor(name):
    special = {"pipe": lambda: os.pipe()[0], "memory": lambda: os.memfd_create("x"),
               "path": lambda: os.open("small", os.O_PATH), "none": lambda: 999}
    return special.get(name, lambda: os.open(name, os.O_RDONLY))()

for words in map(str.split, sys.argv[1:]):
    files = words[0] != "chroot" and "replacement" not in words[0]
    print(call(words[0], *((descriptor(words[1]), *words[2:]) if files else words[1:])), end=" ")
E

in_unit() { # NAME COMMAND…: as a program of t55-NAME.service in the slice
        systemd-run --quiet --wait --pipe --collect --slice=t55.slice --unit="t55-$1" --working-directory="$dir" \
                --service-type=exec "${properties[@]}" -- "${@:2}" 2>&1
}
properties=()

call() { # NAME CALL…
        in_unit "$1" python3 call.py "${@:2}"
}

misses() { # COMMAND…: how many pages had to come from the disk for it
        local before
        echo 1 >/proc/sys/vm/drop_caches
        before=$(policy_stat t55.slice misses)
        "$@" >&2
        echo $(($(policy_stat t55.slice misses) - before))
}

policy() { # NAME
        cachectl set --quiet t55.slice "$@"
        unit_runs t55.slice "$1"
}

cached() { # FILE: its pages in the cache
        python3 - "$1" <<'E'
import ctypes, os, sys
everything, counts = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 5)()
ctypes.CDLL(None).syscall(451, os.open(sys.argv[1], os.O_RDONLY), everything, counts, 0) # cachestat(2)
print(counts[0])
E
}

ejected=$(kernel_stat ejected)
head -c 8M /dev/zero | tr "\0" x >small
head -c 48M /dev/zero >large
ln large x.o
sync
make_slice t55.slice MemoryMax=32M
systemctl start t55.slice

# --- nobody listens

calls=('set_priority small 1' 'get_priority small' 'set_replacement 1 1' 'get_replacement 1'
        'set_temporary_priority small 0 0 -1')
is "$(call a "${calls[@]}")" '-95 -95 -95 -95 -95 ' 'without a policy nobody listens'
policy lru
is "$(call a "${calls[@]}")" '-95 -95 -95 -95 -95 ' 'nor does every policy'
is "$(call a 'set_priority small 4' 'set_replacement 0 2' 'set_temporary_priority small -1 0 0')" '-22 -22 -22 ' \
        'what cannot be is still wrong'
plain=$(misses in_unit plain sh -c 'cat large large >/dev/null')
run=$(misses in_unit run cachectl run -q --files='large=3' --level=3:mru --done-with=large -- \
        sh -c 'cat large large >/dev/null')
diag "under lru $plain pages come from the disk, $run with what nobody listens to"
compare "$((plain > run ? plain - run : run - plain))" -lt 1000 'for a program of another policy nothing changes'
warning='Nobody listens to what is said of files: the control group of this process has no policy that does'
is "$(in_unit a cachectl run --files='small=1' --level=1:mru -- sh -c 'echo yes; exit 3' | cut -d , -f 1)" \
        "$(printf '%s\nyes' "$warning, such as acfs." | cut -d , -f 1)" 'a warning says so once, and the command runs'
for program in "$PROGRAMS/passes" "$EXAMPLES/passes.py"; do
        is "$(in_unit a "$program" small 2 | sed 's/[0-9]\+/N/')" \
                $'passes: without advice: Operation not supported\nN\nN' "the same for ${program##*/}"
done

# --- acfs listens

: >/run/t55

policy acfs CachePolicyOptions=revoke_percent=0
is "$(call a 'get_priority small' "${calls[@]}" 'get_priority small' 'get_priority large' 'get_replacement 0')" \
        '0 0 1 0 1 0 1 0 0 ' 'acfs does'
is "$(call b 'get_priority small' 'get_replacement 1')" '0 0 ' 'to each control group by itself'
properties=(--property=User=nobody)
is "$(call a 'get_priority small' 'set_priority small -1' 'get_priority small' 'set_replacement -1 1')" '0 0 -1 0 ' \
        'and to everybody'
properties=()
is "$(call a 'set_priority memory 0' 'set_priority pipe 0' 'set_priority path 0' 'set_priority none 0' \
        'get_priority /dev/null' 'set_temporary_priority /run/t55 0 0 -1')" '-95 -29 -9 -9 -95 -95 ' \
        'some files it cannot be said of'
mkdir empty
is "$(call a "chroot $dir/empty" 'set_replacement 2 1' 'get_replacement 2')" '0 0 1 ' \
        'of levels it can be said where there are no files'
mkdir merged upper work
mount -t overlay -o "lowerdir=$dir/empty,upperdir=$dir/upper,workdir=$dir/work" none merged
is "$(call a "chroot $dir/merged" 'set_replacement 2 1')" '0 -95 ' 'but where the kernel has no pages'
mkdir merged/proc
mount -t proc proc merged/proc
is "$(call a "chroot $dir/merged" 'set_replacement 2 1')" '0 0 ' 'or a program to open'
cp small merged/copy
is "$(call a "set_priority $dir/merged/copy 3" "get_priority $dir/upper/copy")" '0 3 ' 'an overlay is what it shows'
umount merged/proc merged

for program in "$PROGRAMS/passes" "$EXAMPLES/passes.py"; do
        echo 1 >/proc/sys/vm/drop_caches
        passes=$(in_unit passes "$program" large 3 | xargs)
        diag "KiB from the disk of 49152, in 32 MiB, ${program##*/}: $passes"
        compare "${passes##* }" -lt 32000 "${program##*/} finds in the cache what fits"
        [[ $program != *.py ]] || compare "$(cached large)" -gt 4000 'and as much is in it'
done

# --- "cachectl run": a scan of a database again and again

scan='for i in 1 2 3; do cat x >/dev/null; done'
ln large x
plain=$(misses in_unit plain sh -c "$scan")
mru=$(misses in_unit scan cachectl run --files='x=0' --level=0:mru -- sh -c "$scan")
diag "pages from the disk of $((3 * 12288)), in 32 MiB: $plain; with MRU: $mru"
compare "$plain" -gt 35000 'a scan of more than fits finds nothing'
compare "$mru" -lt 29000 'cachectl run has it find what fits'
properties=(--property=User=nobody)
low=$(misses in_unit low cachectl run --files='x=-1' --level=-1:mru -- sh -c "$scan")
properties=()
diag "with MRU for this file only, as nobody: $low"
compare "$low" -lt 29000 'also for a user without privileges, and for one file'

# --- a program that is done with what it reads

link='cat small small >/dev/null; cat x.o >/dev/null; cat small >/dev/null'
plain=$(misses in_unit plain sh -c "$link")
done_with=$(misses in_unit link cachectl run --done-with='*.o' -- sh -c "$link")
diag "pages from the disk, of 16384 at most: $plain; giving back what was read: $done_with"
compare "$plain" -gt 15500 'what was read before a large file is gone'
compare "$done_with" -lt 14700 'unless that is given back as it is read'

# --- programs as they are

expected=$(cat small small | sha256sum)
is "$(in_unit a cachectl run --files='*=1' --done-with='*' -- sh -c 'cat small small | sha256sum')" \
        "$expected" 'programs read what there is'
# shellcheck disable=SC2016
is "$(in_unit a cachectl run --files='*=-1' --done-with='*' -- python3 -c 'if True:
        import hashlib, os, subprocess, threading
        def work(i):
            assert hashlib.file_digest(open("small", "rb"), "sha256").hexdigest() in os.environ["SUM"]
            assert subprocess.run(["sh", "-c", "sha256sum <small"], capture_output=True).returncode == 0
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        os.environ["SUM"] = subprocess.check_output(["sha256sum", "small"], text=True)
        [t.start() for t in threads]; [t.join() for t in threads]
        print("ready")')" ready 'also with threads and children'
properties=(--property=User=nobody)
is "$(in_unit a cachectl run --files='*=1' -- sh -c 'mount --version | wc -l; cat /nowhere; echo $?')" \
        $'1\ncat: /nowhere: No such file or directory\n1' 'those with more privileges do not notice'
properties=()
is "$(in_unit a cachectl run --files='*=1' -- /nowhere; in_unit a cachectl run --files='*=1' -- "$dir/large")" \
        "Cannot run \"/nowhere\": No such file or directory
Cannot run \"$dir/large\": Permission denied" 'what is no command is told'

# --- what is wrong, a million times, beside a program that has said something

make_unit t55-victim.service "[Service]
Slice=t55.slice
WorkingDirectory=$dir
ExecStart=sh -c 'python3 call.py \"set_priority small 2\" \"set_replacement 2 1\"; cat small >/dev/null; \
        echo >said; read x <ask; python3 call.py \"get_priority small\" \"get_replacement 2\" >answer; sleep infinity'"
mkfifo ask
rm -f said
echo 1 >/proc/sys/vm/drop_caches
systemctl start t55-victim.service
eventually test -e said
before=$(cached small)
properties=(--property=User=nobody)
wild=$(in_unit wild "$PROGRAMS/wild-advice" small 1000000 55)
diag "$wild"
like "$wild" '^1000000 calls, 1000000 failed, ' 'of a million wrong calls all fail'
for error in EBADF EINVAL ESPIPE EOPNOTSUPP; do
        like "$wild" ", $error [0-9]{5,}" "often with $error"
done
is "$(call wild 'set_priority small -1' 'set_temporary_priority small 0 0 -1')" '0 0 ' 'and it may say what it likes'
properties=()
echo >ask
eventually test -s answer
is "$(cat answer)" '2 1 ' 'what another program has said is as it was'
is "$before $(cached small)" '2048 2048' 'and all its pages are there'
is "$(policy_key t55.slice policy)" acfs 'the policy stays'
is "$(kernel_stat ejected)" "$ejected" 'none was ejected'
books_agree 'the kernel has lost nothing'
done_testing
