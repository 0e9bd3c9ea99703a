#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 600
# Settings at run time: stronger than files, kept by the daemon and over its death, taken back; who may, and
# what is refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

RUN=/run/cachebpf/units.d
ETC=/etc/cachebpf/units.d
MANAGER="org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager"
signals=$(mktemp)

clean_up() {
        mountpoint -q $RUN && umount $RUN
        rm -f "$signals" $RUN/t19* $ETC/t19* /run/cachebpf/policies.d/19-t19.conf
        permit_nothing
        remove_test_units
        cachectl reload --quiet 2>/dev/null
}
trap clean_up EXIT

gives() { # STATUS REGEX DESCRIPTION COMMAND…: exit status and output, errors and all
        local status=$1 regex=$2 what=$3 output got
        shift 3
        output=$("$@" 2>&1) && got=0 || got=$?
        is "$got" "$status" "$what: exit status"
        like "$output" "$regex" "$what: what it says"
}

bus() { # METHOD ARGUMENTS…
        # shellcheck disable=SC2086
        busctl call $MANAGER "$@"
}

restart_daemon() {
        systemctl reset-failed cachebpfd.service
        systemctl restart cachebpfd.service
}

counting() { # UNIT: its lines that count, KEY=VALUE (LAYER)
        cachectl show --json=short "$1" |
                jq -r '[.[0].settings[] | select(.effective) | "\(.key)=\(.value) (\(.layer))"] | join(", ")'
}

files() { # all that is set, and nothing that was left over
        find $RUN $ETC -mindepth 1 -printf '%f\n' 2>/dev/null | sort | paste -sd' '
}

# --- stronger than the unit's files, which are stronger than rules

mkdir -p /run/cachebpf/policies.d
printf '[Match]\nUnit=t19.slice\n[Policy]\nCachePolicy=fifo\n' >/run/cachebpf/policies.d/19-t19.conf
make_slice t19.slice $'MemoryMax=64M\nCachePolicy=lfu'
make_slice t19-plain.slice 'MemoryMax=64M'
systemctl start t19.slice t19-plain.slice
succeeds 'a configuration without mistakes is read again' cachectl reload
unit_runs t19.slice lfu
detached=$(kernel_stat detached)

gives 0 "^Changed $RUN/t19.slice.conf\.$" 'set a policy' cachectl set t19.slice mru
is "$(policy_key t19.slice policy)" mru 'it was waited for'
unit_runs t19.slice mru
is "$(unit_key t19.slice source)" "$RUN/t19.slice.conf:3" 'the source is the file of what was set'
is "$(kernel_stat detached)" "$detached" 'it was replaced in place'
is "$(cat $RUN/t19.slice.conf | tail -n +2)" $'[Slice]\nCachePolicy=mru' \
        'which is a drop-in that people can read'
is "$(stat -c '%U %a' $RUN/t19.slice.conf)" 'root 644' 'and only root can write'
shown=$(cachectl show t19.slice --no-legend)
like "$(sed -n 1p <<<"$shown")" "^t19.slice +CachePolicy +mru +yes +runtime +$RUN/t19.slice.conf:3" \
        'show: what counts'
like "$(sed -n 2p <<<"$shown")" '^t19.slice +CachePolicy +lfu +no +unit +/run/systemd/system/t19.slice:3' \
        'show: what lost'
like "$(sed -n 3p <<<"$shown")" \
        '^t19.slice +CachePolicy +fifo +no +rule +/run/cachebpf/policies.d/19-t19.conf:4' 'and to what'

cachectl set --quiet t19.slice lfu CachePolicyOptions=nr_scan=64
eventually updates_are t19.slice 2
unit_runs t19.slice lfu
is "$(counting t19.slice)" 'CachePolicy=lfu (runtime), CachePolicyOptions=nr_scan=64 (runtime)' \
        'options go with it'
cachectl set --quiet t19.slice CacheAdmission=yes
is "$(counting t19.slice)" \
        'CachePolicy=lfu (runtime), CachePolicyOptions=nr_scan=64 (runtime), CacheAdmission=yes (runtime)' \
        'more settings add to those'
eventually updates_are t19.slice 3
succeeds 'and take effect' updates_are t19.slice 3
cachectl set --quiet t19.slice CachePolicy=
unit_runs t19.slice noop
is "$(counting t19.slice)" 'CacheAdmission=yes (runtime)' \
        'no policy is a setting, which takes the options away and nothing else'
cachectl set --quiet t19.slice CacheAdmission=
unit_is t19.slice unconfigured
is "$(policy_key t19.slice policy)" none 'none at all is one, too'

cachectl set --quiet t19-plain.slice mru
unit_runs t19-plain.slice mru
gives 0 "^Removed $RUN/t19-plain.slice.conf" 'a unit without policy gets one and loses it again' cachectl \
        reset t19-plain.slice
eventually state_is t19-plain.slice unconfigured
is "$(policy_key t19-plain.slice policy)" none 'in the kernel, too'

gives 0 "^Removed $RUN/t19.slice.conf" 'reset' cachectl reset t19.slice
unit_runs t19.slice lfu
is "$(unit_key t19.slice source)" /run/systemd/system/t19.slice:3 'the unit file counts again'
gives 0 '^Nothing is set for t19.slice' 'once more' cachectl reset t19.slice
is "$(files)" '' 'no file is left'

# --- the daemon dies and comes back

cachectl set --quiet t19.slice mru
unit_runs t19.slice mru
id=$(policy_key t19.slice id)
daemon_kill
touch "$RUN/.#update-Xy3zAB" # as if in the middle of writing
daemon_start
unit_runs t19.slice mru
is "$(policy_key t19.slice id)" "$id" 'what was set survives kill -9, and so does the policy'
is "$(unit_key t19.slice adopted)" true 'which is adopted'
is "$(files)" t19.slice.conf 'what the old one left over is gone'
restart_daemon
unit_runs t19.slice mru
is "$(policy_key t19.slice id)" "$id" 'and a restart'
systemctl daemon-reload
systemctl reload cachebpfd.service
unit_runs t19.slice mru
systemctl restart t19.slice
unit_runs t19.slice mru
for i in 0 2 5; do # at any moment
        pid=$(daemon_pid)
        cachectl set --quiet t19.slice lfu &
        sleep "0.0$i"
        [[ $pid -gt 1 ]] && kill -KILL "$pid"
        wait $! 2>/dev/null
        eventually cachectl status
        systemctl reset-failed cachebpfd.service # it does not start more often than that
        cachectl set --quiet t19.slice mru
done
unit_runs t19.slice mru
is "$(files)" t19.slice.conf 'killed at any moment, it leaves nothing behind'

# --- to stay

gives 0 "^Changed $ETC/t19.slice.conf" 'set --persistent' cachectl set --persistent t19.slice lfu
unit_runs t19.slice lfu
is "$(find $RUN -name 't19*')" '' 'takes away what would hide it'
cachectl set --quiet t19.slice mru
unit_runs t19.slice mru
is "$(counting t19.slice)" 'CachePolicy=mru (runtime)' 'until the next boot goes first'
rm $RUN/t19.slice.conf # as the next boot does
restart_daemon
unit_runs t19.slice lfu
gives 0 'reset --persistent t19.slice' 'reset says that there is more' cachectl reset t19.slice
unit_runs t19.slice lfu
gives 0 "^Removed $ETC/t19.slice.conf" 'reset --persistent' cachectl reset --persistent t19.slice
is "$(unit_key t19.slice source)" /run/systemd/system/t19.slice:3 'takes that back'
is "$(files)" '' 'no file is left'
cachectl set --quiet t19-later.slice mru
make_slice t19-later.slice 'MemoryMax=64M'
systemctl start t19-later.slice
unit_runs t19-later.slice mru
cachectl reset --quiet t19-later.slice
unit_is t19-later.slice unconfigured

# --- a unit that stopped, and that systemd has forgotten

make_unit t19-stopped.service $'[Service]\nExecStart=true\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=64'
is "$(systemctl show -P ActiveState t19-stopped.service)" inactive 'a service that does not run'
is "$(counting t19-stopped.service)" 'CachePolicy=lfu (unit), CachePolicyOptions=nr_scan=64 (unit)' \
        'has the settings of its files'
gives 2 "has no tunable 'nosuch'" 'what is set is checked against these' cachectl set t19-stopped.service \
        CachePolicyOptions=nosuch=1
gives 0 'is not active: it gets its policy when it is started' 'that it does not run is told' \
        cachectl set t19-stopped mru
cachectl reset --quiet t19-stopped
gives 0 '^Nothing is set for t19-stopped.service' 'reset of a unit that only systemd knows' \
        cachectl reset t19-stopped

# --- only asking

before=$(counters)
gives 0 "^Would change $RUN/t19.slice.conf" 'set --dry-run' cachectl set --dry-run t19.slice mru
like "$(cachectl set -n t19.slice mru)" 't19.slice +CachePolicy +mru +yes +runtime' 'shows what would be'
is "$(files)" '' 'writes nothing'
is "$(counters)" "$before" 'and changes nothing'
unit_runs t19.slice lfu
gives 2 "unknown policy 'nosuch'" 'and finds mistakes' cachectl set -n t19.slice nosuch

# --- mistakes

wrong() { # STATUS REGEX SETTING…
        local status=$1 regex=$2
        shift 2
        gives "$status" "^Nothing was changed: $regex" "set t19.slice $*" cachectl set t19.slice "$@"
}
wrong 2 "unknown policy 'nosuch': no nosuch.bpf.o in /etc/cachebpf/policies" nosuch
wrong 2 "'../lfu' is not a policy name" ../lfu
wrong 2 "'MemoryMax=' is no setting of a unit; there are CachePolicy=" MemoryMax=1G
wrong 2 "policy 'lfu' has no tunable 'nr_scna'; it has nr_scan" CachePolicyOptions=nr_scna=1
wrong 2 "'nr_scan=7': tunable 'nr_scan' of policy 'lfu' takes a number from 8 to 65536" lfu \
        CachePolicyOptions=nr_scan=7
wrong 2 "'maybe' is neither yes nor no nor a class" CacheAdmission=maybe
wrong 2 "the pattern 'a-name-that-no-thread-has' is longer than" CacheScanThreads=a-name-that-no-thread-has
wrong 2 'a value has characters that a configuration file cannot hold' $'CachePolicy=lfu\n[Unit]\nX=y'
wrong 2 'a value has characters that a configuration file cannot hold' CacheScanThreads=a\\
gives 2 "unit 't19-plain.slice' has no cache policy that this could be for" 'options for no policy' \
        cachectl set t19-plain.slice CachePolicyOptions=nr_scan=64
gives 4 'There is no unit "t19-nosuch.service"' 'a unit that does not exist' cachectl set \
        t19-nosuch.service mru
gives 2 "'t19.mount.slice/x.slice' is not the name of a slice" 'a unit with a slash' cachectl set \
        t19.mount.slice/x.slice mru
gives 2 "'../../../tmp/t19.slice' is not the name" 'a path for a unit' cachectl set ../../../tmp/t19.slice \
        mru
gives 2 'systemd refuses unit .t19@.service.' 'a template' cachectl set t19@.service mru
gives 4 'There is no unit "t19-nosuch.service"' 'reset of a unit that is not known' cachectl reset t19-nosuch.service
gives 4 'Unit "t19-nosuch.service" is not known' 'show of one' cachectl show t19-nosuch.service
gives 2 'needs UNIT SETTING' 'nothing to set' cachectl set t19.slice
unit_runs t19.slice lfu
is "$(files)" '' 'nothing of all that was written'

# --- a full disk

mount -t tmpfs -o size=4k,mode=755 none $RUN
# into the daemon's name space as well, whatever it is
restart_daemon
eventually cachectl status
cachectl set --quiet t19.slice mru
unit_runs t19.slice mru
rm $RUN/t19.slice.conf
dd if=/dev/zero of=$RUN/fill bs=4k count=1 status=none
gives 1 "^Nothing was changed: cannot write '$RUN/t19.slice.conf': No space left on device" 'a full disk' \
        cachectl set t19.slice lfu
is "$(ls -A $RUN)" fill 'leaves nothing half-written'
unit_runs t19.slice mru
rm $RUN/fill
mount -o remount,ro $RUN
gives 1 "^Nothing was changed: cannot write '$RUN/t19.slice.conf': Read-only file system" \
        'a file system that is read-only' \
        cachectl set t19.slice lfu
umount $RUN
restart_daemon
unit_runs t19.slice lfu

# --- who may

like "$(as_nobody cachectl set t19.slice mru 2>&1)" 'does not permit' 'nobody may not set'
like "$(as_nobody cachectl reset t19.slice 2>&1)" 'does not permit' 'nor reset'
like "$(as_nobody cachectl reload 2>&1)" 'does not permit' 'nor reload'
like "$(as_nobody busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager SetUnitSettings sasbb \
        t19.slice 1 \
        CachePolicy=mru false false 2>&1)" 'Access denied|Not authorized|authentication required' \
        'nor by D-Bus'
like "$(as_nobody busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager Reload 2>&1)" \
        'Access denied|Not authorized|authentication required' 'nor that'
unit_runs t19.slice lfu
is "$(files)" '' 'nothing has changed'
succeeds 'everybody may look' as_nobody cachectl show t19.slice
succeeds 'and ask what would be' as_nobody cachectl set --dry-run t19.slice mru
permit_nobody manage-units
succeeds 'whom polkit permits it may' as_nobody cachectl set t19.slice mru
unit_runs t19.slice mru
succeeds 'and take it back' as_nobody cachectl reset t19.slice
unit_runs t19.slice lfu
like "$(as_nobody cachectl reload 2>&1)" 'does not permit' 'which is no permission for more'
permit_nothing

# --- D-Bus and varlink

is "$(bus SetUnitSettings sasbb t19.slice 2 CachePolicy=mru CacheAdmission=yes false true)" \
        "as 1 \"$RUN/t19.slice.conf\"" 'D-Bus: dry run'
unit_runs t19.slice lfu
is "$(bus SetUnitSettings sasbb t19.slice 1 CachePolicy=mru false false)" "as 1 \"$RUN/t19.slice.conf\"" \
        'D-Bus: set'
unit_runs t19.slice mru
is "$(bus GetUnitSettings s t19.slice)" \
        "a(ssssb) 3 \"CachePolicy\" \"fifo\" \"/run/cachebpf/policies.d/19-t19.conf:4\" \
\"rule\" false \"CachePolicy\" \"lfu\" \"/run/systemd/system/t19.slice:3\" \"unit\" false \
\"CachePolicy\" \"mru\" \"$RUN/t19.slice.conf:3\" \"runtime\" true" 'D-Bus: get'
like "$(bus SetUnitSettings sasbb t19.slice 1 CachePolicy=nosuch false false 2>&1)" \
        "unknown policy 'nosuch'" 'D-Bus: mistake'
like "$(bus SetUnitSettings sasbb t19.slice 0 false false 2>&1)" 'no settings' 'D-Bus: nothing'
like "$(bus GetUnitSettings s t19-nosuch.service 2>&1)" "no unit 't19-nosuch.service'" 'D-Bus: no unit'
busctl monitor --match="type='signal',sender='org.cachebpf1',member='PropertiesChanged'" >"$signals" \
        2>/dev/null &
monitor=$!
changed() {
        [[ $(bus ResetUnit sbb t19.slice false false) == as* ]] # until the monitor sees one
        cachectl set --quiet t19.slice mru
        grep -q t19_2eslice "$signals"
}
eventually changed
succeeds 'D-Bus: changes are signalled' grep -q t19_2eslice "$signals"
kill $monitor
bus ResetUnit sbb t19.slice false false >/dev/null
unit_runs t19.slice lfu
is "$(varlink SetUnitSettings '{"unit":"t19.slice","settings":["CachePolicy=mru"]}' | jq -c .files)" \
        "[\"$RUN/t19.slice.conf\"]" 'varlink: set'
unit_runs t19.slice mru
is "$(varlink ResetUnit '{"unit":"t19.slice"}' | jq -c .files)" "[\"$RUN/t19.slice.conf\"]" 'varlink: reset'
fails 'varlink: a value that is no list' varlinkctl call "$VARLINK" org.cachebpf.Manager.SetUnitSettings \
        '{"unit":"t19.slice","settings":"x"}'
systemctl stop dbus.socket dbus.service
like "$(as_nobody cachectl set t19.slice mru 2>&1)" 'does not permit' 'without a bus nobody may'
succeeds 'but root' cachectl set t19.slice mru
start_bus
unit_runs t19.slice mru
cachectl reset --quiet t19.slice
unit_runs t19.slice lfu

# --- reload and verify say what is wrong

gives 0 'no problems' 'reload' cachectl reload
gives 0 'nothing is wrong' 'verify' cachectl verify t19.slice /run/systemd/system/t19.slice \
        /run/cachebpf/policies.d/19-t19.conf
printf '[Match]\nUnit=t19.slice\nUnti=x\n[Policy]\nCachePolicy=fifo\n' >/run/cachebpf/policies.d/19-t19.conf
printf '[Slice]\nCachePolicy=nosuch\n' >$RUN/t19-plain.slice.conf
gives 3 '19-t19.conf:3: Unknown key Unti= in section \[Match\]' 'reload with a mistake' cachectl reload
unit_is t19-plain.slice failed
like "$(cachectl reload 2>&1)" "t19-plain.slice: unknown policy 'nosuch' \($RUN/t19-plain.slice.conf:2\)" \
        'also if a unit failed before'
unit_runs t19.slice lfu
gives 3 '19-t19.conf:3: Unknown key Unti=' 'verify of everything' cachectl verify
like "$(cachectl verify 2>&1)" "unknown policy 'nosuch' \($RUN/t19-plain.slice.conf:2\)" \
        'verify of what was set'
gives 0 'nothing is wrong' 'verify of what is right' cachectl verify t19.slice
systemctl stop cachebpfd-varlink.socket cachebpfd.service
gives 3 "unknown policy 'nosuch'" 'verify without the daemon' cachectl verify t19-plain.slice
systemctl start cachebpfd-varlink.socket cachebpfd.service
eventually cachectl status
gives 0 'Removed' 'what does not work can be taken back' cachectl reset t19-plain.slice
rm /run/cachebpf/policies.d/19-t19.conf
gives 0 'no problems' 'and all is well again' cachectl reload

# --- what the kernel can do

like "$(cachectl features)" 'watchdog +yes' 'features'
is "$(cachectl features --json=short | jq -r '.kernelFeatures | sort | join(" ")')" \
        "$(LC_ALL=C sort /sys/kernel/cachebpf/features | paste -sd' ')" 'are those of the kernel'
is "$(cachectl features --no-legend | awk '$2 != "yes" || $3 == "-" { print $1 }')" '' \
        'of which all are known'

succeeds 'the daemon is up' systemctl is-active cachebpfd.service
books_agree 'the kernel has lost nothing'
done_testing
