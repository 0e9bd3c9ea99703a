#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# machine: --memory 3G
# long: yes
# timeout: 2700
# Half an hour of storm, or ten minutes of it on the kernel that checks everything.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storm.sh"
if [[ -d /sys/kernel/debug/failslab ]]; then
        storm 600
else
        storm 1800
fi
done_testing
