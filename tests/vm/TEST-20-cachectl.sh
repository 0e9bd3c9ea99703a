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
make_slice ctidle.slice 'X-CachePolicy=fifo'
make_slice ctlfu.slice $'MemoryMax=64M\nCachePolicy=lfu\n[Unit]\nAfter=ctidle.slice'
make_slice ctplain.slice 'MemoryMax=64M'
systemctl start ctlfu.slice ctplain.slice
# loaded for ctlfu.slice's sake; the daemon looks at units that do not run when systemd reloads
systemctl daemon-reload
succeeds 'a reload makes it known' eventually bash -c 'cachectl list --no-legend | grep -q ctidle.slice'
succeeds 'status of a unit becomes 0' eventually cachectl status --quiet ctlfu.slice

# --- the three policies, from the kernel's files
is "$(unit_member ctlfu.slice configured)" lfu 'configured is what the unit file says'
is "$(unit_member ctlfu.slice effective)" lfu 'effective is what was attached'
is "$(unit_member ctlfu.slice verified)" "$(policy_key ctlfu.slice policy)" 'verified is what the kernel says'
is "$(unit_member ctlfu.slice policyId)" "$(policy_key ctlfu.slice id)" 'policyId is that of the kernel'
is "$(unit_member ctlfu.slice cgroupId)" "$(policy_key ctlfu.slice cgroup)" 'cgroupId is that of the kernel'
is "$(unit_member ctlfu.slice cgroup)" /ctlfu.slice 'cgroup is the path'
is "$(unit_member ctlfu.slice state)" attached 'the state is attached'
is "$(unit_member ctlfu.slice source)" /run/systemd/system/ctlfu.slice:3 'source is file and line'
is "$(unit_member ctidle.slice state)" inactive 'a slice that was not started is inactive'

# --- status
status=$(cachectl status ctlfu.slice)
like "$status" 'ctlfu.slice: attached' 'status names unit and state'
like "$status" 'Configured: lfu \(/run/systemd/system/ctlfu.slice:3\)' 'status shows the source'
like "$status" "Verified: lfu \(id $(policy_key ctlfu.slice id) in the kernel\)" \
        'status shows what is verified'
overview=$(cachectl)
like "$overview" 'Kernel: supports cachebpf, ABI 1' 'status without units shows the kernel'
like "$overview" 'ctidle.slice: inactive' 'and all configured units'
unlike "$overview" 'ctplain.slice' 'but no others'
is "$(cachectl status --json=short | jq -r .manager.kernelStat.attached)" "$(kernel_stat attached)" \
        'the kernel-wide counters are those of the kernel'

is "$(exit_status cachectl status ctlfu.slice)" 0 'exit status: in effect'
is "$(exit_status cachectl status ctidle.slice)" 3 'exit status: configured, not in effect'
is "$(exit_status cachectl status ctlfu.slice ctidle.slice)" 3 'exit status: one of two is not in effect'
is "$(exit_status cachectl status ctnosuch.service)" 4 'exit status: unknown unit'
is "$(exit_status cachectl status ctlfu.slice ctnosuch.service)" 4 'exit status: one of two is unknown'
is "$(exit_status cachectl status 'ctl*')" 0 'patterns select units'

# --- list
is "$(cachectl list --no-legend 'ct[il]*' | awk '{ print $1, $2, $3, $4, $5 }')" \
        $'ctidle.slice inactive fifo - -\nctlfu.slice attached lfu lfu lfu' 'list shows a line a unit'

# --- stats
dd if=/dev/zero of=data bs=1M count=8 status=none
sync data
echo 1 >/proc/sys/vm/drop_caches
in_slice ctlfu.slice sh -c "cat $PWD/data $PWD/data >/dev/null"
counters=$(cachectl stats --json=short ctlfu.slice | jq -c '.[0].counters')
# 97 %: what was busy just then has stayed in the cache, as somebody else's
compare "$(jq .hits <<<"$counters")" -ge 1986 'reading a file again makes hits'
compare "$(jq .misses <<<"$counters")" -ge 1986 'reading it first makes misses'
is "$(jq -r 'keys_unsorted | sort | join(" ")' <<<"$counters")" \
        "$(awk '{ print $1 }' "$(cgroup_of ctlfu.slice)/memory.cachebpf.stat" | LC_ALL=C sort |
        paste -sd' ')" \
        'all counters of the kernel are there'
like "$(cachectl stats ctlfu.slice)" 'hit ratio +[0-9]+\.[0-9]%' 'the hit ratio is shown'
like "$(cachectl stats --no-legend | grep ^ctlfu)" '^ctlfu.slice +lfu +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+%' \
        'stats shows a line a unit'
is "$(exit_status cachectl stats ctnosuch.service)" 4 'stats of an unknown unit'

# --- policies
for policy in fifo mru lfu; do
        like "$(cachectl policies --no-legend)" "(^|"$'\n'")$policy +[A-Z]" \
                "policy $policy is listed and described"
        unlike "$(cachectl policies "$policy")" 'Problem:' "and has no problem"
done
like "$(cachectl policies lfu)" 'nr_scan +(__)?u32 +512' 'tunables are shown with their defaults'
is "$(exit_status cachectl policies nosuch)" 4 'an unknown policy'

# --- other users, and the shell
is "$(exit_status runuser -u nobody -- cachectl status)" 0 'nobody may look'
completion=$(bash -c '. /usr/share/bash-completion/completions/cachectl
        COMP_WORDS=(cachectl status cti) COMP_CWORD=2
        _cachectl
        echo "${COMPREPLY[*]}"')
is "$completion" ctidle.slice 'bash completes names of units'

# --- another daemon
id=$(policy_key ctlfu.slice id)
systemctl restart cachebpfd.service
succeeds 'a new daemon is in effect at once' eventually cachectl status --quiet ctlfu.slice
like "$(cachectl status ctlfu.slice)" 'Effective: lfu \(adopted' 'an adopted policy is shown as such'
is "$(unit_member ctlfu.slice policyId)" "$id" 'and is still the same attachment'

# --- a change of the configuration
make_slice ctlfu.slice $'MemoryMax=64M\nCachePolicy=fifo'
succeeds 'a new policy is shown' eventually sh -c \
        'cachectl list --no-legend ctlfu.slice | grep -q "fifo *fifo *fifo"'
make_slice ctlfu.slice 'MemoryMax=64M'
succeeds 'a policy taken back is shown' eventually sh -c '! cachectl list --no-legend | grep -q ctlfu.slice'
is "$(exit_status cachectl status ctlfu.slice)" 3 'and the unit is no longer in effect'
# --- a unit whose files have changed since systemd read them

sleep 1.1 # of a file's time systemd looks at the seconds
printf '[Slice]\nMemoryMax=64M\nCachePolicy=mru\n' >/run/systemd/system/t20-changed.slice
systemctl daemon-reload
systemctl start t20-changed.slice
unlike "$(cachectl status t20-changed.slice)" 'daemon-reload' 'status has nothing to say of a unit as it is on disk'
sleep 1.1
printf '[Slice]\nMemoryMax=64M\nCachePolicy=lfu\n' >/run/systemd/system/t20-changed.slice
like "$(cachectl status t20-changed.slice)" '"systemctl daemon-reload" makes that known' \
        'of one that has changed it says what to do'
systemctl stop t20-changed.slice
rm /run/systemd/system/t20-changed.slice
systemctl daemon-reload

done_testing
