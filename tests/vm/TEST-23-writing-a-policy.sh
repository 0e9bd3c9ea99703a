#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --memory 3G --share "$BUILDROOT:/run/buildroot"
# timeout: 1800
# The page "Writing a policy", as it is installed, followed to the letter: what a reader would type does what
# it says. The compiler comes from the build root, whose /usr is laid below that of the guest.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

PAGE=/usr/share/doc/cachebpf/writing-a-policy.md
HERE=$(readlink -f "$(dirname "$0")")

mount -t overlay overlay -o lowerdir=/usr:/run/buildroot/usr /usr ||
        die 'the build root cannot be laid below /usr'
trap 'remove_test_units; umount --lazy /usr' EXIT
hash -r
[[ -e $PAGE ]] || die "there is no $PAGE"

directory=$(mktemp -d /var/tmp/policy.XXXXXX)
cd "$directory" || die "there is no $directory"

# --- up to the last section

"$HERE/page-to-script" "$PAGE" 'Cleaning up' >"$directory/.script" || die 'the page cannot be read'
compare "$(grep -c '^echo "## ' "$directory/.script")" -ge 10 'there is something to type'
if bash "$directory/.script" >"$directory/.output" 2>&1; then
        ok 'everything that is to be typed succeeds'
else
        not_ok 'everything that is to be typed succeeds' "$(tail -n 40 "$directory/.output")"
        done_testing
fi
diag "$(grep '^## ' "$directory/.output" | tail -n 1) was the last block"

# --- what it says has come true

unit_runs trial.slice keeper
succeeds 'the tunable was set' eventually bash -c \
        'cachectl list --json=short trial.slice | jq -e ".[0].options == [\"credit=4\"]"'
is "$(cachectl show-policy --json=short keeper | jq -r '.[0].path')" /etc/cachebpf/policies/keeper.bpf.o \
        'the policy is where the page says'
is "$(cachectl show-policy --json=short keeper | jq -c '[.[0].tunables[].name]')" '["credit"]' \
        'it has its own tunable'
like "$(<"$directory/.output")" 'keeper +[0-9.]+% +[0-9.]+%' 'it was simulated'
like "$(<"$directory/.output")" 'evict_proposed +[1-9]' 'it proposed folios'
like "$(<"$directory/.output")" 'evict_reclaimed +[1-9]' 'which were evicted'

# The second policy does its work, too: as often as the first, and the kernel keeps it. The file is written
# anew: what is cached of it is charged to the slice before.
id=$(policy_key trial.slice id)
in_slice trial.slice sh -c 'dd if=/dev/zero of=/var/tmp/trial.data bs=1M count=96 status=none
        for i in 1 2 3; do cat /var/tmp/trial.data; done >/dev/null'
compare "$(policy_stat trial.slice evict_reclaimed)" -gt 4096 'what it chose was evicted'
compare "$(policy_stat trial.slice evict_fallback)" -lt "$(policy_stat trial.slice evict_reclaimed)" \
        'and the kernel had to find less by itself'
is "$(policy_key trial.slice id)" "$id" 'the kernel has kept it'
books_agree 'folio table, lists and page cache agree'

# --- what the verifier says is what the page says that it says

# fault NAME TEXT[|TEXT…] SED-SCRIPT: the page's policy with a mistake, of which the verifier says one of the
# texts.
fault() {
        local slice=t23-$1.slice reason text said=''
        local -a texts
        mkdir "$directory/$1"
        cp keeper/Makefile "$directory/$1"
        sed -E "$3" keeper/keeper.bpf.c >"$directory/$1/$1.bpf.c"
        if cmp -s keeper/keeper.bpf.c "$directory/$1/$1.bpf.c"; then
                not_ok "$1: there is a mistake" 'the page has changed; so must this test'
                return
        fi
        make -C "$directory/$1" "NAME=$1" "POLICIES=/run/cachebpf/policies" "$1.bpf.o" install \
                >"$directory/.made" 2>&1 ||
                not_ok "$1: it can be built" "$(<"$directory/.made")"
        make_slice "$slice" $'MemoryMax=64M\nCachePolicy='"$1"
        systemctl reload cachebpfd.service
        systemctl start "$slice"
        unit_is "$slice" failed
        reason=$(unit_key "$slice" reason)
        diag "$reason"
        IFS='|' read -ra texts <<<"$2"
        for text in "${texts[@]}"; do
                [[ $reason != *"keeper_"*"(): "*"$text"* ]] || said=$text
        done
        isnt "$said" '' "$1: the reason has the function and what the verifier says"
        is "$(grep -cF "\`${said:-nothing}" "$PAGE")" 1 "$1: the page explains it"
        systemctl stop "$slice"
}

fault untested "invalid mem access 'mem_or_null'" 's/if \(note \&\& why/if (why/'
fault beyond 'min value is outside of the allowed memory range' \
        's/folio_data\(folio, struct note\)/(struct note *)bpf_cachebpf_data(folio, 2)/'
fault foreign 'only cachebpf_folio.accesses may be written' 's/set_uses\(folio, 0\);/folio->order = 1;/'
fault misplaced 'calling kernel function bpf_cachebpf_' \
        's/if \(note \&\& note->credit\)/if (note \&\& bpf_cachebpf_key(folio) \& 1)/'
fault remembered \
        'type=scalar expected=|must point to scalar, or struct with scalar|must be referenced or trusted' \
        's/^static __u32 queue;/&\nstatic __u64 last;/;
         s/^(\t*)note->credit = credit;/\1last = (__u64)folio;/;
         s/bpf_cachebpf_evict\(evict, folio\)/bpf_cachebpf_evict(evict, (struct cachebpf_folio *)last)/'
rm -f /run/cachebpf/policies/{untested,beyond,foreign,misplaced,remembered}.bpf.o

# --- the rest of the page

"$HERE/page-to-script" "$PAGE" >"$directory/.whole"
{
        echo 'set -euo pipefail'
        tail -n "+$(($(wc -l <"$directory/.script") + 1))" "$directory/.whole"
} >"$directory/.rest"
succeeds 'cleaning up' bash "$directory/.rest"
is "$(find /etc/systemd/system /etc/cachebpf/policies -name 'trial*' -o -name 'keeper*')" '' \
        'nothing is left'
eventually bash -c '! cachectl policies --no-legend | grep -q ^keeper'
is "$(cachectl policies --no-legend | grep ^keeper)" '' 'the daemon has forgotten the policy'

cd /
rm -rf "$directory"
done_testing
