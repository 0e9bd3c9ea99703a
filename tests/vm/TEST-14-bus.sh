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
eventually sh -c 'systemctl show -P StatusText cachebpfd.service | grep -q "Waiting for the system bus"'
like "$(systemctl show -P StatusText cachebpfd.service)" 'Waiting for the system bus' 'the daemon notices'
is "$(unit_key t14.slice state)" attached 'and answers over varlink'
make_slice t14b.slice $'MemoryMax=64M\nCachePolicy=mru'
systemctl start --no-block t14b.slice
start_bus

eventually state_is t14b.slice attached
unit_runs t14b.slice mru
unit_runs t14.slice lfu
is "$(policy_key t14.slice id)" "$id" 'what was attached stayed attached'
is "$(daemon_pid)" "$pid" 'by the same daemon'
is "$(busctl get-property org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager UnitsAttached)" 'u 2' \
        'it has its name again'

# --- what is installed for programs is what the daemon says

description() { # INTERFACE: that part of an introspection
        sed -n "/<interface name=\"$1\">/,/<\/interface>/p"
}

unit_path=$(busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager GetUnit s t14.slice |
        cut -d'"' -f2)
for interface in Manager:/org/cachebpf1 "Unit:$unit_path"; do
        name=org.cachebpf1.${interface%%:*}
        file=/usr/share/dbus-1/interfaces/$name.xml
        succeeds "$file is XML" xmllint --noout --nonet "$file"
        is "$(description "$name" <"$file")" \
                "$(busctl introspect --xml-interface org.cachebpf1 "${interface#*:}" |
                description "$name")" \
                "$file is what the daemon says"
        like "$(description "$name" <"$file")" '<method ' 'and is not empty'
done
like "$(runuser -u nobody -- busctl call --json=short org.cachebpf1 /org/cachebpf1 \
        org.freedesktop.DBus.ObjectManager GetManagedObjects)" \
        '"VerifiedPolicy":\{"type":"s","data":"lfu"\}' \
        'nobody may see all objects'

setpriv --reuid=nobody --regid=nogroup --clear-groups /usr/share/doc/cachebpf/examples/watch-units.py \
        >example &
example=$!
succeeds 'the example lists units' eventually grep -q '^t14b.slice: attached mru, ' example
systemctl stop t14b.slice
succeeds 'and prints changes' eventually grep -qE '^(changed|removed) t14b.slice' example
kill "$example"
done_testing
