#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 300
# Of what a unit reads the shadows miss what the simulator misses, whatever policy the unit has; they are processes
# without privileges, and the daemon's sandbox lets them be that.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/replay.sh"

PAGES=2000 # a sample of such a cache is all of it
STEP=1000  # requests and evictions of so many fit what a unit may pass on at a time
directory=$(mktemp -d /run/shadows.XXXXXX)
input=$directory/input output=$directory/output

# begin SLICE PAGES POLICY…: shadows of it, in a service with the sandbox of the daemon.
begin() {
        local cgroup
        cgroup=$(cgroup_of "$1")
        mkfifo "$input"
        : >"$output"
        make_unit shadows.service "$(sed -E '/^(Type|BusName|Watchdog|RuntimeDirectory|Configuration|Restart)/d
                /^\[Install\]/,$d
                '"s|^ExecStart=.*|ExecStart=/usr/lib/cachebpf/tests/programs/shadow-run ${cgroup#"$CGROUP_ROOT"} ${*:2}|
                /^\[Service\]/a StandardInput=file:$input\nStandardOutput=append:$output" \
                /usr/lib/systemd/system/cachebpfd.service)"
        systemctl start --no-block shadows.service
        exec 7>"$input"
        eventually has_lines 1 || diag "$(journalctl --unit=shadows.service --lines=20)"
        end_window # in which they began: it does not count
}

end() {
        exec 7>&-
        eventually is_over
        is "$(systemctl show --property=Result --value shadows.service)" success 'it ends'
        rm "$input"
}

is_over() {
        [[ $(systemctl is-active shadows.service) != active ]]
}

has_lines() {
        [[ $(wc -l <"$output") -ge $1 ]]
}

# Sets rate, sampled, lost, and counts: the misses of each policy.
end_window() {
        local n
        n=$(wc -l <"$output")
        echo >&7
        eventually has_lines $((n + 1)) || diag "$(journalctl --unit=shadows.service --lines=20)"
        read -r rate sampled lost counts < <(tail -n 1 "$output")
        diag "one in $rate, $sampled requests, $lost lost: $counts"
}

# A window for each STEP requests, so that nothing is lost however slow the machine is. Sets all_sampled, all_lost,
# and all_misses: sums, the last one for each policy.
replay_windows() { # SLICE
        local i
        all_sampled=0 all_lost=0 all_misses=()
        replay "$1" memory.cachebpf.stat managed_pages $STEP &
        for ((i = 0; i < requests; i += STEP)); do
                eventually replay_is_stopped || break
                end_window
                add_window
                pkill -CONT -x replay
        done
        wait $!
}

replay_is_stopped() {
        [[ $(ps -C replay -o state=) == T ]]
}

add_window() {
        local i
        local -a window
        [[ $counts != *'?'* ]] || not_ok "all shadows say what they miss: $counts"
        read -ra window <<<"${counts//'?'}"
        for i in "${!window[@]}"; do
                all_misses[i]=$((${all_misses[i]:-0} + window[i]))
        done
        all_sampled=$((all_sampled + sampled)) all_lost=$((all_lost + lost))
}

sample_of() { # SLICE
        cat "$(cgroup_of "$1")/memory.cachebpf.sample"
}

try() { # POLICY of the slice: shadows of others
        local slice=t61-$1.slice number=0 policy
        make_slice "$slice" $'MemoryMax=32M\nMemorySwapMax=0\nCachePolicy='"$1"
        systemctl start "$slice"
        eventually policy_is "$slice" "$1"
        begin "$slice" $PAGES lru s3fifo stock
        is "$(sample_of "$slice")" 1 "$1: each page is in the sample"
        check_processes "$1"

        replay_windows "$slice"
        # and some pages of programs
        compare "$all_sampled" -ge "$requests" "$1: all requests are in the sample"
        compare "$all_sampled" -lt $((requests + requests / 1000)) "$1: and hardly more"
        is "$all_lost" 0 "$1: nothing is lost"
        for policy in lru s3fifo noop; do
                misses=${all_misses[number++]}
                simulate $policy $PAGES
                # ghosts of s3fifo go by hashes, which are not those of the trace
                agree "$1: the shadow of $policy" "$([[ $policy == s3fifo ]] && echo 1 || echo 0.1)" "$misses"
        done
        end
        is "$(sample_of "$slice")" 0 "$1: there is no sample any more"
        systemctl stop "$slice"
}

# What the unit's files say of one of them.
check_processes() { # WHAT
        local pids pid status pss=0
        mapfile -t pids < <(pgrep -x cachebpf-shadow)
        is "${#pids[@]}" 3 "$1: a process for each candidate"
        for pid in "${pids[@]}"; do
                status=$(</proc/"$pid"/status)
                like "$status" $'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n' 'it has no capabilities'
                like "$status" $'NoNewPrivs:\t1\n' 'it gets none'
                like "$status" $'Seccomp:\t2\n' 'system calls are filtered'
                is "$(</proc/"$pid"/oom_score_adj)" 1000 'it goes first'
                is "$(cd /proc/"$pid"/fd && echo *)" '0 1 2' 'what it has open'
                is "$(cut -d ' ' -f 19 /proc/"$pid"/stat)" 10 'others run first'
                pss=$((pss + $(awk '/^Pss:/ { print $2 }' /proc/"$pid"/smaps_rollup)))
        done
        diag "$1: their memory: $pss KiB"
}

make_trace 30000 16384 4 2000
requests=$(wc -l <"$REPLAY_TRACE")
try noop
try lfu

# A larger cache: one page in eight.
make_slice t61-part.slice $'MemoryMax=32M\nMemorySwapMax=0\nCachePolicy=fifo'
systemctl start t61-part.slice
eventually policy_is t61-part.slice fifo
begin t61-part.slice 8192 lru
is "$(sample_of t61-part.slice)" 8 'one page in eight is in the sample'
replay_windows t61-part.slice
compare "$all_sampled" -gt $((requests / 32)) 'the sample is not too small'
compare "$all_sampled" -lt $((requests / 3)) 'nor too large'
is "$all_lost" 0 'nothing is lost of it'
end

rm -r "$directory"
done_testing
