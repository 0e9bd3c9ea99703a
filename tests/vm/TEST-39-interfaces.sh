#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# What the daemon offers to others, and to whom: objects and signals on D-Bus, what the policies of the bus and
# of polkit let nobody do, all methods of varlink, rules that hide others, completion, versions.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
restarts=$(systemctl show -P NRestarts cachebpfd.service) # by tests before this one

BUS=org.cachebpf1
MANAGER=(org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager)
DIRECTORIES=({/usr/lib,/run,/etc}/cachebpf/policies.d)
work=$(mktemp -d)

clean_up() {
        rm -rf "$work" "${DIRECTORIES[@]/%//39-t39.conf}" "${DIRECTORIES[@]/%//40-t39.conf}"
        permit_nothing
        remove_test_units
        systemctl reload cachebpfd.service
}
trap clean_up EXIT

# --- D-Bus: an object for each unit, and signals when one comes, changes, goes

make_slice t39-first.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t39-first.slice
unit_runs t39-first.slice lfu

busctl monitor --json=short --match="type='signal',sender='$BUS'" >"$work/signals" \
        2>"$work/monitor" &
monitor=$!
hears() { # the monitor; a reload is always signalled
        systemctl reload cachebpfd.service
        [[ -s $work/signals ]]
}
wait_until 60 hears || diag "no sign of the monitor: $(<"$work/monitor")"

signal() { # MEMBER PATH JQ-CONDITION: has there been one?
        jq -e --arg member "$1" --arg path "$2" "select(.member == \$member and .path == \$path) |
                .payload.data | select($3)" "$work/signals"
}

path=/org/cachebpf1/unit/t39_2dsecond_2eslice
make_slice t39-second.slice $'MemoryMax=64M\nCachePolicy=mru'
systemctl start t39-second.slice
unit_runs t39-second.slice mru
like "$(busctl tree --list $BUS)" "(^|"$'\n'")$path("$'\n'"|$)" 'a unit is an object'
succeeds 'InterfacesAdded tells of it' eventually signal InterfacesAdded /org/cachebpf1 \
        ".[0] == \"$path\" and .[1].\"$BUS.Unit\".Unit.data == \"t39-second.slice\""
make_slice t39-second.slice $'MemoryMax=64M\nCachePolicy=fifo'
succeeds 'PropertiesChanged tells what runs in it' eventually signal PropertiesChanged "$path" \
        '.[1].VerifiedPolicy.data == "fifo" and .[1].State.data == "attached"'
succeeds 'and of the manager, how many there are' eventually signal PropertiesChanged /org/cachebpf1 \
        '.[1].UnitsAttached.data >= 2'
make_slice t39-second.slice 'MemoryMax=64M'
succeeds 'InterfacesRemoved tells its end' eventually signal InterfacesRemoved /org/cachebpf1 \
        ".[0] == \"$path\""
fails 'and its object is gone' busctl get-property $BUS "$path" $BUS.Unit State
systemctl reload cachebpfd.service
succeeds 'after a reload there may be other policies' eventually signal PropertiesChanged /org/cachebpf1 \
        '.[2] | index("Policies")'
kill $monitor
wait $monitor 2>/dev/null

# --- the policy of the bus: what is not named is denied

refused='Access denied|not allowed|[Rr]ejected'
like "$(as_nobody busctl call "${MANAGER[@]}" NoSuchMethod 2>&1)" "$refused" \
        'a method that the policy of the bus does not name is for root'
like "$(busctl call "${MANAGER[@]}" NoSuchMethod 2>&1)" 'Unknown method' 'who hears that there is none'
like "$(as_nobody busctl set-property $BUS /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogTarget s \
        null 2>&1)" "$refused" 'nobody sets a property'
like "$(as_nobody busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus RequestName su \
        $BUS 4 2>&1)" "$refused" 'nobody takes the name'

# --- polkit: each action asks for an administrator

actions=$(pkaction | grep "^$BUS\.")
is "$(paste -sd' ' <<<"${actions//$BUS./}")" 'classify-threads hold-units manage-units reload' \
        'polkit knows the actions'
for action in $actions; do
        is "$(pkaction --verbose --action-id "$action" | sed -n 's/^ *implicit any: *//p')" auth_admin \
                "$action is for administrators"
done
reload() { # as nobody
        as_nobody busctl call "${MANAGER[@]}" Reload
}
like "$(reload 2>&1)" 'Access denied|Not authorized|authentication required' 'without a word of polkit'
permit_nobody reload
is "$(reload)" 'as 0' 'with it nobody may'
fails 'but only what it permits' as_nobody cachectl set t39-first.slice mru
permit_nothing

# --- varlink: it tells who it is, and has each method that it describes

like "$(varlinkctl info "$VARLINK")" 'Product: cachebpfd' 'varlink: who it is'
like "$(as_nobody varlinkctl info /run/varlink/registry/org.cachebpf.Manager)" 'Product: cachebpfd' \
        'varlink: it is registered, for everybody'
mapfile -t methods < <(varlinkctl introspect "$VARLINK" org.cachebpf.Manager | sed -n 's/^method \(\w*\).*/\1/p')
compare "${#methods[@]}" -ge 10 'varlink: it describes its methods'
for method in "${methods[@]}"; do
        unlike "$(as_nobody varlinkctl call "$VARLINK" "org.cachebpf.Manager.$method" '{}' 2>&1)" \
                'MethodNot(Found|Implemented)' "varlink: $method is there"
done
is "$(varlinkctl introspect "$VARLINK" org.cachebpf.Manager |
        awk '/^(method|type|error)/ && before !~ /^#/ { print $2 } { before = $0 }')" '' \
        'varlink: each has a comment'
like "$(varlinkctl call "$VARLINK" org.cachebpf.Manager.NoSuchMethod '{}' 2>&1)" 'MethodNotFound' \
        'varlink: one that does not exist'
like "$(varlinkctl call "$VARLINK" org.cachebpf.Manager.ListUnits '{"unit":5}' 2>&1)" 'InvalidParameter' \
        'varlink: a parameter of the wrong type'
like "$(varlinkctl call "$VARLINK" org.cachebpf.Manager.ListUnits '{"nosuch":1}' 2>&1)" 'InvalidParameter' \
        'varlink: one that does not exist'

# --- policies.d: /etc before /run before /usr, files that hide others, lines that take back others

rule() { # FILE POLICY-LINE…: for the slice
        mkdir -p "${1%/*}"
        printf '%s\n' '[Match]' 'Unit=t39-rule.slice' '[Policy]' "${@:2}" >"$1"
}
rules_give() { # POLICY DESCRIPTION: once they are read again
        systemctl reload cachebpfd.service
        is "$(policy_key t39-rule.slice policy)" "$1" "$2"
}
make_slice t39-rule.slice 'MemoryMax=64M'
systemctl start t39-rule.slice
rule "${DIRECTORIES[0]}/39-t39.conf" CachePolicy=fifo
rules_give fifo 'a rule in /usr'
rule "${DIRECTORIES[1]}/39-t39.conf" CachePolicy=mru
rules_give mru 'one of the same name in /run hides it'
rule "${DIRECTORIES[2]}/39-t39.conf" CachePolicy=lfu CachePolicyOptions=nr_scan=64 CachePolicyOptions= \
        CachePolicyOptions=nr_scan=128
rules_give lfu 'and that is hidden by one in /etc'
is "$(unit_json t39-rule.slice | jq -c .options)" '["nr_scan=128"]' 'an empty value takes back what was before it'
rule "${DIRECTORIES[1]}/40-t39.conf" CachePolicy=
rules_give none 'an empty policy in a later rule takes back the policy'
ln -s /dev/null "${DIRECTORIES[2]}/40-t39.conf"
rules_give lfu 'a link to /dev/null hides that rule'
: >"${DIRECTORIES[2]}/39-t39.conf"
rules_give none 'an empty file hides a rule in all other directories'

# --- cachectl: versions, formats, completion

version=$(/usr/lib/cachebpf/cachebpfd --version)
is "$(cachectl version | tr -s ' ')" "cachectl ${version#* }"$'\n'"$version" 'cachectl tells both versions'
is "$(busctl --json=short get-property "${MANAGER[@]}" Version | jq -r .data)" "${version#* }" 'so does D-Bus'
like "$(varlinkctl info "$VARLINK")" "${version#* }" 'and varlink'
is "$(cachectl list --json=pretty t39-first.slice | jq -c .)" "$(cachectl list --json=short t39-first.slice)" \
        'JSON for people is the one for programs'
is "$(cachectl list --no-legend t39-first.slice | awk '{ print $1, $2, $5 }')" \
        "$(cachectl list --json=short t39-first.slice | jq -r '.[0] | "\(.unit) \(.state) \(.verified)"')" \
        'and the table says the same'

completions() { # WORD…: what bash offers for the last one
        bash -c '. /usr/share/bash-completion/completions/cachectl
                COMP_WORDS=(cachectl "$@") COMP_CWORD=$#
                _cachectl 2>/dev/null
                printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd" "' - "$@"
}
is "$(completions re)" 'record reload reset' 'bash completes verbs'
is "$(completions --js)" '--json=' 'and options'
is "$(completions set t39-f)" t39-first.slice 'and units'
is "$(completions show-policy l)" "$(cachectl policies --json=short |
        jq -r '[.[].name | select(startswith("l"))] | sort | join(" ")')" 'and policies'
succeeds 'zsh has completions, too' grep -q '^#compdef cachectl' /usr/share/zsh/vendor-completions/_cachectl
succeeds 'and fish' grep -q '^complete -c cachectl' /usr/share/fish/vendor_completions.d/cachectl.fish

succeeds 'the daemon is up' systemctl is-active cachebpfd.service
is "$(systemctl show -P NRestarts cachebpfd.service)" "$restarts" 'and was never down'
books_agree 'the kernel has lost nothing'
done_testing
