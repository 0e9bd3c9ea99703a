#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 400
# What users get wrong: one clear message each, and everything else goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

POLICIES=/run/cachebpf/policies

once() { # DESCRIPTION TEXT…: the daemon said this once
        local what=$1
        shift
        is "$(daemon_log "$@" | wc -l)" 1 "$what"
}

# The daemon said this when it read a file: when the unit starts, and maybe because systemd has just been reloaded.
named() { # DESCRIPTION TEXT…
        local what=$1 times
        shift
        times=$(daemon_log "$@" | wc -l)
        compare "$times" -ge 1 "$what"
        compare "$times" -le 2 "$what, not at each event"
}

make_slice t12-good.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t12-good.slice
unit_runs t12-good.slice lfu
id=$(policy_key t12-good.slice id)

# --- a policy nobody has

make_slice t12-unknown.slice $'MemoryMax=64M\nCachePolicy=lru2000'
systemctl start t12-unknown.slice
unit_is t12-unknown.slice failed
like "$(unit_key t12-unknown.slice reason)" \
        "unknown policy 'lru2000'.*t12-unknown.slice:3.*/usr/lib/cachebpf/policies" \
        'the reason names policy, file, line, directories'
is "$(policy_key t12-unknown.slice policy)" none 'the slice has the stock policy'
once 'said once' "t12-unknown.slice: Cache policy 'lru2000' failed"
is "$(journal UNIT=t12-unknown.slice POLICY=lru2000 STATE=failed --output=json |
        jq -r 'has("MESSAGE_ID")' | sort -u)" true 'with structured fields in the journal'

make_slice t12-name.slice $'MemoryMax=64M\nCachePolicy=../lfu'
systemctl start t12-name.slice
unit_is t12-name.slice failed
like "$(unit_key t12-name.slice reason)" 'is not a policy name' 'a name with a slash is refused'

# --- a unit file full of garbage

make_unit t12-garbage.slice \
        $'[Slice]\nthis is no assignment\nCachePolicy lfu\n=\nCachePolicy=mru\n\001[Nonsense\n'
make_dropin t12-garbage.slice 50 $'[Slice]\nCachePolicy=\xff\xfe\n'
systemctl start t12-garbage.slice
unit_runs t12-garbage.slice mru
named 'line 2 is named' "t12-garbage.slice:2: Missing '='"
named 'line 4 is named' "t12-garbage.slice:4: Missing key name before '='"
named 'line 2 of the drop-in is named' '50.conf:2: Line is not valid UTF-8'
make_unit t12-refused.slice $'[Slice]\nCachePolicy=mru\n\xff\xfe\n'
fails 'systemd refuses a unit file that is worse' systemctl start t12-refused.slice
make_unit t12-section.slice $'[Unit]\nCachePolicy=lfu\n'
systemctl start t12-section.slice
eventually daemon_log 't12-section.slice:2: CachePolicy= belongs into section [Slice]'
named 'a line in the wrong section is named' 't12-section.slice:2: CachePolicy= belongs into section [Slice]'
is "$(policy_key t12-section.slice policy)" none 'and ignored'

# --- objects that are missing or broken

mkdir -p $POLICIES
cp /usr/lib/cachebpf/policies/lfu.bpf.o $POLICIES/there.bpf.o
echo 'not an object' >$POLICIES/text.bpf.o
head -c 2000 /usr/lib/cachebpf/policies/lfu.bpf.o >$POLICIES/cut.bpf.o
systemctl reload cachebpfd.service
rm $POLICIES/there.bpf.o # after the daemon listed it

make_slices $'MemoryMax=64M\nCachePolicy=NAME' t12-{there,text,cut}.slice
systemctl start t12-there.slice t12-text.slice t12-cut.slice
for name in text cut; do
        unit_is "t12-$name.slice" failed
        is "$(policy_key "t12-$name.slice" policy)" none 'the slice has the stock policy'
done
unit_runs t12-there.slice there # what counts is what was there when the daemon looked
like "$(unit_key t12-text.slice reason)" "$POLICIES/text.bpf.o: it is not a BPF object file" \
        'a broken object is named'
like "$(varlink ListPolicies '{"name":"text"}' | jq -r .problem)" \
        'not a BPF object file' 'and it is listed with its problem'

systemctl reload cachebpfd.service
unit_is t12-there.slice failed
like "$(unit_key t12-there.slice reason)" "unknown policy 'there' .*; the policy attached before keeps running" \
        'so is a missing one'
is "$(policy_key t12-there.slice policy)" there 'which goes on where it runs'

# An object in /run goes before the one in /usr; put right, a reload is enough.
cp /usr/lib/cachebpf/policies/lfu.bpf.o $POLICIES/there.bpf.o
cp /usr/lib/cachebpf/policies/mru.bpf.o $POLICIES/text.bpf.o
systemctl reload cachebpfd.service
unit_runs t12-there.slice there
unit_runs t12-text.slice text

# --- a policy that the verifier does not accept: the last instruction but one reads through nothing

python3 - /usr/lib/cachebpf/policies/lfu.bpf.o $POLICIES/wild.bpf.o <<'PYTHON'
import struct, sys
elf = bytearray(open(sys.argv[1], 'rb').read())
shoff, = struct.unpack_from('<Q', elf, 40)
shentsize, shnum, shstrndx = struct.unpack_from('<HHH', elf, 58)
section = lambda i: struct.unpack_from('<IIQQQQ', elf, shoff + i * shentsize)
names = section(shstrndx)[4]
for i in range(shnum):
    name, _, _, _, offset, size = section(i)
    # not the filter, it is not loaded
    if size and elf[names + name:].startswith((b'struct_ops/lfu', b'struct_ops.s/lfu')):
        # r0 = *(u64 *)(r9 + 0)
        elf[offset + size - 16:offset + size - 8] = bytes([0x79, 0x90, 0, 0, 0, 0, 0, 0])
        break
open(sys.argv[2], 'wb').write(elf)
PYTHON
make_slice t12-wild.slice $'MemoryMax=64M\nCachePolicy=wild'
systemctl reload cachebpfd.service
systemctl start t12-wild.slice
unit_is t12-wild.slice failed
like "$(unit_key t12-wild.slice reason)" "policy 'wild' .*: the kernel rejects its program: lfu_.*R9 " \
        'the reason has the program and what the verifier says'
once 'said once' "t12-wild.slice: Cache policy 'wild' failed"

# Who sets it is told at once, and finds it set all the same.
make_slice t12-set.slice 'MemoryMax=64M'
systemctl start t12-set.slice
output=$(cachectl set t12-set.slice wild 2>&1) && status=0 || status=$?
is "$status" 3 'cachectl set: the exit status of a policy that is rejected'
like "$output" \
        "The policy of t12-set.slice is not in effect: policy 'wild' .*: the kernel rejects its program" \
        'and the reason'
like "$output" 'Changed /run/' 'and what was changed'
is "$(unit_key t12-set.slice state) $(unit_key t12-set.slice configured)" 'failed wild' 'it stays configured'
succeeds 'with --no-block nobody waits for that' cachectl set --no-block t12-set.slice wild CacheAdmission=yes
succeeds 'one that works' cachectl set t12-set.slice lfu
is "$(policy_key t12-set.slice policy)" lfu 'is in the kernel when cachectl set returns'
succeeds 'reset' cachectl reset t12-set.slice
is "$(policy_key t12-set.slice policy)" none 'waits, too'

# --- a policy object that changes for the worse under a running unit

make_slice t12-change.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t12-change.slice
unit_runs t12-change.slice lfu
make_dropin t12-change.slice 50 $'[Slice]\nCachePolicy=cut'
unit_is t12-change.slice failed
is "$(policy_key t12-change.slice policy)" lfu 'what ran goes on running'
is "$(unit_key t12-change.slice effective)" lfu 'and is shown as effective'

# --- a broken rule

mkdir -p /run/cachebpf/policies.d
printf '[Match]\nUnit=t12-rule.slice\n' >/run/cachebpf/policies.d/10-nothing.conf
printf 'junk\n[Policy]\nCachePolicy=lfu\n' >/run/cachebpf/policies.d/20-all.conf
systemctl reload cachebpfd.service
once 'a rule without policy is named' '10-nothing.conf:1: No CachePolicy='
once 'so is one that matches nothing' '20-all.conf:1: Neither Unit= nor Cgroup='
rm -r /run/cachebpf/policies.d $POLICIES
systemctl reload cachebpfd.service # other tests look at what policies there are

# --- a slice that vanishes in the middle

make_slices $'MemoryMax=64M\nCachePolicy=lfu' t12-v{1,2,3,4,5}.slice
for i in 1 2 3 4 5; do
        systemctl start "t12-v$i.slice"
        [[ $((i % 2)) -eq 0 ]] || sleep 0."$i"
        systemctl stop "t12-v$i.slice"
done
for i in 1 2 3 4 5; do
        unit_ends "t12-v$i.slice"
done
is "$(daemon_log t12-v | grep -e failed -e lost)" '' 'a slice that stops at once is no failure'
systemctl start t12-v1.slice
unit_runs t12-v1.slice lfu
use_cache t12-v1.slice
systemctl stop t12-v1.slice
unit_ends t12-v1.slice

# A control group somebody removes behind systemd's back.
systemctl start t12-v2.slice
unit_runs t12-v2.slice lfu
pin=$(pin_of t12-v2.slice)
rmdir "$(cgroup_of t12-v2.slice)"
eventually test ! -e "$pin"
fails 'the pins of a vanished control group go' test -e "$pin"
unit_ends t12-v2.slice

# --- the kernel lets go of a policy

systemctl start t12-v3.slice
unit_runs t12-v3.slice lfu
old=$(policy_key t12-v3.slice id)
bpftool link detach pinned "$(pin_of t12-v3.slice)/link"
eventually daemon_log "t12-v3.slice: Cache policy 'lfu' is lost"
once 'the loss is noticed' "t12-v3.slice: Cache policy 'lfu' is lost"
unit_runs t12-v3.slice lfu
isnt "$(policy_key t12-v3.slice id)" "$old" 'and the policy attached anew'

# --- everything else

unit_runs t12-good.slice lfu
is "$(policy_key t12-good.slice id)" "$id" 'the good slice was never touched'
succeeds 'the daemon is up' systemctl is-active cachebpfd.service
is "$(systemctl show -P NRestarts cachebpfd.service)" 0 'and was never down'
done_testing
