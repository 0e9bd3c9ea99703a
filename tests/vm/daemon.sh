# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests of the daemon (TEST-1*): what it says over varlink, and its life.

PIN_ROOT=/sys/fs/bpf/cachebpf
VARLINK=/run/cachebpf/org.cachebpf.Manager
journalctl --quiet --sync # what was said before the test has an earlier time
SINCE=@$(date +%s.%6N)

varlink() { # METHOD [PARAMETERS]: all replies, one JSON object a line
        local parameters=${2:-}
        parameters=$(varlinkctl call --more --json=short "$VARLINK" "org.cachebpf.Manager.$1" \
                "${parameters:-"{}"}")
        [[ -z $parameters ]] || printf '%s\n' "${parameters//$'\036'/}"
}

unit_json() { # UNIT: the daemon's view of it, one JSON object
        varlink ListUnits "{\"unit\":\"$1\"}" 2>/dev/null | jq -c .unit
}

unit_key() { # UNIT KEY: one member of it, "" if it has none
        varlink ListUnits "{\"unit\":\"$1\"}" 2>/dev/null | jq -r ".unit.$2 // empty"
}

state_is() { # UNIT STATE
        [[ $(unit_key "$1" state) == "$2" ]]
}

reason_has() { # UNIT TEXT
        [[ $(unit_key "$1" reason) == *"$2"* ]]
}

unit_is() { # UNIT STATE [SECONDS]: a point of the test: the unit gets into that state
        if wait_until "${3:-120}" state_is "$1" "$2"; then
                ok "$1 is $2"
        else
                not_ok "$1 is $2" "$(unit_json "$1")"
        fi
}

# make_slices SETTINGS SLICE…: make_slice for several, with one reload at most. NAME in the settings stands for what
# is between dash and dot in the slice's name.
make_slices() {
        local settings=$1 slice name
        shift
        for slice; do
                echo "$slice" >>"$TEST_UNITS"
                name=${slice#*-}
                printf '[Slice]\n%s\n' "${settings//NAME/${name%.slice}}" >"/run/systemd/system/$slice"
        done
        reload_for "$@"
}

# edit_dropin UNIT NAME CONTENT: other content for a drop-in that systemd knows. The daemon, if it runs, reads it anew;
# systemd is not reloaded, which takes several seconds of an emulated processor.
edit_dropin() {
        printf '%s\n' "$3" >"/run/systemd/system/$1.d/$2.conf"
        systemctl try-reload-or-restart cachebpfd.service
}

# systemd unloads a unit that stopped as soon as nobody needs it, and the daemon forgets it then.
has_ended() { # UNIT
        [[ $(unit_key "$1" state) =~ ^(|inactive)$ ]]
}

unit_ends() { # UNIT: a point: the unit stopped, and that is no failure
        if eventually has_ended "$1"; then ok "$1 ended"; else not_ok "$1 ended" "$(unit_json "$1")"; fi
}

counters() { # what must not move when nothing is attached or detached
        echo "attached $(kernel_stat attached) detached $(kernel_stat detached)"
}

runs() { # UNIT POLICY; what it was found to run is in $found
        found=$(varlink ListUnits "{\"unit\":\"$1\"}" 2>/dev/null |
                jq -r '.unit | "\(.state) \(.configured) \(.effective) \(.verified)"')
        [[ $found == "attached $2 $2 $2" ]]
}

unit_runs() { # UNIT POLICY: a point: attached, and configured, effective and verified policy are this one
        eventually runs "$1" "$2"
        is "$found" "attached $2 $2 $2" "$1 runs $2: state, configured, effective, verified"
}

updates_are() { # UNIT NUMBER: so often its policy was replaced in place
        [[ $(policy_key "$1" updates) -eq $2 ]]
}

use_cache() { # SLICE: has the slice bring a MiB into its page cache
        local file
        file=$(mktemp /var/tmp/cache.XXXXXX)
        in_slice "$1" dd if=/dev/zero of="$file" bs=64k count=16 status=none
        rm -f "$file"
}

pin_of() { # UNIT: its directory of pins
        echo "$PIN_ROOT/$(stat -c %i "$(cgroup_of "$1")")"
}

daemon_pid() {
        systemctl show --property=MainPID --value cachebpfd.service
}

# Entries of the journal since the test began.
journal() { # JOURNALCTL-ARGUMENTS…
        journalctl --quiet --sync 2>/dev/null
        journalctl --quiet --no-pager --since="$SINCE" "$@"
}

# Lines the daemon wrote since the test began. "grep -q" does not end who writes them, which would be a failure.
daemon_log() { # [GREP-ARGUMENTS…]
        local said
        said=$(journal --output=cat _COMM=cachebpfd)
        if [[ $# -gt 0 ]]; then grep -F "$@" <<<"$said"; else printf '%s' "${said:+$said$'\n'}"; fi
}

# After a test has stopped the bus. logind does not look for it again by itself, and other tests need logind.
start_bus() {
        systemctl start dbus.socket dbus.service
        systemctl restart systemd-logind.service
        eventually busctl get-property org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager Version
}

STAYS_DEAD=/run/cachebpfd-stays-dead # a condition of its service in the image

# Should it die from now on, it is not started again until daemon_start.
daemon_no_restart() {
        touch "$STAYS_DEAD"
}

# It is not, and is not about to be started again.
daemon_is_dead() {
        [[ $(systemctl show --property=ActiveState --value cachebpfd.service) == inactive ]]
}

# kill -9, if it runs now: otherwise its PID is said to be 0, which stands for all processes of the test.
kill_daemon() {
        local pid
        pid=$(daemon_pid)
        [[ $pid -gt 1 ]] && kill -KILL "$pid"
}

# The same with no restart, until daemon_start.
daemon_kill() {
        daemon_no_restart
        eventually kill_daemon
        eventually daemon_is_dead
}

daemon_start() {
        rm -f "$STAYS_DEAD"
        systemctl reset-failed cachebpfd.service # it does not count how often tests start it
        systemctl start cachebpfd.service
}

as_nobody() {
        runuser -u nobody -- "$@"
}

POLKIT_RULES=/etc/polkit-1/rules.d/50-test.rules

# permit_nobody ACTION: polkit lets the user nobody do that (org.cachebpf1.ACTION), until permit_nothing.
permit_nobody() {
        mkdir -p "${POLKIT_RULES%/*}"
        cat >"$POLKIT_RULES" <<RULE
polkit.addRule(function(action, subject) {
        if (action.id == "org.cachebpf1.$1" && subject.user == "nobody")
                return polkit.Result.YES;
});
RULE
        chmod 644 "$POLKIT_RULES"
        systemctl restart polkit.service
}

permit_nothing() {
        [[ -e $POLKIT_RULES ]] || return 0
        rm "$POLKIT_RULES"
        systemctl try-restart polkit.service
}
