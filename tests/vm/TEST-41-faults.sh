#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 5400
# long: yes
# The daemon is killed 200 times, at any point, while configurations change and slices come and go. In the
# end what is wanted, what is pinned and what the kernel does are the same, and what nobody touched was never
# detached.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

KILLS=${KILLS:-200}
SLICES=6
POLICIES=(fifo lru mru lfu sieve s3fifo)
RANDOM=${SEED:-41}
declare -A wanted=() # policy of the slice, "none" or "stopped"

name() { # NUMBER
        echo "t41-$1.slice"
}

write_policy() { # NUMBER POLICY
        printf '[Slice]\nMemoryMax=64M\nCachePolicy=%s\n' "${2/none/}" >"/run/systemd/system/$(name "$1")"
}

# One change, and PID 1 hears of it; the daemon may be dead.
change() {
        local i=$((RANDOM % SLICES)) policy=${POLICIES[RANDOM % ${#POLICIES[@]}]}
        case $((RANDOM % 8)) in
        0)
                systemctl stop "$(name $i)"
                wanted[$i]=stopped
                ;;
        1)
                write_policy $i none
                wanted[$i]=none
                ;;
        *)
                write_policy $i "$policy"
                wanted[$i]=$policy
                ;;
        esac
        eventually systemctl daemon-reload # on a slow machine systemctl may give up before PID 1 answers
        [[ ${wanted[$i]} == stopped ]] || systemctl start "$(name $i)"
}

# The unit has what it is to have: as the kernel says, and by a pin of its own.
is_settled() { # NUMBER
        local unit cgroup
        unit=$(name "$1")
        cgroup=$(cgroup_of "$unit")
        case ${wanted[$1]} in
        stopped) [[ -z $cgroup ]] ;;
        none) policy_is "$unit" none && [[ ! -e $(pin_of "$unit") ]] ;;
        *) runs "$unit" "${wanted[$1]}" && [[ -e $(pin_of "$unit")/link ]] ;;
        esac
}

# The control groups that have a policy of their own.
own_ids() {
        local unit cgroup
        for unit in t41-lfu.slice t41-mru.slice "${!wanted[@]}"; do
                [[ $unit == *.slice ]] || unit=$(name "$unit")
                cgroup=$(cgroup_of "$unit") && [[ $(policy_key "$unit" inherited) == 0 ]] &&
                        stat -c %i "$cgroup"
        done
}

# Pins of others.
orphans() {
        local pin
        for pin in "$PIN_ROOT"/[0-9]*; do
                [[ ! -e $pin ]] || grep -qx "${pin##*/}" <<<"$ids" || echo "${pin##*/}"
        done
}

# It is to come back at once, however often it dies.
mkdir -p /run/systemd/system/cachebpfd.service.d
printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=0\n' \
        >/run/systemd/system/cachebpfd.service.d/99-test.conf
trap 'rm -rf /run/systemd/system/cachebpfd.service.d; remove_test_units; systemctl daemon-reload' EXIT

make_slices $'MemoryMax=64M\nCachePolicy=NAME' t41-lfu.slice t41-mru.slice
systemctl start t41-lfu.slice t41-mru.slice
unit_runs t41-lfu.slice lfu
unit_runs t41-mru.slice mru
untouched="$(policy_key t41-lfu.slice id) $(policy_key t41-mru.slice id)"
ejected=$(kernel_stat ejected)
for ((i = 0; i < SLICES; i++)); do
        name $i >>"$TEST_UNITS"
        write_policy $i fifo
        wanted[$i]=fifo
done
systemctl daemon-reload
for ((i = 0; i < SLICES; i++)); do
        systemctl start "$(name $i)"
done

killed=0
for ((n = 0; n < KILLS; n++)); do
        change
        sleep "0.$((RANDOM % 40 + 10))"
        eventually kill_daemon && killed=$((killed + 1))
        [[ $((killed % 20)) -ne 0 ]] || diag "killed $killed times after $SECONDS s"
done
is "$killed" "$KILLS" 'the daemon was killed so often'

eventually systemctl is-active cachebpfd.service
for ((i = 0; i < SLICES; i++)); do
        eventually is_settled $i
        succeeds "$(name $i) is as it is wanted: ${wanted[$i]}" is_settled $i
done
is "$(policy_key t41-lfu.slice id) $(policy_key t41-mru.slice id)" "$untouched" \
        'what nobody touched is attached as it was'
ids=$(own_ids)
is "$(orphans)" '' 'no pin is left over'
is "$(find "$PIN_ROOT" -name updating | wc -l)" 0 'no update is unfinished'
is "$(kernel_stat policies)" "$(grep -c . <<<"$ids")" \
        'the kernel has the policies that are pinned, and no others'
is "$(kernel_stat ejected)" "$ejected" 'and ejected none'
is "$(daemon_log -i -e assert -e 'cannot')" '' 'the daemon had nothing to complain about'
books_agree 'the kernel has lost nothing'
done_testing
