/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What uses.bpf.c and uses.c share. Both include their own definitions of __u64 before. */

/* Units that can be watched at a time, and how deep below the root their control groups may be. */
#define USES_UNITS_MAX 64U
#define USES_LEVELS_MAX 16U

/* Of all units together, and of one. A chunk is 64 pages of a file that begin at a multiple of that. */
#define USES_CHUNKS_MAX 131072U
#define USES_FILES_MAX 16384U
#define USES_UNIT_CHUNKS_MAX 32768U
#define USES_UNIT_FILES_MAX 4096U
#define USES_CHUNK_PAGES 64U

/* A file whose path in its file system is longer than this, less one name, is not found again. */
#define USES_PATH_MAX 1024U
#define USES_NAME_MAX 256U
#define USES_DEPTH_MAX 32U

struct uses_unit {
        __u64 pages_max; /* that may be used; then its uses are not noted any more */
        __u64 n_pages;
        __u32 n_chunks;
        __u32 n_files;
        __u64 n_lost;    /* uses beyond all this */
};

/* Subvolumes of btrfs have one device for the kernel, and each has inodes of the same numbers: the
 * generation tells their files apart, but for a file and itself in a snapshot: these count as one, under the
 * path that came first. */
struct uses_file_key {
        __u64 unit;      /* the id of its control group */
        __u64 ino;
        __u32 dev;
        __u32 generation;
};

struct uses_file {
        __u32 size;      /* of the names */
        __u32 whole;     /* boolean: they are the path up to the root of the file system */
        char names[USES_PATH_MAX]; /* the file's own first, each with a NUL behind it */
};

struct uses_chunk_key {
        __u64 unit;
        __u64 ino;
        __u32 dev;
        __u32 generation;
        __u32 chunk;
        __u32 unused;    /* 0 */
};

struct uses_chunk {
        __u64 pages;     /* that were used, a bit each from the lowest */
        __u64 nsec;      /* when the first one was */
};
