#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 1200
# Every policy that is installed is loaded, does its work for a slice that reads a file ten times as large as
# its limit, some pages much more often than others, with scans in between, and has as many misses as in the
# simulator, within 2 %. So does s3fifo with the options that need more lists, marks, or ghosts than it has.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
. "$(dirname "$0")/replay.sh"

PERCENT=2
NOOP_PERCENT=8 # no policy that both run, but stock reclaim and a model of it; it was 1.1 to 4.2, as the host was busy
HALF_BATCH=16
VERIFIED=100000 # acfs has most; wtinylfu had 175,000, and then the daemon took four times as long to attach it
HERE=$(readlink -f "$(dirname "$0")")

# An attachment waits for the verifier, in an emulated machine 20 us for each instruction.
looked_at() { # POLICY
        local nr
        if ! command -v bpftool >/dev/null; then
                skip "$1: the verifier has little to look at" 'there is no bpftool'
                return
        fi
        nr=$("$HERE/verified" | awk '{ sum += $1 } END { print sum + 0 }')
        diag "$1: the verifier looked at $nr instructions"
        compare "$nr" -le "$VERIFIED" "$1: the verifier has little to look at"
}

try_policy() { # POLICY [OPTION=VALUE…]
        local slice=t35-${1//-/_}.slice percent=$PERCENT options=("${@:2}") id taken
        [[ $1 != noop ]] || percent=$NOOP_PERCENT
        make_slice "$slice" $'MemoryMax=16M\nMemorySwapMax=0\nCachePolicy='"$1"$'\nCachePolicyOptions='"${options[*]}"
        systemctl start "$slice"
        unit_runs "$slice" "$1"
        id=$(policy_key "$slice" id)
        replay "$slice" memory.cachebpf.stat managed_pages
        simulate "$1" $((${mean:-0} + HALF_BATCH)) "${options[@]/#/--option=}"
        agree "$1" "$percent" "${misses:-0}"

        is "$(policy_key "$slice" id)" "$id" "$1: it is still there"
        looked_at "$1"
        taken=$(policy_stat "$slice" removed_reclaim)
        diag "$1: of $taken pages reclaimed it chose $(policy_stat "$slice" evict_reclaimed)," \
                "fallback $(policy_stat "$slice" evict_fallback)," \
                "busy $(policy_stat "$slice" reject_busy)," \
                "$(policy_stat "$slice" bucket_bytes) bytes of buckets"
        [[ $1 == noop ]] ||
                compare "$(policy_stat "$slice" evict_reclaimed)" \
                -ge $((taken * 9 / 10)) "$1: it chose what was evicted"
        systemctl stop "$slice"
}

make_trace 40000 40960 4 1000
mapfile -t policies < <(cachectl policies --no-legend | awk '{ print $1 }')
compare "${#policies[@]}" -ge 12 'there are policies'
for policy in "${policies[@]}"; do
        try_policy "$policy"
done
try_policy s3fifo skip_percent=50 uses_for_main=1
try_policy s3fifo small_percent=40 ghost_percent=600 skip_percent=25 ghost_hits_for_main=2
books_agree 'folio table, lists and page cache agree'
done_testing
