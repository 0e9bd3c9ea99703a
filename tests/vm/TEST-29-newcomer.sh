#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --packages --share "$TOP:/run/source"
# timeout: 900
# What README.md tells a newcomer to type after the kernel is there, to the letter, on a Debian 13 that knows
# nothing of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
. "$(dirname "$0")/packages.sh"

HERE=$(readlink -f "$(dirname "$0")")
README=/run/source/README.md
UNIT=systemd-journald.service
DROPIN=/etc/systemd/system/$UNIT.d/50-cache.conf

forget_installation
cp /run/packages/*.deb /var/tmp/ || die 'the packages cannot be copied to where the page has them'

directory=$(mktemp -d /var/tmp/newcomer.XXXXXX)
cd "$directory" || die "there is no $directory"
"$HERE/page-to-script" "$README" 'What it brings' >script || die 'the page cannot be read'
look=$(tail -n 1 script)
is "$look" "cachectl status $UNIT" 'the last thing to type is to look at it'
is "$(grep -c '^apt install ' script)" 1 'the first is to install it'

# All but the last: a reader does not look within a millisecond.
head -n -1 script >steps
succeeds 'everything before that succeeds' env DEBIAN_FRONTEND=noninteractive bash steps
started() {
        bash -c "$look" >output 2>&1
}
succeeds 'then all is well' eventually started
diag "$(<output)"
like "$(<output)" "$UNIT: attached" 'it says that the policy is attached'
like "$(<output)" "Configured: +lfu \($DROPIN:2\)" 'and why'
unit_runs $UNIT lfu
is "$(policy_key $UNIT policy)" lfu 'the kernel says so, too'

# --- what systemd says of the key

warnings() {
        journalctl --quiet --sync
        journalctl --quiet --no-pager --output=cat _PID=1 | grep -cF "$1"
}
warning=$(tr '\n' ' ' <"$README" | grep -oP "\`\KUnknown key 'CachePolicy'[^\`]*")
compare "$(warnings "$DROPIN:2: $warning")" -gt 0 'the warning is what the page says it is'
sed -i 's/^CachePolicy/X-CachePolicy/' $DROPIN
systemctl daemon-reload
eventually runs $UNIT lfu
before=$(warnings "$warning")
systemctl daemon-reload
unit_runs $UNIT lfu
is "$(warnings "$warning")" "$before" 'the other spelling causes none'
is "$(warnings "Unknown key 'X-CachePolicy'")" 0 'of whatever kind'

rm -r "${DROPIN%/*}" "$directory"
systemctl daemon-reload
succeeds 'without the drop-in the service has the stock policy' eventually policy_is $UNIT none
done_testing
