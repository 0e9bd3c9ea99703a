#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: distro
# timeout: 120
# On a kernel without cachebpf everything can be asked, and says why nothing is attached.
. "$(dirname "$0")/lib.sh"

make_slice ctlfu.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start ctlfu.slice
succeeds 'the unit is shown as unsupported' eventually sh -c \
        'cachectl list --no-legend ctlfu.slice | grep -q " unsupported "'
succeeds 'status works' cachectl status
like "$(cachectl)" 'read-only' 'status says that nothing can be attached'
like "$(cachectl)" 'Kernel: .*cachebpf' 'and why'
cachectl status --quiet ctlfu.slice
is $? 3 'a configured unit is not in effect'
like "$(cachectl status ctlfu.slice)" 'Configured: lfu' 'what was configured is shown nevertheless'
like "$(cachectl policies --no-legend)" 'lfu' 'the installed policies are listed'
output=$(cachectl features 2>&1)
is $? 3 'the kernel has not what it takes: exit status'
like "$output" 'No cache policy can be attached: .*CONFIG_CACHEBPF=y' 'features says what is missing'
is "$(cachectl features --no-legend 2>/dev/null | awk '{ print $2 }' | sort -u)" no 'and that all of it is'
output=$(cachectl stats 2>&1)
is $? 1 'there are no counters: exit status'
like "$output" 'There are no counters without cachebpf in the kernel' 'there are no counters: message'
done_testing
