#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --lab --memory 4G
# long: yes
# timeout: 14400
# A thousand units with policies, started and stopped again and again: how long it takes to ask for all of
# them, and to change one; what the daemon needs; and that nothing is left behind. In the laboratory, where
# an instruction takes a nanosecond, so that the limits mean something wherever this runs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

UNITS=${UNITS:-1000}
ROUNDS=${ROUNDS:-3}
RULE=/run/cachebpf/policies.d/42-t42.conf
LIST_LIMIT_MS=100
CHANGE_LIMIT_MS=20
# How many of the laboratory's a processor of today does in a nanosecond: the same command here and there, on a
# server of 2026 with other work on it. 5.3 times "bpftool btf dump file FILE format raw", FILE a copy of
# /sys/kernel/btf/vmlinux, which libbpf reads in each change; 11.7 times "jq -c ." of a list of units as JSON.
INSTRUCTIONS_PER_NS=5
MEMORY_LIMIT_KB=65536

# Slices need no files. They are no slices inside slices: no dash.
mapfile -t slices < <(seq -f 't42x%04g.slice' "$UNITS")

clean_up() {
        systemctl stop 't42x*.slice' 2>/dev/null
        rm -f "$RULE" /run/cachebpf/units.d/t42x*
        remove_test_units
        systemctl reload cachebpfd.service
}
trap clean_up EXIT

# The median of so many times, in microseconds, that a command takes.
median_us() { # TIMES COMMAND…
        local i times=$1 begin
        shift
        for ((i = 0; i < times; i++)); do
                begin=${EPOCHREALTIME/./}
                "$@" >/dev/null
                echo $((${EPOCHREALTIME/./} - begin))
        done | sort -n | sed -n "$(((times + 1) / 2))p"
}

limit_ms() { # MICROSECONDS MILLISECONDS DESCRIPTION
        diag "$3: $1 us of the laboratory"
        compare "$1" -lt $(($2 * 1000 * INSTRUCTIONS_PER_NS)) "$3: less than $2 ms"
}

policies_are() { # NUMBER: in the kernel
        [[ $(kernel_stat policies) -eq $1 ]]
}

attached_are() { # NUMBER: as the daemon says
        [[ $(varlink GetStatus | jq .unitsAttached) -eq $1 ]]
}

daemon_kb() {
        flat_key "/proc/$(daemon_pid)/status" VmRSS:
}

daemon_fds() {
        find "/proc/$(daemon_pid)/fd" -mindepth 1 | wc -l
}

pins() {
        find "$PIN_ROOT" -mindepth 1 | wc -l
}

# Loaded units of ours; systemd forgets those that stopped when it gets to it.
units_known() {
        cachectl list --no-legend | grep -c '^t42x'
}

all_gone() {
        policies_are "$before_policies" && [[ $(units_known) -eq 0 && $(pins) -eq $before_pins ]]
}

# The longest reconcile of one unit that the daemon tells of since so many lines, in microseconds: there are
# short ones while systemd is asked about the unit.
longest_reconcile_us() { # LINES
        daemon_log | tail -n "+$(($1 + 1))" | sed -n 's/^Reconciled 1 units in \([0-9]*\) us\.$/\1/p' |
                sort -n | tail -n 1
}

log_level() {
        busctl set-property org.cachebpf1 /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogLevel \
                s "$1"
}

before_policies=$(kernel_stat policies)
mkdir -p ${RULE%/*}
printf '[Match]\nUnit=t42x*.slice\n[Policy]\nCachePolicy=lfu\n' >$RULE
systemctl reload cachebpfd.service

# What is made for the first one and stays, such as the map of threads, is there before anything is counted.
systemctl start "${slices[0]}"
unit_runs "${slices[0]}" lfu
cachectl set --quiet "${slices[0]}" mru
unit_runs "${slices[0]}" mru
cachectl reset --quiet "${slices[0]}"
systemctl stop "${slices[0]}"
eventually policies_are "$before_policies"
before_pins=$(pins)
before_fds=$(daemon_fds)

declare -a stopped_kb=()
for ((round = 1; round <= ROUNDS; round++)); do
        systemctl start "${slices[@]}"
        wait_until 3600 policies_are $((before_policies + UNITS))
        is "$(kernel_stat policies)" \
                $((before_policies + UNITS)) "round $round: $UNITS units have their policies"

        if [[ $round -eq 1 ]]; then
                wait_until 600 attached_are "$UNITS"
                is "$(cachectl list --no-legend | grep -c ' attached ')" "$UNITS" 'the list has them all'
                limit_ms "$(median_us 5 cachectl list)" $LIST_LIMIT_MS 'the list'
                limit_ms "$(median_us 5 cachectl status)" $LIST_LIMIT_MS 'the status of all'
                limit_ms "$(median_us 5 cachectl status "${slices[UNITS / 2]}")" $LIST_LIMIT_MS \
                        'the status of one'

                log_level debug
                for policy in mru lfu mru; do
                        lines=$(daemon_log | wc -l)
                        cachectl set --quiet "${slices[7]}" $policy
                        unit_runs "${slices[7]}" $policy
                        limit_ms "$(longest_reconcile_us "$lines")" $CHANGE_LIMIT_MS \
                                "the reconcile of a change to $policy"
                done
                log_level info
                cachectl reset --quiet "${slices[7]}"

                diag "resident: $(daemon_kb) KiB, descriptors: $(daemon_fds)"
                compare "$(daemon_kb)" -lt $MEMORY_LIMIT_KB \
                        "the daemon has less than $((MEMORY_LIMIT_KB / 1024)) MiB"
        fi

        systemctl stop "${slices[@]}"
        wait_until 3600 all_gone
        is "$(kernel_stat policies)" "$before_policies" "round $round: no policy is left in the kernel"
        is "$(pins)" "$before_pins" "round $round: no pin is left"
        is "$(units_known)" 0 "round $round: the daemon knows none of the units any more"
        eventually test "$(daemon_fds)" -eq "$before_fds"
        is "$(daemon_fds)" "$before_fds" "round $round: no file descriptor is left"
        stopped_kb+=("$(daemon_kb)")
        diag "resident after round $round: ${stopped_kb[-1]} KiB"
done

# The first round may leave what is kept for the next ones; after that nothing may be added.
compare $((stopped_kb[-1] - stopped_kb[0])) -lt 1024 "rounds 2 to $ROUNDS add no memory"
is "$(systemctl show --property=NRestarts --value cachebpfd.service)" 0 'the daemon was there all the time'
books_agree 'the kernel has lost nothing'
done_testing
