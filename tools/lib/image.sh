# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The disk image of the guest: a small Debian 13 with systemd (cached on its own), the project as meson
# installs it, the tests, and the few files of tools/lib/guest. Machines boot it with a snapshot.

IMAGE=
IMAGE_SIZE=4G # sparse
IMAGE_UUID=3d0a4c52-5a4f-4a58-9c0e-0c6a1ed1f4b7 # of the file system and of the machine
IMAGE_TIME=2026-01-01T00:00:00Z
BASEROOT=

GUEST_PACKAGES=(
        systemd systemd-sysv udev dbus polkitd login passwd apt # the system
        libsystemd0 libbpf1 libglib2.0-0t64 libjson-c5 libzstd1 # what the project links
        e2fsprogs xfsprogs util-linux mount kmod procps less # tools of the tests
        iproute2 attr jq bpftool fio ripgrep libxml2-utils
        librocksdb9.10 libleveldb1d liblmdb0 libsqlite3-0 postgresql-17 python3 # the demonstration
        restic borgbackup # what runs beside a database
        cscope glimpse binutils # programs of the ACFS paper
        python3-gi gir1.2-glib-2.0 # the example for D-Bus
)

make_baseroot() {
        [[ ! -d $BASEROOT ]] || return 0
        step "image: Debian 13 base" bootstrap "$SCRATCH/baseroot" essential "${GUEST_PACKAGES[@]}"
        # PostgreSQL's package makes a cluster, and would start it.
        rm -rf "$SCRATCH"/baseroot/{etc,var/lib}/postgresql/17
        mv -T "$SCRATCH/baseroot" "$BASEROOT"
        prune 2 "$CACHE"/baseroot-*
}

# Units that others want, for machines that are started and thrown away.
UNWANTED=(
        apt-daily\* dev-hugepages\* dpkg-db-backup\* e2scrub\* fstrim\* getty\* kmod-static-nodes\* ldconfig\*
        postgresql\* proc-sys-fs-binfmt_misc\* remote-fs\* sys-kernel-config\* system-xfs_scrub\* systemd-ask-password\*
        systemd-{binfmt,creds,firstboot,hibernate,hostnamed,hwdb,initctl,journal-catalog,machine-id,modules-load}\*
        systemd-{pcr,pstore,random-seed,sysext,sysusers,tmpfiles-clean,tpm2,update-done,update-utmp}\* xfs_scrub\*
)

# Takes away what costs time at each boot and each daemon-reload, of which the tests have many: units, for systemd loads
# all that others mention, and generators, which it runs.
trim_units() { # ROOT
        local units=/usr/lib/systemd/system config=/etc/systemd/system generators=/system-generators name
        for name in "${UNWANTED[@]}"; do
                rm -f "$1"{"$units","$config"}/*.wants/$name # a pattern
        done
        rm -rf "$1$units"/{initrd,systemd-{battery-check,bsod,soft-reboot,confext,sysext,networkd}}*
        ln -sf /dev/null "$1$config/modprobe@.service"
        mkdir -p "$1${config%/*}$generators"
        for name in "$1${units%/*}$generators"/*; do
                ln -sf /dev/null "$1${config%/*}$generators/${name##*/}"
        done
}

assemble_root() { # ROOT
        local root=$1 unit
        rm -rf --one-file-system "$root"
        cp -a --reflink=auto "$BASEROOT" "$root"
        rsync -a --keep-dirlinks "$SCRATCH/project/" "$root/"
        rsync -a --keep-dirlinks --chown=0:0 --chmod=D755,Fgo-w "$TOP/tools/lib/guest/" "$root/"
        rsync -a --chown=0:0 --chmod=D755,Fgo-w "$TOP/tests/vm/" "$root/usr/lib/cachebpf/tests/"

        # The services the project brings are enabled as its preset says, its users made, as a package would.
        for unit in "$SCRATCH"/project/usr/lib/systemd/system/*.{service,socket,timer}; do
                [[ ! -e $unit || $unit == *@* ]] || chroot "$root" systemctl preset "${unit##*/}"
        done
        chroot "$root" systemd-sysusers
        echo "$IMAGE_UUID" | tr -d - >"$root/etc/machine-id"
        chroot "$root" passwd --delete root

        trim_units "$root"
        ln -sf multi-user.target "$root/usr/lib/systemd/system/default.target"
        rm -rf "$root"/var/log/journal
        touch "$root/etc/.updated" "$root/var/.updated"
}

# Of the same files the same image, whenever it is made, but for when inodes changed: the laboratory measures the same
# in both.
pack_image() { # ROOT FILE
        find "$1" -newermt "$IMAGE_TIME" -exec touch --no-dereference --date="$IMAGE_TIME" {} +
        truncate -s "$IMAGE_SIZE" "$2"
        E2FSPROGS_FAKE_TIME=$(date --date="$IMAGE_TIME" +%s) mkfs.ext4 -q -F -L cachebpf -O ^has_journal \
                -U "$IMAGE_UUID" -E "hash_seed=$IMAGE_UUID,lazy_itable_init=0" -d "$1" "$2"
}

make_image() {
        [[ ! -e $IMAGE ]] || return 0
        local root=$SCRATCH/image
        make_baseroot
        rm -rf "$SCRATCH/project" && mkdir -p "$SCRATCH/project"
        if [[ -e $TOP/meson.build ]]; then
                step "image: building the project" install_project
        fi
        step "image: assembling" assemble_root "$root"
        step "image: packing" pack_image "$root" "$root.img"
        rm -rf --one-file-system "$root"
        if [[ $IMAGE != "$(image_path)" ]]; then
                info "sources changed while they were built: this image is used once"
                IMAGE=$root.img
                return
        fi
        mkdir -p "$CACHE/image"
        mv -T "$root.img" "$IMAGE"
        prune 3 "$CACHE"/image/*.img
}

# Where the image of the current sources belongs.
image_path() {
        local -a sources
        mapfile -t sources < <(project_sources)
        echo "$CACHE/image/$({
                echo "$BASEROOT $BUILDROOT"
                digest_tree "${sources[@]}" "$TOP/tools/lib/image.sh" "$TOP/tools/lib/project.sh"
        } | digest).img"
}

# Sets IMAGE to the disk image of the current sources, built if it is not there.
ensure_image() {
        [[ -z $IMAGE ]] || return 0
        ensure_buildroot
        BASEROOT=$CACHE/baseroot-$(printf '%s\n' "$MIRROR" "${GUEST_PACKAGES[@]}" | digest)
        IMAGE=$(image_path)
        until use "$IMAGE"; do
                locked image make_image
        done
}

verb_image() {
        [[ $# -eq 0 ]] || die "image takes no argument"
        ensure_image
        [[ $IMAGE != "$SCRATCH"/* ]] || die "the sources changed while they were built; run it again"
        echo "$IMAGE"
}
