#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --lab --cpus 1 --memory 3G
# timeout: 1500
# What is measured, in the laboratory, where it can be compared. Attach to, replace in and detach from a
# slice with 1 GiB cached: each in less than 125 ms, and no reader stalled for more than 10 ms. The memory of
# the folio table: at most 1 % of what is cached.
CACHEBPF_TEST_BARS=enforce exec "$(dirname "$0")/TEST-30-kernel.sh" live memory limits
