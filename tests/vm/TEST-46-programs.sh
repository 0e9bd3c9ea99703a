#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# long: yes
# timeout: 900
# Random programs against policies (kernel/selftests/programs.c): always the same ones, as many as there is
# time for. Their TAP is ours.
set -euo pipefail

exec /usr/lib/cachebpf/tests/kernel/cachebpf-programs --seed 1 --seconds 75
