# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The storm: everything that can happen to cached folios and to their policies at once, for some time. On
# ext4 and on XFS (large folios), in two cgroups that are too small for what they do:
#
#       files       fio that verifies, fsx, readers of files that both cgroups share, files that come and go;
#                   pages that are touched, mapped, locked, advised and given up, by threads that policies
#                   reject as well; what acfs alone understands is said, too
#       memory      memory.reclaim, drop_caches, compaction, MGLRU switched on and off, a processor that
#                   goes and comes; and where it can be, memory that does (storm-memory.sh)
#       policies    attached, replaced, detached, left behind by processes that die, at four levels of the tree;
#                   some of them read ahead; all of them gone from time to time
#       cgroups     made, used, removed, with and without a policy; with a limit of their own, or protected
#       samples     of what policies are used for, of other rates
#       delays      where an entry of the folio table changes hands, if the kernel has them
#       failures    of allocations, where the kernel can inject them
#
# Then everything has to be as if nothing had happened. Sourced after lib.sh; the test calls
#
#       storm SECONDS; done_testing

STORM=/sys/fs/cgroup/storm
STORM_FILES=/var/tmp/storm
STORM_TRACING=/sys/kernel/tracing/instances/storm
PROGRAMS=/usr/lib/cachebpf/tests
. "$(dirname "${BASH_SOURCE[0]}")/storm-memory.sh"
declare -A STORM_LIMIT=([a]=80M [b]=64M [b/small]=12M)
storm_end=0
declare -A storm_jobs=()

# --- the ground

storm_cgroups() {
        local cg
        mkdir "$STORM" "$STORM"/{a,b} "$STORM"/{a,b}/work "$STORM"/a/kept "$STORM"/b/small ||
                die "cannot make $STORM"
        echo +memory >/sys/fs/cgroup/cgroup.subtree_control
        for cg in "$STORM" "$STORM"/{a,b}; do
                echo +memory >"$cg/cgroup.subtree_control" || die "no memory controller in $cg"
        done
        for cg in "${!STORM_LIMIT[@]}"; do
                echo "${STORM_LIMIT[$cg]}" >"$STORM/$cg/memory.max"
        done
}

storm_files() {
        local fs
        mkdir -p "$STORM_FILES"/{ext4,xfs}
        truncate -s 900M "$STORM_FILES/xfs.img"
        mkfs.xfs -q -f "$STORM_FILES/xfs.img" || die 'mkfs.xfs failed'
        mount -o loop,noatime "$STORM_FILES/xfs.img" "$STORM_FILES/xfs" || die 'XFS cannot be mounted'
        for fs in ext4 xfs; do
                mkdir "$STORM_FILES/$fs"/{fio,fsx,churn}
                head -c 24M /dev/urandom >"$STORM_FILES/$fs/shared"
                sha256sum <"$STORM_FILES/$fs/shared" >"$STORM_FILES/$fs.sum"
        done
        head -c 8M /dev/urandom >"$STORM_FILES/ext4.kept"
        # policies know threads by their names
        cp "$PROGRAMS/programs/page-user" "$STORM_FILES/scan-pages"
        sync
}

# --- what happens

in_cgroup() { # CGROUP|- COMMAND…
        [[ $1 == - ]] || echo 0 >"$STORM/$1/cgroup.procs" || return
        "${@:2}"
}

# start NAME CGROUP|- COMMAND…: in the background; its status is judged in the end.
start() {
        (in_cgroup "${@:2}") >"$STORM_FILES/$1.log" 2>&1 &
        storm_jobs[$1]=$!
}

# weather NAME COMMAND…: in the background, in no cgroup of ours, its status does not matter.
weather() {
        local name=$1
        shift
        "$@" >"$STORM_FILES/$name.log" 2>&1 &
        storm_jobs["-$name"]=$!
}

until_end() { # PAUSE COMMAND…
        while [[ $SECONDS -lt $storm_end ]]; do
                "${@:2}"
                sleep "$1"
        done
}

files_with_fio() { # DIRECTORY ENGINE: passes of writes and reads, each verified in full
        while [[ $SECONDS -lt $storm_end ]]; do
                fio --name=storm --directory="$1" --ioengine="$2" --size=24m --bsrange=4k-128k --rw=randrw \
                        --rwmixread=50 \
                        --randrepeat=0 --fallocate=none --verify=crc32c --verify_fatal=1 \
                        --verify_state_save=0 --minimal ||
                        return
                rm -f "$1"/storm*
        done
}

read_shared() { # FILE SUM
        local sum
        sum=$(sha256sum <"$1") || return
        [[ $sum != "$(<"$2")" ]] || return 0
        echo "$1 was read wrong: $sum"
        return 1
}

shared_readers() {
        local fs
        while [[ $SECONDS -lt $storm_end ]]; do
                for fs in ext4 xfs; do
                        read_shared "$STORM_FILES/$fs/shared" "$STORM_FILES/$fs.sum" || return
                done
        done
}

come_and_go() { # DIRECTORY: files that are written, torn and removed
        local i=0 file
        while [[ $SECONDS -lt $storm_end ]]; do
                file=$1/churn/$((++i % 4))
                head -c "$((RANDOM % 64 * 65536 + 1))" /dev/zero >"$file" || return
                fallocate --punch-hole --offset $((RANDOM * 8)) --length $((RANDOM * 32 + 1)) "$file" ||
                        return
                truncate -s $((RANDOM * 64)) "$file" || return
                [[ $((RANDOM % 2)) -eq 0 ]] || cat "$file" >/dev/null || return
                rm "$file" || return
        done
}

cgroups_come_and_go() {
        local i=0 cg
        while [[ $SECONDS -lt $storm_end ]]; do
                cg=$STORM/a/temp$((++i % 3))
                mkdir "$cg" || return
                (in_cgroup "a/${cg##*/}" read_shared "$STORM_FILES/ext4/shared" "$STORM_FILES/ext4.sum") ||
                        return
                wait_until 60 rmdir "$cg" || { echo "$cg cannot be removed: $(cat "$cg/cgroup.procs")" &&
                        return 1; }
        done
}

# Both have to protect it: the parent from its siblings, the child from its own.
protect_some() {
        local size=$((RANDOM % 3 * 8))M file=memory.low
        ((RANDOM % 2)) || file=memory.min
        echo "$size" >"$STORM/a/$file"
        echo "$size" >"$STORM/a/kept/$file"
}

# Told one at a time, so that each has some time to work in.
reclaim_some() {
        local cg
        for cg in a b a/work .; do
                echo $(((RANDOM % 32 + 1) << 20)) >"$STORM/$cg/memory.reclaim"
                sleep 0.$((RANDOM % 9))
        done
} 2>/dev/null

drop_some() {
        echo $((RANDOM % 3 + 1)) >/proc/sys/vm/drop_caches
}

# Linux 6.12 says which LRU there is before it moves the folios over (lru_gen_change_state()). Who reclaims meanwhile
# looks at empty lists, and soon finds that there is no memory: the stock kernel kills. So while the lists change the
# limits are those that make processes reclaim, and nobody is killed for.
other_lru() {
        local cg
        for cg in "${!STORM_LIMIT[@]}"; do
                echo "${STORM_LIMIT[$cg]}" >"$STORM/$cg/memory.high"
                echo max >"$STORM/$cg/memory.max"
        done
        echo $((RANDOM % 2 ? 7 : 0)) >"$LRU"
        for cg in "${!STORM_LIMIT[@]}"; do
                echo "${STORM_LIMIT[$cg]}" >"$STORM/$cg/memory.max"
                echo max >"$STORM/$cg/memory.high"
        done
}

# with_one_processor COMMAND…
with_one_processor() {
        local cpu=/sys/devices/system/cpu/cpu1
        {
                flock 9
                echo 0 >$cpu/online
                "$@"
                echo 1 >$cpu/online
        } 9<$cpu
}

# The hooks in the kernel are instructions that are rewritten when the first policy comes and the last one goes. Under
# QEMU, with a thread for each processor and more of them than the host has, a processor can run into a breakpoint of
# that which is not there any more: "Oops: int3". (The stock kernel does as well, where vm.numa_stat is switched all the
# time. QEMU 10.0 drops a translation before the store that changes the instruction, in notdirty_write(); in between,
# another processor may translate the old one.) So mostly there is one more policy, where nothing happens, with an
# admission filter and plans of readahead, as those have hooks of their own; and it comes and goes while there is one
# processor. The delays are turned on and off then, too.
storm_hooks() {
        make_slice hooks.slice $'CachePolicy=fifo\nCacheAdmission=yes\nCacheReadahead=adaptive'
        systemctl start hooks.slice
        succeeds 'there is one more policy' wait_until 60 policy_is hooks.slice fifo
}

# What is told of samples, in a buffer that nobody reads; for as long as the storm lasts.
storm_tracing() {
        mkdir "$STORM_TRACING" || die 'tracefs gives us no buffer'
        write_to "$STORM_TRACING/events/cachebpf/cachebpf_sample/enable" 1
}

storm_was_sampled() {
        [[ $(awk '$1 == "entries:" { n += $2 } END { print n + 0 }' "$STORM_TRACING"/per_cpu/cpu*/stats) -gt 0 ]]
}

storm_tracing_end() {
        [[ ! -d $STORM_TRACING ]] || rmdir "$STORM_TRACING"
}

# Of those that have a policy just now.
sample_some() {
        local cg
        for cg in . a b a/work a/kept a/temp1 b/small; do
                echo $((RANDOM % 3 ? 1 << RANDOM % 6 : 0)) >"$STORM/$cg/memory.cachebpf.sample"
        done
} 2>/dev/null

hooks_go() {
        systemctl stop hooks.slice
        sleep 1
        systemctl start hooks.slice
        wait_until 60 policy_is hooks.slice fifo
}

# Rare and long, frequent and short, or none.
delay_some() {
        local delay=/sys/kernel/debug/cachebpf/delay
        write_to $delay/seed $((RANDOM * RANDOM))
        case $((RANDOM % 3)) in
        0) write_to $delay/max_us 2000 && write_to $delay/one_in 1000 ;;
        1) write_to $delay/max_us 100 && write_to $delay/one_in 50 ;;
        2) write_to $delay/one_in 0 ;;
        esac
}

write_to() { # FILE TEXT
        echo "$2" >"$1"
}

# Lists, table and page cache have to agree at any moment.
check_now_and_then() {
        local file=/sys/kernel/debug/cachebpf/check result
        [[ -e $file ]] || return 0
        while [[ $SECONDS -lt $storm_end ]]; do
                # no policy can change meanwhile
                result=$(nice -n -5 cat "$file") || return
                echo "$result"
                grep -qx ok <<<"$result" || return
                sleep 3
        done
}

# Half the time: table entries whose allocation fails, and pages for those who cannot wait. (Whoever can wait
# always gets his: the load is not to see any error.)
failures() {
        local debug=/sys/kernel/debug cache
        for cache in /sys/kernel/slab/cachebpf*; do
                write_to "$cache/failslab" 1
        done
        write_to $debug/failslab/verbose 0
        write_to $debug/failslab/times -1
        write_to $debug/failslab/cache-filter Y
        write_to $debug/failslab/ignore-gfp-wait N
        write_to $debug/failslab/probability 20
        write_to $debug/fail_page_alloc/verbose 0
        write_to $debug/fail_page_alloc/times -1
        write_to $debug/fail_page_alloc/ignore-gfp-wait Y
        write_to $debug/fail_page_alloc/min-order 0
        write_to $debug/fail_page_alloc/probability 2
        sleep 5
        failures_end
}

failures_end() {
        write_to /sys/kernel/debug/failslab/probability 0
        write_to /sys/kernel/debug/fail_page_alloc/probability 0
} 2>/dev/null

storm_begin() {
        local fs seconds=$1
        storm_end=$((SECONDS + seconds))
        for fs in ext4 xfs; do
                start "fsx-$fs-a" a/work "$PROGRAMS/programs/fsx" -t "$seconds" -l 6000000 \
                        "$STORM_FILES/$fs/fsx/a"
                start "fsx-$fs-b" b/work "$PROGRAMS/programs/fsx" -t "$seconds" -l 3000000 \
                        "$STORM_FILES/$fs/fsx/b"
        done
        start fio-ext4 a/work files_with_fio "$STORM_FILES/ext4/fio" psync
        start fio-xfs b/work files_with_fio "$STORM_FILES/xfs/fio" mmap
        start shared-a a/work shared_readers
        start shared-b b/work shared_readers
        start pages-a a/work "$PROGRAMS/programs/page-user" "$seconds" 1 "$STORM_FILES/ext4/shared"
        start pages-b b/work "$PROGRAMS/programs/page-user" "$seconds" 2 "$STORM_FILES/xfs/shared"
        start scan-a a/work "$STORM_FILES/scan-pages" "$seconds" 3 "$STORM_FILES/xfs/shared"
        start scan-small b/small "$STORM_FILES/scan-pages" "$seconds" 4 "$STORM_FILES/ext4/shared"
        start small b/small shared_readers
        start kept a/kept "$PROGRAMS/programs/page-user" "$seconds" 5 "$STORM_FILES/ext4.kept"
        start churn-ext4 b/work come_and_go "$STORM_FILES/ext4"
        start churn-xfs a/work come_and_go "$STORM_FILES/xfs"
        start cgroups - cgroups_come_and_go
        # Ahead of all the others, or they change a few dozen times in an hour.
        start policies-1 - nice -n -5 "$PROGRAMS/kernel/cachebpf-storm" "$seconds" "$STORM/a" "$STORM/b" \
                "$STORM/a/work"
        start policies-2 - nice -n -5 "$PROGRAMS/kernel/cachebpf-storm" "$seconds" "$STORM" "$STORM"/{a,b} \
                "$STORM"/a/{kept,temp0,temp1,temp2} "$STORM"/b/small
        start self-check - check_now_and_then
        weather reclaim until_end 0.5 reclaim_some
        weather compaction until_end 1.3 write_to /proc/sys/vm/compact_memory 1
        weather caches until_end 3.7 drop_some
        weather lru until_end 4.1 other_lru
        weather protection until_end 2.9 protect_some
        weather samples until_end 1.7 sample_some
        [[ ! -d /sys/kernel/debug/cachebpf/delay ]] || weather delays until_end 7 with_one_processor delay_some
        # or Linux 6.12 warns of a processor that goes; see machine_prepare() in kernel/selftests
        write_to /sys/kernel/debug/sched/fair_server/cpu1/runtime 0
        weather processor until_end 3 with_one_processor sleep 2
        weather hooks until_end 20 with_one_processor hooks_go
        storm_memory_begin
        [[ ! -d /sys/kernel/debug/failslab ]] || weather failures until_end 5 failures
}

# --- and what is left of it

storm_wait() {
        local name status
        for name in "${!storm_jobs[@]}"; do
                wait "${storm_jobs[$name]}" && status=0 || status=$?
                [[ $name != -* ]] || continue
                if [[ $status -eq 0 ]]; then
                        ok "$name$(tail -n 1 "$STORM_FILES/$name.log" | grep -E '^(fsx|rounds)' |
                                sed 's/^/: /')"
                else
                        not_ok "$name" "status $status: $(tail -n 40 "$STORM_FILES/$name.log")"
                fi
        done
        failures_end
        [[ ! -d /sys/kernel/debug/cachebpf/delay ]] ||
                with_one_processor write_to /sys/kernel/debug/cachebpf/delay/one_in 0
        succeeds 'uses of samples were told' storm_was_sampled
        storm_tracing_end
        systemctl stop hooks.slice
        echo 1 >/sys/devices/system/cpu/cpu1/online
        storm_memory_end
} 2>/dev/null

# Objects of the caches of the folio table in use, once what waits on processors is given back.
table_objects() {
        local cache sum=0
        for cache in /sys/kernel/slab/cachebpf*; do
                [[ -d $cache ]] || continue
                echo 1 >"$cache/shrink"
                sum=$((sum + $(awk -v name="${cache##*/}" '$1 == name { print $2 }' /proc/slabinfo)))
        done
        echo "$sum"
}

table_is_empty() {
        [[ $(table_objects) -eq 0 ]]
}

no_policies() {
        [[ $(kernel_stat policies) -eq 0 ]]
}

self_check() { # DESCRIPTION
        local file=/sys/kernel/debug/cachebpf/check
        [[ ! -e $file ]] || like "$(cat "$file")" '^ok' "$1"
}

storm_verdict() {
        local fs cg tainted=$1
        succeeds 'no policy is left' wait_until 60 no_policies
        self_check 'table and page cache agree'
        for cg in a b; do
                is "$(flat_key "$STORM/$cg/memory.events" oom_kill)" 0 "nobody was killed in $cg"
        done
        echo 3 >/proc/sys/vm/drop_caches
        for fs in ext4 xfs; do
                succeeds "$fs: the shared file is as it was" read_shared "$STORM_FILES/$fs/shared" \
                        "$STORM_FILES/$fs.sum"
        done
        succeeds 'XFS can be unmounted' umount "$STORM_FILES/xfs"
        succeeds 'XFS is in order' xfs_repair -n "$STORM_FILES/xfs.img"
        for cg in a/work a/kept b/work b/small a b ''; do
                succeeds "the cgroup storm/$cg can be removed" wait_until 60 rmdir "$STORM${cg:+/$cg}"
        done
        succeeds 'the folio table is empty' eventually table_is_empty
        storm_memory_verdict
        is "$(cat /proc/sys/kernel/tainted)" "$tainted" 'the kernel has nothing to report'
}

storm_clean_up() {
        [[ ! -d $STORM ]] || echo 1 >"$STORM/cgroup.kill"
        failures_end
        storm_memory_end
        storm_tracing_end
        remove_test_units
        ! mountpoint -q "$STORM_FILES/xfs" || umount "$STORM_FILES/xfs"
        find "$STORM" -depth -type d -exec rmdir {} + 2>/dev/null
        rm -rf "$STORM_FILES"
}

storm() { # SECONDS
        local tainted
        tainted=$(cat /proc/sys/kernel/tainted)
        trap storm_clean_up EXIT
        storm_clean_up
        storm_memory_prepare
        storm_cgroups
        storm_files
        storm_hooks
        storm_tracing
        storm_begin "$1"
        storm_wait
        storm_verdict "$tainted"
}
