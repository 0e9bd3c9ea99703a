# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# All tests: meson's unit tests in the build root, then the tests of tests/vm in machines. Two machines work
# side by side and take the tests of a kernel one by one; a test is taken by making a directory in the shared
# directory of results.

PASSED=0
FAILED=0
RESULTS=
WORKERS=()
declare -A BZIMAGES=()

count_result() { # PASSED FAILED
        PASSED=$((PASSED + $1))
        FAILED=$((FAILED + $2))
}

unit_tests() {
        local results good bad
        locked kernel ensure_pristine # the series of kernel patches is applied to it
        step 'unit tests: building' build_project
        step 'unit tests' run_unit_tests
        results=$(project_dir)/meson-logs/testlog.json
        [[ -e $results ]] || return 0
        good=$(jq -r 'select(.result == "OK" or .result == "EXPECTEDFAIL").name' "$results")
        bad=$(jq -r 'select(.result != "OK" and .result != "SKIP" and .result != "EXPECTEDFAIL") |
                "\(.name): \(.result)", (.stdout // ""), (.stderr // "")' "$results")
        echo "== unit tests: $(jq -r '.name + " " + .result' "$results" | tr '\n' ',' | sed 's/,$//; s/,/, /g')"
        [[ -z $bad ]] || printf '#   %s\n' "${bad//$'\n'/$'\n#   '}"
        count_result "$(grep -c . <<<"$good")" "$(jq -r .result "$results" | grep -cvE '^(OK|SKIP|EXPECTEDFAIL)$')"
}

# has_tests KIND NAME…: is there a script for that kernel among the wanted ones?
has_tests() {
        local kind=$1 file name kernels
        shift
        for file in "$TOP"/tests/vm/TEST-*.sh; do
                [[ -e $file ]] || continue
                kernels=$(sed -n '1,20s/^# kernel: *//p' "$file" | tr ',' ' ')
                [[ " ${kernels:-product} " == *" $kind "* ]] || continue
                [[ $# -gt 0 ]] || return 0
                for name; do
                        [[ ${file##*/} != *"$name"* ]] || return 0
                done
        done
        return 1
}

# tests_left KERNEL: no machine was there yet, or it left tests to be taken.
tests_left() {
        local name
        [[ -e $RESULTS/$1/planned ]] || return 0
        while IFS= read -r name; do
                [[ -e $RESULTS/$1/$name.taken ]] || return 0
        done <"$RESULTS/$1/planned"
        return 1
}

# test_worker NUMBER KERNELS [NAME…]: boots one kernel after the other, each for the tests it finds left.
test_worker() {
        local number=$1 kernel kinds
        local -a kernels
        read -ra kernels <<<"$2"
        shift 2
        SCRATCH=$SCRATCH/worker-$number
        mkdir -p "$SCRATCH"
        for kernel in "${kernels[@]}"; do
                tests_left "$kernel" || continue
                machine_defaults
                KERNEL=${BZIMAGES[$kernel]} TIMEOUT=1800 kinds=$kernel
                [[ $kernel != debug ]] || MEMORY=4G TIMEOUT=5400 kinds=product,debug
                SHARES=("$RESULTS/$kernel:/run/vm-results")
                COMMAND=(/usr/lib/cachebpf/tests/run "$kinds" /run/vm-results "$@")
                run_machine
                # shellcheck disable=SC2153
                [[ $RESULT -eq 0 ]] || echo "$RESULT" >"$RESULTS/$kernel/machine-$number.broken"
        done
}

# judge_kernel KERNEL: a test that did not end, and a machine that broke, count as failed.
judge_kernel() {
        local dir=$RESULTS/$1 name good=0 bad=0 file
        if [[ -e $dir/planned ]]; then
                while IFS= read -r name; do
                        if [[ -e $dir/$name.pass ]]; then
                                good=$((good + 1))
                        else
                                bad=$((bad + 1))
                                if [[ -e $dir/$name.fail ]]; then
                                        echo "== FAIL $name on the $1 kernel"
                                else
                                        echo "== FAIL $name on the $1 kernel: it did not end"
                                fi
                        fi
                done <"$dir/planned"
        fi
        for file in "$dir"/*.broken; do
                [[ -e $file ]] || continue
                echo "== FAIL a machine with the $1 kernel broke (status $(<"$file"), see above)"
                bad=$((bad + 1))
        done
        count_result "$good" "$bad"
}

# vm_tests "KERNEL…" [NAME…]: the tests for these kernels, on as many machines as there is room for.
vm_tests() {
        local kernel second worker
        local -a kernels workers=()
        read -ra kernels <<<"$1"
        shift
        RESULTS=$SCRATCH/results
        rm -rf "$RESULTS"
        for kernel in "${kernels[@]}"; do
                ensure_kernel "$kernel"
                BZIMAGES[$kernel]=$KERNEL_DIR/bzImage # what is edited from now on does not matter
                mkdir -p "$RESULTS/$kernel"
        done
        ensure_image
        choose_accel "$KERNEL_DIR/bzImage" '' # the probe of KVM is done once, here
        echo "== machines: kernel ${kernels[*]}"

        (trap - EXIT INT TERM HUP && test_worker 1 "${kernels[*]}" "$@") &
        workers+=($!)
        if [[ $# -eq 0 && $(nproc) -gt 1 ]]; then
                second=$(printf '%s\n' "${kernels[@]}" | tac | tr '\n' ' ')
                (trap - EXIT INT TERM HUP && test_worker 2 "$second" "$@") &
                workers+=($!)
        fi
        WORKERS=("${workers[@]}")
        for worker in "${workers[@]}"; do
                wait "$worker" || count_result 0 1 # it has said why
        done
        WORKERS=()
        for kernel in "${kernels[@]}"; do
                judge_kernel "$kernel"
        done
}

verb_test() {
        local long='' debug=''
        local -a names=() kernels=()
        while [[ $# -gt 0 ]]; do
                case $1 in
                --long) long=1 ;;
                --debug) debug=1 ;;
                -*) die "test takes --long, --debug and names, not '$1'" ;;
                *) names+=("$1") ;;
                esac
                shift
        done

        ensure_buildroot
        [[ ${#names[@]} -gt 0 || ! -e $TOP/meson.build ]] || unit_tests
        # Programs that are installed as tests have no header to look at: they are for the product kernel.
        if [[ -n $debug ]]; then
                kernels=(debug)
        elif has_tests product "${names[@]}" || ! has_tests stock "${names[@]}"; then
                kernels=(product)
        fi
        [[ -n $debug ]] || ! has_tests stock "${names[@]}" || kernels+=(stock)
        [[ -z $long ]] || kernels+=(debug)
        vm_tests "${kernels[*]}" "${names[@]}"
        echo "$PASSED passed, $FAILED failed"
        [[ $FAILED -eq 0 && $PASSED -gt 0 ]]
}
