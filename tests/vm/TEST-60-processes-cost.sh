#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --lab --lab-disk 1 --cpu max --memory 3G
# timeout: 300
# "--by=process", in the laboratory: a hit takes at most 3 % more instructions while tracepoints tell, and at most 1 %
# while the counters of a policy do.
. "$(dirname "$0")/lib.sh"

file=$(mktemp /var/tmp/processes-cost.XXXXXX)
dd if=/dev/zero of="$file" bs=1M count=16 status=none
sync
make_slice cost.slice ''
systemctl start cost.slice

# Instructions of ten reads of a page that is cached: the least of some runs, since what happens once a second (the
# screen, the daemon, writing back) falls into a run of a tenth of a second, or does not.
hit() {
        for _ in 1 2 3 4 5; do
                echo 1 >/proc/sys/vm/drop_caches # the pages are the unit's
                in_slice cost.slice /usr/lib/cachebpf/bench/read-cost hit "$file" --bytes=16777216 --operations=20000
        done | jq --slurp 'map(.wall_ns_per_read * 10 | round) | min'
}

costs() { # PER-MILLE WHAT: it is at most that much more while somebody watches
        local alone watched watcher
        alone=$(hit)
        cachectl stats --by=process --duration=1h --json=short cost.slice >"$file.shown" 2>"$file.said" &
        watcher=$!
        eventually grep -q '^Watching ' "$file.said" || die "nothing is watched: $(<"$file.said")"
        watched=$(hit)
        kill -INT $watcher
        wait $watcher
        compare "$(jq '[.processes[].hits] | max' "$file.shown")" -ge 24000 "$2: hits are counted"
        diag "$2: $alone, $watched while somebody watches"
        compare "$watched" -le $((alone + alone * $1 / 1000)) "$2: what a hit costs"
}

costs 30 'tracepoints'
succeeds 'a policy' cachectl set cost.slice s3fifo
costs 10 'the counters of a policy'
rm -f "$file"*
done_testing
