# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests of this directory, which run as root in the guest (see run): TAP, units that go away again,
# and the kernel's files. A test looks like
#
#       # kernel: product           (for which kernels: product, distro, debug, debian; default product)
#       # timeout: 60               (seconds on an idle host; default 120)
#       . "$(dirname "$0")/lib.sh"
#       make_slice t.slice $'MemoryMax=64M\nCachePolicy=fifo'
#       systemctl start t.slice
#       eventually policy_is t.slice fifo
#       is "$(policy_key t.slice inherited)" 0 'the slice has a policy of its own'
#       done_testing
#
# Nothing here stops at a failure: a test goes on and reports each point. Use die where going on is
# senseless.
set -uo pipefail

TEST_UNITS=${TEST_UNITS:-$(mktemp)} # names of the units made, removed at the end
CGROUP_ROOT=/sys/fs/cgroup
tap_count=0
tap_failed=0

# --- TAP

ok() { # DESCRIPTION
        tap_count=$((tap_count + 1))
        echo "ok $tap_count - $1"
}

not_ok() { # DESCRIPTION [DIAGNOSTIC]
        tap_count=$((tap_count + 1))
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_count - $1"
        [[ $# -lt 2 ]] || diag "$2"
}

skip() { # DESCRIPTION REASON
        tap_count=$((tap_count + 1))
        echo "ok $tap_count - $1 # SKIP $2"
}

diag() { # TEXT
        printf '%s\n' "$*" | sed 's/^/# /'
}

die() { # TEXT: the rest of the test makes no sense
        echo "Bail out! $*"
        exit 1
}

is() { # GOT EXPECTED DESCRIPTION
        if [[ $1 == "$2" ]]; then ok "$3"; else not_ok "$3" $'     got: '"$1"$'\nexpected: '"$2"; fi
}

isnt() { # GOT UNWANTED DESCRIPTION
        if [[ $1 != "$2" ]]; then ok "$3"; else not_ok "$3" "got '$1', which must not be"; fi
}

like() { # GOT REGEX DESCRIPTION
        if [[ $1 =~ $2 ]]; then ok "$3"; else not_ok "$3" $'     got: '"$1"$'\ndoes not match: '"$2"; fi
}

unlike() { # GOT REGEX DESCRIPTION
        if [[ ! $1 =~ $2 ]]; then ok "$3"; else not_ok "$3" $'     got: '"$1"$'\nmatches: '"$2"; fi
}

compare() { # NUMBER -lt|-le|-eq|-ge|-gt|-ne NUMBER DESCRIPTION
        if [[ $1 =~ ^-?[0-9]+$ && $3 =~ ^-?[0-9]+$ ]] && test "$1" "$2" "$3"; then
                ok "$4"
        else
                not_ok "$4" "'$1' $2 '$3' does not hold"
        fi
}

succeeds() { # DESCRIPTION COMMAND…
        local what=$1 output status
        shift
        output=$("$@" 2>&1) && status=0 || status=$?
        if [[ $status -eq 0 ]]; then ok "$what"; else not_ok "$what" "'$*' gave status $status: $output"; fi
}

fails() { # DESCRIPTION COMMAND…
        local what=$1 output
        shift
        if output=$("$@" 2>&1); then not_ok "$what" "'$*' succeeded: $output"; else ok "$what"; fi
}

done_testing() {
        echo "1..$tap_count"
        [[ $tap_failed -eq 0 && $tap_count -gt 0 ]]
        exit
}

# wait_until SECONDS COMMAND…: true as soon as COMMAND is, false when it was not for that long. To look takes time from
# what is waited for, so the pauses become longer: from 0.1 to 0.9 seconds.
wait_until() {
        local end=$((SECONDS + $1)) tenths=1
        shift
        until "$@" >/dev/null 2>&1; do
                [[ $SECONDS -lt $end ]] || return 1
                sleep "0.$tenths"
                ((tenths == 9)) || ((tenths++))
        done
}

# The same with as much time as a daemon may need on a busy host. To wait in vain is a point that failed.
eventually() {
        wait_until 120 "$@" && return
        not_ok "eventually: $*"
        return 1
}

# --- units

# reload_for UNIT…: has systemd take notice of their changed files. A unit that it has not loaded yet it reads by
# itself, and to reload takes seconds of an emulated processor.
reload_for() {
        local needed
        needed=$(systemctl show --property=NeedDaemonReload --value "$@")
        [[ $needed != *yes* ]] || systemctl daemon-reload
}

# make_unit UNIT CONTENT: a unit file in /run that is gone, stopped and all, when the test ends.
make_unit() {
        echo "$1" >>"$TEST_UNITS"
        printf '%s\n' "$2" >"/run/systemd/system/$1"
        reload_for "$1"
}

# make_slice UNIT SETTINGS: the same for a slice, given the lines of its [Slice] section.
make_slice() {
        make_unit "$1" $'[Slice]\n'"$2"
}

# make_dropin UNIT NAME CONTENT: a drop-in NAME.conf for any unit.
make_dropin() {
        echo "$1" >>"$TEST_UNITS"
        mkdir -p "/run/systemd/system/$1.d"
        printf '%s\n' "$3" >"/run/systemd/system/$1.d/$2.conf"
        reload_for "$1"
}

# in_slice SLICE COMMAND…: run COMMAND in a transient service of the slice; its output and status are ours.
in_slice() {
        local slice=$1
        shift
        systemd-run --quiet --wait --pipe --collect --slice="$slice" --service-type=exec -- "$@"
}

remove_test_units() {
        local unit
        local -a units
        mapfile -t units < <(sort -u "$TEST_UNITS" 2>/dev/null)
        [[ ${#units[@]} -gt 0 ]] || return 0
        systemctl stop "${units[@]}" 2>/dev/null
        for unit in "${units[@]}"; do
                rm -rf "/run/systemd/system/$unit" "/run/systemd/system/$unit.d"
        done
        reload_for "${units[@]}"
        systemctl reset-failed "${units[@]}" 2>/dev/null
        : >"$TEST_UNITS"
}
trap remove_test_units EXIT

# --- the kernel's files

# cgroup_of UNIT: its directory; false if it has none now. That of a slice is in its name: systemctl is a large process
# for an emulated processor.
cgroup_of() {
        local path='' name='' part
        local -a parts
        if [[ $1 == *.slice ]]; then
                IFS=- read -ra parts <<<"${1%.slice}"
                for part in "${parts[@]}"; do
                        [[ -n $part ]] || continue # -.slice
                        name+=${name:+-}$part
                        path+=/$name.slice
                done
        else
                path=$(systemctl show --property=ControlGroup --value "$1")
                [[ -n $path ]] || return
        fi
        [[ -d $CGROUP_ROOT$path ]] && echo "$CGROUP_ROOT$path"
}

# flat_key FILE KEY: the value of one line of a flat keyed file ("" if there is none).
flat_key() {
        local line value
        local -a lines
        mapfile -t lines 2>/dev/null <"$1" || return
        for line in "${lines[@]}"; do
                [[ $line == "$2"[[:blank:]]* ]] || continue
                read -r _ value _ <<<"$line"
                echo "$value"
                return
        done
}

kernel_stat() { # KEY: of the whole kernel (policies, attached, detached, updated, ejected)
        flat_key /sys/kernel/cachebpf/stat "$1"
}

policy_key() { # UNIT KEY: what the kernel says of the unit's policy (policy, id, cgroup, inherited, updates)
        flat_key "$(cgroup_of "$1")/memory.cachebpf.policy" "$2"
}

policy_stat() { # UNIT KEY: a counter of the unit's policy
        flat_key "$(cgroup_of "$1")/memory.cachebpf.stat" "$2"
}

policy_is() { # UNIT NAME: true if the kernel says so
        [[ $(policy_key "$1" policy) == "$2" ]]
}

# A point: eviction lists, folio table and page cache are in agreement, says the kernel's self-check.
books_agree() { # DESCRIPTION
        local said
        said=$(cat /sys/kernel/debug/cachebpf/check 2>&1)
        if [[ $said == ok* ]]; then ok "$1"; else not_ok "$1" "$said"; fi
}

memory_stat() { # UNIT KEY: a line of memory.stat
        flat_key "$(cgroup_of "$1")/memory.stat" "$2"
}
