#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 300
# CacheFiles= and CacheLevel=: programs that say nothing themselves get what their units say for them, also of files
# that come later, whatever becomes of daemon and policy. "cachectl files" and both buses show it, and who is revoked.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

# Not in /var/tmp, of which the daemon has one of its own.
DIR=/var/lib/t56
rm -rf "$DIR"
mkdir -p "$DIR"
trap 'umount -q --lazy "$DIR/xfs"; rm -rf "$DIR"' EXIT

# How many pages this shell, and what it waited for, have read from the disk.
cat >"$DIR/lib.sh" <<'E2'
cd "${0%/*}"
pages() { awk '/^read_bytes/ { print int($2 / 4096) }' /proc/$$/io; }
shown() { cachectl files --json=short "$1" | jq -e "any(.[].managers[].files[]; .path == \"$PWD/$2\")" >/dev/null; }
E2

cat >"$DIR/loop" <<'E2'
for _ in 1 2 3 4; do cat large >loop.null; done
pages
E2

cat >"$DIR/keep" <<'E2'
[[ ! -e listed ]] || until shown t56-keep.service small; do sleep 0.2; done
cat small large >keep.null
before=$(pages)
cat small >keep.null
echo $(($(pages) - before))
E2

cat >"$DIR/later" <<'E2'
touch late
until shown t56-later.service late; do sleep 0.2; done
head -c 8M /dev/zero >>late
sync late
cat large >later.null
before=$(pages)
cat late >later.null
echo $(($(pages) - before))
E2

# Portions that fit, each five times, but the newest page goes: of what is missed LRU would have four fifths.
cat >"$DIR/fool" <<'E2'
is_mru() { cachectl files --json=short t56-fool.service | jq -e 'any(.[].managers[].levels[]; .replacement == "mru")'; }
until is_mru >fool.null; do sleep 0.2; done
while :; do
        for portion in portion[123]; do
                cat "$portion"{,,,,} >fool.null
        done
done
E2

cat >"$DIR/circle" <<'E2'
for _ in 1 2 3 4 5; do cat portion2 >circle.null; done
pages
E2

# Reads a file once, and then uses the pages of another one by a mapping.
cat >"$DIR/mapper" <<'E2'
import mmap, os, sys, time

os.chdir(os.path.dirname(sys.argv[0]))
with open("portion1", "rb") as f:
    while f.read(1 << 20):
        pass
with open("mapped", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as pages:
    while True:
        for at in range(0, len(pages), 4096):
            pages[at]
        with open("uses", "w"):
            pass
        time.sleep(0.02)
E2

# Says itself of files: level 2, and of level 1 that it is MRU.
cat >"$DIR/speak.py" <<'E2'
import ctypes, os, sys, time

libc = ctypes.CDLL(None, use_errno=True)
def say(path, what, level, more=0):
    fd = os.open(path, os.O_RDONLY)
    return libc.syscall(221, fd, ctypes.c_long(0), ctypes.c_long(0),
                        ctypes.c_int(0x43420000 | what << 8 | level + 1 << 4 | more))

print([say(path, 1, 2) for path in sys.argv[1:]], say(sys.argv[1], 3, 1, 1), flush=True)
time.sleep(1000000)
E2

for name in loop keep later fool circle; do
        sed -i "1i . $DIR/lib.sh" "$DIR/$name"
        ln -s /dev/null "$DIR/$name.null"
done
head -c 8M /dev/zero >"$DIR/small"
for portion in 1 2 3; do
        head -c 16M /dev/zero >"$DIR/portion$portion"
done
head -c 1200K /dev/zero >"$DIR/mapped"
head -c 48M /dev/zero >"$DIR/large"
sync

service() { # NAME COMMAND [SETTINGS]: t56-NAME.service in the slice
        make_unit "t56-$1.service" "[Service]
Slice=t56.slice
StandardOutput=truncate:$DIR/$1.out
ExecStart=$2
${3:-}"
}

run() { # NAME [SETTINGS]: prints what that script does
        service "$1" "/bin/bash $DIR/$1" $'Type=oneshot\n'"${2:-}"
        echo 1 >/proc/sys/vm/drop_caches
        systemctl start "t56-$1.service"
        cat "$DIR/$1.out"
}

files() { # UNIT JQ-FILTER: what it is of the managers
        varlink ListFiles "{\"unit\":\"$1\"}" | jq -c ".managers | $2"
}

answers() { # UNIT JQ-FILTER EXPECTED
        [[ $(files "$1" "$2") == "$3" ]]
}

becomes() { # UNIT JQ-FILTER EXPECTED DESCRIPTION
        eventually answers "$1" "$2" "$3"
        is "$(files "$1" "$2")" "$3" "$4"
}

make_slice t56.slice $'MemoryMax=32M\nCachePolicy=acfs\nCachePolicyOptions=revoke_percent=0'
systemctl start t56.slice
unit_runs t56.slice acfs

# --- what it is good for

lru=$(run loop)
mru=$(run loop $'X-CacheFiles=0 /var/lib/t56/large\nX-CacheLevel=0 mru')
diag "pages from the disk for 4 times 12288, in 32 MiB: LRU $lru, MRU $mru"
compare "$lru" -gt 45000 'four times a file that does not fit'
compare "$mru" -lt 38000 'is read less with CacheLevel=0 mru'

plain=$(run keep)
touch "$DIR/listed"
kept=$(run keep 'CacheFiles=3 /var/lib/t56/s*')
diag "pages of a file that are read again after a large one: $plain, with CacheFiles=3: $kept"
compare "$plain" -gt 1800 'a file that was read before a large one is gone'
compare "$kept" -lt 100 'unless CacheFiles= gives it a higher priority'
late=$(run later $'CacheFiles=3 /var/lib/t56/[l]ate')
compare "$late" -lt 100 'the same of a file that is created later'

# --- others

beside_mapper() { # [SETTINGS]: what a program misses that says nothing and whose file would fit
        service mapper "/usr/bin/python3 $DIR/mapper" "${1:-}"
        echo 1 >/proc/sys/vm/drop_caches
        systemctl start t56-mapper.service
        eventually test -e "$DIR/uses"
        service circle "/bin/bash $DIR/circle" Type=oneshot
        systemctl start t56-circle.service
        cat "$DIR/circle.out"
        systemctl stop t56-mapper.service
        rm "$DIR/uses"
}

lru=$(beside_mapper)
mru=$(beside_mapper 'CacheLevel=0 mru')
diag "pages of 5 times 4096: $lru beside one that uses 300 by a mapping, $mru if its newest pages are to go first"
compare "$mru" -lt $((lru * 3 / 2)) 'others do not pay for pages that are in use'

# --- what is shown

mkdir "$DIR"/{set,xfs}
truncate -s 320M "$DIR/xfs.img"
mkfs.xfs -q "$DIR/xfs.img" && mount -o loop "$DIR/xfs.img" "$DIR/xfs"
echo data | tee "$DIR"/{set/{a,b},own,xfs/file} >/dev/null
ln -s a "$DIR/set/link"
mkfifo "$DIR/set/fifo"
service speak "/usr/bin/python3 $DIR/speak.py $DIR/own $DIR/xfs/file" \
        $'CacheFiles=-1 /var/lib/t56/set/*\nCacheFiles=1 /var/lib/t56/*/file\nCacheLevel=3 mru'
systemctl start t56-speak.service
said() { [[ $(cat "$DIR/speak.out") == '[0, 0] 0' ]]; }
eventually said

paths='map(.files[] | "\(.priority) \(.path // "?")")'
expected='["-1 /var/lib/t56/set/a","-1 /var/lib/t56/set/b","2 /var/lib/t56/xfs/file","2 ?"]'
becomes t56-speak.service "$paths" "$expected" \
        'files of patterns, but links and FIFOs; with what programs say of them, on ext4 and XFS'
is "$(files t56.slice "map(select(.name == \"t56-speak.service\")) | $paths")" "$expected" 'the same of the slice'
is "$(files t56-speak.service 'map(.files[] | select(.path == null) | "\(.device) \(.inode)")')" \
        "[\"$(mountpoint -d "$(stat -c %m "$DIR")") $(stat -c %i "$DIR/own")\"]" \
        'what only programs named is shown by device and inode'
levels='map(.levels[] | select(.replacement == "mru").level)'
is "$(files t56-speak.service "$levels")" '[1,3]' 'levels that are MRU'
cat "$DIR/set/a" >/dev/null
is "$(files t56-speak.service 'map(.files[] | select(.path == "/var/lib/t56/set/a").cached)')" '[1]' \
        'how much of a file is cached'

text=$(cachectl files t56-speak.service)
like "$text" '^t56-speak.service: decides' 'cachectl files: who'
like "$text" 'Decisions: [0-9]+, of which [0-9]+ were wrong' 'decisions'
like "$text" 'Level 3: 0 pages, mru' 'levels'
like "$text" 'Priority -1: /var/lib/t56/set/a \(1 pages are cached\)' 'files with paths'
like "$text" 'Priority 2: device [0-9]+:[0-9]+, inode [0-9]+' 'and without'
unlike "$(as_nobody cachectl files t56-speak.service)" 'Priority' 'files are for root only'
like "$(as_nobody cachectl files t56-speak.service)" 'Level 3: 0 pages, mru' 'the rest is for everybody'
bus=$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager ListFiles s t56-speak.service)
is "$(jq -c '.data[0] | map(.[6][] | "\(.[0]) \(if .[1] == "" then "?" else .[1] end)")' <<<"$bus")" "$expected" \
        'the same on D-Bus'
is "$(jq -c '[.data[0][] | .[5][] | select(.[1] == "mru")[0]]' <<<"$bus")" '[1,3]' 'also the levels'
bus=$(as_nobody busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager ListFiles s \
        t56-speak.service)
is "$(jq -c '.data[0] | map([.[0], (.[6] | length)])' <<<"$bus")" '[["t56-speak.service",0]]' \
        'which everybody may ask, but not about files'

# --- what changes

mv "$DIR/set/a" "$DIR/set/c"
rm "$DIR/set/b"
touch "$DIR/set/d"
of_set='map(.files[] | select(.priority == -1).path)'
becomes t56-speak.service "$of_set" '["/var/lib/t56/set/c","/var/lib/t56/set/d"]' 'files come, go, and get other names'
mkdir "$DIR/new"
touch "$DIR/new/file"
becomes t56-speak.service 'map(.files[] | select(.priority == 1).path)' '["/var/lib/t56/new/file"]' \
        'in directories that come later, too'
rm -r "$DIR/new"
make_dropin t56-speak.service 50-files $'[Service]\nCacheFiles=\nCacheFiles=-1 /var/lib/t56/set/d\nCacheLevel='
becomes t56-speak.service "$of_set" '["/var/lib/t56/set/d"]' 'other settings, while the unit runs'
is "$(files t56-speak.service "$levels")" '[1]' 'what a program said of a level stays'
expected=$(files t56-speak.service "$paths")
like "$expected" '"2 \?","2 \?"' 'and what it said of files'

daemon_kill
daemon_start
becomes t56-speak.service "$paths" "$expected" 'all of that after the daemon was killed'
updates=$(policy_key t56.slice updates)
cachectl set --quiet t56.slice CachePolicyOptions=revoke_percent=25
updates_are t56.slice $((updates + 1)) && ok 'the policy was replaced'
becomes t56-speak.service "$paths" "$expected" 'all of that in the policy that replaces it'
is "$(files t56-speak.service "$levels")" '[1]' 'levels, too'
make_dropin t56.slice 50-files $'[Slice]\nCacheFiles=3 /var/lib/t56/set/*'
make_dropin t56-speak.service 50-files $'[Service]\n'
rm /run/systemd/system/t56-speak.service
service speak "/usr/bin/python3 $DIR/speak.py $DIR/own"
becomes t56-speak.service 'map(.files[] | select(.priority == 3).path)' \
        '["/var/lib/t56/set/c","/var/lib/t56/set/d"]' 'what the slice says is for managers that say nothing'
systemctl stop t56-speak.service

# --- who is revoked

service fool "/bin/bash $DIR/fool" 'CacheLevel=0 mru'
systemctl start t56-fool.service
# It gets its say back after a while: frozen, it makes no decision.
is_revoked() {
        systemctl freeze t56-fool.service
        [[ $(unit_key t56.slice 'revoked[0]') == t56-fool.service ]] && return
        systemctl thaw t56-fool.service
        return 1
}
eventually is_revoked
is "$(unit_key t56.slice 'revoked[0]')" t56-fool.service 'who is wrong too often is revoked'
like "$(cachectl status t56.slice)" 'Revoked: t56-fool.service' 'the status says so'
like "$(cachectl files t56.slice)" 't56-fool.service: revoked' 'the list'
is "$(busctl get-property org.cachebpf1 /org/cachebpf1/unit/t56_2eslice org.cachebpf1.Unit RevokedManagers)" \
        'as 1 "t56-fool.service"' 'D-Bus'
journalctl --quiet --sync
is "$(journalctl --quiet --output=json MESSAGE_ID=65cfb35b71874cb488e1d87f1d3e63b7 UNIT=t56.slice | tail -n 1 |
        jq -r .MANAGER)" t56-fool.service 'and the journal'
systemctl thaw t56-fool.service
systemctl stop t56-fool.service
nobody_is_revoked() { [[ -z $(unit_key t56.slice 'revoked[0]') ]]; }
eventually nobody_is_revoked && ok 'nobody is, when it is gone'

# --- mistakes

make_dropin t56-speak.service 60-wrong $'[Service]\nCacheFiles=4 /x\nCacheFiles=0 x\nCacheFiles=0\nCacheLevel=0 fifo'
systemctl start t56-speak.service
says() { daemon_log -q "/run/systemd/system/t56-speak.service.d/60-wrong.conf:$1"; }
eventually says "2: CacheFiles=: '4' is no priority, which is a number from -1 to 3, ignoring the line." &&
        ok 'a wrong priority'
succeeds 'a path that is not absolute' says "3: CacheFiles=: 'x' is neither a priority nor an absolute path"
succeeds 'no pattern' says '4: CacheFiles=: a priority has no pattern behind it'
succeeds 'a wrong order' says "5: CacheLevel=: level 0 is to be 'lru' or 'mru', not 'fifo'"
like "$(cachectl set t56-speak.service 'CacheFiles=0 /a/../b' 2>&1)" "'/a/../b' is no plain path" \
        'the same by cachectl set'
like "$(cachectl set t56.slice lfu 'CacheFiles=0 /a' 2>&1)" \
        "policy 'lfu' has no levels for files, which CacheFiles= is about" 'a policy that does not listen'
is "$(policy_key t56.slice policy)" acfs 'the policy stays'
mkdir "$DIR/much"
(cd "$DIR/much" && seq 1100 | xargs touch)
cachectl set --quiet t56-speak.service 'CacheFiles=2 /var/lib/t56/much/*'
# What was said before counts, too: when a search was cut short nothing is taken back.
nr_many() { files t56-speak.service 'map(.files[] | select(.priority == 2)) | length'; }
many() { [[ $(nr_many) -ge 1000 ]]; }
eventually many && ok '1024 files'
diag "of 1100 files $(nr_many) have the priority"
succeeds 'and more are too many' daemon_log -q "There are too many files"
is "$(daemon_log -c "There are too many files")" 1 'which is said once'
books_agree 'the kernel has lost nothing'
done_testing
