# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Debian packages: the project's by debian/, and a kernel image by the kernel's own "make bindeb-pkg".

PACKAGES_DIR=
KERNEL_PACKAGE_DIR=

# What the binary packages are made of, relative to the sources.
PACKAGE_SOURCES=(meson.build meson.options debian src bpf policies.d units dbus man docs completions)

stage_sources() { # DIRECTORY
        mkdir -p "$1"
        rsync -a --exclude=/.git --filter=':- /.gitignore' "$TOP/" "$1/"
}

# The unit tests are run by "tools/vm test"; a release should be built without "nocheck".
build_packages() { # DIRECTORY: with the sources in "source"; packages go beside that
        # shellcheck disable=SC2016
        in_buildroot "$1:/build/packages" "$CACHE/ccache:/build/ccache" -- \
                env CC='ccache gcc' DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS="nocheck parallel=$JOBS" bash -euc '
                cd /build/packages/source
                dpkg-buildpackage --build=binary --no-sign
                # The tag is about packages that are new in the archive.
                lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ../*.changes'
}

make_packages() { # DIRECTORY with the staged sources
        [[ ! -d $PACKAGES_DIR ]] || return 0
        mkdir -p "$CACHE/ccache" "$CACHE/packages" "$1/out"
        step 'packages: building' build_packages "$1"
        mv "$1"/*.{deb,changes,buildinfo} "$1/out"
        mv -T "$1/out" "$PACKAGES_DIR"
        prune 2 "$CACHE"/packages/project-*
}

# Sets PACKAGES_DIR to the directory with the project's packages, built if they are not there.
ensure_packages() {
        local work=$SCRATCH/packages
        ensure_buildroot
        rm -rf "$work"
        stage_sources "$work/source" # a copy: what is edited from now on does not matter
        PACKAGES_DIR=$CACHE/packages/project-$({
                echo "$BUILDROOT"
                (cd "$work/source" && digest_tree "${PACKAGE_SOURCES[@]}")
                digest_tree "$TOP/tools/lib/packages.sh"
        } | digest)
        [[ -d $PACKAGES_DIR ]] || locked packages make_packages "$work"
        rm -rf "$work"
}

debian_config() { # FLAVOUR
        xz -dc "$BUILDROOT/usr/src/linux-config-6.12/config.amd64_none_$1.xz"
}

# As lsmod prints it: the modules that this machine has loaded, and those that any may need.
wanted_modules() {
        echo 'Module Size Used by'
        {
                # a kernel without modules has no such file
                [[ ! -e /proc/modules ]] || cut -d ' ' -f 1 /proc/modules
                sed '/^#/d' "$TOP/kernel/config/local.modules" | xargs -n 1
        } | sort -u | sed 's/$/ 0 0/'
}

# A flavour is one of Debian's configurations, that without the modules that this machine does not use (local), or
# that of the virtual machines (vm).
configure_kernel_package() { # FLAVOUR
        local variant=package-$1 fragment=$TOP/kernel/config/package.config objects=$CACHE/linux/package-$1
        mkdir -p "$objects"
        case $1 in
        vm)
                cat "$TOP/kernel/config/base.config" "$fragment" >"$objects/all.config"
                kernel_make "$variant" KCONFIG_ALLCONFIG=/build/objects/all.config allnoconfig
                ;;
        local)
                debian_config amd64 >"$objects/.config"
                kernel_make "$variant" olddefconfig
                wanted_modules >"$objects/lsmod"
                kernel_make "$variant" LSMOD=/build/objects/lsmod localmodconfig
                cat "$fragment" >>"$objects/.config"
                kernel_make "$variant" olddefconfig
                ;;
        *)
                { debian_config "$1" && cat "$fragment"; } >"$objects/.config"
                kernel_make "$variant" olddefconfig
                ;;
        esac
        check_config "$objects/.config" "$fragment"
}

# kernel_package_make FLAVOUR VERSION: packages go into the parent directory of the objects, which is the build root's.
# ccache asks gcc for what a file includes in place of preprocessing it, which takes an eighth of the time; that finds
# less of what other kernels compiled, but none compiles the same. The package is compressed when it is finished.
# Debugging information has to be whole: pahole leaves a function out of BTF if it does not see where its parameters
# are, and then no policy can call it.
kernel_package_make() {
        rm -f "$BUILDROOT"/build/*.deb
        in_kernel "package-$1" env DEBFULLNAME='cachebpf maintainers' DEBEMAIL=maintainers@cachebpf.example \
                KDEB_PKGVERSION="$2" KDEB_CHANGELOG_DIST=UNRELEASED KDEB_COMPRESS=none CCACHE_DEPEND=1 \
                make -C /build/linux O=/build/objects CC='ccache gcc' -j"$JOBS" \
                DPKG_FLAGS=--target=binary-image bindeb-pkg
}

# The kernel installs into /lib, where Debian has but a link to /usr/lib.
finish_kernel_package() { # DIRECTORY with the package
        # shellcheck disable=SC2016
        in_buildroot "$1:/build/packages" -- bash -euc '
                cd /build/packages
                deb=$(echo linux-image-*.deb)
                dpkg-deb --raw-extract "$deb" tree
                mkdir -p tree/usr/lib
                mv tree/lib/modules tree/usr/lib/
                rmdir tree/lib
                sed -i "s|  lib/modules/|  usr/lib/modules/|" tree/DEBIAN/md5sums
                dpkg-deb --root-owner-group --build tree "$deb"
                rm -r tree
                lintian --allow-root --fail-on error "$deb"'
}

make_kernel_package() { # FLAVOUR
        local version out=$SCRATCH/kernel-package
        [[ ! -d $KERNEL_PACKAGE_DIR ]] || return 0
        ensure_pristine
        version=$(sed -n "s/.*version : '\([0-9.]*\)',$/\1/p" "$TOP/meson.build" | head -n 1)
        version=${PRISTINE##*/source-}+cachebpf$version
        step "kernel package: source" sync_source "$CACHE/linux/patched"
        step "kernel package: configuration of $1" configure_kernel_package "$1"
        step "kernel package: compiling $1" kernel_package_make "$1" "$version"
        mkdir -p "$out" "$CACHE/packages"
        mv "$BUILDROOT"/build/*.deb "$out"
        step "kernel package: finishing $1" finish_kernel_package "$out"
        mv -T "$out" "$KERNEL_PACKAGE_DIR"
        prune 2 "$CACHE/packages/kernel-$1"-*
}

# Sets KERNEL_PACKAGE_DIR to the directory with the kernel's package.
ensure_kernel_package() { # FLAVOUR
        ensure_buildroot
        KERNEL_PACKAGE_DIR=$CACHE/packages/kernel-$1-$({
                kernel_key product
                digest_tree "$TOP/kernel/config/package.config" "$TOP/tools/lib/packages.sh" "$TOP/meson.build"
                [[ $1 != local ]] || wanted_modules
        } | digest)
        [[ -d $KERNEL_PACKAGE_DIR ]] || locked kernel make_kernel_package "$1"
}

# unpack_kernel_package DIRECTORY: sets BZIMAGE, beside which there is an initrd if the kernel has modules.
unpack_kernel_package() {
        local release
        rm -rf "$1"
        mkdir -p "$1"
        dpkg-deb --extract "$KERNEL_PACKAGE_DIR"/linux-image-*.deb "$1"
        BZIMAGE=$(echo "$1"/boot/vmlinuz-*)
        release=${BZIMAGE##*/vmlinuz-}
        [[ ! -d $1/usr/lib/modules/$release/kernel ]] ||
                step 'kernel package: initrd' make_initrd "$1/usr/lib/modules" "$release" "$1/boot/initrd"
}

verb_packages() {
        local flavour='' output='' found
        while [[ $# -gt 0 ]]; do
                case $1 in
                --kernel | --output) [[ $# -ge 2 ]] || die "$1 wants a value" && set -- "$1=$2" "${@:3}" && continue ;;
                --kernel=amd64 | --kernel=cloud-amd64 | --kernel=local | --kernel=vm) flavour=${1#*=} ;;
                --kernel=*) die "--kernel wants amd64, cloud-amd64, local or vm, not '${1#*=}'" ;;
                --output=*) output=${1#*=} ;;
                *) die "packages takes --kernel FLAVOUR and --output DIR, not '$1'" ;;
                esac
                shift
        done
        [[ -z $output || -d $output ]] || die "--output: there is no directory $output"

        if [[ -n $flavour ]]; then
                ensure_kernel_package "$flavour"
                found=$KERNEL_PACKAGE_DIR
        else
                ensure_packages
                found=$PACKAGES_DIR
        fi
        [[ -z $output ]] || cp "$found"/* "$output/"
        printf '%s\n' "${output:-$found}"/*.deb
}
