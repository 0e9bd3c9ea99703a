# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a machine of the laboratory has for devices. Its time is the instructions that it executes, and what it
# measures should depend on nothing else: two runs of the same programs on the same data are the same, to the
# instruction. Whatever the host answers in its own time would end that, as the machine's clock leaps while the
# machine is waited for. So
#
# - disks are memory of the machine, NVDIMMs made of the files: a read is a copy;
# - nothing random comes from the host, and the clock begins at the same time;
# - the command comes from the firmware's configuration device, and files go back (COLLECT) when it has ended;
# - what is written to the ports is taken at once (no ioeventfd, which would wake another thread of QEMU);
# - QEMU's two threads, the guest and the main loop, are on one processor of the host, the main loop first. It makes the
#   clock leap when all is idle, and beside a guest that is just going idle it would leap too far, now and then;
# - the host's time of day stands still for QEMU. It makes its model of a processor's TLB smaller by that time; how long
#   an entry stays there decides whether the processor notes in the page table that a page was accessed, which says what
#   is reclaimed of files that are mapped.
#
# Directories of the host (--share) can be had, and then runs differ a little.

readonly LAB_CLOCK=2030-01-01T00:00:00 # later than any file
readonly NVDIMM_ALIGN=$((2 << 20))
LAB_PROCESSOR=
LAB_LOCK=

# The numbers of the processors that we may use.
processors() {
        local list range
        list=$(taskset --cpu-list --pid $$)
        for range in $(tr , ' ' <<<"${list##*: }"); do
                seq "${range%-*}" "${range#*-}"
        done
}

# Sets LAB_PROCESSOR to one that no other machine of the laboratory has, if there is one. It is ours until our next one,
# or until we and the machine have ended.
take_processor() {
        [[ -z $LAB_LOCK ]] || exec {LAB_LOCK}>&-
        for LAB_PROCESSOR in $(processors); do
                exec {LAB_LOCK}>"$CACHE/lock/processor-$LAB_PROCESSOR"
                ! flock --nonblock "$LAB_LOCK" || return 0
                exec {LAB_LOCK}>&-
        done
        LAB_LOCK=''
}

# Puts QEMU on one processor; without the right to real time the main loop has to do without it.
on_one_processor() {
        local -a first=(chrt --reset-on-fork --fifo 1)
        take_processor
        if ! "${first[@]}" true 2>/dev/null; then
                first=()
                info "the laboratory may not have real-time priority here: now and then two runs will differ"
        fi
        QEMU=(taskset --cpu-list "$LAB_PROCESSOR" "${first[@]}" "${QEMU[@]}")
}

# As QEMU reads a size: of memory, mebibytes if nothing else is said.
bytes() {
        local size=$1
        [[ $size != *[0-9] ]] || size+=M
        numfmt --from=iec "$size"
}

# Adds memory and disks to QEMU, and to KERNEL_ARGS what belongs to them. The root file system is /dev/pmem0, what
# --disk adds /dev/pmem1, …
lab_devices() {
        local i file size access all=0
        local -a files=("$IMAGE:ro" "${DISKS[@]}") dimms=()
        [[ $CLOCK == host ]] || on_one_processor
        for i in "${!files[@]}"; do
                file=${files[i]%:ro} access=share=on
                # with ":ro" what the machine writes is its own
                [[ $file == "${files[i]}" ]] || access=share=off,readonly=on,rom=off
                size=$(stat --dereference --format=%s "$file")
                [[ $((size % NVDIMM_ALIGN)) -eq 0 ]] ||
                        die "--disk: $file has $size bytes; in the laboratory disks are multiples of 2 MiB"
                dimms+=(-object "memory-backend-file,id=file$i,mem-path=$file,size=$size,align=2M,$access"
                        -device "nvdimm,id=nvdimm$i,memdev=file$i")
                all=$((all + size))
        done
        QEMU+=(-machine q35,nvdimm=on -rtc "base=$LAB_CLOCK,clock=vm"
                -m "$MEMORY,slots=${#files[@]},maxmem=$(($(bytes "$MEMORY") + all))"
                "${dimms[@]}" -device virtio-serial-pci,ioeventfd=off)
        # service watchdogs: its clock leaps while it waits for a share
        KERNEL_ARGS+=" root=/dev/pmem0 rootwait systemd.service_watchdogs=no"
        KERNEL_ARGS+=" null_blk.nr_devices=1 null_blk.gb=$LAB_DISK null_blk.memory_backed=1 null_blk.irqmode=2"
        KERNEL_ARGS+=" null_blk.queue_mode=2 null_blk.completion_nsec=100000"
}

# On the host, of the output of a machine: steps begin with "* ", which the time that one has waited for replaces.
tell_time() {
        local begin=$SECONDS line waited
        while IFS= read -r line; do
                waited=$((SECONDS - begin))
                [[ $line != '* '* ]] || printf -v line '[%d:%02d] %s' $((waited / 60)) $((waited % 60)) "${line:2}"
                printf '%s\n' "$line"
        done
}
