# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The project itself, built by meson in the build root. The build directory stays, so a change is a small
# build.

# What the installed project is made of; the kernel is not part of it.
project_sources() {
        local name
        for name in meson.build meson.options src bpf policies.d units dbus man docs completions tests \
                tools/lib/guest bench kernel/selftests; do
                echo "$TOP/$name"
        done
}

# "yes" for the unit tests: a build directory of their own, where gcc's sanitizers look for memory that is used wrongly
# or not freed, and for what C does not define.
SANITIZED=

project_dir() {
        echo "$CACHE/${SANITIZED:+sanitized-}project-$(printf '%s\n' "$BUILDROOT" "$TOP" | digest)"
}

# in_project COMMAND…: in the build root; source at /src, build directory at /build/project, one at a time.
# The kernel source is at /build/linux if ensure_pristine has been called.
in_project() {
        local dir
        dir=$(project_dir)
        mkdir -p "$dir" "$CACHE/ccache" "$SCRATCH/project"
        in_buildroot "$TOP:/src" "$dir:/build/project" "$CACHE/ccache:/build/ccache" \
                "$SCRATCH/project:/build/root" \
                ${PRISTINE:+"$PRISTINE:/build/linux"} -- \
                flock /build/project/.lock "$@"
}

build_project() {
        local kind='-Dtests=disabled'
        [[ -z $SANITIZED ]] || kind='-Dtests=enabled -Db_sanitize=address,undefined'
        # shellcheck disable=SC2016
        in_project env CC='ccache gcc' bash -euc '
                options="--prefix=/usr --libdir=lib/$(gcc -print-multiarch) --werror $2"
                if [[ ! -e /build/project/build.ninja ||
                        $(cat /build/project/.options 2>/dev/null) != "$options" ]]; then
                        again=
                        [[ ! -e /build/project/build.ninja ]] || again=--reconfigure
                        meson setup $again $options /build/project /src
                        echo "$options" >/build/project/.options
                fi
                meson compile -C /build/project -j "$1"' build "$JOBS" "$kind"
}

verb_build() {
        [[ $# -eq 0 ]] || die "build takes no argument"
        ensure_buildroot
        step 'building' build_project
        project_dir
}

# Leaves what the project installs in $SCRATCH/project.
install_project() {
        build_project
        in_project meson install -C /build/project --no-rebuild --quiet --destdir /build/root
}

# Runs the unit tests, and the fuzzers if that may take long; what came out of them is in meson's
# testlog.json and fuzzlog.json, so a failed one is no failed step.
run_unit_tests() {
        rm -f "$(project_dir)"/meson-logs/{test,fuzz}log.json
        # Time-outs are for what hangs: on a busy machine all of them take several times as long. The simulator frees
        # large tables; if all of them were kept to be looked at, it would take twice as long.
        in_project env LINUX_SOURCE=/build/linux \
                ASAN_OPTIONS=abort_on_error=1:print_summary=1:quarantine_size_mb=1 \
                meson test -C /build/project --print-errorlogs --timeout-multiplier 5 || true
        [[ -z $LONG_TESTS ]] ||
                in_project meson test -C /build/project --benchmark --suite fuzz --logbase fuzzlog \
                        --print-errorlogs || true
}
