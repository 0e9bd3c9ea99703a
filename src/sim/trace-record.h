/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "shared/macro.h"

/* A recording: what "cachectl record" writes. Integers in the header are little-endian, elsewhere they are
 * varints (7 bits a byte, the lowest first, the upper bit set in all but the last). Signed ones are folded
 * before: 0, -1, 1, -2, … become 0, 1, 2, 3, ….
 *
 *      header   8 bytes magic, u32 version, u32 page size, u64 time of day in ns when it began
 *      items    each begins with a byte that says what it is:
 *        FILE    device, inode, generation          files are numbered from 0 in this order
 *        THREAD  id, length and bytes of the name   threads too
 *        MANAGER length and bytes of the name       control groups too
 *        LOST    how many events were lost here
 *        END     accesses and lost events in all; nothing follows
 *        ACCESS, with bits:  [file] [thread] [manager] page [pages] time
 *               "manager" is 0 for nobody's in particular, which they are at first, else one more
 *               than its number,
 *               "page" is the distance from the page behind the last access to the same file (signed),
 *               "time" the distance from the last access in ns (signed: processors do not take turns)
 *
 * A recording that has no END was cut off. */

#define RECORD_MAGIC "\x93" "CBPTRC\n"
#define RECORD_MAGIC_SIZE 8U
#define RECORD_VERSION 1U
#define RECORD_HEADER_SIZE 24U

#define RECORD_NAME_MAX 15U /* of a thread, as the kernel has it */
#define RECORD_MANAGER_MAX 255U

enum {
        RECORD_FILE    = 1,
        RECORD_THREAD  = 2,
        RECORD_LOST    = 3,
        RECORD_END     = 4,
        RECORD_MANAGER = 5,

        RECORD_ACCESS        = 0x80,
        RECORD_OP_MASK       = 0x03, /* 0 read, 1 write, 2 read ahead, 3 removed */
        RECORD_SAME_FILE     = 0x04, /* as the access before: [file] is left out */
        RECORD_SAME_THREAD   = 0x08,
        RECORD_ONE_PAGE      = 0x10, /* [pages] is left out */
        RECORD_OTHER_MANAGER = 0x20, /* than the access before: else [manager] is left out */
        RECORD_ACCESS_BITS   = RECORD_OP_MASK | RECORD_SAME_FILE | RECORD_SAME_THREAD | RECORD_ONE_PAGE |
                               RECORD_OTHER_MANAGER,
};

/* What was accessed, by whom, when. */
typedef struct RecordAccess {
        uint32_t device; /* as the kernel numbers them: major << 20 | minor */
        uint64_t inode;
        uint32_t generation;
        uint64_t page;
        uint64_t n_pages; /* at least 1 */
        uint8_t flags;    /* TRACE_WRITE, TRACE_READAHEAD, TRACE_REMOVE; 0: a read */
        uint32_t tid;
        const char *thread; /* its name, of at most RECORD_NAME_MAX bytes */
        const char *manager; /* its control group's, of at most RECORD_MANAGER_MAX; NULL: none */
        uint64_t time;      /* ns, from any beginning */
} RecordAccess;

typedef struct RecordWriter RecordWriter;

/* Writes to fd, which stays the caller's. "zstd": compressed. -errno. */
int record_writer_new(int fd, bool zstd, uint64_t realtime, RecordWriter **ret);

int record_writer_access(RecordWriter *w, const RecordAccess *a);
int record_writer_lost(RecordWriter *w, uint64_t n);

/* Writes the end and all that is still in memory. */
int record_writer_finish(RecordWriter *w);

RecordWriter *record_writer_free(RecordWriter *w);
DEFINE_TRIVIAL_CLEANUP_FUNC(RecordWriter *, record_writer_free);

static inline uint64_t record_fold(int64_t v) {
        return v < 0 ? ~((uint64_t) v << 1) : (uint64_t) v << 1;
}

static inline int64_t record_unfold(uint64_t v) {
        return (int64_t) (v >> 1 ^ (0 - (v & 1)));
}
