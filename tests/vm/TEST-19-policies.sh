#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 900
# Every policy that is installed is loaded, and does its work for a slice that reads ten times its limit: at random,
# some pages much more often than others, with a scan in the middle.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

FILE=/var/tmp/t19.file
MIB=320 # the slices have a tenth of it

trap 'rm -f "$FILE"; remove_test_units' EXIT

# load_slice SLICE: prints nothing; the hot pages are the same ones each time.
load_slice() {
        in_slice "$1" python3 -c '
import os, random, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
pages = os.fstat(fd).st_size // 4096
random.seed(19)
def read(n):
    for _ in range(n):
        os.pread(fd, 4096, int(pages * random.random() ** 4) * 4096)
read(30000)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_NORMAL)
for at in range(0, pages // 4):
    os.pread(fd, 4096, at * 4096)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
read(30000)' "$FILE"
}

chosen_percent() { # SLICE: of its pages that reclaim took, how many were the policy's choice
        echo $((100 * $(policy_stat "$1" evict_reclaimed) / ($(policy_stat "$1" removed_reclaim) + 1)))
}

dd if=/dev/zero of="$FILE" bs=1M count=$MIB conv=fsync status=none
mapfile -t policies < <(cachectl policies --no-legend | awk '{ print $1 }')
compare "${#policies[@]}" -ge 4 'there are policies'

for policy in "${policies[@]}"; do
        slice=t19-${policy//-/_}.slice
        echo 3 >/proc/sys/vm/drop_caches
        make_slice "$slice" $'MemoryMax='$((MIB / 10))$'M\nCachePolicy='"$policy"
        systemctl start "$slice"
        unit_runs "$slice" "$policy"
        policy_is "$slice" "$policy" || continue
        id=$(policy_key "$slice" id)

        succeeds "$policy: the load runs" load_slice "$slice"
        hits=$(policy_stat "$slice" hits) misses=$(policy_stat "$slice" misses)
        diag "$policy: $hits hits, $misses misses, $(policy_stat "$slice" evict_calls) requests," \
             "$(chosen_percent "$slice") % of the pages reclaimed were its choice," \
             "$(($(policy_stat "$slice" evict_ns) / ($(policy_stat "$slice" evict_calls) + 1))) ns a request," \
             "$(policy_stat "$slice" bucket_bytes) bytes of buckets"
        is "$(policy_key "$slice" id) $(policy_key "$slice" ejected)" "$id " "$policy is still there"
        compare "$((hits + misses))" -ge 60000 "$policy: all reads were hits or misses"
        compare "$hits" -ge 10000 "$policy: there are hits"
        compare "$(policy_stat "$slice" removed_reclaim)" -ge 10000 "$policy: there was reclaim"
        if [[ $policy != noop ]]; then
                compare "$(chosen_percent "$slice")" -ge 90 "$policy chose what was evicted"
        fi
        systemctl stop "$slice"
done

books_agree 'folio table, lists and page cache agree'
done_testing
