#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug debian
# machine: --cpus 2
# timeout: 1800
# Those of the kernel's selftests that want several processors, but for those of TEST-33 and 45.
exec "$(dirname "$0")/TEST-30-kernel.sh" --spread -fairness -memory
