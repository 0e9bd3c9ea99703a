#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product distro debug debian
# timeout: 60
# The guest is what the other tests rely on.
. "$(dirname "$0")/lib.sh"

is "$(ps -o comm= 1)" systemd 'systemd is PID 1'
is "$(stat -f -c %T /sys/fs/cgroup)" cgroup2fs 'cgroups are version 2'
eventually sh -c 'systemctl list-jobs --no-legend | grep -qv vm-command && exit 1; exit 0'
is "$(systemctl --failed --no-legend --plain | awk '{print $1}')" '' 'no unit failed at boot'
make_slice vmtest.slice 'MemoryMax=64M'
systemctl start vmtest.slice
is "$(cat "$(cgroup_of vmtest.slice)/memory.max")" $((64 << 20)) 'a slice gets its memory limit'
is "$(in_slice vmtest.slice cat /proc/self/cgroup | cut -d/ -f2)" vmtest.slice 'a command runs in it'
remove_test_units
fails 'a slice made by a test goes away' test -e /sys/fs/cgroup/vmtest.slice
done_testing
