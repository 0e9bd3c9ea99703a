# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the framework and the policies cost in instructions: bench/cost on two kernels, and the table.

cost_of() { # KERNEL REPETITIONS [OPTION…]: figures go to $SCRATCH/cost/KERNEL.json
        local kernel=$1 repetitions=$2
        shift 2
        machine_defaults
        KERNEL=$kernel LAB=1 LAB_DISK=1 MEMORY=3G TIMEOUT=5400
        SHARES=("$SCRATCH/cost:/run/cost")
        COMMAND=(/usr/lib/cachebpf/bench/cost "--json=/run/cost/$kernel.json" "--repetitions=$repetitions" "$@")
        info "cost: the $kernel kernel"
        run_machine
}

verb_cost() {
        local repetitions=5
        while [[ $# -gt 0 ]]; do
                case $1 in
                --repetitions) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--repetitions wants a number" && repetitions=$2 && shift ;;
                --repetitions=*) repetitions=${1#*=} ;;
                *) die "cost takes --repetitions N, not '$1'" ;;
                esac
                shift
        done
        mkdir -p "$SCRATCH/cost"
        cost_of stock "$repetitions" --baselines
        [[ $RESULT -eq 0 ]] || exit "$RESULT"
        cost_of product "$repetitions" --beside=/run/cost/stock.json
        exit "$RESULT"
}
