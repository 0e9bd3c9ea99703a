#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 400
# A policy that does not do its work: the kernel ejects it, and everybody is told why.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

POLICIES=/run/cachebpf/policies
BUS=org.cachebpf1
FILE=/var/tmp/t15.file

drop_files() {
        rm -rf "$POLICIES" "$FILE"
        remove_test_units
}
trap drop_files EXIT

# read_much SLICE: reads a file that is much larger than the slice's limit, and of which nothing is cached. The kernel
# judges 4096 pages that it reclaimed: there are as many, and not twice as many.
read_much() {
        dd if="$FILE" iflag=nocache count=0 status=none
        in_slice "$1" dd if="$FILE" of=/dev/null bs=1M status=none
}

ejections_are() { # NUMBER
        [[ $(kernel_stat ejected) -eq $1 ]]
}

mkdir -p "$POLICIES"
cp /usr/lib/cachebpf/tests/kernel/useless.bpf.o "$POLICIES/"
systemctl reload cachebpfd.service
dd if=/dev/urandom of="$FILE" bs=1M count=56 status=none
sum=$(sha256sum <"$FILE")
sync

make_slice t15-good.slice $'MemoryMax=32M\nCachePolicy=lfu'
make_slice t15-bad.slice $'MemoryMax=32M\nCachePolicy=useless'
systemctl start t15-good.slice t15-bad.slice
unit_runs t15-good.slice lfu
unit_runs t15-bad.slice useless
good=$(policy_key t15-good.slice id)
bad=$(policy_key t15-bad.slice id)
ejected=$(kernel_stat ejected)

# --- once

read_much t15-good.slice
read_much t15-bad.slice
eventually ejections_are $((ejected + 1))
is "$(kernel_stat ejected)" $((ejected + 1)) 'the kernel ejects one policy'
lost="t15-bad.slice: Cache policy 'useless' is lost: "
lost+="the kernel ejected policy 'useless': useless: it chose 0 "
eventually daemon_log "$lost"
is "$(daemon_log "$lost" | wc -l)" 1 'the journal tells why, once'
is "$(journal UNIT=t15-bad.slice STATE=lost --output=json |
        jq -r --arg reason "the kernel ejected policy 'useless': useless: " \
                'select(.REASON | startswith($reason)) | has("MESSAGE_ID")')" \
        true 'in a field of its own, too'
like "$(journal --dmesg --output=cat)" \
        "cachebpf: policy useless \(id $bad\) of cgroup [0-9]+ is ejected: useless: it chose 0 of the last" \
        "so does the kernel's log"
unit_runs t15-bad.slice useless
isnt "$(policy_key t15-bad.slice id)" "$bad" 'it gets another chance'
is "$(policy_key t15-bad.slice ejected)" '' 'and no word remains of the first'

# --- and again and again: until the daemon gives up

gives_up() {
        if policy_is t15-bad.slice useless; then read_much t15-bad.slice; fi
        reason_has t15-bad.slice 'giving up'
}
wait_until 600 gives_up
unit_is t15-bad.slice lost
reason='^the kernel ejected policy .useless. again and again: useless: '
reason+='it chose 0 of the last [0-9]+ pages reclaimed, giving up'
like "$(unit_key t15-bad.slice reason)" "$reason" 'varlink tells why'
path=$(busctl --json=short call $BUS /org/cachebpf1 $BUS.Manager GetUnit s t15-bad.slice | jq -r '.data[0]')
like "$(busctl --json=short get-property $BUS "$path" $BUS.Unit StateReason | jq -r .data)" "$reason" \
        'so does D-Bus'
like "$(cachectl status t15-bad.slice 2>&1)" 'useless: it chose 0 of the last' 'and cachectl'
is "$(policy_key t15-bad.slice policy)" none 'the slice has the stock policy'
is "$(policy_key t15-bad.slice ejected)" useless "and the kernel's word why"

# --- no harm done

is "$(sha256sum <"$FILE")" "$sum" 'the file is what it was'
unit_runs t15-good.slice lfu
is "$(policy_key t15-good.slice id)" "$good" 'the good slice was never touched'
systemctl reload cachebpfd.service
unit_runs t15-bad.slice useless
books_agree 'nothing is lost, says the kernel'
done_testing
