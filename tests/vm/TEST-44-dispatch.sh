#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# The policy that tells user space of everything, for a measurement of bench/: what it sends is what happened, and
# all of it arrives.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

BENCH=/usr/lib/cachebpf/bench
POLICIES=/run/cachebpf/policies
PAGES=2048
MOST=1986 # 97 %: what was busy when it was to go has stayed in the cache, as somebody else's
FILE=/var/tmp/t44.file
OUT=/run/t44.out

clean_up() {
        systemctl stop t44-reader.service 2>/dev/null
        rm -rf "$POLICIES" "$FILE" "$OUT"
        remove_test_units
}
trap clean_up EXIT

uncache() {
        dd if="$FILE" iflag=nocache count=0 status=none
}

make_file() { # BLOCK-SIZE BLOCKS: nothing of it is cached
        dd if=/dev/urandom of="$FILE" bs="$1" count="$2" status=none
        sync "$FILE"
        uncache
}

start_reader() {
        rm -f "$OUT"
        make_unit t44-reader.service "[Service]
ExecStart=$BENCH/dispatch-reader
StandardOutput=truncate:$OUT"
        systemctl start t44-reader.service
        eventually test -s "$OUT"
}

stop_reader() {
        systemctl stop t44-reader.service
        diag "$(cat "$OUT")"
}

said() { # JQ-FILTER: of what the reader printed at its end
        tail -n 1 "$OUT" | jq -r "$1"
}

is_removed() {
        uncache
        [[ $(policy_stat t44.slice removed_invalidate) -ge $MOST ]]
}

fails 'without the policy there is nothing to read' "$BENCH/dispatch-reader"
is "$("$BENCH/dispatch-reader" 2>&1)" \
        'dispatch-reader: there is no map dispatch_events: the policy "dispatch" is not attached' \
        'and one sentence says so'

mkdir -p "$POLICIES"
cp "$BENCH/dispatch.bpf.o" "$POLICIES/"
systemctl reload cachebpfd.service
make_file 4k $PAGES

make_slice t44.slice $'MemoryMax=64M\nCachePolicy=dispatch'
systemctl start t44.slice
unit_runs t44.slice dispatch

start_reader
# three reads of each page, the first of which is that it is there
for _ in 1 2 3; do
        in_slice t44.slice dd if="$FILE" of=/dev/null bs=4k status=none
done
succeeds 'the file is out of the cache' eventually is_removed
stop_reader
added=$(($(policy_stat t44.slice added) + $(policy_stat t44.slice adopted)))

# what dd itself is of may be cached for the slice as well
compare "$(said .received.added)" -ge $MOST 'each page was told when it came'
compare "$(said .received.accessed)" -ge $((2 * MOST)) 'and when it was read again'
compare "$(said .received.removed)" -ge $MOST 'and when it went'
is "$(said .received.added)" "$added" 'as many came as the kernel counted'
is "$(said .lost)" 0 'no event was lost'
is "$(said '.sent == .received')" true 'what was sent is what arrived'
compare "$(said .cpu_ns)" -gt 0 'the reader knows what it cost'

# --- nobody reads: events are lost, are counted as such, and nothing else happens
make_file 1M 48
for _ in 1 2 3 4 5 6; do
        in_slice t44.slice dd if="$FILE" of=/dev/null bs=1M status=none
done
start_reader
stop_reader
compare "$(said .lost)" -gt 0 'a ring that nobody reads is full'
compare "$(said '[.received[]] | add')" -gt 0 'what was in it is still there for who comes late'
is "$(policy_key t44.slice policy)" dispatch 'the policy stays'
books_agree 'folio table, lists and page cache agree'
done_testing
