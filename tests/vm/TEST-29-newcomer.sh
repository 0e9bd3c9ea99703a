#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --packages --share "$TOP:/run/source"
# timeout: 900
# What README.md tells a newcomer to type after the kernel is there, to the letter, on a Debian 13 that knows
# nothing of it: installing, looking, setting, removing. In between the newcomer makes mistakes, and is told of each
# one, with an exit status. (TEST-26 installs and removes the kernel.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
. "$(dirname "$0")/packages.sh"

HERE=$(readlink -f "$(dirname "$0")")
README=/run/source/README.md
UNIT=systemd-journald.service
DROPIN=/etc/systemd/system/$UNIT.d/50-cache.conf
RUN=/run/cachebpf/units.d

# types COMMAND: sets output to all that is shown, and status.
types() {
        output=$(bash -c "$1" 2>&1) && status=0 || status=$?
}

# says STATUS OUTPUT COMMAND: a point: exit status, and every letter that is shown.
says() {
        types "$3"
        is "$status: $output" "$1: $2" "$3"
}

# shows STATUS REGEX COMMAND: a point: the same, if not every letter is known.
shows() {
        types "$3"
        like "$status: $output" "^$1: .*$2" "$3"
}

warnings() { # TEXT: how often systemd has said that
        journalctl --quiet --sync
        journalctl --quiet --no-pager --output=cat _PID=1 | grep -cF "$1"
}

change_dropin() { # SED-SCRIPT
        sed -i "$1" $DROPIN
        systemctl daemon-reload
}

forget_installation
cp /run/packages/*.deb /var/tmp/ || die 'the packages cannot be copied to where the page has them'
pins=$(ls -A /sys/fs/bpf)

# --- what the page has to type

directory=$(mktemp -d /var/tmp/newcomer.XXXXXX)
cd "$directory" || die "there is no $directory"
"$HERE/page-to-script" "$README" 'What it brings' >script || die 'the page cannot be read'
sed '/^cachectl /,$d' script >steps
mapfile -t lines < <(grep '^cachectl ' script)
look=${lines[0]}
is "$look" "cachectl status $UNIT" 'the first thing to type is to look at it'
is "${lines[*]:1}" "cachectl set $UNIT s3fifo cachectl reset $UNIT" 'the others change it and take that back'
is "$(sed '1,/^cachectl /d; /^cachectl /d; /^echo "## /d' script)" '' 'there is no more to type'
is "$(grep -c '^apt install ' steps)" 1 'before that it is installed'
# The page has these for root's prompt: they are not typed at once.
mapfile -t removals < <(sed -n 's/^# \(apt remove .*\)/\1/p' "$README")
is "${removals[0]}" 'apt remove cachebpfd cachebpf-policies cachectl' 'in the end it is removed'
is "${#removals[@]}" 2 'and the kernel after that'

# --- installation, and a drop-in

# Without a look: a reader does not look within a millisecond.
succeeds 'everything before that succeeds' env DEBIAN_FRONTEND=noninteractive bash steps
succeeds 'then all is well' eventually bash -c "$look"
shows 0 "● $UNIT: attached" "$look"
diag "$output"
like "$output" "Configured: +lfu \($DROPIN:2\)" 'and why'
unit_runs $UNIT lfu
is "$(policy_key $UNIT policy)" lfu 'the kernel says so, too'

# --- what systemd says of the key

warning=$(tr '\n' ' ' <"$README" | grep -oP "\`\KUnknown key 'CachePolicy'[^\`]*")
compare "$(warnings "$DROPIN:2: $warning")" -gt 0 'the warning is what the page says it is'
change_dropin 's/^CachePolicy/X-&/'
eventually runs $UNIT lfu
before=$(warnings "$warning")
systemctl daemon-reload
unit_runs $UNIT lfu
is "$(warnings "$warning")" "$before" 'the other spelling causes none'
is "$(warnings "Unknown key 'X-CachePolicy'")" 0 'of whatever kind'

# --- set and reset

says 0 "Changed $RUN/$UNIT.conf." "${lines[1]}"
unit_runs $UNIT s3fifo
shows 0 "$UNIT: attached" "$look"
like "$output" "Configured: s3fifo \($RUN/$UNIT.conf:3\)" 'where it was set'
like "$output" 'Effective: s3fifo' 'what the daemon attached'
like "$output" "Verified: s3fifo \(id $(policy_key $UNIT id) in the kernel\)" 'what the kernel reports'
says 0 "Removed $RUN/$UNIT.conf." "${lines[2]}"
unit_runs $UNIT lfu
shows 0 "Configured: lfu \($DROPIN:2\)" "$look"

# --- the status that the page shows

sed -n '/^\$ cachectl status /,/^```$/p' "$README" | grep -v '^```' >sample
mkdir -p /etc/systemd/system/batch.slice.d
printf '[Slice]\nCachePolicy=lfu\n' >/etc/systemd/system/batch.slice.d/50-cache.conf
systemctl daemon-reload
systemctl start batch.slice
unit_runs batch.slice lfu
systemctl restart cachebpfd.service
adopted() {
        [[ $(unit_key batch.slice adopted) == true ]]
}
succeeds 'another daemon adopts the policy' eventually adopted
form() { # without what is another one each time
        sed -E 's/\(id [0-9]+/(id N/; s/[A-Z][a-z]{2} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} UTC; .+/TIME/'
}
is "$(head -n 1 sample)" '$ cachectl status batch.slice' 'the page shows a status'
types 'cachectl status batch.slice'
is "$(form <<<"$output")" "$(sed 1d sample | form)" 'a status has the form that the page shows'

# --- names that are not quite right

says 0 "Changed $RUN/$UNIT.conf." 'cachectl set systemd-journald mru'
unit_runs $UNIT mru
says 0 "Removed $RUN/$UNIT.conf." 'cachectl reset systemd-journald'
unit_runs $UNIT lfu

LOGIN=systemd-logind.service ALIAS=dbus-org.freedesktop.login1
systemctl start $LOGIN
is "$(systemctl show -P Id $ALIAS.service)" $LOGIN 'systemd knows the service by another name'
says 0 "Changed $RUN/$LOGIN.conf." "cachectl set $ALIAS.service lfu"
unit_runs $LOGIN lfu
shows 0 "● $LOGIN: attached" "cachectl status $ALIAS"
says 0 "Removed $RUN/$LOGIN.conf." "cachectl reset $ALIAS"
succeeds 'it has the stock policy again' eventually policy_is $LOGIN none

# --- wrong names

unknown='is not known to cachebpfd; "systemctl list-units --type=slice,service,scope" shows the units that are loaded.'
policies='/etc/cachebpf/policies, /run/cachebpf/policies, /usr/lib/cachebpf/policies'
list="'cachectl policies' lists what there is"
keys='CachePolicy=, CachePolicyOptions=, CacheScanThreads=, CacheAdmission=, CacheReadahead=, CacheFiles='
keys+=', CacheLevel=, CacheLearning=, CacheReplay=, CacheCandidates=, CacheAutoMargin='
says 4 'There is no unit "journald.service".' 'cachectl set journald lfu'
says 4 "Unit \"journald.service\" $unknown" 'cachectl status journald'
says 4 'There is no unit "systemd-journald.servic.service".' 'cachectl set systemd-journald.servic lfu'
says 4 'There is no unit "lfu.service".' 'cachectl set lfu systemd-journald'
says 2 "Nothing was changed: 'systemd-journald.socket' is not the name of a slice, service or scope." \
        'cachectl set systemd-journald.socket lfu'
says 2 "Nothing was changed: 'systemd-*' is not the name of a slice, service or scope." \
        "cachectl set 'systemd-*' lfu"
says 2 "Nothing was changed: unknown policy 'lffu': no lffu.bpf.o in $policies; $list." \
        'cachectl set systemd-journald lffu'
says 2 "Nothing was changed: 'CachePolcy=' is no setting of a unit; there are $keys." \
        'cachectl set systemd-journald CachePolcy=lfu'
is "$(ls -A $RUN)" '' 'nothing of that was written'
unit_runs $UNIT lfu

# --- mistakes in the drop-in

change_dropin 's/.*CachePolicy=/CachePolcy=/'
unit_is $UNIT unconfigured
shows 3 'Configured: -' "$look"
compare "$(warnings "$DROPIN:2: Unknown key 'CachePolcy' in section [Service], ignoring.")" -gt 0 \
        'systemd names the key, file and line'
said="$DROPIN:2: Unknown key CachePolcy= in section [Service], ignoring."
compare "$(daemon_log "$said" | wc -l)" -gt 0 'so does the daemon'
says 3 "$said" 'cachectl verify systemd-journald'
change_dropin 's/^CachePolcy=/X-&/'
says 3 "${said/CachePolcy/X-CachePolcy}" 'cachectl verify systemd-journald'

change_dropin 's/.*Polcy=.*/CachePolicy=lffu/'
unit_is $UNIT failed
shows 3 "$UNIT: failed.* Reason: unknown policy 'lffu' \($DROPIN:2\): no lffu.bpf.o in $policies" "$look"
is "$(policy_key $UNIT policy)" none 'the unit keeps the stock policy'
change_dropin s/lffu/lfu/
unit_runs $UNIT lfu

# --- removal, with policies attached

compare "$(kernel_stat policies)" -gt 0 'the kernel has policies'
# apt asks, and a reader says yes
succeeds "${removals[0]}" env DEBIAN_FRONTEND=noninteractive bash -c "${removals[0]}" <<<y
no_policies() {
        [[ $(kernel_stat policies) == 0 ]]
}
succeeds 'the kernel has none' eventually no_policies
succeeds 'the service has the stock policy' eventually policy_is $UNIT none
is "$(ls -A /sys/fs/bpf)" "$pins" 'no pins are left'
is "$(systemctl list-unit-files --no-legend 'cachebpf*')" '' 'systemd knows no unit of it'
is "$(systemctl list-units --no-legend 'cachebpf*')" '' 'and runs none'
fails 'there is no daemon' pgrep -x cachebpfd
no_name() {
        [[ $(busctl list --no-legend) != *cachebpf* ]]
}
succeeds 'nor a name on the bus' eventually no_name
is "$(find /run -xdev -name 'org.cachebpf*')$(grep -F org.cachebpf /proc/net/unix)" '' 'nor a socket'
says 127 'bash: line 1: cachectl: command not found' "$look"
books_agree 'lists, table and page cache agree'

# What the reader wrote stays, and systemd goes on ignoring it.
succeeds 'the drop-in is there' grep -q CachePolicy=lfu $DROPIN
succeeds 'the service starts with it' systemctl restart $UNIT
logged() {
        systemd-cat --identifier=newcomer echo 'still here'
        journalctl --quiet --sync
        journalctl --quiet --no-pager --output=cat --identifier=newcomer | grep -qx 'still here'
}
succeeds 'and works' eventually logged

systemctl stop batch.slice
rm -r "${DROPIN%/*}" /etc/systemd/system/batch.slice.d "$directory"
systemctl daemon-reload
done_testing
