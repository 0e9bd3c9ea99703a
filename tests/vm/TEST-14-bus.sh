#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 180
# The system bus goes away and comes back; policies do not notice.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

make_slice t14.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t14.slice
unit_runs t14.slice lfu
pid=$(daemon_pid) id=$(policy_key t14.slice id)

systemctl stop dbus.socket dbus.service
wait_until 20 sh -c 'systemctl show -P StatusText cachebpfd.service | grep -q "Waiting for the system bus"'
like "$(systemctl show -P StatusText cachebpfd.service)" 'Waiting for the system bus' 'the daemon notices'
is "$(unit_key t14.slice state)" attached 'and answers over varlink'
make_slice t14b.slice $'MemoryMax=64M\nCachePolicy=mru'
systemctl start t14b.slice dbus.socket dbus.service

wait_until 60 state_is t14b.slice attached
unit_runs t14b.slice mru
unit_runs t14.slice lfu
is "$(policy_key t14.slice id)" "$id" 'what was attached stayed attached'
is "$(daemon_pid)" "$pid" 'by the same daemon'
wait_until 20 busctl get-property org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager Version
is "$(busctl get-property org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager UnitsAttached)" 'u 2' 'it has its name again'
done_testing
