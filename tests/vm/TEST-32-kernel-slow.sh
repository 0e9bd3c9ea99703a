#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug debian
# machine: --cpus 2
# timeout: 1800
# Those of the kernel's selftests that take their time.
exec "$(dirname "$0")/TEST-30-kernel.sh" isolation 'limits/a child at its limit does' protection rejected \
        tenants watchdog
