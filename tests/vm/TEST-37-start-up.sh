#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --lab
# long: yes
# timeout: 1200
# From the start of the daemon until the policies of ten slices are attached, and that nobody has to wait for
# that. In the laboratory, where an instruction takes a nanosecond.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

LIMIT_MS=1000
POLICIES=(lfu mru fifo lru sieve s3fifo arc lhd wtinylfu get-scan)
slices=("${POLICIES[@]/%/.slice}")
slices=("${slices[@]/#/t37x}")
slices=("${slices[@]/get-scan/getscan}") # a dash would make it a slice in a slice

all_run() {
        local slice
        for slice in "${slices[@]}"; do
                state_is "$slice" attached || return 1
        done
}

# Times of systemd and of the daemon, in microseconds of CLOCK_REALTIME.
started_at() {
        busctl --json=short get-property org.freedesktop.systemd1 \
                /org/freedesktop/systemd1/unit/cachebpfd_2eservice org.freedesktop.systemd1.Service \
                ExecMainStartTimestamp | jq .data
}

attached_at() { # TIME SLICE of all of them, in the order of time
        local slice
        for slice in "${slices[@]}"; do
                echo "$(unit_key "$slice" sinceUSec) $slice"
        done | sort -n
}

for i in "${!slices[@]}"; do
        echo "${slices[i]}" >>"$TEST_UNITS"
        printf '[Slice]\nMemoryMax=64M\nCachePolicy=%s\n' "${POLICIES[i]}" \
                >"/run/systemd/system/${slices[i]}"
done
systemctl daemon-reload
systemctl start "${slices[@]}"
succeeds 'ten slices have their policies' eventually all_run

# --- all of them anew, as after a boot

for ((round = 1; round <= 3; round++)); do
        systemctl stop cachebpfd.service
        rm -rf "${PIN_ROOT:?}"/[0-9]*
        eventually policy_is "${slices[0]}" none
        systemctl start cachebpfd.service
        eventually all_run || not_ok "round $round: all are attached" "$(cachectl list)"

        begin=$(started_at)
        mapfile -t times < <(attached_at)
        first=$((${times[0]% *} - begin)) last=$((${times[-1]% *} - begin))
        for line in "${times[@]}"; do
                diag "round $round: ${line#* } is attached after $((${line% *} - begin)) us"
        done
        isnt "$(unit_key "${slices[0]}" adopted)" true "round $round: none was left from before"
        compare "$last" \
                -lt $((LIMIT_MS * 1000)) "round $round: all are attached within $LIMIT_MS ms of the start"
        compare "$first" -gt 0 "round $round: the clocks agree"
done

# --- nobody waits for it

before() { # UNIT: what is ordered after it
        systemctl show --property=Before --value "$1" | tr ' ' '\n' | sort | paste -sd' '
}
is "$(before cachebpfd.service)" 'multi-user.target shutdown.target' \
        'only the end of the boot is ordered after the daemon'
is "$(before cachebpfd-varlink.socket)" 'cachebpfd.service shutdown.target sockets.target' \
        'and nothing after its socket'

kill -STOP "$(daemon_pid)"
make_slice t37late.slice $'MemoryMax=64M\nCachePolicy=lfu'
is "$(in_slice t37late.slice echo runs)" runs 'a service runs in a new slice while the daemon does nothing'
in_slice t37late.slice sleep 1000 &
sleeper=$!
eventually systemctl is-active --quiet t37late.slice
is "$(policy_key t37late.slice policy)" none 'without a policy'
kill -CONT "$(daemon_pid)"
unit_runs t37late.slice lfu
systemctl stop t37late.slice
wait $sleeper 2>/dev/null

books_agree 'the kernel has lost nothing'
done_testing
