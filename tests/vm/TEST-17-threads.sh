#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 500
# Classes of threads: given by the library, by number, by name; who may give them; and what the admission
# filter and get-scan make of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

READER=/usr/lib/cachebpf/tests/programs/classified-reader
PAGES=1024
dir=$(mktemp -d /var/tmp/t17.XXXXXX)
chmod 755 "$dir"

drop_files() {
        rm -rf "$dir"
        permit_nothing
        remove_test_units
}
trap drop_files EXIT

# --- readers

make_file() { # NAME [PAGES]
        dd if=/dev/urandom of="$dir/$1" bs=4k count="${2:-$PAGES}" status=none
        sync "$dir/$1"
        uncache "$1"
}

uncache() { # NAME
        dd if="$dir/$1" iflag=nocache count=0 status=none
}

cached() { # NAME: pages of it that are in the cache
        python3 -IS - "$dir/$1" <<'PYTHON'
import ctypes, os, sys
everything, counts = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 5)()
fd = os.open(sys.argv[1], os.O_RDONLY)
ctypes.CDLL(None).syscall(451, fd, everything, counts, 0) # cachestat(2)
print(counts[0])
PYTHON
}

# Starts a reader that waits for its class; its thread is then $tid and its process $pid.
start_reader() { # SLICE FILE CLASS
        rm -f "$dir/in" "$dir/out"
        mkfifo "$dir/in"
        in_slice "$1" "$READER" "$dir/$2" "$3" <"$dir/in" >"$dir/out" 2>&1 &
        reader=$!
        exec 9>"$dir/in"
        eventually test -s "$dir/out"
        tid=$(head -n 1 "$dir/out")
        pid=$(sed -n 's/^Tgid:\t//p' "/proc/$tid/status")
}

has_read() {
        grep -q read "$dir/out"
}

# Has it read, and end.
finish_reader() {
        echo >&9
        eventually has_read
        echo >&9
        exec 9>&-
        wait "$reader"
}

# What the filter rejects, and what is cached afterwards, while COMMAND reads a file.
rejected=0
while_reading() { # SLICE FILE COMMAND…
        local slice=$1 file=$2 before
        shift 2
        uncache "$file"
        before=$(policy_stat "$slice" admit_rejected)
        "$@"
        rejected=$(($(policy_stat "$slice" admit_rejected) - before))
}

was_rejected() { # FILE DESCRIPTION: nearly all of it
        compare "$rejected" -ge $((PAGES * 9 / 10)) "$2"
        compare "$(cached "$1")" -le $((PAGES / 10)) '... and it is not in the cache'
}

was_admitted() { # FILE DESCRIPTION
        is "$rejected" 0 "$2"
        compare "$(cached "$1")" -ge $((PAGES * 9 / 10)) '... and it is in the cache'
}

read_as() { # SLICE FILE CLASS [PREFIX…]: by the library
        local slice=$1 file=$2 class=$3
        shift 3
        printf '\n\n' | in_slice "$slice" "$@" "$READER" "$dir/$file" "$class" >"$dir/out"
}

class_of() { # TID
        cachectl threads --thread --json=short "$1" | jq -r '.[0].class'
}

exit_status() { # COMMAND…
        "$@" >/dev/null 2>&1
        echo $?
}

make_file a
make_slices $'MemoryMax=64M\nCachePolicy=lfu\nCacheAdmission=yes' t17-lfu.slice
make_slices $'MemoryMax=64M\nCacheAdmission=background' t17-stock.slice
make_slices $'MemoryMax=64M\nCachePolicy=lfu' t17-off.slice
systemctl start t17-lfu.slice t17-stock.slice t17-off.slice
unit_runs t17-lfu.slice lfu
unit_runs t17-off.slice lfu
unit_is t17-stock.slice attached
is "$(unit_key t17-stock.slice effective) $(unit_key t17-stock.slice verified)" 'noop noop' \
        'admission alone goes with the policy that does nothing else'
is "$(unit_key t17-stock.slice source)" /run/systemd/system/t17-stock.slice:3 'and its line is the source'

# --- by the library

while_reading t17-lfu.slice a read_as t17-lfu.slice a none
was_admitted a 'what a thread without class reads is admitted'
for class in scan background; do
        while_reading t17-lfu.slice a read_as t17-lfu.slice a "$class"
        was_rejected a "what a thread of class $class reads is not"
done
while_reading t17-lfu.slice a read_as t17-lfu.slice a normal
was_admitted a 'normal is admitted'
while_reading t17-lfu.slice a read_as t17-lfu.slice a scan runuser -u nobody --
was_rejected a 'everybody may classify his own threads'
while_reading t17-lfu.slice a read_as t17-lfu.slice a scan unshare --pid --fork
was_rejected a 'also from a PID name space, where threads have other numbers'

# --- with the stock policy, and classes of choice

while_reading t17-stock.slice a read_as t17-stock.slice a background
was_rejected a 'with the stock policy too'
while_reading t17-stock.slice a read_as t17-stock.slice a scan
was_admitted a 'a class that CacheAdmission= does not name is admitted'

# --- off

read_as t17-off.slice a scan
is "$(policy_stat t17-off.slice admit_asked)" 0 'without CacheAdmission= nothing is asked'
systemctl stop t17-lfu.slice t17-stock.slice
unit_ends t17-lfu.slice
unit_ends t17-stock.slice
filters_are() {
        [[ $(bpftool --json prog show | jq '[.[] | select(.name == "cachebpf_admit")] | length') -eq $1 ]]
}
eventually filters_are 0
succeeds 'and no program for it is loaded' filters_are 0

make_dropin t17-off.slice 50-admission $'[Slice]\nCacheAdmission=yes'
eventually filters_are 1
eventually updates_are t17-off.slice 1 # the program is there before it is in use
is "$(policy_key t17-off.slice updates)" 1 'turned on, the policy is replaced in place'
while_reading t17-off.slice a read_as t17-off.slice a scan
was_rejected a 'and filters'
edit_dropin t17-off.slice 50-admission $'[Slice]\nCacheAdmission=no'
eventually updates_are t17-off.slice 2
eventually filters_are 0
is "$(policy_key t17-off.slice updates)" 2 'turned off, it is replaced again'
while_reading t17-off.slice a read_as t17-off.slice a scan
was_admitted a 'and filters no more'
systemctl stop t17-off.slice

# --- by number

systemctl start t17-lfu.slice
unit_runs t17-lfu.slice lfu
start_reader t17-lfu.slice a none
isnt "$tid" "$pid" 'the reader is not the first thread of its process'
is "$(class_of "$tid")" null 'it has no class'
like "$(cachectl classify --thread scan "$tid")" '^1 thread is now of class scan' 'cachectl gives it one'
is "$(class_of "$tid")" scan 'and shows it'
is "$(class_of "$pid")" null 'its process has none'
daemon_kill
daemon_start
is "$(class_of "$tid")" scan 'the class survives the daemon'
while_reading t17-lfu.slice a finish_reader
was_rejected a 'it counts for a thread that runs already'
is "$(exit_status cachectl threads --thread "$tid")" 4 'a thread that has ended is unknown'

start_reader t17-lfu.slice a scan
is "$(exit_status cachectl classify normal "$tid")" 1 'a thread is no process'
like "$(cachectl classify normal "$pid")" '^2 threads are now of class normal' 'a process is all its threads'
is "$(cachectl threads --no-legend "$pid" | awk '{ print $3 }' | sort -u)" normal 'all have it'
while_reading t17-lfu.slice a finish_reader
was_admitted a 'and what it reads is admitted'

start_reader t17-lfu.slice a none
is "$(busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager SetThreadClass us "$tid" background)" \
        'u 1' \
        'D-Bus gives a class'
is "$(busctl --json=short call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager ListThreads u "$pid" |
        jq -r ".data[0][] | select(.[0] == $tid)[2]")" background 'and shows it'
is "$(busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager SetProcessClass us "$pid" scan)" 'u 2' \
        'to processes, too'
is "$(varlink SetThreadClass "{\"thread\":$tid,\"class\":\"background\"}" | jq .threads)" 1 'so does varlink'

# --- who may

is "$(exit_status as_nobody cachectl classify scan "$pid")" 1 'not for threads of others'
like "$(as_nobody cachectl classify scan "$pid" 2>&1)" 'does not permit' 'with a clear message'
like "$(as_nobody busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager SetThreadClass us "$tid" \
        scan 2>&1)" \
        'Not authorized|authentication required' 'nor by D-Bus'
is "$(class_of "$tid")" background 'nothing has changed'
is "$(exit_status as_nobody cachectl threads "$pid")" 1 'nor may others look at them'
like "$(as_nobody busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager ListThreads u "$pid" 2>&1)" \
        'Access denied' 'on the bus as well'
# shellcheck disable=SC2016
succeeds 'but at their own' as_nobody sh -c 'cachectl threads $$'
succeeds 'and root' cachectl threads "$pid"
permit_nobody classify-threads
succeeds 'whom polkit permits it may' as_nobody cachectl classify --thread scan "$tid"
is "$(class_of "$tid")" scan 'and it is done'
succeeds 'by D-Bus, too' as_nobody busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager \
        SetThreadClass us "$tid" normal
is "$(class_of "$tid")" normal 'it is done'
permit_nothing
systemctl stop polkit.service dbus.socket dbus.service
is "$(exit_status as_nobody cachectl classify --thread scan "$tid")" 1 'without a bus nobody else may'
succeeds 'but root' cachectl classify --thread scan "$tid"
start_bus
finish_reader

is "$(exit_status cachectl classify --thread scan 4194300)" 4 'a number that is no thread'
is "$(exit_status cachectl classify lazy 1)" 2 'a word that is no class'
set_class() { # PARAMETERS
        varlinkctl call "$VARLINK" org.cachebpf.Manager.SetThreadClass "$1"
}
fails 'which varlink refuses as well' set_class '{"thread":1,"class":"lazy"}'
fails 'and a call that does not say which thread' set_class '{"class":"scan"}'
fails 'or says it twice' set_class '{"thread":1,"process":1,"class":"scan"}'
fails 'and D-Bus' busctl call org.cachebpf1 /org/cachebpf1 org.cachebpf1.Manager SetThreadClass us 1 lazy

# --- by name, with a program that knows nothing of it

read_with() { # SLICE PROGRAM…
        in_slice "$@" >/dev/null
}
make_dropin t17-lfu.slice 60-threads $'[Slice]\nCacheScanThreads=nothing c?t*'
eventually updates_are t17-lfu.slice 1
while_reading t17-lfu.slice a read_with t17-lfu.slice cat "$dir/a"
was_rejected a 'a thread with such a name scans'
while_reading t17-lfu.slice a read_with t17-lfu.slice dd if="$dir/a" bs=64k status=none
was_admitted a 'others do not'
while_reading t17-lfu.slice a read_as t17-lfu.slice a name=cut17
was_rejected a 'a thread of a process can be called so'
start_reader t17-lfu.slice a name=cut17
cachectl classify --quiet --thread normal "$tid"
while_reading t17-lfu.slice a finish_reader
was_admitted a 'a class that was given goes before the name'
is "$(cachectl list --json=short t17-lfu.slice | jq -c '.[0] | [.scanThreads, .admission]')" \
        '[["nothing","c?t*"],["yes"]]' \
        'cachectl shows what is configured'
like "$(cachectl status t17-lfu.slice)" 'Scan threads: nothing c\?t\*' 'also to people'

# --- get-scan: a scan does not push out what the others need

make_file hot 2048
make_file much 8192
make_slices $'MemoryMax=24M\nCachePolicy=get-scan\nCacheScanThreads=cat' t17-get.slice
systemctl start t17-get.slice
unit_runs t17-get.slice get-scan
read_with t17-get.slice dd if="$dir/hot" bs=64k status=none
hot=$(cached hot)
compare "$hot" -ge 1900 'what others read is cached'
read_with t17-get.slice cat "$dir/much"
compare "$(cached hot)" -ge $((hot - 200)) 'and stays when a thread scans far more than fits'
uncache much
read_with t17-get.slice dd if="$dir/much" bs=64k status=none
compare "$(cached hot)" -lt $((hot - 200)) 'but not when one reads it that is no scan'

# while it was without a bus, it said so
is "$(daemon_log -i -e cannot | grep -v ': Connection terminated$')" '' \
        'the daemon had nothing else to complain about'
is "$(systemctl show -P NRestarts cachebpfd.service)" 0 'and did not fail'
books_agree 'the kernel has lost nothing'
done_testing
