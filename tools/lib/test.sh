# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# All tests: meson's unit tests in the build root, then the tests of tests/vm, one machine for each kernel.

PASSED=0
FAILED=0

count_result() { # PASSED FAILED
        PASSED=$((PASSED + $1))
        FAILED=$((FAILED + $2))
}

unit_tests() {
        local results good bad
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

# vm_tests KERNEL KINDS NAME…: one boot; a test the machine did not come to counts as failed.
vm_tests() {
        local kernel=$1 kinds=$2 results=$SCRATCH/results-$1 good planned
        shift 2
        rm -rf "$results"
        mkdir -p "$results"
        machine_defaults
        KERNEL=$kernel TIMEOUT=1800
        [[ $kernel != debug ]] || MEMORY=4G TIMEOUT=5400
        SHARES=("$results:/run/vm-results")
        COMMAND=(/usr/lib/cachebpf/tests/run "$kinds" /run/vm-results "$@")
        echo "== kernel $kernel"
        run_machine
        good=$(grep -c '^pass ' "$results/done" 2>/dev/null || true)
        planned=$(grep -c . "$results/planned" 2>/dev/null || true)
        count_result "${good:-0}" $((${planned:-0} - ${good:-0}))
        if [[ -s $results/planned ]]; then
                grep -vxFf <(cut -d' ' -f2 "$results/done") "$results/planned" | sed 's/^/== FAIL (did not end) /' || true
        fi
        if [[ $RESULT -eq 124 || $RESULT -eq 125 || $RESULT -ne 0 && ${planned:-0} -eq ${good:-0} ]]; then
                echo "== FAIL the machine with the $kernel kernel (status $RESULT; see above)"
                count_result 0 1
        fi
}

verb_test() {
        local long='' debug=''
        local -a names=()
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
        if [[ -n $debug ]]; then
                vm_tests debug product,debug "${names[@]}"
        else
                # Installed programs have no header to look at: they are for the product kernel.
                if has_tests product "${names[@]}" || ! has_tests stock "${names[@]}"; then
                        vm_tests product product "${names[@]}"
                fi
                ! has_tests stock "${names[@]}" || vm_tests stock stock "${names[@]}"
                [[ -z $long ]] || vm_tests debug product,debug "${names[@]}"
        fi
        echo "$PASSED passed, $FAILED failed"
        [[ $FAILED -eq 0 && $PASSED -gt 0 ]]
}
