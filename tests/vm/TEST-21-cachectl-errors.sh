#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 120
# What goes wrong is said in one sentence that tells what to do.
. "$(dirname "$0")/lib.sh"

# gives STATUS REGEX DESCRIPTION COMMAND…: exit status, one line on stderr, nothing else.
gives() {
        local status=$1 regex=$2 what=$3 output got
        shift 3
        output=$("$@" 2>&1) && got=0 || got=$?
        is "$got" "$status" "$what: exit status"
        like "$output" "$regex" "$what: message"
        is "$(wc -l <<<"$output")" 1 "$what: one line"
}

# --- configuration
make_slice ctwrong.slice $'MemoryMax=64M\nCachePolicy=nosuch'
systemctl start ctwrong.slice
succeeds 'an unknown policy makes the unit failed' eventually sh -c \
        'cachectl list --no-legend ctwrong.slice | grep -q " failed "'
like "$(cachectl status ctwrong.slice)" 'Reason: .*nosuch.*/run/systemd/system/ctwrong.slice:3' \
        'the reason names policy, file and line'
cachectl status --quiet ctwrong.slice
is $? 3 'the exit status says that it is not in effect'

# --- the command line
gives 2 'Unknown verb "frobnicate"' 'unknown verb' cachectl frobnicate
gives 2 'Unknown or ambiguous option "--frobnicate"' 'unknown option' cachectl --frobnicate
gives 2 'Option --json= takes pretty, short or off' 'wrong value' cachectl --json=xml
gives 4 'Unit "ctnosuch.service" is not known to cachebpfd' 'unknown unit' cachectl stats ctnosuch

# --- no daemon
systemctl stop cachebpfd-varlink.socket cachebpfd.service
gives 1 'cachebpfd is not running.*systemctl start cachebpfd.service' 'no daemon' cachectl status
like "$(cachectl version)" 'cachebpfd not running' 'version says so without an error'
systemctl start cachebpfd-varlink.socket cachebpfd.service
succeeds 'and it works again as soon as there is one' eventually cachectl status
done_testing
