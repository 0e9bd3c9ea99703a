#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 500
# CacheReadahead=: what is read of a file that does not fit, by each setting; a change of the setting while the unit
# runs; and a kernel that cannot.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

FILE_PAGES=16384 # four times what a unit may have
FEATURES=/sys/kernel/cachebpf/features
OLDER=/run/cachebpf/policies/t64-older.bpf.o
dir=$(mktemp -d /var/tmp/t64.XXXXXX)

drop_files() {
        umount "$FEATURES" 2>/dev/null && systemctl restart cachebpfd.service
        rm -rf "$dir"
        rm -f "$OLDER"
        remove_test_units
}
trap drop_files EXIT

# --- what is read, and how

head -c $((FILE_PAGES * 4096)) /dev/urandom >"$dir/file"
disk=/sys/dev/block/$(stat -c %Hd:%Ld "$dir/file")

cat >"$dir/reader" <<'PYTHON'
import mmap, os, random, sys
path, how, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
pages, rng = os.stat(path).st_size // 4096, random.Random(64)
order = {"forward": range(number), "backward": range(pages - 1, pages - 1 - number, -1)}.get(how.split("-")[-1]) or \
    [rng.randrange(pages) for _ in range(number)]
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
memory = mmap.mmap(fd, 0, prot=mmap.PROT_READ) if how.startswith("map") else None
for page in order:
    memory[page * 4096] if memory else os.pread(fd, 4096, page * 4096)
PYTHON

reader=(python3 -IS "$dir/reader" "$dir/file")
"${reader[@]}" random 0 # what it loads is cached from now on

# reads SLICE HOW NUMBER: what the disk does if nothing of the file is cached, in $requests and $pages.
reads() {
        local -a before after
        sync
        read -ra before <"$disk/stat"
        in_slice "$1" "${reader[@]}" "$2" "$3"
        read -ra after <"$disk/stat"
        requests=$((after[0] - before[0])) pages=$(((after[2] - before[2]) / 8))
        diag "$1, $3 reads, $2: $requests requests, $pages pages"
}

make_slices $'MemoryMax=16M\nCacheReadahead=NAME' t64-stock.slice t64-adaptive.slice t64-off.slice t64-32K.slice
systemctl start t64-stock.slice t64-adaptive.slice t64-off.slice t64-32K.slice
unit_is t64-stock.slice unconfigured
for slice in t64-adaptive.slice t64-off.slice t64-32K.slice; do
        unit_is "$slice" attached
done
is "$(unit_key t64-off.slice effective) $(unit_key t64-off.slice verified)" 'noop noop' \
        'readahead alone goes with the policy that does nothing else'
is "$(unit_key t64-off.slice readahead)" off 'the daemon shows the setting'
like "$(cachectl status t64-32K.slice)" 'Readahead: 32K' 'so does cachectl'
path=$(busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager GetUnit s t64-32K.slice | cut -d '"' -f 2)
is "$(busctl get-property org.cachebpf1 "$path" org.cachebpf1.Unit Readahead)" 's "32K"' 'and D-Bus'

# --- one page here and there

reads t64-off.slice random 2000
compare "$pages" -ge 1800 'off: random reads read what they ask for'
compare "$pages" -le 2600 '... and hardly more, though others use the disk as well'
reads t64-adaptive.slice random 2000
compare "$pages" -le 3000 'adaptive: a probe now and then is half of it at most'
reads t64-stock.slice map-random 2000
stock=$pages
reads t64-adaptive.slice map-random 2000
compare "$((4 * pages))" -lt "$stock" 'adaptive: random faults read less than a quarter of what stock reads'
reads t64-off.slice map-random 2000
compare "$pages" -le 2600 'off: they read what they need'
reads t64-32K.slice map-random 1000
compare "$((3 * pages))" -lt "$stock" 'a size: they read as much around the page'
compare "$pages" -ge 4000 '... and not less'

# --- one after the other

reads t64-stock.slice forward 4096
stock=$requests
reads t64-adaptive.slice forward 4096
compare "$((10 * requests))" -le "$((11 * stock))" \
        'adaptive: sequential reads have at most 1.1 of the requests of stock'
reads t64-32K.slice forward 4096
compare "$requests" -ge 512 'a size: no request is larger'
compare "$requests" -le 700 '... and few are smaller'
reads t64-stock.slice backward 2048
stock=$requests
reads t64-adaptive.slice backward 2048
compare "$((3 * requests))" -le "$stock" 'adaptive: descending reads have at most a third of the requests of stock'
compare "$(policy_stat t64-adaptive.slice readahead_asked)" -gt 0 'the policy was asked'

# --- what is not asked for costs nothing

plans_are() {
        [[ $(bpftool --json prog show | jq '[.[] | select(.name == "cachebpf_plan")] | length') -eq $1 ]]
}

streams_are() {
        [[ $(bpftool --json map show | jq '[.[] | select(.name == ".bss.readahead")] | length') -eq $1 ]]
}

succeeds 'each unit that plans has its program' plans_are 3
succeeds 'only one that adapts has memory for streams' streams_are 1
systemctl stop t64-adaptive.slice t64-off.slice t64-32K.slice
unit_ends t64-adaptive.slice
unit_ends t64-off.slice
unit_ends t64-32K.slice
eventually plans_are 0

# --- a change

make_slice t64set.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t64set.slice
unit_runs t64set.slice lfu
reads t64set.slice forward 4096
is "$(policy_stat t64set.slice readahead_asked)" 0 'without the setting nothing is asked'
succeeds '... and there is no program' plans_are 0
cached=$(policy_stat t64set.slice managed_pages)
succeeds 'it is set' cachectl set t64set.slice CacheReadahead=adaptive
is "$(policy_key t64set.slice updates)" 1 'the policy is replaced in place'
compare "$(policy_stat t64set.slice managed_pages)" -ge "$((cached * 9 / 10))" 'and keeps what is cached'
succeeds 'the program is there' plans_are 1
reads t64set.slice forward 1024
compare "$(policy_stat t64set.slice readahead_asked)" -gt 0 'now it is asked'
is "$(policy_stat t64set.slice readahead_declined)" 0 'and says something'
succeeds 'it is set to a size' cachectl set t64set.slice CacheReadahead=128K
eventually streams_are 0
is "$(policy_key t64set.slice updates)" 2 'that is another change in place'
succeeds 'and back' cachectl set t64set.slice CacheReadahead=stock
eventually plans_are 0
is "$(policy_key t64set.slice updates)" 3 'in place, too'
output=$(cachectl set t64set.slice CacheReadahead=6K 2>&1)
is $? 2 'what is no size is refused'
like "$output" "'6K' is neither stock, adaptive nor off nor a multiple of the page size from 4K to 2M" \
        '... with its reason'

# --- each policy

for policy in $(cachectl policies --json=short | jq -r '.[] | select(.problem == null) | .name'); do
        for setting in off adaptive; do
                cachectl set --quiet t64set.slice "$policy" "CacheReadahead=$setting" ||
                        not_ok "$policy with CacheReadahead=$setting" "$(unit_json t64set.slice)"
        done
        reads t64set.slice random 64
        compare "$(policy_stat t64set.slice readahead_asked)" -gt 0 "$policy plans"
done
cachectl reset --quiet t64set.slice

# --- a kernel that cannot

# A policy calls a function that the kernel does not have: where nobody asks for it that is no matter.
mkdir -p /run/cachebpf/policies
sed 's/bpf_cachebpf_prefetch/bpf_cachebpf_missing_/g' /usr/lib/cachebpf/policies/lfu.bpf.o >"$OLDER"
grep -v '^readahead$' "$FEATURES" >"$dir/features"
mount --bind "$dir/features" "$FEATURES"
systemctl restart cachebpfd.service
eventually cachectl status
unit_runs t64set.slice lfu
succeeds 'a policy needs nothing that it is not asked for' cachectl set t64set.slice t64-older
unit_runs t64set.slice t64-older
output=$(cachectl set t64set.slice CacheReadahead=off 2>&1)
isnt $? 0 'a kernel without the feature: the setting is no success'
like "$output" "this kernel does not let policies plan readahead, which 'off' \(.*/t64set.slice.conf:[0-9]+\)" \
        '... and the reason is told'
is "$(policy_key t64set.slice policy)" t64_older 'the policy runs on'
cachectl reset --quiet t64set.slice
unit_runs t64set.slice lfu
done_testing
