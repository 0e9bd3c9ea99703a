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

verb_cost() {
        local repetitions=5 output='' kernel
        while [[ $# -gt 0 ]]; do
                case $1 in
                --repetitions) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--repetitions wants a number" &&
                        repetitions=$2 && shift ;;
                --repetitions=*) repetitions=${1#*=} ;;
                --output) [[ -d $(dirname "${2:-/none/x}") ]] || die "--output wants a file" && output=$2 && shift ;;
                --output=*) set -- --output "${1#*=}" "${@:2}" && continue ;;
                *) die "cost takes --repetitions N and --output FILE, not '$1'" ;;
                esac
                shift
        done
        FIGURES=$SCRATCH/cost
        mkdir -p "$FIGURES" "$SCRATCH/stock"
        for kernel in stock product; do
                ensure_kernel "$kernel"
        done
        ensure_image
        # A machine of the laboratory has one thread, and its clock does not see the other machine.
        (trap - EXIT INT TERM HUP && SCRATCH=$SCRATCH/stock && cost_of stock "$repetitions" --baselines &&
                exit "$RESULT") &
        WORKERS=($!)
        cost_of product "$repetitions"
        wait "${WORKERS[0]}" || RESULT=$?
        WORKERS=()
        [[ $RESULT -eq 0 ]] || exit "$RESULT"
        python3 -B "$TOP/bench/cost" --compare "$FIGURES"/{stock,product}.json || RESULT=$?
        if [[ -n $output ]]; then
                jq -n --slurpfile stock "$FIGURES/stock.json" --slurpfile product "$FIGURES/product.json" \
                        '{stock: $stock[0], product: $product[0]}' >"$output"
        fi
        exit "$RESULT"
}
