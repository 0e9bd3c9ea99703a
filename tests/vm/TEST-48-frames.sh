#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: debian
# machine: --memory 2G,slots=1,maxmem=3G --append memhp_default_state=online_movable --qemu "-object memory-backend-ram,id=dimm,size=512M -device pc-dimm,memdev=dimm"
# timeout: 300
# The kernel's selftests of page frames that are taken out of use, on a machine with memory that can be.
[[ -d /sys/devices/system/memory ]] || { echo 'Bail out! this kernel has no MEMORY_HOTPLUG' && exit 1; }
exec "$(dirname "$0")/TEST-30-kernel.sh" frames
