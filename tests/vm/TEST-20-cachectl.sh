#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 180
# cachectl shows what the kernel says, to everybody, and its exit status can be relied on.
. "$(dirname "$0")/lib.sh"

exit_status() { # COMMAND…
        "$@" >/dev/null 2>&1
        echo $?
}

unit_member() { # UNIT MEMBER: of the JSON that cachectl prints
        cachectl list --json=short "$1" | jq -r ".[0].$2"
}

# systemd knows a unit that is not active only if something refers to it.
make_slice ct-idle.slice 'X-CachePolicy=fifo'
make_slice ct-lfu.slice $'MemoryMax=64M\nCachePolicy=lfu\n[Unit]\nAfter=ct-idle.slice'
make_slice ct-plain.slice 'MemoryMax=64M'
systemctl start ct-lfu.slice ct-plain.slice
succeeds 'status of a unit becomes 0' wait_until 30 cachectl status --quiet ct-lfu.slice

# --- the three policies, from the kernel's files
is "$(unit_member ct-lfu configured)" lfu 'configured is what the unit file says'
is "$(unit_member ct-lfu effective)" lfu 'effective is what was attached'
is "$(unit_member ct-lfu verified)" "$(policy_key ct-lfu.slice policy)" 'verified is what the kernel says'
is "$(unit_member ct-lfu policyId)" "$(policy_key ct-lfu.slice id)" 'policyId is that of the kernel'
is "$(unit_member ct-lfu cgroupId)" "$(policy_key ct-lfu.slice cgroup)" 'cgroupId is that of the kernel'
is "$(unit_member ct-lfu cgroup)" /ct-lfu.slice 'cgroup is the path'
is "$(unit_member ct-lfu state)" attached 'the state is attached'
is "$(unit_member ct-lfu source)" /run/systemd/system/ct-lfu.slice:3 'source is file and line'
is "$(unit_member ct-idle state)" inactive 'a slice that was not started is inactive'

# --- status
status=$(cachectl status ct-lfu)
like "$status" 'ct-lfu.slice: attached' 'status names unit and state'
like "$status" 'Configured: lfu \(/run/systemd/system/ct-lfu.slice:3\)' 'status shows the source'
like "$status" "Verified: lfu \(id $(policy_key ct-lfu.slice id) in the kernel\)" 'status shows what is verified'
overview=$(cachectl)
like "$overview" 'Kernel: supports cachebpf, ABI 1' 'status without units shows the kernel'
like "$overview" 'ct-idle.slice: inactive' 'and all configured units'
unlike "$overview" 'ct-plain.slice' 'but no others'
is "$(cachectl status --json=short | jq -r .manager.kernelStat.attached)" "$(kernel_stat attached)" \
        'the kernel-wide counters are those of the kernel'

is "$(exit_status cachectl status ct-lfu)" 0 'exit status: in effect'
is "$(exit_status cachectl status ct-idle)" 3 'exit status: configured, not in effect'
is "$(exit_status cachectl status ct-lfu ct-idle)" 3 'exit status: one of two is not in effect'
is "$(exit_status cachectl status ct-nosuch)" 4 'exit status: unknown unit'
is "$(exit_status cachectl status ct-lfu ct-nosuch)" 4 'exit status: one of two is unknown'
is "$(exit_status cachectl status 'ct-l*')" 0 'patterns select units'

# --- list
is "$(cachectl list --no-legend 'ct-[il]*' | awk '{ print $1, $2, $3, $4, $5 }')" \
        $'ct-idle.slice inactive fifo - -\nct-lfu.slice attached lfu lfu lfu' 'list shows a line a unit'

# --- stats
dd if=/dev/zero of=data bs=1M count=8 status=none
sync data
echo 1 >/proc/sys/vm/drop_caches
in_slice ct-lfu.slice bash -c 'for i in 1 2 3; do cat data >/dev/null; done'
counters=$(cachectl stats --json=short ct-lfu | jq -c '.[0].counters')
compare "$(jq .hits <<<"$counters")" -gt 0 'reading a file again makes hits'
compare "$(jq .misses <<<"$counters")" -gt 0 'reading it first makes misses'
is "$(jq -r 'keys_unsorted | sort | join(" ")' <<<"$counters")" \
        "$(awk '{ print $1 }' "$(cgroup_of ct-lfu.slice)/memory.cachebpf.stat" | LC_ALL=C sort | paste -sd' ')" \
        'all counters of the kernel are there'
like "$(cachectl stats ct-lfu)" 'hit ratio +[0-9]+\.[0-9]%' 'the hit ratio is shown'
like "$(cachectl stats --no-legend | grep ^ct-lfu)" '^ct-lfu.slice +lfu +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+%' \
        'stats shows a line a unit'
is "$(exit_status cachectl stats ct-nosuch)" 4 'stats of an unknown unit'

# --- policies
for policy in fifo mru lfu; do
        like "$(cachectl policies --no-legend)" "(^|"$'\n'")$policy +[A-Z]" "policy $policy is listed and described"
        unlike "$(cachectl policies "$policy")" 'Problem:' "and has no problem"
done
like "$(cachectl policies lfu)" 'nr_scan +u32 +512' 'tunables are shown with their defaults'
is "$(exit_status cachectl policies nosuch)" 4 'an unknown policy'

# --- a change of the configuration
make_slice ct-lfu.slice $'MemoryMax=64M\nCachePolicy=fifo'
succeeds 'a new policy is shown' wait_until 30 sh -c 'cachectl list --no-legend ct-lfu | grep -q "fifo *fifo *fifo"'
make_slice ct-lfu.slice 'MemoryMax=64M'
succeeds 'a policy taken back is shown' wait_until 30 sh -c '! cachectl list --no-legend | grep -q ct-lfu'
is "$(exit_status cachectl status ct-lfu)" 3 'and the unit is no longer in effect'

# --- other users, and the shell
is "$(exit_status runuser -u nobody -- cachectl status)" 0 'nobody may look'
completion=$(bash -c '. /usr/share/bash-completion/completions/cachectl
        COMP_WORDS=(cachectl status ct-i) COMP_CWORD=2
        _cachectl
        echo "${COMPREPLY[*]}"')
is "$completion" ct-idle.slice 'bash completes names of units'
done_testing
