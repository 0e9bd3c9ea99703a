# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main demonstration, and measurements of its kind: bench/data/make-data makes their data here once,
# bench/demo runs them in the laboratory.

LOAD_TIMEOUT=14400 # seconds of the host, which may be busy
DEMO_DATA=

# make-data wants the build root and, in it, the project's kv.
make_data() { # --key | OUT.img
        # shellcheck disable=SC2016
        unshare --mount --propagation private bash -euc '
                mkdir -p "$1/build/project"
                mount --bind "$2" "$1/build/project"
                CACHEBPF_BUILDROOT=$1 CACHEBPF_KV=build/project/bench/programs/kv exec "$3" "$4"' \
                make-data "$BUILDROOT" "$(project_dir)" "$TOP/bench/data/make-data" "$1"
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
                        "$TOP"/tools/lib/{accel,demo,image,laboratory,run}.sh "$TOP/tools/lib/guest"
        } | digest
}

# All that a measurement needs, made if it is not there.
ensure_demo() {
        ensure_kernel product
        ensure_demo_data
        ensure_image
}

# parse_demo VERB [OPTION…]: sets OUTPUT, CHOSEN (arguments of bench/demo), DISK_US if it is named, and so on.
parse_demo() {
        local verb=$1
        shift
        CHOSEN=() TRACE='' WHOSE_TIME='' DISK_US=''
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

# machine_of NAME: what bench/loads/loads.py says of the machine for a load; --disk-us and --clock come before it.
machine_of() {
        local machine disk_us
        locked setup ensure_setup
        machine=$(python3 -B "$TOP/bench/loads/loads.py" machine "$1") || exit 2
        read -r disk_us LOAD_CPUS LOAD_CLOCK LOAD_ARGUMENTS <<<"$machine"
        LOAD_DISK_US=${DISK_US:-$disk_us}
}

# run_load NAME: one load in the laboratory, as the options were; leaves result.json, perhaps trace, in
# $SCRATCH/NAME/demo. Sets RESULT.
run_load() {
        local SCRATCH=$SCRATCH/$1 gigabytes arguments clock
        machine_of "$1"
        clock=${WHOSE_TIME:-$LOAD_CLOCK}
        read -ra arguments <<<"$LOAD_ARGUMENTS"
        gigabytes=$(($(stat -c %s "$DEMO_DATA") / (1 << 30) + 1))
        machine_defaults
        LAB=1 CLOCK=$clock CPUS=$LOAD_CPUS LAB_DISK=$gigabytes MEMORY=$((gigabytes + 2))G TIMEOUT=$LOAD_TIMEOUT
        APPEND=("null_blk.completion_nsec=${LOAD_DISK_US}000" "${arguments[@]}") # the last one counts
        DISKS=("$DEMO_DATA:ro")
        mkdir -p "$SCRATCH/demo"
        COLLECT=/run/demo:$SCRATCH/demo
        READER=(tell_time)
        COMMAND=(/usr/lib/cachebpf/bench/demo --only "$1" --json /run/demo/result.json
                --inputs "$(inputs_key)" --clock "$clock"
                ${TRACE:+--trace /run/demo/trace}
                "${CHOSEN[@]}")
        run_machine
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

# The loads of the demonstration side by side: a machine of the laboratory has one thread, and its clock does not
# see the other machine.
verb_demo() {
        local name worker status=0 loads tellers=() results=()
        OUTPUT=./cachebpf-demo.json
        parse_demo demo "$@"
        ensure_demo
        read -ra loads < <(python3 -B "$TOP/bench/loads/loads.py" demo)
        for name in "${loads[@]}"; do
                mkfifo "$SCRATCH/$name.told"
                tell_of "$name" <"$SCRATCH/$name.told" &
                tellers+=($!)
                (
                        trap - EXIT INT TERM HUP
                        run_load "$name"
                        exit "$RESULT"
                ) >"$SCRATCH/$name.told" &
                WORKERS+=($!)
        done
        for worker in "${WORKERS[@]}"; do
                wait "$worker" || status=$?
        done
        WORKERS=()
        wait "${tellers[@]}"
        for name in "${loads[@]}"; do
                [[ ! -e $SCRATCH/$name.report ]] || cat "$SCRATCH/$name.report"
                [[ ! -s $SCRATCH/$name/demo/result.json ]] || results+=("$SCRATCH/$name/demo/result.json")
        done
        if [[ ${#results[@]} -eq ${#loads[@]} ]]; then
                jq -s '(map(.goals) | add) as $goals | add + {goals: $goals}' "${results[@]}" >"$OUTPUT"
                info "the figures are in $OUTPUT"
        fi
        exit "$status"
}

verb_bench() {
        local name=${1:-} result
        if [[ $# -eq 1 && $name == --prepare ]]; then
                ensure_demo
                inputs_key
                return
        fi
        machine_of "$name" # now, so that a wrong name is told before anything is built
        OUTPUT=./cachebpf-$name.json
        shift
        parse_demo bench "$@"
        ensure_demo
        run_load "$name"
        result=$SCRATCH/$name/demo
        if [[ -s $result/result.json ]]; then
                [[ ! -s $result/trace ]] || cp "$result/trace" "$TRACE"
                cp "$result/result.json" "$OUTPUT"
                info "the figures are in $OUTPUT"
        fi
        exit "$RESULT"
}
