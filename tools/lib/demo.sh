# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main demonstration, and measurements of its kind: bench/make-data makes their data here once,
# bench/demo runs them in the laboratory.

DEMO_TIMEOUT=3000
DEMO_DATA=
DEMO_LOADS=(search kv)

# make-data wants the build root and, in it, the project's kv.
make_data() { # --key | OUT.img
        # shellcheck disable=SC2016
        unshare --mount --propagation private bash -euc '
                mkdir -p "$1/build/project"
                mount --bind "$2" "$1/build/project"
                CACHEBPF_BUILDROOT=$1 CACHEBPF_KV=build/project/bench/kv exec "$3" "$4"' \
                make-data "$BUILDROOT" "$(project_dir)" "$TOP/bench/make-data" "$1"
}

make_demo_data() {
        [[ ! -e $DEMO_DATA ]] || return 0
        mkdir -p "$CACHE/data"
        step 'demo: making the data' make_data "$SCRATCH/data.img"
        mv -T "$SCRATCH/data.img" "$DEMO_DATA"
        prune 2 "$CACHE"/data/*.img
}

# Sets DEMO_DATA to the data image, made if it is not there.
ensure_demo_data() {
        local key
        ensure_buildroot
        step 'demo: building the project' build_project
        key=$(make_data --key)
        DEMO_DATA=$CACHE/data/$key.img
        locked data make_demo_data
}

positive() { # OPTION VALUE
        [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 wants a number, not '$2'"
}

# What a measurement depends on, as one word: kernel, data, system, and the sources of what runs there. Other sources
# are in the image as well, but change no figure.
inputs_key() {
        local -a bench
        mapfile -t bench < <(find "$TOP/bench" -type f -not -name '*.md')
        {
                echo "${KERNEL_DIR##*/} ${DEMO_DATA##*/} ${BASEROOT##*/}"
                digest_tree "${bench[@]}" "$TOP"/{bpf,policies.d,src,units} \
                        "$TOP"/tools/lib/{demo,image,run}.sh
        } | digest
}

# All that a measurement needs, made if it is not there.
ensure_demo() {
        ensure_kernel product
        ensure_demo_data
        ensure_image
}

# parse_demo VERB [OPTION…]: sets OUTPUT, CHOSEN (arguments of bench/demo) and what else the options name.
parse_demo() {
        local verb=$1
        shift
        CHOSEN=() TRACE='' WHOSE_TIME=laboratory
        while [[ $# -gt 0 ]]; do
                [[ $1 != --*=* ]] || set -- "${1%%=*}" "${1#*=}" "${@:2}"
                [[ $# -gt 1 ]] || die "$verb: $1 wants a value; see tools/vm --help"
                case $verb,$1 in
                *,--output) OUTPUT=$2 ;;
                *,--disk-us) positive "$1" "$2" && DISK_US=$2 ;;
                *,--repetitions) positive "$1" "$2" && CHOSEN+=("$1" "$2") ;;
                bench,--variants) CHOSEN+=("$1" "$2") ;;
                bench,--trace) TRACE=$2 ;;
                bench,--clock) [[ $2 == laboratory || $2 == host ]] || die "--clock: laboratory or host" &&
                        WHOSE_TIME=$2 ;;
                *) die "$verb takes --output FILE, --disk-us N and --repetitions N, bench also --variants NAME,…," \
                        "--trace FILE and --clock host, not '$1'" ;;
                esac
                shift 2
        done
        [[ -d $(dirname "$OUTPUT") ]] || die "--output: there is no directory $(dirname "$OUTPUT")"
        [[ -z $TRACE || -d $(dirname "$TRACE") ]] || die "--trace: there is no directory $(dirname "$TRACE")"
}

# run_load NAME CPUS [KERNEL-ARGUMENT…]: one load in the laboratory, as the options were; leaves result.json, perhaps
# trace, in $SCRATCH/NAME. Sets RESULT.
run_load() {
        local name=$1 cpus=$2 gigabytes
        shift 2
        gigabytes=$(($(stat -c %s "$DEMO_DATA") / (1 << 30) + 1))
        machine_defaults
        LAB=1 CLOCK=$WHOSE_TIME CPUS=$cpus LAB_DISK=$gigabytes MEMORY=$((gigabytes + 2))G TIMEOUT=$DEMO_TIMEOUT
        APPEND=("null_blk.completion_nsec=${DISK_US}000" "$@") # the last one counts
        DISKS=("$DEMO_DATA:ro")
        SCRATCH=$SCRATCH/$name
        mkdir -p "$SCRATCH/demo"
        SHARES=("$SCRATCH/demo:/run/demo")
        COMMAND=(/usr/lib/cachebpf/bench/demo --only "$name" --data /dev/disk/by-id/virtio-disk0
                --json /run/demo/result.json --inputs "$(inputs_key)" --clock "$WHOSE_TIME"
                ${TRACE:+--trace /run/demo/trace}
                "${CHOSEN[@]}")
        run_machine
        SCRATCH=${SCRATCH%/*}
}

# Steps appear at once, the report when all machines have done. Each line says which load it is of.
tell_of() { # NAME
        local line late=''
        while IFS= read -r line; do
                [[ $line != 'Model: '* ]] || late=1
                if [[ -n $late ]]; then
                        echo "$line" >>"$SCRATCH/$1.report"
                elif [[ -n $line ]]; then
                        printf '%-6s %s\n' "$1" "$line"
                fi
        done
}

# The two loads of the demonstration side by side: a machine of the laboratory has one thread, and its clock does
# not see the other machine.
verb_demo() {
        local name worker status=0 results=()
        OUTPUT=./cachebpf-demo.json DISK_US=100
        parse_demo demo "$@"
        ensure_demo
        for name in "${DEMO_LOADS[@]}"; do
                (trap - EXIT INT TERM HUP && run_load "$name" 2 > >(tell_of "$name") && wait $! &&
                        exit "$RESULT") &
                WORKERS+=($!)
        done
        for worker in "${WORKERS[@]}"; do
                wait "$worker" || status=$?
        done
        WORKERS=()
        for name in "${DEMO_LOADS[@]}"; do
                [[ ! -e $SCRATCH/$name.report ]] || cat "$SCRATCH/$name.report"
                [[ ! -s $SCRATCH/$name/demo/result.json ]] || results+=("$SCRATCH/$name/demo/result.json")
        done
        if [[ ${#results[@]} -eq ${#DEMO_LOADS[@]} ]]; then
                jq -s '(map(.goals) | add) as $goals | add + {goals: $goals}' "${results[@]}" >"$OUTPUT"
                info "the figures are in $OUTPUT"
        fi
        exit "$status"
}

verb_bench() {
        local name=${1:-} machine cpus arguments
        if [[ $# -eq 1 && $name == --prepare ]]; then
                ensure_demo
                inputs_key
                return
        fi
        locked setup ensure_setup
        machine=$(python3 -B "$TOP/bench/loads.py" machine "$name") || exit 2
        read -r DISK_US cpus arguments <<<"$machine"
        read -ra arguments <<<"$arguments"
        OUTPUT=./cachebpf-$name.json
        shift
        parse_demo bench "$@"
        ensure_demo
        run_load "$name" "$cpus" "${arguments[@]}"
        if [[ -s $SCRATCH/$name/demo/result.json ]]; then
                [[ ! -s $SCRATCH/$name/demo/trace ]] || cp "$SCRATCH/$name/demo/trace" "$TRACE"
                cp "$SCRATCH/$name/demo/result.json" "$OUTPUT"
                info "the figures are in $OUTPUT"
        fi
        exit "$RESULT"
}
