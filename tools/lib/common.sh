# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What every step uses: messages, the cache directory, locks, and steps with progress and a log.

CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/cachebpf
JOBS=${CACHEBPF_JOBS:-$(nproc)}
SCRATCH=$CACHE/tmp/$$
STEP_PID=

info() {
        printf 'tools/vm: %s\n' "$*" >&2
}

die() {
        printf 'tools/vm: error: %s\n' "$*" >&2
        exit 1
}

# Called once, before any verb: directories, and nothing left behind whatever way we end.
start_session() {
        local dir
        umask 022
        mkdir -p "$CACHE"/{tmp,lock,log}
        for dir in "$CACHE"/tmp/*/; do
                [[ ! -d $dir || -d /proc/$(basename "$dir") ]] || rm -rf --one-file-system "$dir" ||
                        info "an aborted run left $dir, which cannot be removed: is something mounted below it?"
        done
        mkdir -p "$SCRATCH"
        trap end_session EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM HUP
}

end_session() {
        local status=$?
        trap - EXIT
        trap '' INT TERM HUP
        # at once: a make that is the first process of a PID name space does not die of SIGTERM, it only
        # stops working
        [[ -z $STEP_PID ]] || kill -KILL -- "-$STEP_PID" 2>/dev/null || true
        [[ ${#WORKERS[@]} -eq 0 ]] || kill -TERM "${WORKERS[@]}" 2>/dev/null || true
        stop_machine
        rm -rf --one-file-system "$SCRATCH"
        exit "$status"
}

# A key for content: the first digits of the hash of what comes in.
digest() {
        sha256sum | cut -c1-16
}

# digest_tree PATH…: one key for all files below, by name, content and executable bit. Missing paths are
# fine.
digest_tree() {
        local path
        local -a paths=()
        for path; do
                [[ ! -e $path ]] || paths+=("$path")
        done
        {
                find "${paths[@]}" -type f -not -name '*~' -print0 | sort -z | xargs -0r sha256sum
                find "${paths[@]}" -type f -perm /u+x | sort
        } | sed "s|$TOP/||" | digest
}

# locked NAME COMMAND…: no two sessions do the same step at the same time.
locked() {
        local fd name=$1
        shift
        exec {fd}>"$CACHE/lock/$name"
        if ! flock --nonblock "$fd"; then
                info "waiting for another tools/vm that works on '$name'"
                flock "$fd"
        fi
        "$@"
        exec {fd}>&-
}

# prune KEEP PATH…: delete all but the newest KEEP of the given paths, and those that somebody uses.
prune() {
        local keep=$1
        shift
        # shellcheck disable=SC2012
        { ls -1td -- "$@" 2>/dev/null || true; } | tail -n +$((keep + 1)) |
                xargs -r -d '\n' -I '{}' flock --nonblock '{}' rm -rf --one-file-system '{}' || true
}

# use PATH: for the rest of the session nobody prunes it. False if it is not there.
use() {
        local fd
        { exec {fd}<"$1"; } 2>/dev/null && flock --shared "$fd" && [[ -e $1 ]]
}

clock() {
        printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# step TITLE COMMAND…: run it with its output in a log, showing progress; stop everything if it fails.
# STEP_LINES=N in the environment is the number of lines the log is expected to get (for the percentage).
step() {
        local title=$1 start=$SECONDS log status=0
        log=$CACHE/log/${title//[^a-zA-Z0-9]/-}.log
        shift

        set -m # its own process group, so that an interrupt can end all of it
        (
                trap - EXIT INT TERM HUP
                "$@"
        ) >"$log" 2>&1 </dev/null &
        STEP_PID=$!
        set +m
        show_progress "$title" "$log" "$start"
        wait "$STEP_PID" || status=$?
        STEP_PID=
        if [[ $status -ne 0 ]]; then
                info "$title: FAILED after $(clock $((SECONDS - start))), exit status $status;" \
                        "end of the log:"
                tail -n 25 "$log" | sed 's/^/    /' >&2
                die "$title failed; the full log is $log"
        fi
        info "$title: done in $(clock $((SECONDS - start)))"
}

# One line that is rewritten on a terminal; elsewhere a line now and then.
show_progress() {
        local title=$1 log=$2 start=$3 interval=1 next percent='' last
        [[ -t 2 ]] || interval=20
        next=$interval
        while kill -0 "$STEP_PID" 2>/dev/null; do
                sleep 0.2
                ((SECONDS - start >= next)) || continue
                next=$((SECONDS - start + interval))
                if [[ -n ${STEP_LINES:-} ]]; then
                        percent=$(($(wc -l <"$log") * 100 / STEP_LINES))
                        percent="$((percent > 99 ? 99 : percent)) %  "
                fi
                last=$(tail -n 1 "$log" | tr -d '\r' | cut -c1-70)
                if [[ -t 2 ]]; then
                        printf '\r\e[Ktools/vm: %s  %s  %s%s' "$title" "$(clock $((SECONDS - start)))" \
                                "$percent" "$last" >&2
                else
                        info "$title  $(clock $((SECONDS - start)))  $percent$last"
                fi
        done
        [[ ! -t 2 ]] || printf '\r\e[K' >&2
}

verb_where() {
        [[ $# -eq 0 ]] || die "where takes no argument"
        echo "cache   $CACHE ($(du -sh "$CACHE" | cut -f1)," \
                "$(df -h --output=avail "$CACHE" | tail -n 1 | tr -d ' ') free)"
        find "$CACHE" -maxdepth 2 \( -path '*/kernel/*' -o -path '*/image/*' -o -name '*root-*' \) | sort
}
