# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the framework and the policies cost in instructions: bench/cost on two kernels, and the table.

cost_of() { # KERNEL REPETITIONS [OPTION…]: figures go to $FIGURES/KERNEL.json; sets RESULT
        local kernel=$1 repetitions=$2
        shift 2
        machine_defaults
        KERNEL=$kernel LAB=1 LAB_DISK=1 MEMORY=3G TIMEOUT=7200
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
        local repetitions=5 output='' variants=''
        local -a figures only=()
        while [[ $# -gt 0 ]]; do
                case $1 in
                --repetitions) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--repetitions wants a number" &&
                        repetitions=$2 && shift ;;
                --repetitions=*) repetitions=${1#*=} ;;
                --output) [[ -d $(dirname "${2:-/none/x}") ]] || die "--output wants a file" && output=$2 && shift ;;
                --output=*) set -- --output "${1#*=}" "${@:2}" && continue ;;
                --variants) variants=${2:?} && shift ;;
                --variants=*) variants=${1#*=} ;;
                --reads) only=("--reads=${2:?}") && shift ;;
                --reads=*) only=("$1") ;;
                *) die "cost takes --repetitions N, --variants and --reads NAME,…, and --output FILE, not '$1'" ;;
                esac
                shift
        done
        FIGURES=$SCRATCH/cost
        mkdir -p "$FIGURES"
        if [[ -n $variants ]]; then
                cost_of product "$repetitions" --variants="$variants" "${only[@]}"
                [[ $RESULT -eq 0 ]] || exit "$RESULT"
                figures=("$FIGURES/product.json")
        else
                cost_of_both "$repetitions" "${only[@]}"
                figures=("$FIGURES"/{product,stock}.json)
        fi
        python3 -B "$TOP/bench/cost" --compare "${figures[@]}" || RESULT=$?
        if [[ -n $output ]]; then
                jq -n '[inputs | {(input_filename | sub(".*/(?<name>.*)[.]json"; "\(.name)")): .}] | add' \
                        "${figures[@]}" >"$output"
        fi
        exit "$RESULT"
}
