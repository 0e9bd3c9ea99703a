#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --packages
# timeout: 900
# The Debian packages are installed, upgraded, removed and purged while policies are attached: no upgrade
# detaches one, and after the removal the kernel is as if they had never been there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
. "$(dirname "$0")/packages.sh"

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
WORK=$(mktemp -d /var/tmp/packages.XXXXXX)
PACKAGES=(cachebpfd cachectl cachebpf-policies libcachebpf0) # -dev wants what programs are built with

apt() { # ARGUMENTS…: without the network, and without asking
        apt-get --quiet --quiet --yes --no-install-recommends -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root \
                "$@" </dev/null
}

files_of() { # DIRECTORY: the packages for running it
        local name
        for name in "${PACKAGES[@]}"; do
                deb "$name" "$1"
        done
}

version_of() { # PACKAGE: the installed one, "" if it is not
        dpkg-query -W -f '${db:Status-Abbrev} ${Version}' "$1" 2>/dev/null | sed -n 's/^ii *//p'
}

# repack FROM TO OLD NEW: the same packages with another version, which they also want of each other.
repack() {
        local file
        mkdir -p "$2"
        for file in $(files_of "$1"); do
                rm -rf "$WORK/tree"
                dpkg-deb --raw-extract "$file" "$WORK/tree" &&
                        sed -i "s/\b$3\b/$4/" "$WORK/tree/DEBIAN/control" &&
                        dpkg-deb --root-owner-group -Znone --build "$WORK/tree" \
                        "$2/$(basename "${file/$3/$4}")" || return
        done
}

mount_is() { # DIRECTORY ro|rw: as the daemon sees it
        awk -v dir="$1" '$5 == dir { split($6, option, ","); got = option[1] } END { print got }' \
                "/proc/$(daemon_pid)/mountinfo" | grep -qx "$2"
}

policies_are() { # NUMBER: so many has the kernel
        [[ $(kernel_stat policies) -eq $1 ]]
}

started_anew() { # PID: of the daemon before
        [[ $(daemon_pid) != "$1" && $(daemon_pid) != 0 ]] && state_is t25.slice attached
}

# --- a machine that has nothing of it
forget_installation
mapfile -t packages < <(files_of /run/packages)
before=$(kernel_stat policies)
make_slice t25.slice $'MemoryMax=64M\nCachePolicy=lfu'
make_slice t25b.slice 'MemoryMax=64M'
systemctl start t25.slice t25b.slice

# --- installation
succeeds 'apt installs the packages' apt install "${packages[@]}"
succeeds 'the daemon runs' systemctl is-active cachebpfd.service
succeeds 'its socket is there' systemctl is-active cachebpfd-varlink.socket
succeeds 'both are enabled' systemctl is-enabled cachebpfd.service cachebpfd-varlink.socket
is "$(systemctl is-enabled prometheus-node-exporter-cachebpf.timer)" disabled 'the timer for Prometheus is not'
fails 'and does not run' systemctl is-active prometheus-node-exporter-cachebpf.timer
unit_runs t25.slice lfu
succeeds 'cachectl says so' cachectl status t25.slice
succeeds 'the bus knows it' eventually busctl get-property org.cachebpf1 /org/cachebpf1 \
        org.cachebpf1.Manager Version
like "$(journalctl --dump-catalog 5e789ee9f2154352af4c4a061c71fbc5 2>&1)" 'Subject: @UNIT@' \
        'the journal can explain the messages'
journalctl --quiet --sync
like "$(journalctl --catalog --no-pager MESSAGE_ID=5e789ee9f2154352af4c4a061c71fbc5)" \
        't25.slice evicts by the policy lfu' \
        'and does'

# --- the sandbox
succeeds 'the exposure of the unit is at most 2.0' systemd-analyze security --no-pager --threshold=20 \
        cachebpfd.service
succeeds 'the daemon sees /proc/sys read-only' mount_is /proc/sys ro
succeeds 'and bpffs' mount_is /sys/fs/bpf ro
succeeds 'but for its pins' mount_is /sys/fs/bpf/cachebpf rw
is "$(awk '/^CapBnd/ { print $2 }' "/proc/$(daemon_pid)/status")" 000000c00000000c \
        'it has CAP_BPF, CAP_PERFMON, CAP_DAC_READ_SEARCH and CAP_FOWNER, no more'

# --- a package that brings a rule: the daemon hears of it
mkdir -p "$WORK/rule/DEBIAN" "$WORK/rule/usr/lib/cachebpf/policies.d"
printf '[Match]\nUnit=t25b.slice\n[Policy]\nCachePolicy=fifo\n' \
        >"$WORK/rule/usr/lib/cachebpf/policies.d/50-t25.conf"
printf '%s\n' 'Package: t25-rule' 'Version: 1' 'Architecture: all' 'Maintainer: nobody <nobody@localhost>' \
        'Description: a rule' >"$WORK/rule/DEBIAN/control"
succeeds 'a package with a rule is built' dpkg-deb --root-owner-group -Znone --build "$WORK/rule" \
        "$WORK/t25-rule_1_all.deb"
succeeds 'and installed' apt install "$WORK/t25-rule_1_all.deb"
unit_runs t25b.slice fifo
succeeds 'it is removed' apt remove t25-rule
succeeds 'and with it the policy' eventually policy_is t25b.slice none

# --- upgrade
version=$(version_of cachebpfd)
new=$version+next
succeeds 'a newer version' repack /run/packages "$WORK/new" "${version//./\\.}" "$new"
mapfile -t newer < <(files_of "$WORK/new")
id=$(policy_key t25.slice id) detached=$(kernel_stat detached) pid=$(daemon_pid) \
        socket=$(stat -c %i "$VARLINK")
mkdir -p /etc/cachebpf/policies.d
echo '# the administrator was here' >/etc/cachebpf/policies.d/90-t25.conf
succeeds 'apt upgrades' apt install "${newer[@]}"
is "$(version_of cachebpfd) $(version_of cachectl)" "$new $new" 'to the newer version'
succeeds 'another daemon runs, and has the unit' eventually started_anew "$pid"
unit_runs t25.slice lfu
is "$(policy_key t25.slice id)" "$id" 'the policy was not attached anew'
is "$(kernel_stat detached)" "$detached" 'nothing was detached'
is "$(stat -c %i "$VARLINK")" "$socket" 'the socket was there all the time'
succeeds 'the file of the administrator is there' test -e /etc/cachebpf/policies.d/90-t25.conf

# --- upgrade (downgrade, in fact) of a daemon that the administrator has switched off
systemctl disable --quiet --now cachebpfd.service cachebpfd-varlink.socket
succeeds 'apt installs the older version again' apt install --allow-downgrades "${packages[@]}"
is "$(systemctl is-active cachebpfd.service)" inactive 'what was switched off stays off'
is "$(policy_key t25.slice id)" "$id" 'policies stay attached without a daemon'
systemctl enable --quiet --now cachebpfd-varlink.socket cachebpfd.service
unit_runs t25.slice lfu

# --- without policies
succeeds 'apt removes the policies alone' apt remove cachebpf-policies
unit_is t25.slice failed
is "$(policy_key t25.slice id)" "$id" 'what is attached stays attached'
succeeds 'they are installed again' apt install "$(deb cachebpf-policies)"
unit_runs t25.slice lfu

# --- removal, while somebody asks the daemon after its end, before its files are gone
echo 'busctl --quiet call org.cachebpf1 /org/cachebpf1 org.freedesktop.DBus.Peer Ping' \
        >>/var/lib/dpkg/info/cachebpfd.prerm
succeeds 'apt removes the daemon' apt remove cachebpfd
fails 'it does not run any more' pgrep -x cachebpfd
fails 'there are no pins' test -e "$PIN_ROOT"
fails 'it is not registered any more' test -L /run/varlink/registry/org.cachebpf.Manager
succeeds 'the kernel has no policy of it' eventually policies_are "$before"
succeeds 'the slice has none' eventually policy_is t25.slice none
succeeds 'and runs' systemctl is-active t25.slice
succeeds 'the configuration is there' test -e /etc/cachebpf/policies.d/90-t25.conf
books_agree 'lists, table and page cache agree'
like "$(cachectl status 2>&1)" 'cachebpfd is not running' 'cachectl says that there is no daemon'

succeeds 'it is installed again' apt install "$(deb cachebpfd)"
unit_runs t25.slice lfu

# --- purge, with the policy attached
mkdir -p /var/lib/prometheus/node-exporter
touch /var/lib/prometheus/node-exporter/cachebpf.prom
succeeds 'apt purges everything' apt purge "${PACKAGES[@]}"
is "$(traces)" $'/etc/cachebpf\n/etc/cachebpf/policies.d\n/etc/cachebpf/policies.d/90-t25.conf' \
        'nothing is left but the rule of the administrator'
rm -r /etc/cachebpf
is "$(systemctl list-unit-files --no-legend 'cachebpf*')" '' 'systemd knows no unit of it'
succeeds 'the kernel has no policy of it' eventually policy_is t25.slice none
use_cache t25.slice
books_agree 'lists, table and page cache agree'
rm -rf "$WORK"
done_testing
