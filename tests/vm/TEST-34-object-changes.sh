#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 180
# The object of a policy changes under its name: a reload, and nothing else, has it replaced where it runs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

POLICIES=/run/cachebpf/policies
OBJECTS=/usr/lib/cachebpf/policies

drop_files() {
        rm -f "$POLICIES"/t34.bpf.o
        remove_test_units
        systemctl reload cachebpfd.service
}
trap drop_files EXIT

# As make install does: the new file takes the place of the old one.
install_object() { # FILE
        mkdir -p "$POLICIES"
        cp "$1" "$POLICIES/.t34.new"
        mv "$POLICIES/.t34.new" "$POLICIES/t34.bpf.o"
}

restart_daemon() {
        systemctl restart cachebpfd.service
        eventually cachectl status
}

log_count() { # TEXT
        daemon_log -F "$1" | wc -l
}

# What tells the two objects apart.
constants() {
        cachectl show-policy --json=short t34 | jq -r '[.[0].tunables[].name] | sort | join(" ")'
}

install_object "$OBJECTS/lfu.bpf.o"
systemctl reload cachebpfd.service
make_slice t34.slice $'MemoryMax=64M\nCachePolicy=t34'
make_slice t34b.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t34.slice t34b.slice
unit_runs t34.slice t34
unit_runs t34b.slice lfu
use_cache t34.slice
detached=$(kernel_stat detached) other=$(policy_key t34b.slice id) before=$(constants)

systemctl reload cachebpfd.service
is "$(policy_key t34.slice updates) $(kernel_stat detached)" "0 $detached" 'a reload alone replaces nothing'

# --- another object

install_object "$OBJECTS/mru.bpf.o"
systemctl daemon-reload
cachectl status >/dev/null
is "$(policy_key t34.slice updates)" 0 'a new object alone is not looked at'
systemctl reload cachebpfd.service
succeeds 'a reload replaces it' eventually updates_are t34.slice 1
unit_runs t34.slice t34
isnt "$(constants)" "$before" 'it is the other one'
is "$(kernel_stat detached)" "$detached" 'in place, with no moment without a policy'
is "$(policy_key t34b.slice id)" "$other" 'where the object is the same nothing happens'
is "$(log_count "t34.slice: Cache policy 't34' is attached in place of the one before.")" 1 \
        'the log says so, once'
is "$(log_count "Policy 't34' has changed: '$POLICIES/t34.bpf.o'.")" 1 'and which object it was'
use_cache t34.slice

# --- the next daemon knows which one runs

id=$(policy_key t34.slice id)
restart_daemon
unit_runs t34.slice t34
is "$(policy_key t34.slice id) $(unit_key t34.slice adopted)" "$id true" 'it is adopted as it is'
install_object "$OBJECTS/lfu.bpf.o"
restart_daemon
succeeds 'a start reads policies as a reload does' eventually updates_are t34.slice 2
unit_runs t34.slice t34

# --- a broken one

id=$(policy_key t34.slice id)
head -c 4000 "$OBJECTS/mru.bpf.o" >"$POLICIES/.t34.new"
mv "$POLICIES/.t34.new" "$POLICIES/t34.bpf.o"
like "$(cachectl reload 2>&1)" \
        "t34.slice: policy 't34' .* cannot be used: $POLICIES/t34.bpf.o: it is not a BPF object file" \
        'a broken object is one clear message'
unit_is t34.slice failed
like "$(unit_key t34.slice reason)" 'the policy attached before keeps running$' 'with what becomes of the unit'
is "$(policy_key t34.slice id) $(policy_key t34.slice policy)" "$id t34" \
        'the kernel goes on with the one before'
restart_daemon
unit_is t34.slice failed
is "$(policy_key t34.slice id) $(policy_key t34.slice policy)" "$id t34" 'also when another daemon comes'
install_object "$OBJECTS/lfu.bpf.o"
cachectl reload --quiet
unit_runs t34.slice t34
is "$(policy_key t34.slice id) $(kernel_stat detached)" "$id $detached" 'the one that runs is right again'
books_agree 'the kernel has lost nothing'
done_testing
