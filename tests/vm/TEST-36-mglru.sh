#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 1200
# The policy mglru, in the simulator, against the kernel's own multi-generational LRU: the miss ratio of the
# same reads of single pages, in a cache of the same size, within one point of percent.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/replay.sh"

REQUESTS=150000
POINTS=1
HALF_BATCH=32 # of the kernel's own
ENABLED=/sys/kernel/mm/lru_gen/enabled

before=$(cat "$ENABLED")
trap 'echo "$before" >"$ENABLED"; remove_test_units; rm -f "$REPLAY_FILE" "$REPLAY_TRACE"' EXIT

compare_with_native() { # NAME MEMORY
        make_slice "mglru$1.slice" "MemoryMax=$2"$'\nMemorySwapMax=0'
        systemctl start "mglru$1.slice"
        replay "mglru$1.slice" memory.stat file
        systemctl stop "mglru$1.slice"
        simulate mglru $((${mean:-0} / 4096 + HALF_BATCH))
        agree "$1 in $2" "$POINTS" "$REQUESTS"
}

echo y >"$ENABLED"
like "$(cat "$ENABLED")" '^0x000[1-7]$' 'the multi-generational LRU is on'
make_trace "$REQUESTS" 40000 3 0
compare_with_native skewed 24M
make_trace "$REQUESTS" 40000 3 2000
compare_with_native scanned 24M
compare_with_native scanned 64M
done_testing
