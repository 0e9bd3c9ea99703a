#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 300
# A short storm; TEST-41-storm-long.sh is the real one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storm.sh"
storm "${STORM_SECONDS:-20}"
done_testing
