# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# All tests: meson's unit tests in the build root, then the tests of tests/vm in machines. Three machines work
# side by side and take the tests of a kernel one by one; a test is taken by making a directory in the shared
# directory of results.

PASSED=0
FAILED=0
RESULTS=
LONG_TESTS=
WORKERS=()
declare -A BZIMAGES=()

count_result() { # PASSED FAILED
        PASSED=$((PASSED + $1))
        FAILED=$((FAILED + $2))
}

unit_tests() {
        local SANITIZED=yes results good bad
        ensure_pristine # the series of kernel patches is applied to it
        step 'unit tests: building' build_project
        step 'unit tests' run_unit_tests
        results=$SCRATCH/unit-tests.json
        cat "$(project_dir)"/meson-logs/{test,fuzz}log.json >"$results" 2>/dev/null || true
        [[ -s $results ]] || return 0
        good=$(jq -r 'select(.result == "OK" or .result == "EXPECTEDFAIL").name' "$results")
        bad=$(jq -r 'select(.result != "OK" and .result != "SKIP" and .result != "EXPECTEDFAIL") |
                "\(.name): \(.result)", (.stdout // ""), (.stderr // "")' "$results")
        echo "== unit tests: $(jq -r '.name + " " + .result' "$results" | tr '\n' ',' |
                sed 's/,$//; s/,/, /g')"
        [[ -z $bad ]] || printf '#   %s\n' "${bad//$'\n'/$'\n#   '}"
        count_result "$(grep -c . <<<"$good")" \
                "$(jq -r .result "$results" | grep -cvE '^(OK|SKIP|EXPECTEDFAIL)$')"
}

test_header() { # FILE KEY: the value of a line "# KEY: VALUE" at the top of a test
        sed -n "1,20s/^# $2: *//p" "$1" | head -n 1
}

# tests_for KIND [NAME…]: the scripts for that kernel among the wanted ones.
tests_for() {
        local kind=$1 file name kernels
        shift
        for file in "$TOP"/tests/vm/TEST-*.sh; do
                [[ -e $file ]] || continue
                kernels=$(test_header "$file" kernel | tr ',' ' ')
                [[ " ${kernels:-product} " == *" $kind "* ]] || continue
                [[ -n $LONG_TESTS || -z $(test_header "$file" long) ]] || continue
                if [[ $# -eq 0 ]]; then
                        echo "$file"
                else
                        for name; do
                                [[ ${file##*/} != *"$name"* ]] || { echo "$file" && break; }
                        done
                fi
        done
}

# tests_alone KIND [NAME…]: the file names of those that want a machine of their own, what may take longest first.
tests_alone() {
        local file limit
        tests_for "$@" | while IFS= read -r file; do
                [[ -n $(test_header "$file" machine)$(test_header "$file" long) ]] || continue
                limit=$(test_header "$file" timeout)
                echo "${limit:-120} ${file##*/}"
        done | sort -s -k 1,1nr | cut -d ' ' -f 2-
}

# A job is what one machine can do: KERNEL, the tests of that kernel that share machines, or KERNEL:TEST, one
# that does not. take_job says whether something is left of it to be done.
take_job() {
        local name dir=$RESULTS/$1
        case $1 in
        *:*)
                mkdir "$dir/machine" 2>/dev/null
                return
                ;;
        esac
        [[ -e $dir/planned ]] || return 0
        while IFS= read -r name; do
                [[ -e $dir/$name.taken ]] || return 0
        done <"$dir/planned"
        return 1
}

# Sets the options of the machine for a job. The factors are those of tests/vm/run.
job_machine() { # JOB NUMBER
        local kernel=${1%%:*} name='' factor=4 limit options
        machine_defaults
        KERNEL=${BZIMAGES[$kernel]} TIMEOUT=14400
        COMMAND=()
        # Emulated processors that wait for each other cost the host twice the time. Where races are looked for there
        # are two of them, see also TEST-30.
        [[ -n $LONG_TESTS ]] || CPUS=1
        if checks_everything "$kernel"; then
                MEMORY=4G TIMEOUT=21600 factor=16
        fi
        if [[ $1 == *:* ]]; then
                name=${1#*:}
                limit=$(test_header "$TOP/tests/vm/$name" timeout)
                TIMEOUT=$((${limit:-120} * factor + 300))
                options=$(test_header "$TOP/tests/vm/$name" machine)
                eval "parse_machine_options $options" # it is quoted as on a command line
        fi
        SHARES+=("$RESULTS/$1:/run/vm-results")
        COMMAND=(env "TEST_ALONE=$name" "TEST_MACHINE=machine-$2")
        # Not where races are looked for: who waits for a disk lets others come between.
        [[ $kernel != product || -n $LONG_TESTS$LAB ]] || COMMAND+=(TEST_DISK=memory)
        COMMAND+=(/usr/lib/cachebpf/tests/run)
        # What runs on the product kernel is run on the debug kernel, too; on the others, what asks for them.
        if [[ $kernel == debug ]]; then
                COMMAND+=(product,debug /run/vm-results)
        else
                COMMAND+=("$kernel" /run/vm-results)
        fi
}

# emulator_tripped JOB NUMBER: did the machine end by the mistake of QEMU that tests/vm/storm.sh describes? It says
# nothing of the kernel. What that machine was at is given back, to be done by another one.
emulator_tripped() {
        local dir=$RESULTS/$1 mark name
        [[ $RESULT -ne 0 ]] && grep -aqF 'Oops: int3' "$CONSOLE" || return 1
        info "QEMU ran into a breakpoint that the kernel had removed; once more"
        rmdir "$dir/machine" 2>/dev/null || true
        for mark in "$dir"/*.taken/machine-"$2"; do
                name=${mark%.taken/*}
                [[ ! -e $mark || -e $name.pass || -e $name.fail ]] || rm -r "$name.taken"
        done
}

# test_worker NUMBER JOBS [NAME…]: boots one machine after the other, each for the tests it finds left.
test_worker() {
        local number=$1 job tries
        local -a jobs
        read -ra jobs <<<"$2"
        shift 2
        SCRATCH=$SCRATCH/worker-$number
        mkdir -p "$SCRATCH"
        for job in "${jobs[@]}"; do
                for tries in 1 2 3; do
                        take_job "$job" || continue 2
                        job_machine "$job" "$number"
                        COMMAND+=("$@")
                        run_machine
                        [[ $tries -lt 3 ]] && emulator_tripped "$job" "$number" || break
                done
                # shellcheck disable=SC2153
                [[ $RESULT -eq 0 ]] || echo "$RESULT" >"$RESULTS/$job/machine-$number.broken"
        done
}

# judge_job JOB: a test that did not end, and a machine that broke, count as failed.
judge_job() {
        local dir=$RESULTS/$1 kernel=${1%%:*} name good=0 bad=0 file
        if [[ -e $dir/planned ]]; then
                while IFS= read -r name; do
                        if [[ -e $dir/$name.pass ]]; then
                                good=$((good + 1))
                        else
                                bad=$((bad + 1))
                                if [[ -e $dir/$name.fail ]]; then
                                        echo "== FAIL $name on the $kernel kernel"
                                else
                                        echo "== FAIL $name on the $kernel kernel: it did not end"
                                fi
                        fi
                done <"$dir/planned"
        fi
        for file in "$dir"/*.broken; do
                [[ -e $file ]] || continue
                echo "== FAIL a machine with the $kernel kernel broke (status $(<"$file"), see above)"
                bad=$((bad + 1))
        done
        count_result "$good" "$bad"
}

# jobs_of "KERNEL…" [NAME…]: all of them, shared machines first; there is none if the tests wanted are all alone.
jobs_of() {
        local kernel
        local -a all alone jobs=()
        for kernel in $1; do
                mapfile -t all < <(tests_for "$kernel" "${@:2}")
                mapfile -t alone < <(tests_alone "$kernel" "${@:2}")
                [[ ${#alone[@]} -gt 0 && ${#all[@]} -eq ${#alone[@]} ]] || echo "$kernel"
                jobs+=("${alone[@]/#/$kernel:}")
        done
        printf '%s\n' "${jobs[@]}" | grep . || true
}

# vm_tests "KERNEL…" [NAME…]: the tests for these kernels, on as many machines as there is room for.
vm_tests() {
        local kernel job worker
        local -a kernels jobs shared alone workers=()
        read -ra kernels <<<"$1"
        mapfile -t jobs < <(jobs_of "$@")
        shift
        RESULTS=$SCRATCH/results
        rm -rf "$RESULTS"
        for kernel in "${kernels[@]}"; do
                ensure_kernel "$kernel"
                BZIMAGES[$kernel]=$KERNEL_DIR/bzImage # what is edited from now on does not matter
        done
        for job in "${jobs[@]}"; do
                mkdir -p "$RESULTS/$job"
        done
        for job in "${jobs[@]}"; do
                [[ $job == *:* ]] || continue
                case $(test_header "$TOP/tests/vm/${job#*:}" machine) in
                *'--kernel package-vm'*) ensure_kernel_package vm ;;
                *'--kernel package-local'*) ensure_kernel_package local ;;
                *--packages*) ensure_packages ;;
                esac
        done
        ensure_image
        choose_accel "$KERNEL_DIR/bzImage" '' # the probe of KVM is done once, here
        echo "== machines: kernel ${kernels[*]}"

        (trap - EXIT INT TERM HUP && test_worker 1 "${jobs[*]}" "$@") &
        workers+=($!)
        if [[ $# -eq 0 && $(nproc) -gt 1 ]]; then
                mapfile -t shared < <(printf '%s\n' "${jobs[@]}" | grep -v :)
                mapfile -t alone < <(printf '%s\n' "${jobs[@]}" | grep :)
                (trap - EXIT INT TERM HUP && test_worker 2 "${alone[*]} ${shared[*]}" "$@") &
                workers+=($!)
                (trap - EXIT INT TERM HUP && test_worker 3 "${jobs[*]}" "$@") & # tests also wait
                workers+=($!)
        fi
        WORKERS=("${workers[@]}")
        for worker in "${workers[@]}"; do
                wait "$worker" || count_result 0 1 # it has said why
        done
        WORKERS=()
        for job in "${jobs[@]}"; do
                judge_job "$job"
        done
}

# What a machine of the laboratory did, of which all depends on each instruction: one thread waits for the disk, and
# another one computes.
LAB_COMMAND='dd if=/dev/nullb0 of=/dev/null bs=4k count=20000 iflag=direct 2>&1 &
        tar --create --file - --directory=/ usr/lib/python3 | sha256sum
        wait
        cat /proc/uptime /proc/interrupts /proc/vmstat /proc/sys/kernel/random/uuid'

# laboratory_test: two of them side by side do the same.
laboratory_test() {
        local i status=0
        ensure_kernel product
        ensure_image
        for i in 1 2; do
                (
                        trap - EXIT INT TERM HUP
                        SCRATCH=$SCRATCH/laboratory-$i
                        mkdir -p "$SCRATCH"
                        machine_defaults
                        LAB=1 LAB_DISK=1 COMMAND=(bash -c "$LAB_COMMAND")
                        run_machine >"$SCRATCH.said"
                        exit "$RESULT"
                ) &
                WORKERS+=($!)
        done
        for i in "${WORKERS[@]}"; do
                wait "$i" || status=$?
        done
        WORKERS=()
        diff "$SCRATCH"/laboratory-{1,2}.said >"$SCRATCH/laboratory.diff" || status=$?
        if [[ $status -eq 0 ]]; then
                echo '== laboratory: two runs are the same'
                count_result 1 0
        else
                echo "== FAIL laboratory: two runs differ (status $status)"
                head -n 20 "$SCRATCH/laboratory.diff"
                count_result 0 1
        fi
}

# kernels_for [NAME…]: those that the wanted tests are for.
kernels_for() {
        # Programs that are installed as tests have no header to look at: they are for the product kernel.
        [[ -z $(tests_for product "$@") && -n $(tests_for distro "$@") ]] || echo product
        [[ -z $(tests_for distro "$@") ]] || echo distro
        [[ -n $LONG_TESTS ]] || return 0
        [[ -z $(tests_for debug "$@") && -n $(tests_for product "$@") ]] || echo debug
        [[ -z $(tests_for debian "$@") ]] || echo debian
}

verb_test() {
        local only=''
        local -a names=() kernels=()
        while [[ $# -gt 0 ]]; do
                case $1 in
                --long) LONG_TESTS=1 ;;
                --kernel) [[ $# -ge 2 ]] || die "$1 wants a value" && set -- "$1=$2" "${@:3}" && continue ;;
                --kernel=*) only=${1#*=} ;;
                --debug | --debian) only=${1#--} ;;
                -*) die "test takes --long, --kernel KIND, --debug, --debian and names, not '$1'" ;;
                *) names+=("$1") ;;
                esac
                shift
        done
        [[ -z $only ]] || is_kernel "$only" || die "--kernel wants one of ${KERNELS[*]}, not '$only'"

        if [[ -n $only ]]; then
                kernels=("$only")
        else
                mapfile -t kernels < <(kernels_for "${names[@]}")
        fi
        ensure_buildroot
        case ${names[*]} in
        '') unit_tests && vm_tests "${kernels[*]}" && laboratory_test ;;
        unit) unit_tests ;;
        laboratory) laboratory_test ;;
        *) vm_tests "${kernels[*]}" "${names[@]}" ;;
        esac
        [[ $((PASSED + FAILED)) -gt 0 ]] ||
                info "no test has ${names[*]} in its name, or only such that take long and are run with --long"
        echo "$PASSED passed, $FAILED failed"
        [[ $FAILED -eq 0 && $PASSED -gt 0 ]]
}
