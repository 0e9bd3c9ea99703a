#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: distro
# timeout: 120
# On a kernel without cachebpf the daemon says so in one sentence and stays up for whoever asks.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

# Others may have had it say something.
systemctl restart cachebpfd.service
eventually systemctl is-active cachebpfd.service
said() { # MATCH…: in the journal, since then
        local id
        id=$(systemctl show -P InvocationID cachebpfd.service)
        journalctl --quiet --sync
        journalctl -q --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$id" "$@"
}

succeeds 'the daemon is up' systemctl is-active cachebpfd.service
is "$(said _COMM=cachebpfd | wc -l)" 1 'it says one sentence'
like "$(said _COMM=cachebpfd)" 'has no cachebpf.*CONFIG_CACHEBPF=y' \
        'which tells what to do'
like "$(systemctl show -P StatusText cachebpfd.service)" '^Read-only: kernel .* has no cachebpf' \
        'so does its status'
is "$(said MESSAGE_ID=6bf66dabd1c7404d8ddcbd5010801629 | wc -l)" 1 \
        'and an id in the journal'
is "$(systemctl show -P ConditionResult cachebpfd.service) $(systemctl show -P Result cachebpfd.service)" \
        'yes success' 'to systemd it is a service as any other'

make_slice t13.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t13.slice
unit_is t13.slice unsupported
is "$(unit_key t13.slice configured)" lfu 'the configuration is shown'
is "$(unit_key t13.slice effective)$(unit_key t13.slice verified)" '' 'nothing else is claimed'
like "$(unit_key t13.slice reason)" 'has no cachebpf' 'with the reason'
is "$(varlink GetStatus | jq -r '"\(.kernelSupport) \(.unitsConfigured)"')" \
        'false 1' 'GetStatus tells'
is "$(busctl get-property org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager KernelSupport)" 'b false' \
        'so does D-Bus'
compare "$(varlink ListPolicies | jq -s length)" -ge 3 \
        'policies are listed'
succeeds 'reload' systemctl reload cachebpfd.service
systemctl restart cachebpfd.service
unit_is t13.slice unsupported
systemctl stop t13.slice
done_testing
