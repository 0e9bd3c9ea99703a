#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 400
# CachePolicy= from its line in a file to the kernel, and back when it changes or goes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

succeeds 'the daemon is up' systemctl is-active cachebpfd.service
is "$(varlink GetStatus | jq -r '"\(.kernelSupport) \(.kernelAbi)"')" \
        'true 1' 'it finds the kernel interface'

# --- a slice

make_slice t10.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t10.slice
unit_runs t10.slice lfu
is "$(unit_key t10.slice source)" /run/systemd/system/t10.slice:3 'the source is the line of the file'
is "$(unit_key t10.slice policyId)" "$(policy_key t10.slice id)" 'the id is the one of the kernel'
is "$(unit_key t10.slice cgroupId)" "$(stat -c %i "$(cgroup_of t10.slice)")" \
        'so is the id of the control group'
succeeds 'the link is pinned' test -e "$(pin_of t10.slice)/link"

# --- counters

use_cache t10.slice
counters=$(varlink GetStats '{"unit":"t10.slice"}')
is "$(jq -r .policy <<<"$counters")" lfu 'the statistics name the policy'
compare "$(jq -r .counters.added <<<"$counters")" -gt 0 'they count the pages that were read'

# --- changes are updates in place

before=$(counters)
make_dropin t10.slice 50-policy $'[Slice]\nX-CachePolicy=mru'
unit_runs t10.slice mru
is "$(policy_key t10.slice updates)" 1 'it was updated once'
is "$(counters)" "$before" 'nothing was attached or detached'
is "$(unit_key t10.slice source)" /run/systemd/system/t10.slice.d/50-policy.conf:2 \
        'the source is the drop-in'

make_dropin t10.slice 60-policy $'[Slice]\nCachePolicy='
eventually policy_is t10.slice none
is "$(policy_key t10.slice policy)" none 'an empty assignment takes the policy away'
unit_is t10.slice unconfigured
compare "$(find "$PIN_ROOT" -mindepth 1 -not -name threads 2>/dev/null | wc -l)" -eq 0 'with all its pins'

rm /run/systemd/system/t10.slice.d/60-policy.conf
systemctl daemon-reload
unit_runs t10.slice mru

# --- stop and start

systemctl stop t10.slice
unit_ends t10.slice
compare "$(find "$PIN_ROOT" -mindepth 1 -not -name threads 2>/dev/null | wc -l)" -eq 0 \
        'a stopped slice leaves no pins'
systemctl start t10.slice
unit_runs t10.slice mru

# --- services and scopes, inside and outside of a slice with a policy

make_unit t10.service \
        $'[Service]\nExecStart=/bin/sleep infinity\nSlice=t10.slice\nMemoryMax=32M\nCachePolicy=fifo'
systemctl start t10.service
unit_runs t10.service fifo
is "$(policy_key t10.service inherited)" 0 'the service has its own policy'
make_unit t10-inherits.service $'[Service]\nExecStart=/bin/sleep infinity\nSlice=t10.slice'
systemctl start t10-inherits.service
is "$(policy_key t10-inherits.service policy) $(policy_key t10-inherits.service inherited)" 'mru 1' \
        'a service without inherits that of its slice'
is "$(unit_json t10-inherits.service | jq -r '"\(.state) \(.configured) \(.effective) \(.verified)"')" \
        'unconfigured null null mru' 'and says so when asked, without being configured'

mkdir -p /run/systemd/system/t10.scope.d
printf '[Scope]\nCachePolicy=lfu\n' >/run/systemd/system/t10.scope.d/50-policy.conf
systemctl daemon-reload
systemd-run --quiet --scope --unit=t10.scope sleep infinity &
unit_runs t10.scope lfu
systemctl stop t10.scope
rm -r /run/systemd/system/t10.scope.d
systemctl stop t10.service t10-inherits.service

# --- policies.d

mkdir -p /run/cachebpf/policies.d
printf '[Match]\nUnit=t10-r*.slice\n[Policy]\nCachePolicy=fifo\n' >/run/cachebpf/policies.d/10-test.conf
make_slice t10r.slice 'MemoryMax=64M'
make_slice t10-rule.slice 'MemoryMax=64M'
systemctl start t10-rule.slice t10r.slice
systemctl reload cachebpfd.service
unit_runs t10-rule.slice fifo
is "$(unit_key t10-rule.slice source)" /run/cachebpf/policies.d/10-test.conf:4 'the source is the rule'
is "$(policy_key t10r.slice policy)" none 'a slice that the rule does not match has none'

make_dropin t10-rule.slice 50-policy $'[Slice]\nCachePolicy=lfu'
unit_runs t10-rule.slice lfu
rm -r /run/systemd/system/t10-rule.slice.d
systemctl daemon-reload
unit_runs t10-rule.slice fifo

# The path of t10-rule.slice is /t10.slice/t10-rule.slice.
printf '[Match]\nCgroup=/t10.slice/*\n[Policy]\nCachePolicy=lfu\n' >/run/cachebpf/policies.d/20-test.conf
systemctl reload cachebpfd.service
unit_runs t10-rule.slice lfu
is "$(unit_key t10-rule.slice source)" /run/cachebpf/policies.d/20-test.conf:4 \
        'a rule with a later name wins'
rm -r /run/cachebpf/policies.d
systemctl reload cachebpfd.service
eventually state_is t10-rule.slice unconfigured
is "$(policy_key t10-rule.slice inherited)" 1 'without rules only the inherited policy is left'

# --- D-Bus

path=$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager GetUnit s t10.slice |
        jq -r '.data[0]')
is "$path" /org/cachebpf1/unit/t10_2eslice 'the slice has an object'
for property in ConfiguredPolicy EffectivePolicy VerifiedPolicy; do
        is "$(busctl get-property org.cachebpf1 "$path" org.cachebpf1.Unit "$property")" 's "mru"' \
                "$property"
done
is "$(busctl get-property org.cachebpf1 "$path" org.cachebpf1.Unit State)" 's "attached"' 'State'
compare "$(busctl --json=short call org.cachebpf1 "$path" org.cachebpf1.Unit GetStats |
        jq '.data[0] | length')" -gt 5 'GetStats'
is "$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.freedesktop.DBus.ObjectManager \
        GetManagedObjects |
        jq -r '.data[0] | keys[]')" "$path" 'the object manager lists it'
succeeds 'anybody may look' runuser -u nobody -- busctl get-property org.cachebpf1 "$path" \
        org.cachebpf1.Unit State
fails 'but not set the log level' runuser -u nobody -- busctl set-property org.cachebpf1 \
        /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogLevel s debug
succeeds 'root may' systemctl service-log-level cachebpfd.service debug
systemctl service-log-level cachebpfd.service info

for call in '/org/cachebpf1 org.cachebpf1.Manager ListUnits' \
        '/org/cachebpf1 org.cachebpf1.Manager GetUnit s t10.slice' \
        '/org/cachebpf1 org.cachebpf1.Manager GetKernelStat' "$path org.cachebpf1.Unit GetStats" \
        '/org/cachebpf1 org.freedesktop.DBus.ObjectManager GetManagedObjects'; do
        # shellcheck disable=SC2086
        succeeds "nobody may call ${call#* }" runuser -u nobody -- busctl call org.cachebpf1 $call
done

signals=$(mktemp)
busctl monitor --json=short --match="type='signal',path='$path',member='PropertiesChanged'" \
        >"$signals" 2>/dev/null &
monitor=$!
heard() { # of a change; one that comes before the monitor is ready is not seen
        local policy
        for policy in lru fifo; do
                cachectl set --quiet t10.slice "$policy" # without a reload of systemd
        done
        grep -q '"ConfiguredPolicy"' "$signals"
}
eventually heard
kill "$monitor"
wait "$monitor" 2>/dev/null
unit_runs t10.slice fifo
like "$(cat "$signals")" '"ConfiguredPolicy"' 'PropertiesChanged tells of a change'
rm -f "$signals"
cachectl reset --quiet t10.slice

# --- the interface describes itself, and the daemon's answers keep to it (varlinkctl checks them)

succeeds 'the varlink interface parses' sh -c \
        "varlinkctl introspect $VARLINK org.cachebpf.Manager | varlinkctl validate-idl /dev/stdin"
succeeds 'ListUnits' varlink ListUnits
succeeds 'ListPolicies' varlink ListPolicies
fails 'NoSuchUnit' varlinkctl call "$VARLINK" org.cachebpf.Manager.ListUnits '{"unit":"no.service"}'
fails 'NoSuchPolicy' varlinkctl call "$VARLINK" org.cachebpf.Manager.ListPolicies '{"name":"no"}'
succeeds 'as nobody' runuser -u nobody -- varlinkctl call "$VARLINK" org.cachebpf.Manager.GetStatus '{}'

is "$(daemon_log -i -e warning -e cannot -e failed)" '' 'the daemon had nothing to complain about'
systemctl stop t10-rule.slice t10r.slice t10.slice
unit_ends t10.slice
# --- the system's default: what has no policy of its own has that of -.slice

mkdir -p /run/cachebpf/policies.d
printf '[Match]\nUnit=-.slice\n[Policy]\nCachePolicy=fifo\n' >/run/cachebpf/policies.d/50-root.conf
systemctl reload cachebpfd.service
unit_runs -.slice fifo
is "$(policy_key system.slice policy) $(policy_key system.slice inherited)" 'fifo 1' 'the services have it as well'
like "$(cachectl status systemd-journald.service)" 'Verified: fifo' 'and status says so'
make_slice t10-own.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t10-own.slice
unit_runs t10-own.slice lfu
rm /run/cachebpf/policies.d/50-root.conf
systemctl reload cachebpfd.service
is "$(policy_key system.slice policy)" none 'without the rule all have the stock policy again'
unit_runs t10-own.slice lfu
systemctl stop t10-own.slice

done_testing
