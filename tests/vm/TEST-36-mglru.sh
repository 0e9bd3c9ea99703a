#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 600
# The policy mglru, in the simulator, against the kernel's own multi-generational LRU: the miss ratio of the same
# reads of single pages, in a cache of the same size, within one point of percent.
#
# The limit of a cgroup is for more than what it has cached. What is simulated is the size that the cache really had
# in the kernel, on average, and half of what the kernel evicts at a time, by which it is below its size afterwards.
. "$(dirname "$0")/lib.sh"

POINTS=1
HALF_BATCH=32
REPLAY=/usr/lib/cachebpf/tests/programs/replay-trace
FILE=/var/tmp/cachebpf-mglru
TRACE=$FILE.trace
ENABLED=/sys/kernel/mm/lru_gen/enabled

before=$(cat "$ENABLED")
trap 'echo "$before" >"$ENABLED"; remove_test_units; rm -f "$FILE" "$TRACE"' EXIT

# Never the same page twice in a row: the kernel takes that for one use.
make_trace() { # EXPONENT SCAN: pages by a power law, and after each 5000 of them a scan of that length
        awk -v exponent="$1" -v scan="$2" 'BEGIN {
                srand(36)
                for (i = 0; i < 150000; i++) {
                        do
                                page = i % (5000 + scan) < 5000 ? int(40000 * rand() ^ exponent) : at++ % 40000
                        while (page == last)
                        print last = page
                }
        }' >"$TRACE"
}

compare_with_native() { # NAME MEMORY
        local slice=mglru$1.slice misses mean size simulated points requests
        requests=$(wc -l <"$TRACE")
        make_slice "$slice" "MemoryMax=$2"$'\nMemorySwapMax=0'
        systemctl start "$slice"
        read -r misses mean < <(in_slice "$slice" "$REPLAY" "$FILE" "$TRACE" "$(cgroup_of "$slice")/memory.stat")
        systemctl stop "$slice"
        size=$((${mean:-0} + HALF_BATCH))
        simulated=$(cachectl simulate --json=short --policy=mglru --size="$((size * 4))K" "$TRACE" |
                jq '.results[] | select(.policy == "mglru") | .misses')
        points=$(awk -v a="${simulated:-0}" -v b="${misses:-0}" -v n="$requests" 'BEGIN { printf "%+.2f", 100 * (a - b) / n }')
        if [[ ${misses:-0} -gt 0 && ${simulated:-0} -gt 0 ]] &&
                awk -v p="$points" -v most=$POINTS 'BEGIN { exit !(p <= most && p >= -most) }'; then
                ok "$1 in $2: within $POINTS point of the kernel's own"
        else
                not_ok "$1 in $2: within $POINTS point of the kernel's own"
        fi
        diag "$1 in $2: of $requests reads $misses missed in the kernel, $simulated in the simulator with" \
                "$size pages ($points points)"
}

echo y >"$ENABLED"
like "$(cat "$ENABLED")" '^0x000[1-7]$' 'the multi-generational LRU is on'
make_trace 3 0
compare_with_native skewed 24M
make_trace 3 2000
compare_with_native scanned 24M
compare_with_native scanned 64M
done_testing
