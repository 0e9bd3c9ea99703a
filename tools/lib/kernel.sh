# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Four kernels from Debian's source: product (patches and overlay of kernel/), stock (neither), debug (product
# with every checker), debian (debug with what Debian's configuration has beside ours). Each has its own object
# directory that stays, so a small change is a small build; ccache lets one kernel use what another compiled.
# A fifth one, distro, is Debian's own as users have it; nothing is compiled for it.

KERNELS=(product stock debug debian distro)
KERNEL_PACKAGE=linux-source-6.12
DISTRO_PACKAGE=linux-image-amd64
# What a machine needs to boot and to mount the host's directories, of a kernel that has it as modules.
INITRD_MODULES=(virtio_pci virtio_blk virtio_rng ext4 9p 9pnet_virtio qemu_fw_cfg autofs4 binfmt_misc)
KERNEL_LINES=2200 # of a full build's log, for the percentage
KERNEL_DIR=
PRISTINE=

is_kernel() { # NAME: one of ours?
        [[ " ${KERNELS[*]} " == *" $1 "* ]]
}

# Everything is checked there, so all of it takes longer, and needs more memory.
checks_everything() { # VARIANT
        [[ $1 == debug || $1 == debian ]]
}

kernel_configs() { # VARIANT
        echo "$TOP/kernel/config/base.config"
        [[ $1 == stock ]] || echo "$TOP/kernel/config/cachebpf.config"
        [[ $1 != debian ]] || echo "$TOP/kernel/config/debian.config"
        ! checks_everything "$1" || echo "$TOP/kernel/config/debug.config"
}

kernel_key() { # VARIANT
        local -a inputs
        [[ $1 != distro ]] || { printf '%s\n' "$BUILDROOT" "${INITRD_MODULES[@]}" | digest && return; }
        mapfile -t inputs < <(kernel_configs "$1")
        [[ $1 == stock ]] || inputs+=("$TOP/kernel/patches" "$TOP/kernel/overlay")
        {
                echo "$1"
                dpkg-query --admindir="$BUILDROOT/var/lib/dpkg" -W "$KERNEL_PACKAGE" gcc
                digest_tree "${inputs[@]}"
        } | digest
}

unpack_pristine() {
        [[ ! -d $PRISTINE ]] || return 0
        mkdir -p "$SCRATCH/pristine" "$CACHE/linux"
        step "kernel: unpacking $KERNEL_PACKAGE" tar -C "$SCRATCH/pristine" --strip-components=1 \
                -xf "$BUILDROOT/usr/src/$KERNEL_PACKAGE.tar.xz"
        mv -T "$SCRATCH/pristine" "$PRISTINE"
}

# Sets PRISTINE to the pristine source, unpacked once.
ensure_pristine() {
        PRISTINE=$CACHE/linux/source-$(dpkg-query --admindir="$BUILDROOT/var/lib/dpkg" -W -f '${Version}' \
                "$KERNEL_PACKAGE")
        [[ -d $PRISTINE ]] || locked pristine unpack_pristine
}

# The files that kernel/patches changes or adds, relative to the kernel tree.
patched_files() {
        find "$TOP/kernel/patches" -name '*.patch' -exec sed -n 's|^+++ b/\([^\t]*\).*|\1|p' {} + | sort -u
}

# Bring TREE (a copy of the pristine source) to patches + overlay, writing only files whose content
# changes: that is what keeps make incremental.
sync_source() { # TREE
        local tree=$1 stage=$SCRATCH/stage file patch
        rm -rf "$stage"
        mkdir -p "$stage"
        if [[ ! -d $tree ]]; then
                rm -rf "$tree.new"
                cp -a --reflink=auto "$PRISTINE" "$tree.new"
                mv -T "$tree.new" "$tree"
        fi
        if [[ -d $TOP/kernel/patches ]]; then
                while IFS= read -r file; do
                        [[ ! -e $PRISTINE/$file ]] || (cd "$PRISTINE" && cp -p --parents -t "$stage" "$file")
                done < <(patched_files)
                for patch in "$TOP"/kernel/patches/*.patch; do
                        [[ -e $patch ]] || continue
                        echo "== ${patch##*/}"
                        patch -d "$stage" -p1 --forward --no-backup-if-mismatch <"$patch"
                done
        fi
        [[ ! -d $TOP/kernel/overlay ]] || cp -rT "$TOP/kernel/overlay" "$stage"

        # What an earlier version changed and this one does not goes back to the original.
        touch "$tree.files"
        while IFS= read -r file; do
                [[ ! -e $stage/$file ]] || continue
                if [[ -e $PRISTINE/$file ]]; then
                        cp "$PRISTINE/$file" "$tree/$file"
                else
                        rm -f "$tree/$file"
                fi
        done <"$tree.files"
        (cd "$stage" && find . -type f -printf '%P\n') | sort -u - "$tree.files" >"$tree.files.new"
        mv "$tree.files.new" "$tree.files"
        rsync --recursive --links --checksum --itemize-changes "$stage/" "$tree/"
}

# in_kernel VARIANT COMMAND…: in the build root, with source and objects mounted. All variants see the same
# paths, or ccache could not share between them.
in_kernel() {
        local variant=$1 tree=$CACHE/linux/patched
        shift
        [[ $variant != stock ]] || tree=$PRISTINE
        mkdir -p "$CACHE/linux/$variant" "$CACHE/ccache"
        in_buildroot "$tree:/build/linux" "$CACHE/linux/$variant:/build/objects" \
                "$CACHE/ccache:/build/ccache" -- \
                env KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_VERSION=1 \
                KBUILD_BUILD_USER=cachebpf KBUILD_BUILD_HOST=cachebpf "$@"
}

kernel_make() { # VARIANT TARGET…
        local variant=$1
        shift
        in_kernel "$variant" make -C /build/linux O=/build/objects CC='ccache gcc' -j"$JOBS" "$@"
}

# check_config CONFIG FRAGMENT…: every line of the fragments must be true in the result; a later fragment
# overrides an earlier one. An option that silently lost a dependency would make tests meaningless.
check_config() {
        local config=$1 bad=0 line name
        shift
        while IFS= read -r line; do
                name=${line%%=*}
                if [[ $line == *=n ]]; then
                        grep -q "^$name=" "$config" || continue
                else
                        grep -qxF "$line" "$config" && continue
                fi
                echo "$line did not take effect: $(grep -E "^(# )?${name}[ =]" "$config" ||
                        echo "$name is unknown or a dependency is missing")"
                bad=1
        done < <(cat "$@" | grep '^CONFIG_' | tac | awk -F= '!seen[$1]++')
        return "$bad"
}

configure_kernel() { # VARIANT
        local variant=$1 objects=$CACHE/linux/$1
        local -a fragments
        mapfile -t fragments < <(kernel_configs "$variant")
        mkdir -p "$objects"
        cat "${fragments[@]}" >"$objects/all.config"
        kernel_make "$variant" KCONFIG_ALLCONFIG=/build/objects/all.config allnoconfig
        check_config "$objects/.config" "${fragments[@]}"
}

# make_initrd MODULES RELEASE FILE: MODULES is the kernel's lib/modules.
make_initrd() {
        local work=$SCRATCH/initrd
        rm -rf "$work"
        mkdir -p "$work"/{conf.d,hooks,scripts}
        printf 'MODULES=list\nCOMPRESS=gzip\n' >"$work/initramfs.conf"
        printf '%s\n' "${INITRD_MODULES[@]}" >"$work/modules"
        # shellcheck disable=SC2016
        in_buildroot "$1:/usr/lib/modules" "$work:/build/initrd" -- bash -euc '
                depmod "$1"
                mkinitramfs -d /build/initrd -o /build/initrd/initrd "$1"' initrd "$2"
        mv "$work/initrd" "$3"
}

make_distro_kernel() {
        local root=$SCRATCH/distro out=$SCRATCH/kernel-distro image
        [[ ! -d $KERNEL_DIR ]] || return 0
        step "kernel distro: getting $DISTRO_PACKAGE" bootstrap "$root" extract "$DISTRO_PACKAGE"
        image=$(echo "$root"/boot/vmlinuz-*)
        mkdir -p "$out" "$CACHE/kernel"
        cp "$image" "$out/bzImage"
        step "kernel distro: initrd" make_initrd "$root/usr/lib/modules" "${image##*/vmlinuz-}" "$out/initrd"
        rm -rf --one-file-system "$root"
        mv -T "$out" "$KERNEL_DIR"
        prune 2 "$CACHE"/kernel/distro-*
}

make_kernel() { # VARIANT
        local variant=$1 objects=$CACHE/linux/$1 out=$SCRATCH/kernel-$1 lines=$KERNEL_LINES copied=
        [[ ! -d $KERNEL_DIR ]] || return 0
        ensure_pristine
        while [[ $variant != stock && $copied != "$KERNEL_DIR" ]]; do
                copied=$KERNEL_DIR
                step "kernel $variant: source" sync_source "$CACHE/linux/patched"
                # somebody may have edited meanwhile
                KERNEL_DIR=$CACHE/kernel/$variant-$(kernel_key "$variant")
        done
        step "kernel $variant: configuration" configure_kernel "$variant"
        [[ ! -e $objects/vmlinux ]] || lines= # not a full build: its length is unknown
        # a linker that was killed may have left a part of it, which make takes for whole
        rm -f "$objects/vmlinux"
        STEP_LINES=$lines step "kernel $variant: compiling" kernel_make "$variant" bzImage
        mkdir -p "$out" "$CACHE/kernel"
        cp --reflink=auto "$objects"/{arch/x86/boot/bzImage,vmlinux,System.map} "$out/"
        cp "$objects/.config" "$out/config"
        mv -T "$out" "$KERNEL_DIR"
        prune 3 "$CACHE/kernel/$variant"-*
}

# Sets KERNEL_DIR to the directory of the wanted kernel, built if it is not there.
ensure_kernel() { # VARIANT
        ensure_buildroot
        KERNEL_DIR=$CACHE/kernel/$1-$(kernel_key "$1")
        until use "$KERNEL_DIR"; do
                if [[ $1 == distro ]]; then
                        locked distro make_distro_kernel
                else
                        locked kernel make_kernel "$1"
                fi
        done
}

# What sparse says of the new files, on the standard output.
run_sparse() {
        ensure_pristine
        step 'kernel product: source' sync_source "$CACHE/linux/patched"
        # C=2: also what is compiled already. The rest of the kernel has warnings of its own.
        kernel_make product C=2 CHECK=sparse mm/cachebpf/ 2>&1 | tee "$CACHE/log/sparse.log" |
                grep -E '(mm/cachebpf/|linux/cachebpf\.h|events/cachebpf\.h)[^ ]*:[0-9]+:[0-9]+: ' || true
        # a run in which sparse was not called proves nothing
        grep -q 'CHECK .*/mm/cachebpf/policy.c' "$CACHE/log/sparse.log" ||
                die "sparse did not run; see $CACHE/log/sparse.log"
}

check_kernel() {
        local found
        ensure_kernel product
        found=$(locked kernel run_sparse) || exit
        [[ -z $found ]] || { printf '%s\n' "$found" && exit 1; }
        info 'sparse has nothing to say about the new files'
}

verb_kernel() {
        local variant=product
        case "${1:-}" in
        --stock | --debug | --debian | --distro) variant=${1#--} && shift ;;
        --check) variant=check && shift ;;
        esac
        [[ $# -eq 0 ]] || die "kernel takes --stock, --debug, --debian, --distro or --check, nothing else"
        if [[ $variant == check ]]; then
                check_kernel
                return
        fi
        ensure_kernel "$variant"
        echo "$KERNEL_DIR/bzImage"
}
