# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Part of the storm: memory that goes and comes, where the kernel can do that (the debian kernel, on a machine with
# memory of which all can move, as TEST-40 has it):
#
#       blocks      128 MiB at a time go offline, for a moment, and what is in them moves
#       frames      are said to become bad, and taken out of use: what is in them moves, or is dropped
#       DAMON       reclaims what has not been used, or marks what has
#
# and what else is to be chosen before it begins.

MEMORY=/sys/devices/system/memory
UNPOISON=/sys/kernel/debug/hwpoison/unpoison-pfn
PREEMPTION=/sys/kernel/debug/sched/preempt
LRU=/sys/kernel/mm/lru_gen/enabled
# pages said to be bad that the kernel would not take back, in KiB: more than that is enough
MOST_BAD=4096
storm_blocks=() # directories of those that can go
storm_lru=

# How the kernel preempts can be told at any time, but to rewrite all those calls while they are made is more than
# QEMU can do (see storm_hooks): it is chosen once. Debian's way and the one with most to happen, in turn, or what
# STORM_PREEMPTION says.
storm_preemption() {
        local ways=(voluntary full)
        [[ -e $PREEMPTION ]] || return 0
        echo "${STORM_PREEMPTION:-${ways[RANDOM % 2]}}" >"$PREEMPTION"
        diag "preemption: $(<"$PREEMPTION")"
}

find_blocks() {
        local zones
        for zones in "$MEMORY"/memory*/valid_zones; do
                [[ ! -e $zones || $(<"$zones") != Movable* ]] || storm_blocks+=("${zones%/*}")
        done
        diag "blocks of memory that come and go: ${#storm_blocks[@]}"
}

# What can never be moved is found at once; what cannot at the moment is tried until somebody has enough of it.
block_off_and_on() {
        local block=${storm_blocks[RANDOM % ${#storm_blocks[@]}]}
        flock "$block" sh -c "timeout 20 sh -c 'echo offline >$block/state'
                              sleep 0.$((RANDOM % 9))
                              echo online_movable >$block/state"
} 2>/dev/null

# Each is taken back at once, so that memory does not come to an end. Not in a block that goes: soft_offline_page() of
# Linux 6.12 asks whether a page is online, waits, and believes it still.
spoil_some_frames() {
        local block i pfn
        [[ $(flat_key /proc/meminfo HardwareCorrupted:) -lt $MOST_BAD ]] || return
        for ((i = 0; i < 16; i++)); do
                block=${storm_blocks[RANDOM % ${#storm_blocks[@]}]}
                pfn=$((0x$(<"$block/phys_index") * 0x$(<"$MEMORY/block_size_bytes") / 4096 + RANDOM))
                flock -n "$block" sh -c "printf '%#x' $((pfn * 4096)) >$MEMORY/soft_offline_page; echo $pfn >$UNPOISON"
        done
} 2>/dev/null

# Of the memory that most of what we cache is in; there can be one of them at a time.
damon_some() {
        local size module parameters
        module=$( ((RANDOM % 2)) && echo damon_reclaim || echo damon_lru_sort)
        parameters=/sys/module/$module/parameters
        size=$((0x$(<"$MEMORY/block_size_bytes")))
        write_to "$parameters/monitor_region_start" $((0x$(<"${storm_blocks[0]}/phys_index") * size))
        write_to "$parameters/monitor_region_end" $(((0x$(<"${storm_blocks[-1]}/phys_index") + 1) * size))
        # at any amount of free memory, in thousandths; what has not been used for half a second
        write_to "$parameters/wmarks_high" 1000
        write_to "$parameters/wmarks_mid" 1000
        write_to "$parameters/wmarks_low" 0
        write_to "$parameters/min_age" 500000
        write_to "$parameters/cold_min_age" 500000
        write_to "$parameters/hot_thres_access_freq" 1
        write_to "$parameters/enabled" Y
        sleep 7
        write_to "$parameters/enabled" N
} 2>/dev/null

# To be called while nothing happens yet.
storm_memory_prepare() {
        storm_lru=$(cat "$LRU")
        storm_preemption
        find_blocks
}

storm_memory_begin() {
        [[ ${#storm_blocks[@]} -gt 0 ]] || return 0
        weather blocks until_end 2 block_off_and_on
        [[ ! -e $UNPOISON ]] || weather frames until_end 1 spoil_some_frames
        [[ ! -d /sys/module/damon_reclaim ]] || weather damon until_end 5 damon_some
}

storm_memory_end() {
        local block module
        for block in "${storm_blocks[@]}"; do
                write_to "$block/state" online_movable
        done
        for module in damon_reclaim damon_lru_sort; do
                [[ ! -d /sys/module/$module ]] || write_to "/sys/module/$module/parameters/enabled" N
        done
        [[ -z $storm_lru ]] || write_to "$LRU" $((storm_lru))
} 2>/dev/null

storm_memory_verdict() {
        local block
        for block in "${storm_blocks[@]}"; do
                is "$(<"$block/state")" online "${block##*/} is online"
        done
        [[ ! -e $UNPOISON ]] || compare "$(flat_key /proc/meminfo HardwareCorrupted:)" -lt "$MOST_BAD" \
                'bad frames were taken back'
}
