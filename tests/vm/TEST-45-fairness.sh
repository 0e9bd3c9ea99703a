#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --memory 1G
# long: yes
# timeout: 900
# Pressure of the whole system on two cgroups without limits, under either LRU: each keeps as much of its cache
# as it would if the other one, or itself, had no policy.
exec "$(dirname "$0")/TEST-30-kernel.sh" fairness
