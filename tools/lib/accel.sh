# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# KVM or TCG. A /dev/kvm that can be opened proves nothing (nested machines may hang in the first
# instruction), so KVM is used only after a kernel booted under it; the answer is remembered.

readonly KVM_PROBE_SECONDS=20
# TCG does "rep movsb" byte by byte, where instructions are counted by way of its main loop, and ends a block of code at
# each stac and clac. Without these features the kernel copies a page three times as fast, and an instruction of the
# laboratory copies eight bytes and not one.
readonly TCG_CPU=max,erms=off,fsrm=off,smap=off
# Programs use wide registers where they can, which TCG emulates slowly. The laboratory keeps them, for the sake of the
# figures that were measured with them.
readonly TCG_USUAL_CPU=$TCG_CPU,avx=off,avx2=off
QEMU_PROGRAM=()

# Sets QEMU_PROGRAM to the QEMU of the build root, run on the host by the build root's own dynamic loader:
# the same version everywhere. (Before 8.1, with one thread a processor, it executes code that another
# processor has just replaced, which the kernel does at each change of a static branch.) For it the time of day
# stands still in the laboratory, see there.
find_qemu() { # LAB
        local lib=$BUILDROOT/usr/lib/x86_64-linux-gnu
        local -a variables=("QEMU_MODULE_DIR=$lib/qemu") preload=()
        if [[ -n $1 ]]; then
                variables+=("FAKETIME=${LAB_CLOCK/T/ }" FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1)
                preload=(--preload "$lib/faketime/libfaketime.so.1")
        fi
        QEMU_PROGRAM=(env "${variables[@]}" "$BUILDROOT/usr/lib64/ld-linux-x86-64.so.2"
                --library-path "$lib" "${preload[@]}"
                "$BUILDROOT/usr/bin/qemu-system-x86_64" -L "$BUILDROOT/usr/share/qemu"
                -L "$BUILDROOT/usr/share/seabios")
}

# Boot KERNEL without a root file system; it must get as far as complaining about that.
probe_kvm() { # KERNEL
        local console=$SCRATCH/kvm-console
        : >"$console"
        info "trying KVM (at most $KVM_PROBE_SECONDS s, once for this kernel and processor)"
        { # the outer redirection is for the shell's own word about a QEMU that aborts
                timeout --kill-after=2 "$KVM_PROBE_SECONDS" setpriv --pdeathsig KILL \
                        "${QEMU_PROGRAM[@]}" -accel kvm -cpu host -m 512 -nodefaults \
                        -display none -no-reboot \
                        -serial "file:$console" -kernel "$1" \
                        -append 'console=ttyS0 panic=-1 null_blk.nr_devices=0' \
                        </dev/null >/dev/null || true
        } 2>/dev/null
        grep -q 'Unable to mount root' "$console"
}

# Sets QEMU_PROGRAM, and ACCEL to its arguments: the laboratory counts instructions, which only TCG can. MODEL is the
# emulated processor's, if it is not the usual one.
choose_accel() { # KERNEL LAB MODEL
        local answer
        find_qemu "$2"
        if [[ -n $2 ]]; then
                ACCEL=(-accel 'tcg,thread=single' -icount 'shift=0,sleep=off'
                        -cpu "${3:-$TCG_CPU},rdrand=off,rdseed=off") # random numbers would come from the host
                return
        fi
        ACCEL=(-accel "${CACHEBPF_ACCEL:-tcg,thread=multi}" -cpu "${3:-$TCG_USUAL_CPU}")
        [[ -z ${CACHEBPF_ACCEL:-} && -r /dev/kvm && -w /dev/kvm ]] || return 0
        answer=$CACHE/kvm-$({
                uname -r
                "${QEMU_PROGRAM[@]}" --version
                grep -m 3 -E '^(vendor_id|model name|microcode)' /proc/cpuinfo
        } | digest)
        if [[ ! -e $answer ]]; then
                if probe_kvm "$1"; then echo yes; else echo no; fi >"$SCRATCH/kvm"
                mv "$SCRATCH/kvm" "$answer"
        fi
        [[ $(<"$answer") != yes ]] || ACCEL=(-accel kvm -cpu host)
}
