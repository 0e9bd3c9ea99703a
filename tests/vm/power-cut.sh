#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests/power-cuts, in the guest: says what the daemon makes of what it finds saved on the disk, lets the policy
# learn, and says when that is being saved. Then the power fails.
#
#       power-cut.sh NUMBER             of the cut; 0: nothing was saved before, and all of it is
#
# Prints "found whole|damaged|none FILES INODE": FILES are those half written before the daemon started, INODE is the
# saved one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

DISK=/dev/disk/by-id/virtio-disk0
STATE=/var/lib/cachebpf
UNIT=power.slice
FILE=$STATE/learned/$UNIT
NUMBER=$1

is_restored() {
        [[ -d $(pin_of "$UNIT")/restored ]]
}

is_saved() {
        [[ -s $FILE ]]
}

# Other pages each time, or what is saved would be the same.
learn() { # NUMBER
        in_slice "$UNIT" dd if=/var/tmp/data of=/dev/null bs=64K skip=$(($1 % 8 * 32)) count=256 status=none
}

systemctl stop cachebpfd.service
[[ $NUMBER -gt 0 ]] || mkfs.ext4 -q "$DISK"
mount "$DISK" "$STATE" || die 'there is no disk'
partial=$(find "$STATE/learned" -type f ! -name "$UNIT" 2>/dev/null | wc -l)
inode=$(stat -c %i "$FILE" 2>/dev/null)
head -c 32M /dev/zero >/var/tmp/data
sync
echo 1 >/proc/sys/vm/drop_caches # or this script would have paid for what the unit reads
make_slice "$UNIT" $'MemoryMax=8M\nCachePolicy=wtinylfu'
systemctl start cachebpfd.service "$UNIT"
eventually runs "$UNIT" wtinylfu
eventually is_restored

if [[ -z $inode ]]; then
        found=none
elif daemon_log 'What its cache policy learned before is ignored'; then
        found=damaged
else
        found=whole
fi
echo "found $found $partial $inode"
learn "$NUMBER"
if [[ $NUMBER -eq 0 ]]; then
        systemctl stop "$UNIT"
        eventually is_saved
        sync
        systemctl start "$UNIT"
        eventually is_restored
        learn 1
fi
echo saving
systemctl stop --no-block "$UNIT"
sleep infinity
