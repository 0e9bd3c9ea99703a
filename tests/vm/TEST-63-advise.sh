#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product distro
# timeout: 400
# "advise" and "size": what is said of a service is what is then measured of it.
. "$(dirname "$0")/lib.sh"

# A kernel that cannot run BPF programs on tracepoints says so.
output=$(cachectl advise --size=1M --duration=1ms / 2>&1)
status=$?
if [[ $output == *CONFIG_BPF_EVENTS* ]]; then
        is $status 1 'a kernel without CONFIG_BPF_EVENTS: exit status'
        skip 'a service is recorded' 'this kernel has no CONFIG_BPF_EVENTS'
        done_testing
fi

# Debian's kernel has MGLRU, which is not what is simulated.
generations=/sys/kernel/mm/lru_gen/enabled
if [[ -e $generations ]] && (($(<"$generations") & 1)); then
        like "$(cachectl advise --size=1M --duration=1ms / 2>/dev/null)" 'This kernel has MGLRU' 'MGLRU is told'
        echo n >"$generations"
fi
unlike "$(cachectl advise --size=1M --duration=1ms / 2>/dev/null)" 'This kernel has MGLRU' 'and that there is none'

directory=$(mktemp -d /var/tmp/advise.XXXXXX)
counts=$directory/counts
dd if=/dev/urandom of="$directory/data" bs=1M count=64 status=none
sync
echo 1 >/proc/sys/vm/drop_caches # its pages are the service's

# Reads of pages by Zipf, without an end. "counts" has how many there were, and how many the disk had to answer.
cat >"$directory/load.py" <<'PYTHON'
import os, random, resource, sys
path, counts = sys.argv[1:]
PAGES = os.stat(path).st_size // 4096
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
page = [bytearray(4096)]
rng = random.Random(61)
places = list(range(PAGES))
rng.shuffle(places)
read = 0
while True:
    for i in range(500):
        os.preadv(fd, page, places[int(PAGES ** rng.random()) - 1] * 4096)
    read += 500
    with open(counts + ".new", "w") as f:
        print(read, resource.getrusage(resource.RUSAGE_SELF).ru_inblock // 8, file=f)
    os.rename(counts + ".new", counts)
PYTHON

reads_are() { # NUMBER: at least
        local reads
        read -r reads _ <"$counts" && [[ $reads -ge $1 ]]
}

# In permille, of the next 10000 reads; the 10000 before them get used to what was changed.
measure() {
        local reads missed from_reads from_missed
        read -r from_reads _ <"$counts"
        wait_until 900 reads_are $((from_reads + 10000))
        read -r from_reads from_missed <"$counts"
        wait_until 900 reads_are $((from_reads + 10000))
        read -r reads missed <"$counts"
        echo $((1000 * (missed - from_missed) / (reads - from_reads)))
}

near() { # SAID MEASURED DESCRIPTION: permille, three points
        diag "$3: $1 was said, $2 measured"
        compare $(($1 > $2 ? $1 - $2 : $2 - $1)) -le 30 "$3"
}

# record_reads VERB OPTION…: what the verb says of 60000 reads, however long they take; messages go to "said".
record_reads() {
        local from pid
        : >"$directory/said"
        cachectl "$@" --duration=3600s advised.service 2>"$directory/said" &
        pid=$!
        wait_until 120 grep -q '^Recording ' "$directory/said"
        read -r from _ <"$counts"
        wait_until 900 reads_are $((from + 60000))
        kill "$pid"
        wait "$pid"
}

make_unit advised.service "[Service]
MemoryMax=32M
ExecStart=python3 $directory/load.py $directory/data $counts"
systemctl start advised.service
wait_until 900 reads_are 20000 || die 'the service reads nothing'

stock=$(measure)
record_reads advise --json=short >"$directory/advice"
is $? 0 'a service is advised'
like "$(<"$directory/said")" 'Recording advised.service for [0-9]+ s; Ctrl-C ends it.' 'what is done is told'
is "$(jq .lost "$directory/advice")" 0 'nothing was lost'
near "$(jq '.stock * 1000 | round' "$directory/advice")" "$stock" 'what stock misses'
compare "$(jq .one_page_in "$directory/advice")" -ge 2 'a part of the pages was recorded'
cached=$(memory_stat advised.service file)
compare "$(jq ".cache_bytes - $cached | fabs | round" "$directory/advice")" -le $((cached / 10)) \
        'the cache is as large as it is'

if [[ -e /sys/kernel/cachebpf/stat ]]; then
        policy=$(jq -r '.policies | min_by(.miss_ratio).policy' "$directory/advice")
        diag "$(jq -c '{advice, policy, margin}' "$directory/advice")"
        succeeds "the best policy is set: $policy" cachectl set advised.service "$policy"
        near "$(jq '[.policies[].miss_ratio] | min * 1000 | round' "$directory/advice")" "$(measure)" \
                'what the best policy misses'
        is "$(cachectl advise --duration=1s --json=short advised.service 2>/dev/null | jq .lost)" 0 \
                'it can be recorded under a policy'
        succeeds 'stock again' cachectl reset advised.service
else
        like "$(record_reads advise)" 'POLICY +MISSES AGAINST STOCK' 'a kernel without cachebpf'
fi

# said_of BYTES: permille of stock in the curve, between its sizes as if it were straight
said_of() {
        jq --argjson bytes "$1" '[.sizes[] | {x: .cache_bytes, y: .miss_ratios.noop}] as $s |
                [range(1; $s | length) | select($s[.].x >= $bytes)][0] as $i |
                $s[$i - 1] as $a | $s[$i] as $b |
                ($a.y + ($b.y - $a.y) * ($bytes - $a.x) / ($b.x - $a.x)) * 1000 | round' "$directory/curve"
}

record_reads size --json=short --plot="$directory/plot.svg" >"$directory/curve"
is $? 0 'the sizes of a service'
like "$(head -c 5 "$directory/plot.svg")" '<svg ' 'are drawn'
compare "$(jq .smallest[0].memory_high_bytes "$directory/curve")" -gt \
        "$(jq .smallest[0].cache_bytes "$directory/curve")" 'MemoryHigh= has room for other memory'
for limit in 32M 24M 48M; do
        systemctl set-property --runtime advised.service MemoryMax=$limit
        measured=$(measure)
        near "$(said_of "$(memory_stat advised.service file)")" "$measured" "what stock misses with MemoryMax=$limit"
done

# Who may not.
output=$(setpriv --reuid=65534 --clear-groups cachectl advise --duration=1ms advised.service 2>&1)
is $? 1 'not root: exit status'
like "$output" 'Only root may record what other processes do' 'not root: message'
cachectl size --duration=1ms nosuch.slice 2>"$directory/said"
is $? 4 'a unit that does not run: exit status'

systemctl stop advised.service
rm -rf "$directory" /run/systemd/system.control/advised.service.d
done_testing
