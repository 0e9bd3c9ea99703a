#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# machine: --memory 3G
# long: yes
# timeout: 2700
# Random programs for twenty minutes, others each time. PROGRAMS_SECONDS and PROGRAMS_SEED say otherwise.
set -euo pipefail

seed=${PROGRAMS_SEED:-$(date +%s)}
echo "# seed $seed"
exec /usr/lib/cachebpf/tests/kernel/cachebpf-programs --seed "$seed" --seconds "${PROGRAMS_SECONDS:-1200}"
