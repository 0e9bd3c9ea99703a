#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 400
# Settings that a client holds: in effect while its command runs, gone with it however it ends, in place both
# times; over D-Bus; who may; the end of the daemon.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

MANAGER="org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager"
work=$(mktemp -d)
chmod 755 "$work"

clean_up() {
        rm -rf "$work"
        permit_nothing
        rm -f /run/cachebpf/units.d/t28*
        remove_test_units
}
trap clean_up EXIT

bus() { # METHOD ARGUMENTS…
        # shellcheck disable=SC2086
        busctl call $MANAGER "$@"
}

# hold NAME UNIT SETTING…: in the background, until "release NAME"; the output is in $work/NAME.
hold() {
        local name=$1 unit=$2
        shift 2
        rm -f "$work/$name"* && mkfifo "$work/$name.fifo"
        cachectl hold --reason="test $name" "$unit" "$@" -- sh -c \
                "echo runs; read -r x <$work/$name.fifo; exit 5" \
                >"$work/$name" 2>&1 &
        holder=$!
        eventually grep -q . "$work/$name" || diag "no sign of the command of $name"
}

release() {
        echo >"$work/$1.fifo"
        wait "$holder"
        status=$?
}

holds() { # UNIT: how many it has
        unit_key "$1" holds | jq -r length
}

# The ids are those of src/daemon/core/messages.h.
BEGUN=893e1225c9354ea78f3ecc8d01314692
ENDED=e68a520267224fc5b099da97502e3f9f

entries() { # FIELD=VALUE…: what there is of this test, a line each
        journal --output=json _COMM=cachebpfd "$@" |
                jq -r '"\(.UNIT) \(.POLICY) \(.PROGRAM) \(.REASON) \(.COOKIE)"'
}

counting() { # UNIT: its lines that count, KEY=VALUE (LAYER)
        cachectl show --json=short "$1" |
                jq -r '[.[0].settings[] | select(.effective) | "\(.key)=\(.value) (\(.layer))"] | join(", ")'
}

make_slice t28.slice $'MemoryMax=64M\nCachePolicy=lfu'
make_slice t28plain.slice 'MemoryMax=64M'
systemctl start t28.slice t28plain.slice
unit_runs t28.slice lfu
detached=$(kernel_stat detached)

# --- as long as a command runs

in_effect=$(cachectl hold t28.slice mru -- cat "$(cgroup_of t28.slice)/memory.cachebpf.policy" 2>&1)
like "$in_effect" $'(^|\n)policy mru(\n|$)' 'the policy is there before the command begins'
unit_runs t28.slice lfu
cachectl hold t28.slice mru -- sh -c 'exit 42'
is $? 42 'the exit status is that of the command'
cachectl hold t28.slice nosuch -- true 2>/dev/null
is $? 125 'what would not work is refused'

hold first t28.slice mru CacheAdmission=yes
is "$(cat "$work/first")" runs 'a hold says nothing'
unit_runs t28.slice mru
like "$(unit_key t28.slice source)" "^hold [0-9]+ by sh \(PID $holder\): test first$" \
        'the source says who and why'
like "$(cachectl status t28.slice)" \
        "Held: CachePolicy=mru CacheAdmission=yes by sh \(PID $holder\), .*: test first" 'status, too'
like "$(cachectl show --no-legend t28.slice | head -n 1)" \
        "^t28.slice +CachePolicy +mru +yes +hold +hold [0-9]+ by sh" 'and show'
is "$(counting t28.slice)" 'CachePolicy=mru (hold), CacheAdmission=yes (hold)' 'it is a layer of its own'
path=$(bus GetUnit s t28.slice | cut -d'"' -f2)
like "$(busctl get-property org.cachebpf1 "$path" org.cachebpf1.Unit Holds)" \
        '^a\(usasssuut\) 1 [0-9]+ "t28.slice" 2 "CachePolicy=mru" "CacheAdmission=yes" "sh" "test first"' \
        'and D-Bus'
cachectl set --quiet t28.slice fifo
unit_runs t28.slice mru
cookie=$(unit_key t28.slice holds | jq -r '.[0].cookie')
is "$(entries MESSAGE_ID=$BEGUN REASON='test first')" "t28.slice mru sh test first $cookie" \
        'the journal tells who holds what, and why'
is "$(entries MESSAGE_ID=$ENDED COOKIE="$cookie")" '' 'and nothing of an end'
release first
is $status 5 'the command goes on until it ends'
unit_runs t28.slice fifo
is "$(holds t28.slice)" '' 'nobody holds it any more'
is "$(entries MESSAGE_ID=$ENDED COOKIE="$cookie")" "t28.slice mru sh test first $cookie" \
        'the journal tells the end'
cachectl reset --quiet t28.slice
unit_runs t28.slice lfu
is "$(kernel_stat detached)" "$detached" 'all of that was done in place'

hold plain t28plain.slice mru
unit_runs t28plain.slice mru
release plain
eventually state_is t28plain.slice unconfigured
is "$(policy_key t28plain.slice policy)" none 'a unit without a policy has none afterwards'

# --- however it ends

hold killed t28.slice mru
kill -KILL "$holder"
wait "$holder" 2>/dev/null
unit_runs t28.slice lfu
echo >"$work/killed.fifo"

hold term t28.slice mru
kill -TERM "$holder"
wait "$holder"
is $? 143 'a signal ends the command, and cachectl as that'
unit_runs t28.slice lfu

# --- several

hold one t28.slice mru
one=$holder
hold two t28.slice fifo
two=$holder
unit_runs t28.slice fifo
is "$(holds t28.slice)" 2 'two hold it, the last one counts'
holder=$two release two
unit_runs t28.slice mru
holder=$one release one
unit_runs t28.slice lfu

# --- the unit comes and goes

hold later t28later.slice mru
like "$(<"$work/later")" 't28later.slice is not active' 'a unit that is not active can be held'
systemctl start t28later.slice
unit_runs t28later.slice mru
systemctl stop t28later.slice
systemctl start t28later.slice
unit_runs t28later.slice mru
release later
eventually policy_is t28later.slice none
is "$(policy_key t28later.slice policy)" none 'and lets go'
systemctl stop t28later.slice

# --- the daemon

hold over t28.slice mru
unit_runs t28.slice mru
systemctl restart cachebpfd.service
eventually grep -q 'is held again' "$work/over"
like "$(<"$work/over")" 'trying to get it back.*is held again' 'a restarted daemon is asked again'
unit_runs t28.slice mru
release over
is $status 5 'the command did not notice'
unit_runs t28.slice lfu

hold stopped t28.slice mru
kill -STOP "$holder" # it will not ask again
systemctl stop cachebpfd.service
is "$(policy_key t28.slice policy)" lfu 'a daemon that is stopped leaves what is configured'
systemctl start cachebpfd.service
unit_runs t28.slice lfu
kill -KILL "$holder"
kill -CONT "$holder" 2>/dev/null
wait "$holder" 2>/dev/null
echo >"$work/stopped.fifo"

hold orphan t28.slice mru
kill -STOP "$holder"
daemon_kill
is "$(policy_key t28.slice policy)" mru 'a daemon that is killed leaves what was held'
daemon_start
unit_runs t28.slice lfu
is "$(unit_key t28.slice policyId)" "$(policy_key t28.slice id)" 'until the next one comes'
kill -KILL "$holder"
kill -CONT "$holder" 2>/dev/null
wait "$holder" 2>/dev/null
echo >"$work/orphan.fifo"
is "$(kernel_stat detached)" "$((detached + 3))" 'and nothing was detached but by the units without a policy'

# --- D-Bus: as long as the client is on the bus

bus HoldUnit sasss t28.slice 1 CachePolicy=mru '' '' >"$work/bus"
like "$(<"$work/bus")" '^u [1-9]' 'a hold over D-Bus'
unit_runs t28.slice lfu
bus ReleaseHold u 12345 >"$work/bus" 2>&1
like "$(<"$work/bus")" 'no hold with the cookie' 'which nobody else can end'

# Held with no policy when the daemon is stopped: what is configured is attached again, by a daemon that works.
python3 - >"$work/bus" <<'E' &
import time
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM)
bus.call_sync('org.cachebpf1', '/org/cachebpf1', 'org.cachebpf1.Manager', 'HoldUnit',
              GLib.Variant('(sasss)', ('t28.slice', ['CachePolicy='], '', '')), None, 0, 120000, None)
print('held', flush=True)
time.sleep(3600)
E
client=$!
succeeds 'a client on the bus holds the unit' eventually grep -q held "$work/bus"
is "$(policy_key t28.slice policy)" none 'with no policy'
systemctl stop cachebpfd.service
is "$(policy_key t28.slice policy)" lfu 'a daemon that is stopped leaves what is configured'
is "$(daemon_log -i -e 'cannot')" '' 'without complaint'
id=$(policy_key t28.slice id)
systemctl start cachebpfd.service
unit_runs t28.slice lfu
is "$(policy_key t28.slice id)" "$id" 'and the next one adopts it'
kill "$client"
wait "$client" 2>/dev/null

# --- who may

as_nobody cachectl hold t28.slice mru -- touch "$work/nobody" >"$work/refused" 2>&1
is $? 125 'nobody may not'
like "$(<"$work/refused")" 'does not permit you to call org.cachebpf.Manager.HoldUnit' 'and is told so'
fails 'the command was not run' test -e "$work/nobody"
# shellcheck disable=SC2086
fails 'nor over D-Bus' as_nobody busctl call $MANAGER HoldUnit sasss t28.slice 1 CachePolicy=mru \
        x y
permit_nobody hold-units
is "$(as_nobody cachectl hold t28.slice mru -- cachectl status --json=short t28.slice 2>&1 |
        jq -r '.units[0] | "\(.effective) \(.holds[0].user)"')" "mru $(id -u nobody)" \
        'but if polkit permits it'
fails 'which is not to set' as_nobody cachectl set t28.slice mru

unit_runs t28.slice lfu
books_agree 'the kernel has lost nothing'
done_testing
