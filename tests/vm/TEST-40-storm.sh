#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug debian
# machine: --memory 3G,slots=1,maxmem=4G --append memhp_default_state=online_movable --qemu "-object memory-backend-ram,id=dimm,size=512M -device pc-dimm,memdev=dimm"
# long: yes
# timeout: 2700
# Half an hour of storm, or ten minutes of it on kernels that check everything; STORM_SECONDS says otherwise. The
# memory in the slot is for kernels that can take it away.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storm.sh"
[[ -d /sys/kernel/debug/failslab ]] && seconds=600 || seconds=1800
storm "${STORM_SECONDS:-$seconds}"
done_testing
