#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# CachePolicyOptions=: from the line in a file to the constant in the running program; and mistakes, each one
# clear message.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

UNIT=/run/systemd/system/t18.slice.d/50-options.conf

options() { # SETTINGS: the unit's, in place of those before
        edit_dropin t18.slice 50-options $'[Slice]\n'"$1"
}

# nr_scan as the loaded program has it.
running_value() {
        local map
        for map in $(bpftool --json prog show name lfu_evict |
                jq -r 'if type == "array" then .[-1] else . end | .map_ids[]'); do
                bpftool --json map dump id "$map" 2>/dev/null |
                        jq -r '.. | objects | select(has("nr_scan")) | .nr_scan' 2>/dev/null
        done | head -n 1
}

# --- the object tells what it has

tunable=$(cachectl show-policy --json=short lfu | jq -c '.[0].tunables[] | select(.name == "nr_scan")')
is "$(jq -c '[.default, .min, .max, .unit]' <<<"$tunable")" '[512,8,65536,"folios"]' \
        'show-policy knows range and default'
like "$(cachectl show-policy lfu)" 'nr_scan +__u32 +512 +8 +65536 +folios +[A-Za-z]' 'and prints them'
like "$(cachectl show-policy lfu)" 'Abilities: admission readahead threads' 'and what the policy can do besides'
is "$(cachectl policies --json=short | jq -r '.[] | select(.problem != null) | .name')" '' \
        'no policy has a problem'
is "$(cachectl policies --json=short |
        jq -r '.[].tunables[] | select(.min == null or .unit == null or .doc == null) | .name')" \
        '' 'every tunable is documented with range, unit and meaning'

# --- right ones

make_slice t18.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t18.slice
unit_runs t18.slice lfu
is "$(running_value)" 512 'without options the default runs'
attached=$(kernel_stat attached)
make_dropin t18.slice 50-options $'[Slice]\nCachePolicyOptions=nr_scan=64'
eventually updates_are t18.slice 1
is "$(running_value)" 64 'an option is what the program runs with'
is "$(kernel_stat attached)" "$attached" 'it was changed in place'
is "$(cachectl list --json=short t18.slice | jq -c '.[0].options')" '["nr_scan=64"]' 'cachectl knows it'
like "$(cachectl status t18.slice)" 'Options: nr_scan=64' 'and shows it'
path=$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager GetUnit s t18.slice |
        jq -r '.data[0]')
is "$(busctl get-property org.cachebpf1 "$path" org.cachebpf1.Unit PolicyOptions)" 'as 1 "nr_scan=64"' \
        'so does D-Bus'

options $'CachePolicyOptions=nr_scan=64\nMemoryHigh=60M'
daemon_kill
daemon_start
unit_runs t18.slice lfu
is "$(unit_key t18.slice adopted) $(policy_key t18.slice updates)" 'true 1' \
        'what is as it should be is left alone, by a new daemon as well'
daemon_kill
options 'CachePolicyOptions=nr_scan=65'
daemon_start
eventually updates_are t18.slice 2
is "$(running_value)" 65 'what is not is changed'

# --- wrong ones

reason_is() { # REGEX
        [[ $(unit_key t18.slice reason) =~ $1 ]]
}

wrong() { # OPTIONS REASON: the policy that runs goes on, and the reason names file and line
        options "CachePolicyOptions=$1"
        eventually reason_is "$2"
        like "$(unit_key t18.slice reason)" "$2" "$1"
        is "$(policy_key t18.slice policy) $(policy_key t18.slice updates)" 'lfu 2' '... and lfu goes on'
}
wrong nr_scna=64 "^policy 'lfu' has no tunable 'nr_scna' \($UNIT:2\); it has nr_scan"
range='from 8 to 65536 \(folios\)'
wrong nr_scan=7 "^'nr_scan=7' \($UNIT:2\): tunable 'nr_scan' of policy 'lfu' takes a number $range"
wrong nr_scan=99999999999999999999 "^'nr_scan=9+' \($UNIT:2\): tunable 'nr_scan'"
wrong nr_scan=many "^'nr_scan=many' \($UNIT:2\): tunable 'nr_scan'"
wrong nr_scan "^'nr_scan' \($UNIT:2\) is no option, which is NAME=VALUE"
is "$(daemon_log "t18.slice: Cache policy 'lfu' failed: 'nr_scan=7'" | wc -l)" 1 'said once in the journal'
options $'CachePolicyOptions=nr_scan=65\nCacheAdmission=maybe'
eventually reason_has t18.slice maybe
like "$(unit_key t18.slice reason)" "^'maybe' \($UNIT:3\) is neither yes nor no nor a class of threads" \
        'a wrong CacheAdmission='
options $'CachePolicyOptions=nr_scan=65\nCacheScanThreads=a-name-that-no-thread-has'
eventually reason_has t18.slice longer
like "$(unit_key t18.slice reason)" \
        "'a-name-that-no-thread-has' \($UNIT:3\) is longer than the 15 characters" \
        'a pattern that is too long'
options $'CachePolicyOptions=nr_scan=65\nCacheScanThreads=1 2 3 4 5 6 7 8 9'
eventually reason_has t18.slice 'more than'
like "$(unit_key t18.slice reason)" "'9' \($UNIT:3\) is more than the 8 patterns" 'too many of them'
options ''

# A slice that never had a policy stays with the stock one.
make_slice t18-new.slice $'MemoryMax=64M\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=0'
systemctl start t18-new.slice
unit_is t18-new.slice failed
is "$(policy_key t18-new.slice inherited)" 1 'and gets no policy of its own'

# --- rules

mkdir -p /run/cachebpf/policies.d
printf '[Match]\nUnit=t18-rule.slice\n[Policy]\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=128\n' \
        >/run/cachebpf/policies.d/10-t18.conf
make_slice t18-rule.slice 'MemoryMax=64M'
systemctl start t18-rule.slice
systemctl reload cachebpfd.service
unit_runs t18-rule.slice lfu
is "$(unit_json t18-rule.slice | jq -c .options)" '["nr_scan=128"]' 'a rule has options, too'
make_dropin t18-rule.slice 50 $'[Slice]\nCachePolicyOptions=nr_scan=33'
eventually updates_are t18-rule.slice 1
is "$(unit_json t18-rule.slice | jq -c .options)" '["nr_scan=33"]' 'those of the unit replace them'
edit_dropin t18-rule.slice 50 $'[Slice]\nCachePolicy=mru'
unit_runs t18-rule.slice mru
is "$(unit_json t18-rule.slice | jq -c .options)" null 'and a policy in the unit replaces the whole rule'
printf '[Match]\nUnit=t18-rule.slice\n[Policy]\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=1\n' \
        >/run/cachebpf/policies.d/10-t18.conf
rm -r /run/systemd/system/t18-rule.slice.d
systemctl daemon-reload
systemctl reload cachebpfd.service
unit_is t18-rule.slice failed
like "$(unit_key t18-rule.slice reason)" "'nr_scan=1' \(/run/cachebpf/policies.d/10-t18.conf:5\)" \
        'a mistake there is named as well'
rm -r /run/cachebpf/policies.d
systemctl reload cachebpfd.service

# --- what a policy counts itself

own_counters() { # FILTER: of t18count.slice
        cachectl stats --json=short t18count.slice | jq -c ".[0] | $1"
}
is "$(cachectl show-policy --json=short wtinylfu | jq -c '[.[0].counters[] | [.name, .unit]]')" \
        '[["admitted","pages"],["refused","pages"]]' 'show-policy knows what a policy counts'
is "$(cachectl policies --json=short | jq -r '.[].counters[] | select(.doc == null) | .name')" '' \
        'every counter says what it means'
make_slice t18count.slice $'MemoryMax=64M\nCachePolicy=wtinylfu'
systemctl start t18count.slice
unit_runs t18count.slice wtinylfu
is "$(own_counters '[.counters.policy_admitted, .counters.policy_refused]')" '[0,0]' 'it begins at 0'
data=$(mktemp /var/tmp/t18.XXXXXX)
head -c 128M /dev/zero >"$data"
sync "$data"
echo 1 >/proc/sys/vm/drop_caches # or this test would have paid for it
for i in 1 2 3; do in_slice t18count.slice cat "$data" >/dev/null; done
rm "$data"
counted=$(own_counters .counters.policy_refused)
succeeds "it counts, $counted" test "$counted" -gt 0
is "$(own_counters .declared | jq -r '.[1].name')" refused 'and what is counted is said'
path=$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager GetUnit s t18count.slice |
        jq -r '.data[0]')
is "$(busctl --json=short call org.cachebpf1 "$path" org.cachebpf1.Unit GetStats |
        jq '.data[0].policy_refused')" "$counted" 'D-Bus has the same'
is "$(cachectl stats --format=openmetrics t18count.slice |
        awk '/^cachebpf_policy_wtinylfu_refused_pages_total/ { print $NF }')" "$counted" 'so have metrics'
daemon_kill
daemon_start
unit_runs t18count.slice wtinylfu
is "$(own_counters .counters.policy_refused)" "$counted" 'a new daemon finds what was counted'
make_dropin t18count.slice 50-options $'[Slice]\nCachePolicyOptions=margin=2'
eventually updates_are t18count.slice 1
is "$(own_counters .counters.policy_refused)" 0 'who takes its place begins at 0'

succeeds 'the daemon is up' systemctl is-active cachebpfd.service
books_agree 'the kernel has lost nothing'
done_testing
