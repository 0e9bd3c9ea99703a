#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# machine: --cpus 2
# timeout: 400
# A policy asks for its program to be run, and the daemon runs it: under load, once for what was asked
# meanwhile, and with nothing lost when the daemon is killed, even in the middle of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

POLICIES=/run/cachebpf/policies
FILE=/var/tmp/t16.file

drop_files() {
        rm -rf "$POLICIES" "$FILE" "$FILE.load"
        remove_test_units
}
trap drop_files EXIT

# Reads the file, of which nothing is cached: 4096 pages that the policy hears of.
read_file() { # SLICE
        dd if="$FILE" iflag=nocache count=0 status=none
        in_slice "$1" dd if="$FILE" of=/dev/null bs=1M status=none
}

counter() { # UNIT NAME: of the daemon's
        varlink GetStats "{\"unit\":\"$1\"}" | jq -r ".counters.$2"
}

own_count() { # UNIT NAME: the policy's own variable
        bpftool --json map dump pinned "$(pin_of "$1")/map-asking_bss" |
                jq ".[0].formatted.value.\".bss\"[] | .$2 // empty"
}

unit_is_adopted() {
        [[ $(unit_key "$1" adopted) == true ]]
}

all_answered() { # UNIT: what the policy posted was taken off the ring
        [[ $(counter "$1" reconfigure_asked) -eq $(own_count "$1" posted) ]]
}

mkdir -p "$POLICIES"
cp /usr/lib/cachebpf/tests/policies/asking.bpf.o "$POLICIES/"
systemctl reload cachebpfd.service
dd if=/dev/urandom of="$FILE" bs=1M count=16 status=none
sync

make_slice t16.slice $'MemoryMax=32M\nCachePolicy=asking'
make_slice t16-plain.slice $'MemoryMax=32M\nCachePolicy=lfu'
systemctl start t16.slice t16-plain.slice
unit_runs t16.slice asking
unit_runs t16-plain.slice lfu
succeeds 'the program is pinned beside the link' test -e "$(pin_of t16.slice)/reconfigure"
is "$(counter t16.slice reconfigure_asked)" 0 'nothing was asked for yet'
is "$(counter t16-plain.slice reconfigure_asked)" null 'a policy that never asks has no such counters'

# --- under load

for _ in 1 2 3 4; do
        read_file t16.slice
done
eventually all_answered t16.slice
posted=$(own_count t16.slice posted)
compare "$posted" -ge 4 'the policy asked'
is "$(counter t16.slice reconfigure_asked)" "$posted" 'each event was taken'
is "$(own_count t16.slice lost)" 0 'none was lost'
compare "$(counter t16.slice reconfigure_done)" -ge 1 'the program ran'
compare "$(counter t16.slice reconfigure_done)" -le "$posted" 'at most once for each event'
is "$(counter t16.slice reconfigure_done)" "$(own_count t16.slice ended)" 'as often as it says itself'
is "$(counter t16.slice reconfigure_failed)" 0 'and never failed'
like "$(cachectl stats t16.slice)" 'reconfigure_done +[1-9]' 'cachectl shows it'
path=$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager GetUnit s t16.slice |
        jq -r '.data[0]')
is "$(busctl --json=short call org.cachebpf1 "$path" org.cachebpf1.Unit GetStats |
        jq '.data[0].reconfigure_asked')" \
        "$posted" 'and so does D-Bus'

# --- while no daemon is there

id=$(policy_key t16.slice id) before=$(counters)
daemon_kill
read_file t16.slice
read_file t16.slice
compare "$(own_count t16.slice posted)" -gt "$posted" 'the policy goes on asking'
ended=$(own_count t16.slice ended)
daemon_start
eventually all_answered t16.slice
is "$(counter t16.slice reconfigure_asked)" "$(own_count t16.slice posted)" \
        'the next daemon takes what is left'
compare "$(own_count t16.slice ended)" -gt "$ended" 'and runs the program'
compare "$(own_count t16.slice ended)" -lt $((ended + 5)) 'once for many events that waited'
is "$(counter t16.slice reconfigure_done)" "$(own_count t16.slice ended)" \
        'going on with the counters of the one before'
read_file t16.slice
eventually all_answered t16.slice
is "$(counter t16.slice reconfigure_asked)" "$(own_count t16.slice posted)" 'it watches as well as the first'
is "$(policy_key t16.slice id) $(counters)" "$id $before" \
        'through all of it nothing was attached or detached'

# --- killed in the middle of it

# What is cached already counts as added when a policy is replaced. The program takes as long as it can, so that a
# busy host can find it at work.
make_dropin t16.slice 50-options "[Slice]
CachePolicyOptions=nr_added=$(($(policy_stat t16.slice managed_folios) + 2000)) run_ms=20000"
eventually updates_are t16.slice 1
is "$(own_count t16.slice posted) $(own_count t16.slice begun)" '0 0' 'a changed option is a new start'
begun_is() {
        [[ $(own_count t16.slice begun) -eq $1 ]]
}
daemon_no_restart
pid=$(daemon_pid)
read_file t16.slice &
reading=$!
eventually begun_is 1
kill -KILL "$pid" # at once: all that takes time was done before
is "$(own_count t16.slice ended)" 0 'its program is at work when it is killed'
eventually daemon_is_dead
posted=$(own_count t16.slice posted)
wait "$reading"
is "$(own_count t16.slice begun)" 1 'the daemon is dead, and the program is not run any more'
daemon_start
eventually all_answered t16.slice
is "$(counter t16.slice reconfigure_asked)" "$posted" 'the event was still there for the next daemon'
is "$(own_count t16.slice begun) $(own_count t16.slice ended)" '2 2' 'which ran the program to its end'

# --- a program that fails

make_dropin t16.slice 50-options $'[Slice]\nCachePolicyOptions=nr_added=64 result=-5'
failed() {
        [[ $(counter t16.slice reconfigure_failed) -ge ${1:-1} ]]
}
eventually updates_are t16.slice 2
for _ in 1 2 3; do
        read_file t16.slice
done
eventually failed 2
compare "$(counter t16.slice reconfigure_failed)" -ge 2 'failures are counted'
is "$(counter t16.slice reconfigure_done)" 0 'and are no successes'
is "$(daemon_log 't16.slice: The program that its cache policy asked for failed' | wc -l)" 1 \
        'the journal has one line'
unit_runs t16.slice asking

# --- LHD, the policy that this is for, with more data than fits

make_slice t16-lhd.slice $'MemoryMax=12M\nCachePolicy=lhd\nCachePolicyOptions=reconfigure_every=4096'
systemctl start t16-lhd.slice
unit_runs t16-lhd.slice lhd
lhd() { # NAME: one of its variables
        bpftool --json map dump pinned "$(pin_of t16-lhd.slice)/map-lhd_bss" |
                jq ".[0].formatted.value.\".bss\"[] | .$1 // empty"
}
done_are() {
        [[ $(counter t16-lhd.slice reconfigure_done) -ge $1 ]]
}
up_to_date() {
        [[ $(lhd computed) -eq $(lhd asked) ]]
}
touch "$FILE.load"
while [[ -e $FILE.load ]]; do
        read_file t16-lhd.slice
done &
load=$!
eventually done_are 2
compare "$(counter t16-lhd.slice reconfigure_done)" -ge 2 'LHD reconfigures under load'
compare "$(lhd computed)" -gt 0 'it says so itself'
id=$(policy_key t16-lhd.slice id)
daemon_kill
asked=$(lhd asked)
asks_on() {
        [[ $(lhd asked) -gt $asked ]]
}
eventually asks_on
compare "$(lhd asked)" -gt "$asked" 'killed in the middle, it goes on asking'
daemon_start
eventually unit_is_adopted t16-lhd.slice
finished=$(counter t16-lhd.slice reconfigure_done)
eventually done_are $((finished + 1))
compare "$(counter t16-lhd.slice reconfigure_done)" -gt "$finished" 'and the next daemon goes on'
rm "$FILE.load"
wait "$load"
eventually up_to_date
is "$(lhd computed)" "$(lhd asked)" 'nothing that it asked for is left undone'
is "$(counter t16-lhd.slice reconfigure_failed)" 0 'and nothing failed'
is "$(policy_key t16-lhd.slice id)" "$id" 'it is the same attachment'
systemctl stop t16-lhd.slice

# --- objects that are wrong

cp /usr/lib/cachebpf/tests/policies/asking.bpf.o "$POLICIES/other.bpf.o"
make_dropin t16.slice 60-policy $'[Slice]\nCachePolicy=other\nCachePolicyOptions='
systemctl reload cachebpfd.service
unit_runs t16.slice other
read_file t16.slice
has_run() {
        [[ $(counter t16.slice reconfigure_done) -ge 1 ]]
}
succeeds 'the program is found whatever the object is called' eventually has_run
make_dropin t16.slice 60-policy $'[Slice]\nCachePolicy=lfu\nCachePolicyOptions='
unit_runs t16.slice lfu
fails 'a policy that does not ask leaves no program' test -e "$(pin_of t16.slice)/reconfigure"
is "$(counter t16.slice reconfigure_asked)" null 'and no counters'
succeeds 'the daemon is up' systemctl is-active cachebpfd.service
books_agree 'the kernel has lost nothing'
done_testing
