# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages of the host. Compilers and libraries are not among them: those live in the build root.

HOST_PACKAGES=(
        mmdebstrap      # both Debian roots
        debian-archive-keyring
        e2fsprogs # mkfs.ext4 -d
        ca-certificates
        git
        gpg # mmdebstrap checks signatures
        jq
        patch
        python3         # bench/loads/loads.py, tools/bench
        rsync
        util-linux # unshare, setpriv, flock
        xz-utils
        zstd
)

missing_packages() {
        local package
        for package in "${HOST_PACKAGES[@]}"; do
                dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q ' installed$' ||
                        echo "$package"
        done
}

install_packages() {
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        apt-get install --yes --no-install-recommends -o Acquire::Retries=5 "$@"
}

ensure_setup() {
        local -a missing
        command -v apt-get >/dev/null || die "this is not a Debian system: it has no apt-get"
        mapfile -t missing < <(missing_packages)
        [[ ${#missing[@]} -eq 0 ]] || step "setup: installing ${missing[*]}" install_packages "${missing[@]}"
}

verb_setup() {
        [[ $# -eq 0 ]] || die "setup takes no argument"
        locked setup ensure_setup
        info "setup: all ${#HOST_PACKAGES[@]} packages are there"
}
