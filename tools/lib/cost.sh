# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the framework and the policies cost in instructions: bench/cost on two kernels, and the table.

cost_of() { # KERNEL REPETITIONS [OPTION…]: figures go to $FIGURES/KERNEL.json; sets RESULT
        local kernel=$1 repetitions=$2
        shift 2
        machine_defaults
        KERNEL=$kernel LAB=1 LAB_DISK=1 MEMORY=3G TIMEOUT=$((3600 * (repetitions + 1))) # on a busy host, too
        CPU_MODEL=max # as others' figures were measured
        COLLECT=/run/cost:$FIGURES
        READER=(tell_time)
        COMMAND=(/usr/lib/cachebpf/bench/cost "--json=/run/cost/$kernel.json" "--repetitions=$repetitions"
                "$@")
        info "cost: the $kernel kernel"
        run_machine
}

cost_of_both() { # REPETITIONS [OPTION…]
        local kernel
        mkdir -p "$SCRATCH/stock"
        for kernel in stock product; do
                ensure_kernel "$kernel"
        done
        ensure_image
        # A machine of the laboratory has one thread, and its clock does not see the other machine.
        (trap - EXIT INT TERM HUP && SCRATCH=$SCRATCH/stock && cost_of stock "$@" --baselines && exit "$RESULT") &
        WORKERS=($!)
        cost_of product "$@"
        wait "${WORKERS[0]}" || RESULT=$?
        WORKERS=()
        [[ $RESULT -eq 0 ]] || exit "$RESULT"
}

verb_cost() {
        local repetitions=5 output='' program=$TOP/bench/cost both=1
        local -a figures only=()
        while [[ $# -gt 0 ]]; do
                [[ $1 != --*=* ]] || set -- "${1%%=*}" "${1#*=}" "${@:2}"
                [[ $# -ge 2 ]] || die "option '$1' is unknown or lacks its value; see tools/vm --help"
                case $1 in
                --repetitions)
                        [[ $2 =~ ^[1-9][0-9]*$ ]] || die "--repetitions wants a number, not '$2'"
                        repetitions=$2
                        ;;
                --output)
                        [[ -n $2 && -d $(dirname "$2") ]] ||
                                die "--output wants a file in a directory that there is, not '$2'"
                        output=$2
                        ;;
                --variants)
                        only+=("$1=$2")
                        both=
                        ;;
                --reads) only+=("$1=$2") ;;
                *) die "unknown option '$1'; see tools/vm --help" ;;
                esac
                shift 2
        done
        locked setup ensure_setup # python3
        python3 -B "$program" --dry-run "${only[@]}" >/dev/null || exit
        python3 -B "$program" --dry-run --baselines "${only[@]}" >/dev/null 2>&1 || both=
        FIGURES=$SCRATCH/cost
        mkdir -p "$FIGURES"
        if [[ -z $both ]]; then
                cost_of product "$repetitions" "${only[@]}"
                [[ $RESULT -eq 0 ]] || exit "$RESULT"
                figures=("$FIGURES/product.json")
        else
                cost_of_both "$repetitions" "${only[@]}"
                figures=("$FIGURES"/{product,stock}.json)
        fi
        python3 -B "$program" --compare "${figures[@]}" || RESULT=$?
        if [[ -n $output ]]; then
                jq -n '[inputs | {(input_filename | sub(".*/(?<name>.*)[.]json"; "\(.name)")): .}] | add' \
                        "${figures[@]}" >"$output"
        fi
        exit "$RESULT"
}
