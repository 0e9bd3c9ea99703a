#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: debug debian
# timeout: 1200
# long: yes
# Ten minutes of policies that replace each other while tasks use folios that these rejected, with delays where
# an entry of the folio table changes hands. REPLACED_SECONDS says how long.
. "$(dirname "$0")/lib.sh"

DELAY=/sys/kernel/debug/cachebpf/delay
[[ -d $DELAY ]] || die 'this kernel has no delays: it lacks CONFIG_CACHEBPF_CHECK'
echo 49 >$DELAY/seed
echo 2000 >$DELAY/max_us
echo 50 >$DELAY/one_in

end=$((SECONDS + ${REPLACED_SECONDS:-600})) rounds=0
while [[ $SECONDS -lt $end ]]; do
        "$(dirname "$0")/TEST-30-kernel.sh" 'rejected/the policy is replaced while they are used' >round.tap 2>&1 ||
                die "round $rounds failed: $(grep -v '^ok' round.tap)"
        rounds=$((rounds + 1))
done
echo 0 >$DELAY/one_in
compare "$rounds" -gt 0 "policies replaced each other in $rounds rounds"
for moment in reject reconsider retire hand_over; do
        passed=$(awk -v moment=$moment '$1 == moment { print $2 }' $DELAY/passed)
        compare "$passed" -gt 0 "moments that could be delayed: $moment $passed times"
done
done_testing
