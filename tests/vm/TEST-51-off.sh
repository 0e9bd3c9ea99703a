#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --append cachebpf=off
# timeout: 60
# "cachebpf=off" on the kernel command line: the daemon does not start, however it is asked for, and cachectl says why.
. "$(dirname "$0")/lib.sh"

off='cachebpf=off" on the kernel command line'

fails 'the daemon does not run' systemctl is-active cachebpfd.service
fails 'nor does its socket' systemctl is-active cachebpfd-varlink.socket
systemctl start cachebpfd.service
fails 'not if it is started either' systemctl is-active cachebpfd.service
is "$(systemctl show -P ConditionResult cachebpfd.service)" no 'since its condition does not hold'
fails 'nor over D-Bus' timeout 60 busctl --timeout=20 get-property org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager \
        Version
output=$(cachectl status 2>&1) && status=0 || status=$?
is "$status" 1 'cachectl fails'
like "$output" "$off" 'and says why'

make_slice t51.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t51.slice
is "$(policy_key t51.slice policy)" none 'no policy is attached'
done_testing
