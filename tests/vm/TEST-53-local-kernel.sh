#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --kernel package-local
# long: yes
# timeout: 300
# The kernel that is built for the machine at hand boots a Debian, runs policies and has the drivers that it promises.
. "$(dirname "$0")/lib.sh"

release=$(uname -r)
tree=/var/tmp/t53
like "$release" '-cachebpf$' 'the machine runs the kernel of the package'
is "$(findmnt --noheadings --output FSTYPE /)" ext4 'its root file system is there'
like "$(cut -d ' ' -f 1 /proc/modules)" 'virtio_blk' 'by a module'
is "$(systemctl --failed --no-legend --plain | awk '{print $1}')" '' 'no unit failed at boot'
make_slice t53.slice $'MemoryMax=64M\nCachePolicy=s3fifo'
systemctl start t53.slice
succeeds 'it runs policies' eventually policy_is t53.slice s3fifo
head -c 128M /dev/zero >/var/tmp/t53.data
sync
echo 1 >/proc/sys/vm/drop_caches # what is cached is this test's
in_slice t53.slice cat /var/tmp/t53.data >/dev/null
compare "$(cachectl stats --json=short t53.slice | jq '.[0].counters.evict_reclaimed')" -gt 0 'which evict'
rm /var/tmp/t53.data

dpkg-deb --extract /run/kernel-package/linux-image-*.deb $tree
for module in ahci nvme virtio_net xfs vfat overlay dm_crypt usbhid e1000e bridge; do
        found=$(find "$tree/usr/lib/modules/$release" -name "${module//_/[-_]}.ko*")
        [[ -n $found ]] || found=$(grep "/${module//_/[-_]}\.ko$" "$tree/usr/lib/modules/$release/modules.builtin")
        like "$found" "." "it has $module"
done
compare "$(find "$tree/usr/lib/modules" -name '*.ko*' | wc -l)" -lt 1000 'and not all that Debian has'
rm -r $tree
done_testing
