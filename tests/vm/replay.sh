# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced, after lib.sh, by tests that have the kernel and the simulator do the same reads of single pages.
#
# The limit of a cgroup is for more than what it has cached: its entries in the folio table, shadows, the
# stacks and the heap of the process. What is simulated is therefore the size that the cache really had, on
# average, once it was full, and half of what is evicted at a time: by all of that it is below its size after
# an eviction.

REPLAY_FILE=/var/tmp/cachebpf-replay
REPLAY_TRACE=$REPLAY_FILE.trace
trap 'remove_test_units; rm -f "$REPLAY_FILE" "$REPLAY_TRACE"' EXIT

# Pages by a power law, and after each 5000 of them a scan that goes on where the last one ended. Never the
# same page twice in a row: the kernel takes that for one use.
make_trace() { # REQUESTS PAGES EXPONENT SCAN-LENGTH
        awk -v n="$1" -v pages="$2" -v exponent="$3" -v scan="$4" 'BEGIN {
                srand(36)
                for (i = 0; i < n; i++) {
                        do
                                if (i % (5000 + scan) < 5000)
                                        page = int(pages * rand() ^ exponent)
                                else
                                        page = at++ % pages
                        while (page == last)
                        print last = page
                }
        }' >"$REPLAY_TRACE"
}

# Sets misses, and mean: of KEY of the cgroup's FILE. Both are empty if it fails.
replay() { # SLICE FILE KEY [STEP]
        misses='' mean=''
        read -r misses mean < <(in_slice "$1" /usr/lib/cachebpf/tests/programs/replay \
                "$REPLAY_FILE" "$REPLAY_TRACE" "$(cgroup_of "$1")/$2" "${@:3}")
}

# Sets simulated: the misses in a cache of that size.
simulate() { # POLICY PAGES [ARGUMENTS…]
        simulated=$(cachectl simulate --json=short --policy="$1" --size="$(($2 * 4))K" "${@:3}" "$REPLAY_TRACE" |
                jq ".results[] | select(.policy == \"$1\") | .misses")
}

# A point: the simulator's misses are the kernel's, but for so much per cent of TOTAL.
agree() { # WHAT PERCENT TOTAL
        local by
        by=$(awk -v a="${simulated:-0}" -v b="${misses:-0}" -v n="${3:-0}" \
                'BEGIN { printf "%+.2f", n ? 100 * (a - b) / n : 100 }')
        diag "$1: ${misses:-no} misses in the kernel, ${simulated:-no} in the simulator ($by %)"
        if [[ ${misses:-0} -gt 0 && ${simulated:-0} -gt 0 ]] &&
                awk -v by="$by" -v most="$2" 'BEGIN { exit !(by <= most && by >= -most) }'; then
                ok "$1: the simulator's misses are the kernel's"
        else
                not_ok "$1: the simulator's misses are the kernel's" "$by % is more than $2 %"
        fi
}
