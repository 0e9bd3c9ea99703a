#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 90
# docs/containers.md: rules for scopes and slices that others make, what user managers run, and what systemd-run says.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

RULES=/run/cachebpf/policies.d
clean_up() {
        rm -f $RULES/52-*.conf
        loginctl disable-linger root 2>/dev/null
        systemctl stop docker-t52abc.scope kubepods.slice user@0.service 2>/dev/null
        remove_test_units
}
trap clean_up EXIT

rule() { # NAME MATCH POLICY
        mkdir -p $RULES
        printf '[Match]\n%s\n[Policy]\nCachePolicy=%s\n' "$2" "$3" >"$RULES/52-$1.conf"
}

# --- Docker: a scope that was there before the rule, and one that comes later

scope() { # NAME [OPTION…]
        local name=$1
        shift
        systemd-run --quiet --scope --unit="$name" "$@" sleep 3600 &
        eventually systemctl is-active --quiet "$name.scope"
}

scope docker-t52abc -p MemoryMax=64M
rule docker 'Unit=docker-*.scope libpod-*.scope' s3fifo
succeeds 'the rule is read' cachectl reload
unit_runs docker-t52abc.scope s3fifo
scope libpod-t52def
unit_runs libpod-t52def.scope s3fifo
succeeds 'a container can have another policy' cachectl set --quiet docker-t52abc.scope wtinylfu
unit_runs docker-t52abc.scope wtinylfu
systemctl stop libpod-t52def.scope

# --- Kubernetes: by the path of the control group

rule kubernetes 'Cgroup=/kubepods.slice/*/*/cri-containerd-*.scope' lfu
cachectl reload
scope cri-containerd-t52 --slice=kubepods-burstable-podt52.slice -p MemoryMax=64M
unit_runs cri-containerd-t52.scope lfu
is "$(policy_key kubepods-burstable-podt52.slice policy)" none 'the slices above have none'

# --- what a user manager runs has the policy of the user's service

make_dropin user@0.service 50-cache $'[Service]\nCachePolicy=fifo'
loginctl enable-linger root # or logind stops the manager again, since nobody is logged in
systemctl start user@0.service ||
        diag "$(journalctl --quiet --no-pager --boot --lines=20 --unit=user@0.service \
                --unit=user-runtime-dir@0.service)"
unit_runs user@0.service fifo
like "$(cat "$(cgroup_of user@0.service)/init.scope/memory.cachebpf.policy")" '^policy fifo' \
        'and so has what it runs'

# --- systemd-run

fails 'systemd does not take the property' systemd-run --quiet --unit=t52-run -p CachePolicy=lfu sleep 1
systemd-run --quiet --unit=t52-run sleep 3600
succeeds 'but cachectl does' cachectl set --quiet t52-run lfu
unit_runs t52-run.service lfu
systemctl stop t52-run.service
done_testing
