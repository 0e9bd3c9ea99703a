# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main demonstration, and measurements of its kind: bench/make-data makes their data here once,
# bench/demo runs them in the laboratory.

DEMO_TIMEOUT=3000
DEMO_DATA=
BENCHES=(search kv get-scan admission
        ycsb-{a,b,c,d,e,f,uniform,uniform-rw} ycsb-leveldb-{a,b,c,d,e,f,uniform,uniform-rw}
        pgbench-{select,zipfian,tpcb} sqlite)

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

# run_demo DEFAULT-OUTPUT DISK-US CPUS VERB [ARGUMENT…] -- DEMO-ARGUMENT…: bench/demo in the laboratory.
run_demo() {
        local output=$1 disk_us=$2 cpus=$3 verb=$4 gigabytes chosen=()
        shift 4
        while [[ $1 != -- ]]; do
                case $1 in
                --output) [[ $2 != -- ]] || die "--output wants a file" && output=$2 && shift ;;
                --output=*) output=${1#*=} ;;
                --disk-us) positive "$1" "$2" && disk_us=$2 && shift ;;
                --disk-us=*) set -- --disk-us "${1#*=}" "${@:2}" && continue ;;
                --repetitions) positive "$1" "$2" && chosen+=("$1" "$2") && shift ;;
                --repetitions=*) set -- --repetitions "${1#*=}" "${@:2}" && continue ;;
                --variants) [[ $2 != -- ]] || die "--variants wants names" && chosen+=("$1" "$2") && shift ;;
                --variants=*) set -- --variants "${1#*=}" "${@:2}" && continue ;;
                *) die "$verb takes --output FILE, --disk-us N, --repetitions N and --variants NAME,…, not '$1'" ;;
                esac
                shift
        done
        shift
        [[ -d $(dirname "$output") ]] || die "--output: there is no directory $(dirname "$output")"

        ensure_kernel product
        ensure_demo_data
        gigabytes=$(($(stat -c %s "$DEMO_DATA") / (1 << 30) + 1))
        machine_defaults
        LAB=1 CPUS=$cpus LAB_DISK=$gigabytes MEMORY=$((gigabytes + 2))G TIMEOUT=$DEMO_TIMEOUT
        APPEND=("null_blk.completion_nsec=${disk_us}000") # the last one counts
        DISKS=("$DEMO_DATA:ro")
        mkdir -p "$SCRATCH/demo"
        SHARES=("$SCRATCH/demo:/run/demo")
        COMMAND=(/usr/lib/cachebpf/bench/demo --data /dev/disk/by-id/virtio-disk0
                --json /run/demo/result.json
                "${chosen[@]}" "$@")
        run_machine
        if [[ -s $SCRATCH/demo/result.json ]]; then
                cp "$SCRATCH/demo/result.json" "$output"
                info "the figures are in $output"
        fi
        exit "$RESULT"
}

verb_demo() {
        run_demo ./cachebpf-demo.json 100 2 demo "$@" --
}

verb_bench() {
        local name=${1:-} disk_us=100 cpus=2
        [[ " ${BENCHES[*]} " == *" $name "* ]] || die "bench takes a name: ${BENCHES[*]}"
        shift
        # a processor for each of its threads; and bench/README.md says why so slow a disk
        [[ $name != get-scan ]] || disk_us=2000 cpus=4
        [[ $name != @(ycsb-|pgbench-|sqlite)* ]] || disk_us=1000
        run_demo "./cachebpf-$name.json" "$disk_us" "$cpus" bench "$@" -- --only "$name"
}
