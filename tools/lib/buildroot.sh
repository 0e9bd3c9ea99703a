# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The build root: a Debian 13 directory tree with every compiler, library, the kernel source and QEMU, so
# that the host's release does not matter. Commands run in it by in_buildroot.

MIRROR=${CACHEBPF_MIRROR:-}
BUILDROOT=

BUILD_PACKAGES=(
        gcc libc6-dev make patch ccache pkgconf git ca-certificates # C
        clang libclang-rt-dev llvm bpftool                           # BPF, sanitizers and fuzzing
        linux-source-6.12 linux-config-6.12 bc bison flex cpio kmod rsync xz-utils zstd # kernel
        initramfs-tools-core perl # kernels with modules
        libelf-dev libssl-dev dwarves python3-minimal sparse
        meson ninja-build scdoc shellcheck jq # project
        build-essential debhelper lintian     # packages
        libsystemd-dev systemd-dev libbpf-dev libglib2.0-dev libjson-c-dev libzstd-dev libcmocka-dev
        librocksdb-dev libleveldb-dev liblmdb-dev libsqlite3-dev postgresql-17 # the demonstration
        # what the project's tests and checks call
        systemd dbus-daemon libxml2-utils python3-gi gir1.2-glib-2.0
        cockpit-ws cockpit-bridge chromium-headless-shell
        qemu-system-x86 libfaketime       # run on the host, with the libraries of the build root
)

# archive LABEL: where the host gets packages of that archive from (Debian, Debian-Security).
archive() {
        apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
                sed -n "s|^$1 \\(.*[^/]\\)/*\$|\\1|p" | head -n 1
}

# The same mirror for the machine as for its host, unless told otherwise.
find_mirror() {
        [[ -z $MIRROR ]] || return 0
        MIRROR=$(archive Debian)
        [[ -n $MIRROR ]] || { step 'package lists' apt-get update && MIRROR=$(archive Debian); }
        [[ -n $MIRROR ]] ||
                die "apt has no Debian archive in its sources: set CACHEBPF_MIRROR to the URL of one"
}

# bootstrap DIRECTORY VARIANT PACKAGE…: a Debian 13 root, without documentation and translations.
bootstrap() {
        local dir=$1 variant=$2 security
        shift 2
        security=$(archive Debian-Security)
        # It mounts /proc and the like, and would leave them there when it is killed.
        unshare --mount --propagation private \
                mmdebstrap --mode=root --variant="$variant" --include="$*" \
                --aptopt='Acquire::Retries "5"' --dpkgopt=force-unsafe-io \
                --dpkgopt='path-exclude=/usr/share/doc/*' \
                --dpkgopt='path-exclude=/usr/share/man/*' \
                --dpkgopt='path-exclude=/usr/share/locale/*' \
                trixie "$dir" \
                "deb $MIRROR trixie main" "deb $MIRROR trixie-updates main" \
                ${security:+"deb $security trixie-security main"}
}

make_buildroot() {
        [[ ! -d $BUILDROOT ]] || return 0
        step "build root: Debian 13 with compilers and kernel source" \
                bootstrap "$SCRATCH/buildroot" apt "${BUILD_PACKAGES[@]}"
        mv -T "$SCRATCH/buildroot" "$BUILDROOT"
        prune 2 "$CACHE"/buildroot-*
}

ensure_buildroot() {
        [[ -z $BUILDROOT ]] || return 0
        locked setup ensure_setup
        find_mirror
        BUILDROOT=$CACHE/buildroot-$(printf '%s\n' "$MIRROR" "${BUILD_PACKAGES[@]}" | digest)
        locked buildroot make_buildroot
}

# in_buildroot [HOSTDIR:DIR]… -- COMMAND…: run COMMAND in the build root with HOSTDIR mounted at DIR.
# Mounts and processes are in name spaces of their own, so nothing is left over when it is aborted.
in_buildroot() {
        # shellcheck disable=SC2016
        unshare --mount --propagation private --pid --fork --kill-child bash -euc '
                root=$1
                shift
                mount -t proc proc "$root/proc"
                mount --rbind /sys "$root/sys"
                mount --rbind /dev "$root/dev"
                while [[ $1 != -- ]]; do
                        mkdir -p "$root/${1##*:}"
                        mount --bind "${1%:*}" "$root/${1##*:}"
                        shift
                done
                shift
                exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
                        CCACHE_DIR=/build/ccache CCACHE_MAXSIZE=6G chroot "$root" "$@"' \
                buildroot "$BUILDROOT" "$@"
}
