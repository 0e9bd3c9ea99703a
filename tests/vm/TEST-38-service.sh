#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# The daemon as a service of systemd: how it is installed, what it tells systemd and the journal, how it is
# started by whoever asks, and that nobody can keep it from ending.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

SERVICE=cachebpfd.service
BUS="org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager"
work=$(mktemp -d)

clean_up() {
        rm -rf "$work" /run/systemd/system/$SERVICE.d /run/cachebpf/policies.d/38-t38.conf
        remove_test_units
        reload_for $SERVICE
}
trap clean_up EXIT

property() { # NAME: of the service
        systemctl show --property="$1" --value $SERVICE
}

process() { # KEY: of /proc/PID/status
        awk -v key="$1:" '$1 == key { print $2 }' "/proc/$(daemon_pid)/status"
}

make_slice t38.slice $'MemoryMax=64M\nCachePolicy=lfu'
make_slice t38-rule.slice 'MemoryMax=64M'
systemctl start t38.slice t38-rule.slice
unit_runs t38.slice lfu

# --- preset, tmpfiles, sandbox

systemctl disable --quiet --no-reload $SERVICE cachebpfd-varlink.socket
fails 'it can be switched off' systemctl is-enabled $SERVICE
systemctl preset --quiet --no-reload $SERVICE cachebpfd-varlink.socket
succeeds 'but the preset is on' systemctl is-enabled $SERVICE cachebpfd-varlink.socket
succeeds 'also by the name on the bus' systemctl is-enabled dbus-org.cachebpf1.service
is "$(stat -c '%U %a' "$PIN_ROOT")" 'root 700' 'only root sees the pins'
is "$(process CapEff) $(process CapBnd)" '000000c00000000c 000000c00000000c' \
        'it has CAP_BPF, CAP_PERFMON, CAP_DAC_READ_SEARCH and CAP_FOWNER, no more'
is "$(process NoNewPrivs) $(process Seccomp)" '1 2' 'and can get no more; system calls are filtered'

# --- what it tells systemd

is "$(property Type) $(property NotifyAccess)" 'notify-reload main' 'systemd knows when it is ready'
like "$(property StatusText)" '^[0-9]+ units configured, [1-9][0-9]* attached, [0-9]+ failed$' \
        'its status has the units'
make_slice t38-wrong.slice $'MemoryMax=64M\nCachePolicy=nosuch'
systemctl start t38-wrong.slice
unit_is t38-wrong.slice failed
like "$(property StatusText)" ' [1-9][0-9]* failed$' 'and follows them'
systemctl stop t38-wrong.slice

pid=$(daemon_pid)
mkdir -p /run/cachebpf/policies.d
printf '[Match]\nUnit=t38-rule.slice\n[Policy]\nCachePolicy=fifo\n' >/run/cachebpf/policies.d/38-t38.conf
systemctl reload $SERVICE
is "$(policy_key t38-rule.slice policy)" fifo 'when "systemctl reload" returns a new rule is in effect'
is "$(daemon_pid)" "$pid" 'in the same process'

# --- LogControl1

log_is() { # WHAT VALUE
        [[ $(systemctl "service-log-$1" $SERVICE) == "$2" ]]
}
succeeds 'it logs from info on, to the journal' log_is level info
succeeds '... to the journal' log_is target journal
systemctl service-log-level $SERVICE debug
systemctl reload $SERVICE
isnt "$(daemon_log 'Reconciled ')" '' 'systemctl service-log-level has it tell more'
systemctl service-log-level $SERVICE info
lines=$(daemon_log 'Reconciled ' | wc -l)
systemctl reload $SERVICE
is "$(daemon_log 'Reconciled ' | wc -l)" "$lines" 'and less again'
fails 'a level that does not exist is refused' busctl set-property org.cachebpf1 \
        /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogLevel s loud
succeeds 'and changes nothing' log_is level info

# --- the journal: one id for each kind of message, with its fields, and a text that explains it

event() { # MESSAGE_ID POLICY STATE SUBJECT: the last of these
        local entries
        entries=$(journal --output=json _COMM=cachebpfd UNIT=t38.slice MESSAGE_ID="$1")
        is "$(tail -n 1 <<<"$entries" | jq -r '"\(.POLICY) \(.STATE)"')" "$2 $3" "the journal: $2 is $3"
        is "$(journalctl --quiet --no-pager --catalog --output=short MESSAGE_ID="$1" UNIT=t38.slice |
                sed -n 's/^[^A-Za-z]*Subject: //p' | tail -n 1)" "$4" '... and says so in a sentence'
}

journalctl --update-catalog # the image does not do so when it boots
event 5e789ee9f2154352af4c4a061c71fbc5 lfu attached 't38.slice evicts by the policy lfu now'
make_dropin t38.slice 50-policy $'[Slice]\nCachePolicy=mru'
unit_runs t38.slice mru
event b01d6b0f045545279910acc0486afe6c mru attached 't38.slice has another policy now: mru'
edit_dropin t38.slice 50-policy $'[Slice]\nCachePolicy=nosuch'
unit_is t38.slice failed
event 11ac88399c7940a6ba5b79864dd0503e nosuch failed \
        't38.slice does not get the policy that it is to have'
edit_dropin t38.slice 50-policy $'[Slice]\nCachePolicy=lfu'
unit_runs t38.slice lfu
id=$(policy_key t38.slice id)
bpftool link detach pinned "$(pin_of t38.slice)/link"
attached_anew() {
        state_is t38.slice attached && [[ $(policy_key t38.slice id) != "$id" ]]
}
succeeds 'a policy detached by somebody else comes back' eventually attached_anew
event c71e1737a8724a1db20eff7c71cafac8 lfu lost 'The kernel took the policy lfu away from t38.slice'
edit_dropin t38.slice 50-policy $'[Slice]\nCachePolicy='
unit_is t38.slice unconfigured
event a1947ad7ff78412d9d098cd1ed940277 lfu unconfigured 't38.slice has no policy of its own any more'

# --- the watchdog: a daemon that hangs is replaced, and its policies do not notice

is "$(property WatchdogUSec)" 3min 'systemd watches it'
rm -r /run/systemd/system/t38.slice.d
mkdir /run/systemd/system/$SERVICE.d
printf '[Service]\nWatchdogSec=15s\nLimitCORE=0\n' >/run/systemd/system/$SERVICE.d/50-t38.conf
systemctl daemon-reload
unit_runs t38.slice lfu
systemctl restart $SERVICE
unit_runs t38.slice lfu
event 3e8a4df3d2b942cb870e97b119a7d025 lfu attached 't38.slice keeps the policy lfu'
id=$(policy_key t38.slice id) pid=$(daemon_pid) sign=$(property WatchdogTimestampMonotonic)
gives_sign() {
        [[ $(property WatchdogTimestampMonotonic) -gt $sign ]]
}
succeeds 'it gives signs of life' wait_until 40 gives_sign
kill -STOP "$pid"
another_runs() {
        [[ $(daemon_pid) != 0 && $(daemon_pid) != "$pid" ]] && state_is t38.slice attached
}
succeeds 'without them another one is started' wait_until 90 another_runs
is "$(policy_key t38.slice id)" "$id" 'and finds the policy attached as before'
rm -r /run/systemd/system/$SERVICE.d

# --- units that are linked from a home directory, and the journal of a unit

mkdir -p /home/t38
printf '[Slice]\nCachePolicy=mru\n' >/home/t38/t38-home.slice
systemctl link --quiet --runtime /home/t38/t38-home.slice # has systemd reload, for the watchdog as well
systemctl start t38-home.slice
unit_runs t38-home.slice mru
journalctl --quiet --sync
like "$(journalctl --quiet --no-pager -u t38-home.slice)" "Cache policy 'mru' is attached" \
        'what the daemon says of a unit is in its journal'
systemctl stop t38-home.slice
systemctl disable --quiet --runtime t38-home.slice
rm -r /home/t38

# --- another one, by hand

before=$(counters)
output=$(timeout 60 /usr/lib/cachebpf/cachebpfd 2>&1)
is $? 1 'a second daemon ends at once'
like "$output" 'Another cachebpfd has the name org.cachebpf1' 'and says why'
is "$(counters)" "$before" 'without having touched anything'
is "$(unit_key t38.slice state)" attached 'the first one answers as before'

# --- the end: a client that asks for everything, and reads nothing, is not waited for

python3 - "$VARLINK" >"$work/client" <<'PYTHON' &
import fcntl, socket, struct, sys, termios, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
call = '{"method":"org.cachebpf.Manager.%s","more":true}\0'
s.sendall((call % 'ListPolicies').encode() * 30 + (call % 'Monitor').encode())
waiting = same = 0
while same < 5: # until there is no room for more; the daemon may have to wait for a processor
    time.sleep(2)
    before, (waiting,) = waiting, struct.unpack('i', fcntl.ioctl(s, termios.FIONREAD, bytes(4)))
    same = same + 1 if waiting and waiting == before else 0
print(waiting, flush=True)
time.sleep(3600)
PYTHON
client=$!
eventually test -s "$work/client"
compare "$(<"$work/client")" -gt 50000 'a client lets pile up what it is sent'
since=$SECONDS
systemctl stop $SERVICE
compare $((SECONDS - since)) -lt 60 'the daemon ends without it'
is "$(property Result)" success 'of itself'
kill $client
wait $client 2>/dev/null

# --- the beginning: whoever asks has it started, and hears the truth

systemctl reset-failed $SERVICE # it does not start more often than that
# shellcheck disable=SC2086
is "$(busctl --timeout=120 call $BUS GetUnit s t38.slice)" 'o "/org/cachebpf1/unit/t38_2eslice"' \
        'the call on D-Bus that starts the daemon finds the unit'
# shellcheck disable=SC2086
is "$(systemctl stop $SERVICE && busctl --timeout=120 get-property $BUS UnitsAttached)" 'u 2' \
        'the property that does has all units'
systemctl stop $SERVICE
is "$(unit_key t38.slice state)" attached 'and so does the call on varlink'
is "$(policy_key t38.slice id)" "$id" 'which was attached all the time'

# --- somebody removes the pins

rm -r "$(pin_of t38.slice)"
is "$(policy_key t38.slice policy)" lfu 'without its pin a policy goes on as long as the daemon does'
systemctl restart $SERVICE
unit_runs t38.slice lfu
succeeds 'and the next one attaches it anew, and pins it' test -e "$(pin_of t38.slice)/link"

# --- a read-only /etc

systemctl stop $SERVICE
rm -r /etc/cachebpf/units.d
mount --bind /etc /etc
mount -o remount,bind,ro /etc
systemctl start $SERVICE
succeeds 'the daemon starts with a read-only /etc' systemctl is-active $SERVICE
unit_runs t38.slice lfu
umount --lazy /etc
systemctl stop $SERVICE
systemd-tmpfiles --create cachebpfd.conf
systemctl start $SERVICE
succeeds 'what is set persistently is written there' cachectl set --persistent t38-rule.slice fifo
succeeds 'and taken back' cachectl reset --persistent t38-rule.slice

# --- the directory of the pins

systemctl stop $SERVICE
rm -r "$PIN_ROOT"
systemd-tmpfiles --create cachebpfd.conf
is "$(stat -c '%U %a' "$PIN_ROOT")" 'root 700' 'systemd-tmpfiles makes the directory of the pins'
systemctl start $SERVICE
unit_runs t38.slice lfu
unit_runs t38-rule.slice fifo
books_agree 'the kernel has lost nothing'
done_testing
