#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 600
# The simulator and the kernel agree: 200000 reads of single pages, Zipfian with scans in between, of a file ten times
# as large as the limit, give the same number of misses under each policy, within 2 %.
#
# The limit of a cgroup is for more than what it has cached: its entries in the folio table, shadows, the stacks and
# the heap of the process. The size that is simulated is therefore what the policy managed, on average, once the cache
# was full. In the kernel as in the simulator the cache is full before a request of 32 pages and has as many less
# behind it, so that the average is 16 below the size.
. "$(dirname "$0")/lib.sh"

PERCENT=2
BATCH=32
REPLAY=/usr/lib/cachebpf/tests/programs/replay
FILE=/var/tmp/cachebpf-replay
TRACE=/var/tmp/cachebpf-replay.trace

trap 'remove_test_units; rm -f $FILE $TRACE' EXIT

difference() { # A B: by how much A is more than B, in per cent, such as -3.20
        awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.2f", 100 * (a - b) / b }'
}

within() { # DIFFERENCE
        awk -v d="$1" -v most=$PERCENT 'BEGIN { exit !(d <= most && d >= -most) }'
}

compare_with_simulator() { # POLICY
        local name=${1//-/_} stat mean size misses simulated by
        local slice=sim$name.slice
        make_slice "$slice" $'MemoryMax=32M\nMemorySwapMax=0\nCachePolicy='"$1"
        systemctl start "$slice"
        if ! wait_until 60 policy_is "$slice" "$name"; then
                not_ok "$1 is attached"
                return
        fi
        stat=$(cgroup_of "$slice")/memory.cachebpf.stat
        if ! mean=$(in_slice "$slice" "$REPLAY" "$FILE" "$stat"); then
                not_ok "$1: the reads are done" "$mean"
                return
        fi
        misses=$(policy_stat "$slice" misses)
        size=$((mean + BATCH / 2))
        simulated=$(cachectl simulate --json=short --policy="$1" --size="$((size * 4))K" --batch=$BATCH "$TRACE" |
                jq ".results[] | select(.policy == \"$1\") | .misses")
        by=$(difference "${simulated:-0}" "${misses:-0}")
        if [[ $simulated -gt 0 && $misses -gt 0 ]] && within "$by"; then
                ok "$1: the simulator's misses are the kernel's, within $PERCENT %"
        else
                not_ok "$1: the simulator's misses are the kernel's, within $PERCENT %"
        fi
        diag "$1: $misses misses in the kernel, $simulated in the simulator with $size pages ($by %);" \
                "left to stock reclaim: $(policy_stat "$slice" evict_fallback)," \
                "busy: $(policy_stat "$slice" reject_busy)"
        systemctl stop "$slice"
}

"$REPLAY" --print >"$TRACE"
for policy in /usr/lib/cachebpf/policies/*.bpf.o; do
        compare_with_simulator "$(basename "$policy" .bpf.o)"
done
done_testing
