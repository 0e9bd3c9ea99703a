# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main demonstration, and measurements of its kind: bench/make-data makes their data here once,
# bench/demo runs them in the laboratory.

DEMO_TIMEOUT=3000
DEMO_DATA=

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

# run_demo DEFAULT-OUTPUT DISK-US CPUS VERB [ARGUMENT…] -- DEMO-ARGUMENT…: bench/demo in the laboratory.
run_demo() {
        local output=$1 disk_us=$2 cpus=$3 verb=$4 gigabytes trace='' clock=laboratory chosen=()
        shift 4
        while [[ $1 != -- ]]; do
                [[ $1 != --*=* ]] || set -- "${1%%=*}" "${1#*=}" "${@:2}"
                case $verb,$1 in
                *,--output) [[ $2 != -- ]] || die "--output wants a file" && output=$2 ;;
                *,--disk-us) positive "$1" "$2" && disk_us=$2 ;;
                *,--repetitions) positive "$1" "$2" && chosen+=("$1" "$2") ;;
                *,--variants) [[ $2 != -- ]] || die "--variants wants names" && chosen+=("$1" "$2") ;;
                bench,--trace) [[ $2 != -- ]] || die "--trace wants a file" && trace=$2 ;;
                bench,--clock) [[ $2 == laboratory || $2 == host ]] || die "--clock: laboratory or host" && clock=$2 ;;
                *) die "$verb takes --output FILE, --disk-us N, --repetitions N and --variants NAME,…, bench also" \
                        "--trace FILE and --clock host, not '$1'" ;;
                esac
                shift 2
        done
        shift
        [[ -d $(dirname "$output") ]] || die "--output: there is no directory $(dirname "$output")"
        [[ -z $trace || -d $(dirname "$trace") ]] || die "--trace: there is no directory $(dirname "$trace")"

        ensure_demo
        gigabytes=$(($(stat -c %s "$DEMO_DATA") / (1 << 30) + 1))
        machine_defaults
        LAB=1 CLOCK=$clock CPUS=$cpus LAB_DISK=$gigabytes MEMORY=$((gigabytes + 2))G TIMEOUT=$DEMO_TIMEOUT
        APPEND=("null_blk.completion_nsec=${disk_us}000") # the last one counts
        DISKS=("$DEMO_DATA:ro")
        mkdir -p "$SCRATCH/demo"
        SHARES=("$SCRATCH/demo:/run/demo")
        COMMAND=(/usr/lib/cachebpf/bench/demo --data /dev/disk/by-id/virtio-disk0
                --json /run/demo/result.json --inputs "$(inputs_key)" --clock "$clock"
                ${trace:+--trace /run/demo/trace}
                "${chosen[@]}" "$@")
        run_machine
        if [[ -s $SCRATCH/demo/result.json ]]; then
                [[ ! -s $SCRATCH/demo/trace ]] || cp "$SCRATCH/demo/trace" "$trace"
                cp "$SCRATCH/demo/result.json" "$output"
                info "the figures are in $output"
        fi
        exit "$RESULT"
}

verb_demo() {
        run_demo ./cachebpf-demo.json 100 2 demo "$@" --
}

verb_bench() {
        local name=${1:-} machine disk_us cpus
        if [[ $# -eq 1 && $name == --prepare ]]; then
                ensure_demo
                inputs_key
                return
        fi
        locked setup ensure_setup
        machine=$(python3 -B "$TOP/bench/loads.py" machine "$name") || exit 2
        read -r disk_us cpus <<<"$machine"
        shift
        run_demo "./cachebpf-$name.json" "$disk_us" "$cpus" bench "$@" -- --only "$name"
}
