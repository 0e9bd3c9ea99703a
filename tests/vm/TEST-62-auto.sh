#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 500
# CachePolicy=auto: a unit that reads a loop larger than its cache gets MRU, within some windows; when it reads data
# that it uses unevenly, it gets another policy. Killed, the daemon leaves what it chose, goes on with it, and says what
# the kernel says.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

DIR=/var/lib/t62
UNIT=t62.slice
CACHED=2048  # pages that fit, about
WINDOWS=16   # in which the choice has to come
KILLS=${KILLS:-2} # of the daemon, in switches
rm -rf "$DIR"
mkdir -p "$DIR"
trap 'systemctl stop t62-reader.service 2>/dev/null; rm -rf "$DIR"; remove_test_units' EXIT

# A hole: pages of it are read without a disk. It is larger than the limit, or it might fit.
truncate -s 16M "$DIR/data"

# Reads in the way that the file "mode" names, and notes how many pages that were since it was told so. It is slower
# than windows: these are over after two seconds at the earliest.
cat >"$DIR/read.py" <<'E2'
import os, random, sys, time

directory = sys.argv[1]
pages = 4096
fd = os.open(directory + "/data", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
random.seed(1)
mode, count, at = "", 0, 0
while True:
    told = open(directory + "/mode").read().strip()
    if told != mode:
        mode, count = told, 0
    for _ in range(400):
        at = (at + 1) % pages if mode == "loop" else int(pages * random.random() ** 6)
        os.pread(fd, 4096, at * 4096)
    count += 400
    with open(directory + "/count.new", "w") as f:
        f.write(f"{mode} {count}\n")
    os.rename(directory + "/count.new", directory + "/count")
    time.sleep(0.2)
E2

chosen() { # what the daemon chose
        unit_key "$UNIT" choice.chosen
}

chosen_is() { # NAME
        [[ $(chosen) == "$1" ]]
}

chosen_is_not() { # NAME
        local name
        name=$(chosen)
        [[ -n $name && $name != "$1" ]]
}

count() { # pages that were read in this mode
        local mode count
        read -r mode count <"$DIR/count" && [[ $mode == "$(cat "$DIR/mode")" ]] && echo "$count"
}

too_many() { # more than the windows have
        [[ $(count) -gt $((WINDOWS * 4 * CACHED)) ]]
}

in_time() { # COMMAND…: true as soon as it is, false after too many windows
        until "$@"; do
                if too_many; then
                        count
                        cachectl status "$UNIT"
                        return 1
                fi
                sleep 1
        done
}

agree() { # a point: what the daemon says is what the kernel runs
        eventually state_is "$UNIT" attached
        is "$(unit_key "$UNIT" effective)" "$(policy_key "$UNIT" policy)" "$1"
}

switches() {
        unit_key "$UNIT" choice.switches
}

make_slice "$UNIT" $'MemoryMax=13M\nCachePolicy=auto\nCacheCandidates=stock lru mru'
systemctl start "$UNIT"
unit_is "$UNIT" attached
is "$(chosen)" stock 'it begins with the first candidate'
is "$(policy_key "$UNIT" policy)" noop 'which runs as noop'

# What Python maps is to be cached by us. If the unit had it, MRU would evict it, and the unit would read it again and
# again: then more is used than the loop.
python3 -c 'import os, random, sys, time'
echo loop >"$DIR/mode"
systemd-run --quiet --collect --unit=t62-reader --slice="$UNIT" /usr/bin/python3 "$DIR/read.py" "$DIR"

# --- a loop

succeeds 'a loop larger than the cache: MRU is chosen' in_time chosen_is mru
agree 'the kernel runs it'
is "$(policy_key "$UNIT" policy)" mru 'that is mru'
is "$(policy_key "$UNIT" updates)" 1 'it was replaced in place'
is "$(switches)" 1 'that was one switch'
like "$(daemon_log 'switches')" "from stock to mru: mru would miss [0-9.]+ % of all requests, stock [0-9.]+ %" \
        'the journal has the figures'
like "$(cachectl status "$UNIT" 2>&1)" 'auto \(mru\)' 'so has cachectl status the policy'
like "$(cachectl status "$UNIT" 2>&1)" 'mru +[0-9.]+% chosen' 'and candidates with what they miss'
like "$(cachectl stats --format=openmetrics)" "cachebpf_candidate_miss_ratio\{unit=\"$UNIT\",candidate=\"mru\"\} 0\." \
        'and the metrics'

# --- the daemon dies

for ((i = 0; i < 3; i++)); do
        eventually kill_daemon
        eventually state_is "$UNIT" attached
done
agree 'killed a few times, the daemon says what the kernel says'
is "$(chosen)" mru 'it goes on with what was chosen'
is "$(policy_key "$UNIT" updates)" 1 'and has replaced nothing'

# --- Zipf

echo zipf >"$DIR/mode"
succeeds 'for uneven use another policy is chosen' in_time chosen_is_not mru
agree 'the kernel runs it'
eventually kill_daemon
agree 'after another kill, too'
isnt "$(policy_key "$UNIT" policy)" mru 'that is not mru'

# --- killed in the middle of a switch: while it loads what comes next, or when the kernel has that

switch_begins() { # it has the parts of another policy open
        set -- /proc/"$pid"/fd/*
        [[ $# -gt $((opened + 4)) ]]
}

switch_ends() {
        [[ $(policy_key "$UNIT" updates) -gt $updated ]]
}

shadows_run() { # one for each candidate: nothing else is opened while they compare
        [[ $(pgrep -c -x cachebpf-shadow) -eq 3 ]]
}

moments=(switch_begins switch_ends)
WINDOWS=$((2 * WINDOWS)) # a switch that was not made has as many again
for ((i = 0, made = 0; i < KILLS; i++)); do
        eventually shadows_run
        pid=$(daemon_pid) updated=$(policy_key "$UNIT" updates)
        set -- /proc/"$pid"/fd/*
        opened=$#
        if [[ $(<"$DIR/mode") == loop ]]; then
                echo zipf >"$DIR/mode"
                wanted='chosen_is_not mru'
        else
                echo loop >"$DIR/mode"
                wanted='chosen_is mru'
        fi
        until "${moments[i % 2]}"; do
                ! too_many || break 2
                sleep 0.05
        done
        sleep "0.$((RANDOM % 3))"
        kill -KILL "$pid"
        systemctl reset-failed cachebpfd.service # it does not start more often than that
        eventually state_is "$UNIT" attached
        [[ $(unit_key "$UNIT" effective) == "$(policy_key "$UNIT" policy)" ]] || break
        ! switch_ends || ((++made))
        # shellcheck disable=SC2086
        in_time $wanted || break
        eventually state_is "$UNIT" attached
done
diag "of $i switches the kernel had made $made when the daemon was killed"
is "$i" "$KILLS" 'killed in a switch, it runs what it says, and chooses on'

# --- other settings

succeeds 'cachectl set' cachectl set "$UNIT" mru
is "$(policy_key "$UNIT" policy)" mru 'a policy that is set is what runs'
is "$(chosen)" '' 'and nothing is chosen any more'
succeeds 'and reset' cachectl reset "$UNIT"
unit_is "$UNIT" attached
succeeds 'without it the daemon chooses again' chosen_is mru # a candidate that runs is not replaced
books_agree 'lists, table and page cache agree'
done_testing
