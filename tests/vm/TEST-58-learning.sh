#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 600
# What a policy learns is kept: when its unit stops, when it is replaced, when the daemon stops or is killed. The next
# instance has it, in the background. A damaged file is ignored with one message, CacheLearning=no and "cachectl forget"
# do what they say, and nobody but root sees the files.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

DIR=/var/lib/t58
LEARNED=/var/lib/cachebpf/learned
UNIT=t58.slice
KILLS=${KILLS:-2}
rm -rf "$DIR"
mkdir -p "$DIR"
trap 'rm -rf "$DIR"; remove_test_units' EXIT

head -c 64M /dev/urandom >"$DIR/data"
sync "$DIR/data"
echo 1 >/proc/sys/vm/drop_caches # or this test would have paid for it

# Reads pages of the data, those at its beginning more often than others: the cache has a fifth of them, and half of the
# reads are of 1024 pages.
cat >"$DIR/read.py" <<'E2'
import os, random, sys

random.seed(int(sys.argv[2]))
fd = os.open(sys.argv[1] + "/data", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for _ in range(int(sys.argv[3])):
    os.pread(fd, 4096, int(16384 * random.random() ** 4) * 4096)
E2

use() { # SEED READS: has the unit read
        in_slice "$UNIT" /usr/bin/python3 "$DIR/read.py" "$DIR" "$1" "$2"
}

file_of() { # UNIT
        echo "$LEARNED/$1"
}

# Is there a value in the map of the policy that is not all zeroes? To read all of it takes ten seconds.
has_entries() { # UNIT
        grep -qE '"value": .*0x(0[1-9a-f]|[1-9a-f])' \
                < <(bpftool --json --pretty map dump pinned "$(pin_of "$1")/map-cachebpf_learned")
}

is_restored() { # UNIT
        [[ -d $(pin_of "$1")/restored ]]
}

is_saved() { # UNIT
        [[ -s $(file_of "$1") ]]
}

# Each entry is in the file as well: it has at least the size of the map.
is_whole() { # UNIT
        [[ $(stat -c %s "$(file_of "$1")") -gt 524288 ]]
}

# The unit has stopped, and nobody saves anything any more.
has_settled() { # UNIT
        has_ended "$1" && ! pgrep -x cachebpfd-learn
}

complaints() {
        daemon_log 'learned' | grep -cE 'ignored|Cannot' || :
}

make_slice "$UNIT" $'MemoryMax=16M\nCachePolicy=wtinylfu'
systemctl start "$UNIT"
unit_runs "$UNIT" wtinylfu
eventually is_restored "$UNIT"
fails 'there is nothing at first' is_saved "$UNIT"

# --- stop and start

use 1 5000
if command -v bpftool >/dev/null; then
        succeeds 'the policy learns' has_entries "$UNIT"
else
        skip 'the policy learns' 'there is no bpftool'
fi
systemctl stop "$UNIT"
eventually is_saved "$UNIT"
succeeds 'what it learned is saved when the unit stops' is_whole "$UNIT"
is "$(stat -c '%a %U' "$(file_of "$UNIT")")" '600 root' 'for the eyes of root'
is "$(stat -c '%a %U' "$LEARNED")" '700 root' 'and so is the directory'
fails 'nobody else can look' as_nobody ls "$LEARNED"

systemctl start "$UNIT"
unit_runs "$UNIT" wtinylfu
eventually is_restored "$UNIT"
if command -v bpftool >/dev/null; then
        succeeds 'the next instance has it' has_entries "$UNIT"
else
        skip 'the next instance has it' 'there is no bpftool'
fi

# --- what it is good for: the same reads, from an empty cache, of an instance with and one without

misses() { # SEED: pages that came into the cache of a unit that was just started
        echo 1 >/proc/sys/vm/drop_caches
        use "$1" 8000
        policy_stat "$UNIT" added
}

restart_unit() {
        systemctl stop "$UNIT"
        systemctl start "$UNIT"
        eventually runs "$UNIT" wtinylfu
        eventually is_restored "$UNIT"
}

use 2 20000
restart_unit
with=$(misses 3)
systemctl stop "$UNIT"
succeeds 'cachectl forget' cachectl forget "$UNIT"
systemctl start "$UNIT"
eventually runs "$UNIT" wtinylfu
without=$(misses 3)
diag "pages that came in: $with with what was learned, $without without"
compare "$((with * 100))" -le "$((without * 102))" 'what was learned does no harm'

# --- the daemon comes and goes; the policy stays, and its map is not filled again

use 4 5000
systemctl stop cachebpfd.service
succeeds 'it is saved when the daemon stops' is_whole "$UNIT"
before=$(stat -c %i "$(file_of "$UNIT")")
systemctl start cachebpfd.service
unit_runs "$UNIT" wtinylfu
use 5 5000
changed() { [[ $(stat -c %i "$(file_of "$UNIT")") != "$before" ]]; }
eventually changed
succeeds 'and every minute' is_whole "$UNIT"

# --- an update in place hands it on

succeeds 'another option' cachectl set "$UNIT" CachePolicyOptions=margin=2
eventually updates_are "$UNIT" 1
eventually is_restored "$UNIT"
if command -v bpftool >/dev/null; then
        succeeds 'the policy that replaces it has what it learned' has_entries "$UNIT"
else
        skip 'the policy that replaces it has what it learned' 'there is no bpftool'
fi
cachectl reset --quiet "$UNIT"

# --- killed while it saves

for ((i = 0; i < KILLS; i++)); do
        use $((100 + i)) 500
        systemctl stop --no-block "$UNIT"
        sleep "0.0$((RANDOM % 100))"
        systemctl reset-failed cachebpfd.service # it does not start more often than that
        kill_daemon
        eventually systemctl is-active --quiet cachebpfd.service
        systemctl start "$UNIT"
        eventually runs "$UNIT" wtinylfu
        is_whole "$UNIT" || break
done
is "$i" "$KILLS" 'after each kill of the daemon the file is whole'
eventually is_restored "$UNIT"
is "$(complaints)" 0 'and no file was ignored'

# --- a damaged file, and a full disk

systemctl stop "$UNIT"
eventually has_settled "$UNIT"
printf x | dd of="$(file_of "$UNIT")" bs=1 seek=5000 conv=notrunc status=none
systemctl start "$UNIT"
unit_runs "$UNIT" wtinylfu
eventually is_restored "$UNIT"
is "$(complaints)" 1 'a damaged file is ignored with one message'
like "$(daemon_log 'is ignored')" "$UNIT: What its cache policy learned before is ignored: .*is damaged" 'which says so'

use 6 500
systemctl stop "$UNIT"
eventually has_settled "$UNIT"
systemctl stop cachebpfd.service
mkdir -p "$DIR/keep"
cp "$(file_of "$UNIT")" "$DIR/keep/"
mount -t tmpfs -o size=600k,mode=700 t58 "$LEARNED"
cp "$DIR/keep/$UNIT" "$LEARNED/"
systemctl start cachebpfd.service "$UNIT"
unit_runs "$UNIT" wtinylfu
eventually is_restored "$UNIT"
echo 1 >/proc/sys/vm/drop_caches # what its predecessors read is not read again
use 7 8000
systemctl stop "$UNIT"
full() { daemon_log 'Cannot save what its cache policy has learned' | grep -q 'No space left'; }
eventually full
is "$(daemon_log -c 'Cannot save what its cache policy has learned')" 1 'a full disk is one message'
succeeds 'and the old file is there' cmp "$DIR/keep/$UNIT" "$(file_of "$UNIT")"
systemctl stop cachebpfd.service
umount "$LEARNED"

# --- a /var that is read-only

mount -t tmpfs -o ro t58 /var/lib/cachebpf
succeeds 'the daemon starts with a read-only directory' systemctl start cachebpfd.service "$UNIT"
unit_runs "$UNIT" wtinylfu
eventually is_restored "$UNIT"
use 10 8000
systemctl stop "$UNIT"
read_only() { daemon_log 'Cannot save what its cache policy has learned' | grep -q 'Read-only file system'; }
succeeds 'it says that it cannot write there' eventually read_only
systemctl stop cachebpfd.service
umount /var/lib/cachebpf

# --- CacheLearning=no, forget, and who may

make_dropin "$UNIT" 50-learning $'[Slice]\nCacheLearning=no'
systemctl start cachebpfd.service "$UNIT"
unit_runs "$UNIT" wtinylfu
before=$(stat -c %i "$(file_of "$UNIT")")
use 8 8000
systemctl stop "$UNIT"
systemctl restart cachebpfd.service
is "$(stat -c %i "$(file_of "$UNIT")")" "$before" 'CacheLearning=no: nothing is saved, what was there stays'
fails 'a value that is none is refused' cachectl set "$UNIT" CacheLearning=sometimes

fails 'nobody may not forget' as_nobody cachectl forget "$UNIT"
succeeds 'where it is still' is_saved "$UNIT"
is "$(cachectl forget "$UNIT")" "Removed $(file_of "$UNIT")." 'root may'
fails 'and it is gone' is_saved "$UNIT"
is "$(cachectl forget "$UNIT")" "Nothing is kept for $UNIT." 'there is nothing more'
is "$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager ForgetUnit s "$UNIT" |
        jq -c .data)" '[[]]' 'D-Bus says the same'

# --- nobody waits for it: attaching takes no longer with a file of 512 KiB than in a unit that has none

make_dropin "$UNIT" 50-learning $'[Slice]\nCacheLearning=yes'
make_slice t58none.slice $'MemoryMax=16M\nCachePolicy=wtinylfu\nCacheLearning=no'
attach_msec() { # UNIT
        local begin end
        begin=$(date +%s%N)
        systemctl start "$1"
        eventually runs "$1" wtinylfu
        end=$(date +%s%N)
        systemctl stop "$1"
        echo $(((end - begin) / 1000000))
}
systemctl start "$UNIT"
eventually runs "$UNIT" wtinylfu
use 9 5000
systemctl stop "$UNIT"
eventually is_saved "$UNIT"
for _ in 1 2 3; do # the host may be busy, now with one of them and now with the other
        without=$(attach_msec t58none.slice)
        with=$(attach_msec "$UNIT")
        diag "until the policy is attached: $without ms without a file, $with ms with one"
        most=$((without * 3 + 2000))
        [[ $with -ge $most ]] || break
done
compare "$with" -lt "$most" 'a start waits for no file'

books_agree 'eviction lists, folio table and page cache agree'
done_testing
