# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of the Debian packages, on a machine that has them in /run/packages ("# machine: --packages").

# What is there of the project, beside tests and loads.
traces() {
        find /etc /usr /var/lib /sys/fs/bpf /run/varlink /run/cachebpf \
                \( -path '/usr/lib/cachebpf/tests' -o -path '/usr/lib/cachebpf/bench' -o \
                -path '/usr/lib/cachebpf/vm' \) \
                -prune -o \( -path '*cachebpf*' -o -path '*cachectl*' \) -not -path /usr/lib/cachebpf \
                -print 2>/dev/null
}

deb() { # PACKAGE [DIRECTORY]: its file
        echo "${2:-/run/packages}/$1"_*.deb
}

# A point of the test: away with what this image brings, so that the machine is any Debian 13.
forget_installation() {
        [[ -e $(deb cachebpfd) ]] ||
                die 'there are no packages in /run/packages: use "tools/vm test", or --packages'
        systemctl disable --quiet --now cachebpfd.service cachebpfd-varlink.socket
        traces | xargs -r -d '\n' rm -rf
        systemctl daemon-reload
        is "$(traces)" '' 'the machine knows nothing of cachebpf'
}
