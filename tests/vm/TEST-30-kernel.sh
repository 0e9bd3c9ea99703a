#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug debian
# machine: --memory 2G
# timeout: 1800
# The kernel's selftests (kernel/selftests): their TAP is ours. Without arguments, which select tests, those that
# stay on one processor, but for those of TEST-33, 45 and 48.
set -euo pipefail

SCRATCH=/var/tmp/cachebpf-selftest

# A file system of its own kind, on a file: large folios need XFS.
mount_xfs() {
        mkdir -p "$SCRATCH/xfs"
        truncate -s 400M "$SCRATCH/xfs.img"
        mkfs.xfs -q -f "$SCRATCH/xfs.img" && mount -o loop,noatime "$SCRATCH/xfs.img" "$SCRATCH/xfs"
}

clean_up() {
        ! mountpoint -q "$SCRATCH/xfs" || umount "$SCRATCH/xfs"
        rm -rf "$SCRATCH"
}

trap clean_up EXIT
clean_up
mkdir -p "$SCRATCH"
mount_xfs >&2 || { echo 'Bail out! there is no XFS to test large folios on' && exit 1; }
export CACHEBPF_TEST_XFS=$SCRATCH/xfs
export CACHEBPF_TEST_DIR=$SCRATCH
[[ $# -gt 0 ]] || set -- --pinned -fairness -frames -'limits/a child at its limit costs' -memory
/usr/lib/cachebpf/tests/kernel/cachebpf-selftest "$@"
