/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* What the kernel counts about reading: the process's own part (/proc/self/io) and, when a disk is named,
 * all that the disk did (/sys/class/block/NAME/stat). */
typedef struct Counters {
        uint64_t read_calls;            /* syscr */
        uint64_t bytes_requested;       /* rchar: what read(2) and its like returned, wherever from */
        uint64_t bytes_from_disk;       /* read_bytes: what the process had the block layer fetch */
        uint64_t minor_faults;
        uint64_t major_faults;          /* had to wait for a disk */
        uint64_t disk_reads;
        uint64_t disk_bytes;
} Counters;

int counters_take(const char *disk, Counters *ret);

/* The calling thread's part, without the disk's counters and faults. */
int counters_take_thread(Counters *ret);
Counters counters_difference(const Counters *after, const Counters *before);
