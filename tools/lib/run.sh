# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# One machine: options, QEMU's command line, the channels to the guest, and what its end means.
#
# The guest reads its command and the list of shares from the firmware's configuration device; it answers through
# virtio-serial ports (standard output, standard error, exit status, files). The console is for the kernel alone.

BOOT_LIMIT=600 # seconds; a kernel that checks everything is the slowest, in the laboratory

MACHINE=
CLOSED=
MACHINE_SECONDS=
QEMU_PID=
CONSOLE=

machine_defaults() {
        KERNEL=product MEMORY=2G CPUS=2 CPU_MODEL='' LAB='' CLOCK='' LAB_DISK=2 TIMEOUT=900 \
                ALLOW_SPLAT='' KEEP_CONSOLE='' PACKAGES=''
        APPEND=() EXTRA=() DISKS=() SHARES=() COMMAND=()
        COLLECT=''
        READER=(cat) # of what the command writes
}

parse_machine_options() {
        local value
        local -a words
        while [[ $# -gt 0 ]]; do
                case $1 in
                --)
                        COMMAND=("${@:2}")
                        return
                        ;;
                --lab) LAB=1 && shift && continue ;;
                --packages) PACKAGES=1 && shift && continue ;;
                --allow-splat) ALLOW_SPLAT=1 && shift && continue ;;
                --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
                esac
                [[ $# -ge 2 && $2 != -- ]] ||
                        die "option '$1' is unknown or lacks its value; see tools/vm --help"
                value=$2
                case $1 in
                --kernel) KERNEL=$value ;;
                --memory) MEMORY=$value ;;
                --cpus) CPUS=$value ;;
                --cpu) CPU_MODEL=$value ;;
                --disk) DISKS+=("$value") ;;
                --share) SHARES+=("$value") ;;
                --collect) COLLECT=$value ;;
                --append) read -ra words <<<"$value" && APPEND+=("${words[@]}") ;;
                --qemu) read -ra words <<<"$value" && EXTRA+=("${words[@]}") ;;
                --lab-disk) LAB=1 LAB_DISK=$value ;;
                --timeout) TIMEOUT=$value ;;
                --console) KEEP_CONSOLE=$value ;;
                *) die "unknown option '$1'; see tools/vm --help" ;;
                esac
                shift 2
        done
}

check_machine_options() {
        local disk share
        [[ $TIMEOUT =~ ^[0-9]+$ ]] || die "--timeout wants a number of seconds, not '$TIMEOUT'"
        TIMEOUT=$((10#$TIMEOUT))
        [[ $CPUS =~ ^[1-9][0-9]*$ ]] || die "--cpus wants a number, not '$CPUS'"
        [[ $LAB_DISK =~ ^[1-9][0-9]*$ ]] || die "--lab-disk wants a number of gigabytes, not '$LAB_DISK'"
        for disk in "${DISKS[@]}"; do
                [[ -r ${disk%:ro} ]] || die "--disk: cannot read ${disk%:ro}"
        done
        for share in "${SHARES[@]}"; do
                [[ $share == *:/* ]] || die "--share wants HOSTDIR:GUESTDIR, not '$share'"
                [[ -d ${share%:*} ]] || die "--share: ${share%:*} is not a directory"
        done
        [[ -z $COLLECT || $COLLECT == /*:?* ]] || die "--collect wants GUESTDIR:HOSTDIR, not '$COLLECT'"
        [[ -z $COLLECT || -d ${COLLECT##*:} ]] || die "--collect: ${COLLECT##*:} is not a directory"
}

# Sets BZIMAGE, and builds kernel and image if they are not there.
prepare_machine() {
        local lab=$LAB
        case $KERNEL in
        package-*)
                ensure_kernel_package "${KERNEL#package-}"
                unpack_kernel_package "$SCRATCH/packaged"
                SHARES+=("$KERNEL_PACKAGE_DIR:/run/kernel-package")
                ;;
        *)
                if is_kernel "$KERNEL"; then
                        ensure_kernel "$KERNEL"
                        BZIMAGE=$KERNEL_DIR/bzImage
                else
                        [[ -r $KERNEL ]] || die "--kernel wants one of ${KERNELS[*]}, package-FLAVOUR or a bzImage;" \
                                "there is no file '$KERNEL'"
                        locked setup ensure_setup
                        BZIMAGE=$KERNEL
                fi
                ;;
        esac
        if [[ -n $PACKAGES ]]; then
                [[ -n $PACKAGES_DIR ]] || ensure_packages
                SHARES+=("$PACKAGES_DIR:/run/packages")
        fi
        ensure_image
        CONSOLE=${KEEP_CONSOLE:-$CACHE/log/console-$(date +%m%d-%H%M%S)-$BASHPID.log}
        prune 30 "$CACHE"/log/console-*
        prune 30 "$CACHE"/log/hung-*
        # Its disk can be had with the time of the host, and so can its processor.
        [[ $CLOCK != host ]] || lab='' CPU_MODEL=${CPU_MODEL:-$TCG_CPU}
        choose_accel "$BZIMAGE" "$lab" "$CPU_MODEL"
}

# Adds memory and disks to QEMU, and to KERNEL_ARGS what belongs to them: of any machine but the laboratory's.
usual_devices() {
        # to the guest: when a disk of the host is full, QEMU would stop the machine without a word
        local i disk options errors=werror=report,rerror=report
        QEMU+=(-machine q35 -m "$MEMORY" -device virtio-rng-pci -device virtio-serial-pci
                -drive "file=$IMAGE,format=raw,if=none,id=root,snapshot=on,cache=unsafe,$errors"
                -device virtio-blk-pci,drive=root)
        for i in "${!DISKS[@]}"; do
                disk=${DISKS[i]} options=cache=writeback
                [[ $disk != *:ro ]] || options=readonly=on
                QEMU+=(-drive "file=${disk%:ro},format=raw,if=none,id=disk$i,$options,$errors"
                        -device "virtio-blk-pci,drive=disk$i,serial=disk$i")
        done
        # whether the timer works is found out by waiting for it, on a busy host in vain
        KERNEL_ARGS+=" root=/dev/vda null_blk.nr_devices=0 no_timer_check"
        # the clock may leap by minutes while it is found out which one it is; a kernel that hangs then does not boot
        KERNEL_ARGS+=" rcupdate.rcu_cpu_stall_suppress_at_boot=1"
        # see ask_processors; under KVM the host's own counters send such interrupts, too
        [[ ${ACCEL[*]} == *'-accel kvm'* ]] || KERNEL_ARGS+=" unknown_nmi_panic panic_print=0x40"
        # the kernels that check everything take it for a bug if somebody waits for a busy host for 120 s
        KERNEL_ARGS+=" sysctl.kernel.hung_task_timeout_secs=600"
}

# Sets QEMU to the whole command line but for the channels, and KERNEL_ARGS.
qemu_command() {
        local i
        KERNEL_ARGS="rw rootfstype=ext4 console=ttyS0 8250.nr_uarts=1 panic=-1 oops=panic systemd.show_status=0"
        KERNEL_ARGS+=" printk.devkmsg=on watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120"
        QEMU=("${QEMU_PROGRAM[@]}" "${ACCEL[@]}" -smp "$CPUS" -nodefaults -display none -no-reboot)
        if [[ -n $LAB ]]; then
                lab_devices
        else
                usual_devices
        fi
        for i in "${!SHARES[@]}"; do
                QEMU+=(-virtfs
                        "local,path=${SHARES[i]%:*},mount_tag=share$i,security_model=none,multidevs=remap")
        done
        QEMU+=(-kernel "$BZIMAGE" "${EXTRA[@]}")
        [[ ! -e ${BZIMAGE%/*}/initrd ]] || QEMU+=(-initrd "${BZIMAGE%/*}/initrd")
        KERNEL_ARGS+=" ${APPEND[*]}" # the last one of a name counts
}

# What the guest reads: the command, the shares, the directory to be collected, each string ended by NUL.
write_job() {
        local i name
        MACHINE=$SCRATCH/machine
        rm -rf "$MACHINE"
        mkdir -p "$MACHINE/job"
        printf '%s\0' "${COMMAND[@]}" >"$MACHINE/job/argv"
        printf '%s\0' "${COLLECT%:*}" >"$MACHINE/job/collect"
        {
                for i in "${!SHARES[@]}"; do
                        printf '%s\0' "share$i" "${SHARES[i]##*:}"
                done
                printf '\0'
        } >"$MACHINE/job/shares"
        for name in argv shares collect; do
                QEMU+=(-fw_cfg "name=opt/cachebpf/$name,file=$MACHINE/job/$name")
        done
}

has_booted() {
        grep -aqF 'vm: the command begins' "$CONSOLE"
}

# Has QEMU say whether the machine runs, and three times what its processors do; then it obeys COMMAND.
ask_processors() { # [COMMAND]
        (       # opened like this it does not wait for a QEMU that is gone
                printf '%s\n' 'info status' 'info lapic'
                for _ in 1 2 3; do
                        echo 'info registers -a'
                        sleep 1
                done
                printf '%s\n' "$@"
        ) 1<>"$MACHINE/monitor.in" &
        timeout 10 cat "$MACHINE/monitor.out" | sed 's/.*\x1b\[K//; s/\r$//' >"$CONSOLE.processors"
}

# Asks a machine that has not booted in time, and one whose time is over, what it does, and ends it. The second gets an
# interrupt of which the kernel panics, but in the laboratory, and prints where its processors are: if it hangs with
# interrupts off, it says nothing by itself. "late" has how much it had said before.
watch_machine() {
        local begin=$SECONDS booted='' never
        # What nobody writes is waited for: a "sleep" would outlive us, with the locks of the session.
        exec {never}<>"$MACHINE/never"
        while ((TIMEOUT == 0 || SECONDS - begin < TIMEOUT)); do
                read -rt 2 -u "$never" || true
                [[ -d /proc/$QEMU_PID ]] || return 0
                [[ -n $booted ]] || ! has_booted || booted=1
                if [[ -z $booted ]] && ((SECONDS - begin >= BOOT_LIMIT)); then
                        ask_processors || true
                        kill -QUIT "$QEMU_PID"
                        return 0
                fi
        done
        if stat -c %s "$CONSOLE" >"$MACHINE/late"; then
                ask_processors nmi
        else
                ask_processors
        fi
}

# boot_and_wait: runs QEMU to its end with the guest's output on ours; sets MACHINE_STATUS to QEMU's, or to 124 or 137
# if it had to be killed.
boot_and_wait() {
        local name first watch begin=$SECONDS
        local -a readers=()
        CLOSED=
        : >"$CONSOLE"
        rm -f "$CONSOLE.processors"
        for name in stdout stderr monitor; do
                mkfifo "$MACHINE/$name.in" "$MACHINE/$name.out"
        done
        mkfifo "$MACHINE/never"
        QEMU+=(-chardev "pipe,id=monitor,path=$MACHINE/monitor" -mon chardev=monitor)
        for name in stdout stderr; do
                QEMU+=(-chardev "pipe,id=$name,path=$MACHINE/$name"
                        -device "virtserialport,chardev=$name,name=vm.$name")
        done
        for name in status files; do
                : >"$MACHINE/$name"
                QEMU+=(-chardev "file,id=$name,path=$MACHINE/$name"
                        -device "virtserialport,chardev=$name,name=vm.$name")
        done
        QEMU+=(-serial "file:$CONSOLE" -append
                "$KERNEL_ARGS systemd.unit=vm-command.target")

        "${READER[@]}" <"$MACHINE/stdout.out" &
        readers+=($!)
        cat "$MACHINE/stderr.out" >&2 &
        readers+=($!)
        setpriv --pdeathsig TERM timeout --kill-after=5 "$((TIMEOUT ? TIMEOUT + 20 : 0))" setpriv --pdeathsig KILL \
                "${QEMU[@]}" </dev/null >"$MACHINE/qemu.log" 2>&1 &
        QEMU_PID=$!
        watch_machine >/dev/null 2>&1 &
        watch=$!
        MACHINE_STATUS=0
        wait -n -p first "$QEMU_PID" "${readers[@]}" || MACHINE_STATUS=$?
        if [[ $first != "$QEMU_PID" ]]; then
                # A reader that ended well saw the machine end; one that could not write lost its own reader.
                if [[ $MACHINE_STATUS -ne 0 ]]; then
                        CLOSED=1
                        kill -TERM "$QEMU_PID" 2>/dev/null || true
                fi
                MACHINE_STATUS=0
                wait "$QEMU_PID" || MACHINE_STATUS=$?
        fi
        QEMU_PID=
        MACHINE_SECONDS=$((SECONDS - begin))
        # it still writes down what QEMU has said
        [[ ! -e $MACHINE/late ]] || wait "$watch" || true
        # only while it runs: after that its number may be a stranger's
        jobs -pr | grep -qx "$watch" && { kill "$watch" && wait "$watch"; } 2>/dev/null || true
        # The readers end when QEMU has; if it never opened its ends, opening and closing them does it.
        for name in stdout stderr; do
                : <>"$MACHINE/$name.out"
        done
        wait "${readers[@]}" || true
}

# QEMU gave up, and not what ran in it. With several threads of TCG it happens that one of its own assertions
# fails while the kernel places devices (iotlb_to_section, QEMU 10.0), or that both processors wait for ever.
# A kernel that complained is no such case.
died_early() {
        [[ $MACHINE_STATUS -eq 131 || $MACHINE_STATUS -eq 134 || $MACHINE_STATUS -eq 139 ]] &&
                ! has_booted &&
                ! grep -qE "$SPLATS" "$CONSOLE"
}

# Called whenever the session ends: an interrupt must not leave a machine behind.
stop_machine() {
        [[ -n $QEMU_PID ]] || return 0
        kill -TERM "$QEMU_PID" 2>/dev/null || true
        wait "$QEMU_PID" 2>/dev/null || true
        QEMU_PID=
}

# Lines of a console log with which a kernel says that something is wrong with it.
SPLATS='^\[[ 0-9.]+\](\[[^]]*\])? (BUG: |WARNING: |kernel BUG at|Kernel panic|Oops|general protection fault'
SPLATS+='|(KASAN|KFENCE|KCSAN|UBSAN): |ODEBUG: |DEBUG_LOCKS_WARN_ON|INFO: task .* blocked for more'
SPLATS+='|list_(add|del) corruption|rcu: INFO: |watchdog: |Bad page state'
SPLATS+='|.*(locking dependency|recursive locking|inconsistent lock state'
SPLATS+='|suspicious RCU usage|bad unlock balance|sleeping function called|refcount_t: ))'

show_splats() { # CONSOLE; true if there was one
        local first
        first=$(grep -nEm 1 "$SPLATS" "$1" | cut -d: -f1)
        [[ -n $first ]] || return 1
        info "the kernel reported $(grep -cE "$SPLATS" "$1") problem(s); the first one, from $1 line $first:"
        tail -n "+$first" "$1" | head -n 50 | sed 's/\r$//; s/^/    /; /---\[ end/q' >&2
}

is_late() {
        [[ -s $MACHINE/late ]] && return
        [[ -z $CLOSED && ($MACHINE_STATUS -eq 124 || $MACHINE_STATUS -eq 137) ]] &&
                ((TIMEOUT && MACHINE_SECONDS >= TIMEOUT))
}

# What the kernel printed because it was asked is not its own word. The log of a machine that was late is kept for
# longer.
part_console() {
        local said='' hung=${CONSOLE%/*}/hung-${CONSOLE##*/console-}
        [[ ! -s $MACHINE/late ]] || said=$(<"$MACHINE/late")
        [[ -z $said ]] || {
                tail -c "+$((said + 1))" "$CONSOLE" >>"$CONSOLE.processors" && truncate -s "$said" "$CONSOLE"
        } || true
        [[ -z $KEEP_CONSOLE ]] || return 0
        mv "$CONSOLE" "$hung"
        [[ ! -e $CONSOLE.processors ]] || mv "$CONSOLE.processors" "$hung.processors"
        CONSOLE=$hung
}

# Sets RESULT, the exit status of the run; says what happened if it is not the command's.
judge_machine() {
        local status splat='' asked=''
        status=$(<"$MACHINE/status")
        ! is_late || part_console
        [[ ! -s $CONSOLE.processors ]] || asked=", and $CONSOLE.processors says what its processors did"
        ! show_splats "$CONSOLE" || splat=1
        if is_late; then
                info "time-out: the machine was killed after" \
                        "$TIMEOUT s${status:+ (the command had ended with status $status)}"
                tail -n 8 "$CONSOLE" | sed 's/\r$//; s/^/    /' >&2
                info "the console log is $CONSOLE$asked"
                RESULT=124
        elif [[ -z $status && -n $CLOSED ]]; then
                info "nobody reads the output any more: the machine was stopped"
                RESULT=141
        elif [[ -z $status ]]; then
                info "the machine ended (QEMU status $MACHINE_STATUS) before the command did$asked;" \
                        "console log $CONSOLE ends with:"
                tail -n 25 "$CONSOLE" | sed 's/\r$//; s/^/    /' >&2
                sed 's/^/    /' "$MACHINE/qemu.log" >&2
                RESULT=125
        elif [[ -n $splat && -z $ALLOW_SPLAT ]]; then
                info "that makes the run fail (--allow-splat permits it);" \
                        "the command's own status was $status"
                RESULT=125
        else
                RESULT=$status
        fi
}

# run_machine: everything from options to RESULT. (A result and not a status: a function called as a
# condition would lose "set -e" and go on after a failed step.)
run_machine() {
        check_machine_options
        prepare_machine
        qemu_command
        write_job
        boot_and_wait
        if died_early; then
                info "the machine did not boot (QEMU status $MACHINE_STATUS), once more:" \
                        "$(tail -n 1 "$MACHINE/qemu.log")"
                mv "$CONSOLE" "$CONSOLE.first"
                [[ ! -e $CONSOLE.processors ]] || mv "$CONSOLE.processors" "$CONSOLE.first.processors"
                qemu_command
                write_job
                boot_and_wait
        fi
        [[ ! -s $MACHINE/files ]] || tar --extract --touch --no-same-owner --file="$MACHINE/files" \
                --directory="${COLLECT##*:}"
        judge_machine
}

verb_run() {
        machine_defaults
        parse_machine_options "$@"
        [[ ${#COMMAND[@]} -gt 0 ]] || die "run wants '-- COMMAND…'"
        run_machine
        exit "$RESULT"
}

# The size and kind of our terminal, for the guest's serial line.
terminal_arguments() {
        local rows columns
        printf 'systemd.tty.term.ttyS0=%s' "${TERM:-vt220}"
        ! read -r rows columns < <(stty size 2>/dev/null) ||
                printf ' systemd.tty.rows.ttyS0=%s systemd.tty.columns.ttyS0=%s' "$rows" "$columns"
}

verb_shell() {
        local -a limit=()
        machine_defaults
        TIMEOUT=0
        parse_machine_options "$@"
        [[ ${#COMMAND[@]} -eq 0 ]] || die "shell takes no command; use run"
        check_machine_options
        prepare_machine
        qemu_command
        COMMAND=(true)
        write_job
        [[ $TIMEOUT -eq 0 ]] || limit=(timeout --foreground --kill-after=5 "$TIMEOUT")
        info "a shell as root follows; leave with 'poweroff', or Ctrl-A x to kill the machine"
        "${limit[@]}" "${QEMU[@]}" -serial mon:stdio \
                -append "$KERNEL_ARGS systemd.unit=vm-shell.target $(terminal_arguments)"
}
