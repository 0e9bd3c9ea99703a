#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 240
# What cachectl shows as it happens: monitor tells every change of a unit, once; top counts what a slice
# does; metrics are what the kernel counts; and everybody may look.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

stream=$(mktemp)
data=$(mktemp /var/tmp/t27.XXXXXX) # not in a tmpfs
trap 'remove_test_units; rm -f "$stream" "$stream.error" "$data"' EXIT

# The changes of a unit as far as they were told: "change:state:effective" a line.
told() { # UNIT
        jq -r --unbuffered --arg unit "$1" 'select(.name == $unit) |
                "\(.change):\(.unit.state // "-"):\(.unit.effective // "-")"' "$stream"
}

told_is() { # UNIT LAST-LINE; one that is attached at once is only added
        local last
        last=$(told "$1" | tail -n 1)
        [[ $last == "$2" || $last == "${2/#changed:attached/added:attached}" ]]
}

tells() { # UNIT LAST-LINE DESCRIPTION
        if eventually told_is "$1" "$2"; then
                ok "$3"
        else
                not_ok "$3" "$(told "$1")"
        fi
}

# --- monitor

make_slice t27-first.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t27-first.slice
unit_runs t27-first.slice lfu

runuser -u nobody -- cachectl monitor --json=short >"$stream" 2>"$stream.error" &
monitor=$!
eventually grep -q '"complete"' "$stream"
is "$(told t27-first.slice)" listed:attached:lfu 'nobody may watch, and sees what there is'
succeeds 'each line is an object' jq -e .change "$stream"

make_slice t27-second.slice $'MemoryMax=64M\nCachePolicy=mru'
systemctl start t27-second.slice
tells t27-second.slice changed:attached:mru 'a unit that is new'
is "$(told t27-second.slice | head -n 1 | cut -d: -f1)" added 'is added first'

make_slice t27-second.slice $'MemoryMax=64M\nCachePolicy=fifo'
tells t27-second.slice changed:attached:fifo 'another policy'
make_slice t27-second.slice $'MemoryMax=64M\nCachePolicy=nosuch'
tells t27-second.slice changed:failed:fifo 'a policy that does not exist'
like "$(jq -r 'select(.name == "t27-second.slice") | .unit.reason // empty' "$stream" | tail -n 1)" \
        "unknown policy 'nosuch'" \
        'with the reason'
make_slice t27-second.slice 'MemoryMax=64M'
tells t27-second.slice removed:-:- 'no policy any more'
is "$(jq -cS 'select(.name == "t27-second.slice")' "$stream" | uniq -d)" '' 'nothing is told twice'
lines=$(told t27-first.slice | wc -l)
systemctl daemon-reload
systemctl reload cachebpfd.service
systemctl restart t27-second.slice
sleep 1
is "$(told t27-first.slice | wc -l)" "$lines" 'nothing is told of a unit to which nothing happens'

systemctl stop cachebpfd.service
wait $monitor
is $? 1 'the stream ends with the daemon'
like "$(<"$stream.error")" 'cachebpfd closed the connection' 'and says why'
systemctl start cachebpfd.service
unit_runs t27-first.slice lfu

# --- top

in_slice t27-first.slice sh -c \
        "dd if=/dev/urandom of=$data bs=1M count=8 status=none; cat $data $data >/dev/null"
like "$(runuser -u nobody -- cachectl top --no-legend t27-first.slice)" \
        '^t27-first.slice +lfu +attached +[0-9.]+M +- +- +- +[0-9.]+%' \
        'top looks once if it is not on a terminal'

systemd-run --quiet --collect --unit=t27-load --slice=t27-first.slice \
        sh -c "while cat $data; do :; done >/dev/null"
hits='^t27-first.slice +lfu +attached +[0-9.]+M +[1-9][0-9.]*[KM]?( +[0-9.]+[KM]?){2} +[0-9.]+%'
counts_hits() { # on a busy host there may be a second in which nobody reads
        [[ $(cachectl top --batch --iterations=3 --delay=1s --no-legend t27-first.slice | tail -n 1) =~ $hits ]]
}
succeeds 'top counts hits a second' eventually counts_hits
script --quiet --return --command 'stty rows 24 cols 100; cachectl top --iterations=2 --delay=500ms' \
        "$stream" >/dev/null </dev/null
like "$(<"$stream")" $'\x1b\\[\\?1049h.*t27-first.slice.*\x1b\\[\\?1049l' \
        'top takes the terminal, and gives it back'
systemctl stop t27-load.service

# --- metrics

metrics=$(runuser -u nobody -- cachectl stats --format=openmetrics t27-first.slice)
is "$(tail -n 1 <<<"$metrics")" '# EOF' 'metrics have an end'
metric() { # NAME[LABELS]: its value
        awk -v name="$1" 'index($0, name) == 1 { print $NF }' <<<"$metrics"
}
is "$(metric 'cachebpf_misses_total{unit="t27-first.slice",policy="lfu"}')" \
        "$(policy_stat t27-first.slice misses)" \
        'metrics are what the kernel counts'
is "$(metric 'cachebpf_unit_state{unit="t27-first.slice",cachebpf_unit_state="attached"}')" 1 \
        'the state is among them'
is "$(grep -c '^# TYPE .* unknown' <<<"$metrics")" 0 'all that the kernel counts is known'

# --- metrics for Prometheus: a file, by a timer that is off until somebody enables it

exporter=prometheus-node-exporter-cachebpf
directory=/var/lib/prometheus/node-exporter
is "$(systemctl is-enabled $exporter.timer)" disabled 'the timer is off'
systemctl start $exporter.service
is "$(systemctl show --value -p ConditionResult $exporter.service)" no 'without an exporter there is no file'

mkdir -p $directory
touch "$directory/.#update-t27xyz" # as a run leaves it that was killed
succeeds 'with one the service runs' systemctl start $exporter.service
metrics=$(<$directory/cachebpf.prom)
is "$(metric 'cachebpf_misses_total{unit="t27-first.slice",policy="lfu"}')" \
        "$(policy_stat t27-first.slice misses)" \
        'the file has what the kernel counts'
is "$(metric 'cachebpf_unit_state{unit="t27-first.slice",cachebpf_unit_state="attached"}')" 1 'and the state'
is "$(grep '^#' <<<"$metrics" | grep -Ecv '^# (HELP|TYPE) ')" 0 'all in the form that the exporter reads'
is "$(stat -c '%a %U' $directory/cachebpf.prom)" '644 root' 'everybody may read it'
is "$(ls -A $directory)" cachebpf.prom 'nothing else is there'

rm $directory/cachebpf.prom
systemctl start $exporter.timer
succeeds 'the timer brings it again' eventually test -e $directory/cachebpf.prom
systemctl stop $exporter.timer

systemctl stop cachebpfd.service cachebpfd-varlink.socket
fails 'a socket that is stopped leaves no file' test -e "$VARLINK"
fails 'nor a name in the registry' test -L /run/varlink/registry/org.cachebpf.Manager
succeeds 'without a daemon the service does not fail' systemctl start $exporter.service
is "$(systemctl show --value -p ConditionResult $exporter.service)" no 'but is skipped'
systemctl start cachebpfd-varlink.socket cachebpfd.service
unit_runs t27-first.slice lfu

systemd-tmpfiles --remove cachectl.conf
succeeds 'its file stays' test -e $directory/cachebpf.prom
systemd-tmpfiles --remove --boot cachectl.conf
fails 'until a boot' test -e $directory/cachebpf.prom
rm -r $directory

# --- elsewhere

cachectl -M nosuch status >/dev/null 2>"$stream"
is $? 1 'a container that is not there'
like "$(<"$stream")" 'container "nosuch"' 'is named'
done_testing
