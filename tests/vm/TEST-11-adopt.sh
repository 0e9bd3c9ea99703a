#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 400
# The policy outlives the daemon: killed, it leaves everything running; back again, it adopts what it finds,
# and the kernel's counters show that nothing was detached in between.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

make_slice t11.slice $'MemoryMax=64M\nCachePolicy=lfu'
make_slice t11b.slice $'MemoryMax=64M\nCachePolicy=mru'
systemctl start t11.slice t11b.slice
unit_runs t11.slice lfu
unit_runs t11b.slice mru
is "$(unit_key t11.slice adopted)" '' 'it was not adopted' # jq's // takes false for nothing
id=$(policy_key t11.slice id) before="$(counters) updated $(kernel_stat updated)"

# --- kill -9

daemon_kill
fails 'the daemon is gone' systemctl is-active cachebpfd.service
is "$(policy_key t11.slice policy) $(policy_key t11.slice id)" "lfu $id" 'the policy still runs'
added=$(policy_stat t11.slice added)
use_cache t11.slice
compare "$(policy_stat t11.slice added)" -gt "$added" 'and does its work'

daemon_start
unit_runs t11.slice lfu
unit_runs t11b.slice mru
is "$(unit_key t11.slice adopted)" true 'the new daemon adopted it'
is "$(policy_key t11.slice id)" "$id" 'it is the same attachment'
is "$(counters) updated $(kernel_stat updated)" "$before" 'the kernel attached, detached, updated nothing'

# --- killed again and again, restarted by systemd

for _ in 1 2 3; do
        pid=$(daemon_pid)
        [[ $pid -gt 1 ]] && kill -KILL "$pid"
        eventually sh -c "p=\$(systemctl show -P MainPID cachebpfd) && [ \$p != 0 ] && [ \$p != $pid ]"
done
eventually systemctl is-active cachebpfd.service
is "$(unit_key t11.slice adopted)" true 'adopted after several deaths'
systemctl restart cachebpfd.service
is "$(unit_key t11.slice adopted)" true 'adopted after a restart, with the first answer'
systemctl stop cachebpfd.service
is "$(policy_key t11.slice policy)" lfu 'stopping the daemon leaves the policy'
systemctl start cachebpfd.service
systemctl daemon-reload
systemctl daemon-reexec
eventually state_is t11.slice attached
is "$(counters) updated $(kernel_stat updated)" "$before" \
        'through all of it nothing was attached, detached, updated'

# An adopted policy is as good as any: it can be changed, and its end is noticed.
make_dropin t11.slice 50-policy $'[Slice]\nCachePolicy=fifo'
unit_runs t11.slice fifo
is "$(policy_key t11.slice updates)" 1 'an adopted policy is changed in place'
is "$(counters) updated $(($(kernel_stat updated) - 1))" "$before" 'with nothing attached or detached'
rm -r /run/systemd/system/t11.slice.d
systemctl daemon-reload
unit_runs t11.slice lfu

# --- the configuration changes while no daemon looks

daemon_kill
make_dropin t11.slice 50-policy $'[Slice]\nCachePolicy=mru'
make_dropin t11b.slice 50-policy $'[Slice]\nCachePolicy='
attached=$(kernel_stat attached) detached=$(kernel_stat detached)
daemon_start
unit_runs t11.slice mru
eventually policy_is t11b.slice none
is "$(policy_key t11b.slice policy)" none 'what nobody wants any more is detached'
is "$(kernel_stat attached) $(kernel_stat detached)" "$attached $((detached + 1))" \
        'and nothing else was: the change is an update in place'

# --- traces of a daemon killed at bad moments

pin=$(pin_of t11.slice)
daemon_kill
mkdir "$pin/updating"       # in the middle of an update
mkdir -p "$PIN_ROOT/999999" # before anything was attached
systemctl stop t11b.slice
before=$(counters) updates=$(policy_key t11.slice updates)
daemon_start
unit_runs t11.slice mru
is "$(policy_key t11.slice updates)" $((updates + 1)) 'an interrupted update is done again'
is "$(counters)" "$before" 'still in place'
fails 'its mark is gone' test -e "$pin/updating"
fails 'so is a half-made directory' test -e "$PIN_ROOT/999999"

daemon_kill
systemctl stop t11.slice # the control group goes, the pin stays
succeeds 'a pin is left' test -e "$pin/link"
daemon_start
eventually test ! -e "$pin"
fails 'the pins of a control group that is gone are removed' test -e "$pin"

# --- pins that somebody else made

systemctl start t11.slice
unit_runs t11.slice mru
pin=$(pin_of t11.slice)
daemon_kill
mkdir -p "$PIN_ROOT/4242/link" "$pin/odd/inner"
daemon_start
unit_runs t11.slice mru
like "$(daemon_log -e 4242)" "Cannot open pin.*4242/link.*leaving it alone|4242/link' is not a link of ours" \
        'a pin that is none is told, and left alone'
cachectl set --quiet t11.slice lfu
unit_runs t11.slice lfu
like "$(daemon_log -e 'Cannot pin')" "Cannot pin what belongs to policy 'lfu'" 'what cannot be pinned is told'
before="$(policy_key t11.slice id) $(policy_key t11.slice updates)"
for _ in 1 2 3; do
        systemctl reload cachebpfd.service
done
is "$(policy_key t11.slice id) $(policy_key t11.slice updates)" "$before" \
        'and the policy is not replaced again at each event'
rmdir "$PIN_ROOT/4242/link" "$PIN_ROOT/4242" "$pin/odd/inner" "$pin/odd"
cachectl reset --quiet t11.slice

books_agree 'the kernel has lost nothing either'
done_testing
