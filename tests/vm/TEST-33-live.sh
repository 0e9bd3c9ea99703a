#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --lab --cpus 1 --memory 3G
# timeout: 600
# Attach to, replace in and detach from a slice with 1 GiB cached, in the laboratory, where time can be compared:
# each in less than 100 ms, and no reader stalled for more than 10 ms.
CACHEBPF_TEST_BARS=report exec "$(dirname "$0")/TEST-30-kernel.sh" live
