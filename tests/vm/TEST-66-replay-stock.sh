#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: distro
# timeout: 600
# long: yes
# TEST-65 on a kernel without cachebpf, with a machine of its own: it records for a minute, and what starts late is not
# read ahead.
exec "$(dirname "$0")/TEST-65-replay.sh"
