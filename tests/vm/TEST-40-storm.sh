#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# machine: --memory 3G
# long: yes
# timeout: 2700
# Half an hour of storm, or ten minutes of it on the kernel that checks everything; STORM_SECONDS says
# otherwise.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storm.sh"
[[ -d /sys/kernel/debug/failslab ]] && seconds=600 || seconds=1800
storm "${STORM_SECONDS:-$seconds}"
done_testing
