#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug debian
# machine: --cpus 2 --memory 2G --qemu "-smp sockets=2 -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1"
# timeout: 300
# The kernel's selftests of several NUMA nodes, and those of reclaim within limits, on a machine that has
# two.
[[ -d /sys/devices/system/node/node1 ]] || { echo 'Bail out! this machine has one NUMA node' && exit 1; }
exec "$(dirname "$0")/TEST-30-kernel.sh" numa adopt 'reclaim/a limit'
