/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "done.h"
#include "lib/cachebpf.h"

/* Descriptors above are not followed. Memory for most of these is never touched. */
#define DESCRIPTORS 16384

/* So much is given back at once. */
#define BLOCK (64 * 1024)

typedef struct Range {
        atomic_bool followed;
        atomic_flag busy;
        int64_t begin, end; /* read, and not given back */
} Range;

static Range ranges[DESCRIPTORS];

static Range *range_of(int fd) {
        return fd >= 0 && fd < DESCRIPTORS ? ranges + fd : NULL;
}

bool done_follows(int fd) {
        Range *r = range_of(fd);

        return r && atomic_load_explicit(&r->followed, memory_order_relaxed);
}

void done_follow(int fd, bool on) {
        Range *r = range_of(fd);

        if (!r || (!on && !done_follows(fd)))
                return;

        atomic_store(&r->followed, on);
        if (atomic_flag_test_and_set(&r->busy))
                return;
        r->begin = r->end = 0;
        atomic_flag_clear(&r->busy);
}

/* Gives back what is before a position. */
static void give_back(int fd, Range *r, int64_t position) {
        int64_t begin = r->begin, n = position - begin;

        if (n <= 0)
                return;

        r->begin = position;
        if (cachebpf_set_temporary_priority(fd, begin, n, CACHEBPF_PRIORITY_MIN) == -EOPNOTSUPP)
                atomic_store(&r->followed, false); /* nobody listens */
}

void done_has_read(int fd, int64_t end, int64_t n, int64_t slack) {
        Range *r = range_of(fd);
        int64_t start = end - n - slack;

        if (!r || atomic_flag_test_and_set(&r->busy))
                return;

        if (n == 0)
                give_back(fd, r, r->end);
        else if (end != r->end || slack == 0) {
                if (start < 0)
                        start = 0;
                if (r->end < start || r->end > end) {
                        give_back(fd, r, r->end);
                        r->begin = start;
                } else if (slack == 0 && start < r->begin) /* read again */
                        r->begin = start;
                r->end = end;
                if (r->end - r->begin >= BLOCK)
                        give_back(fd, r, r->end - r->end % getpagesize());
        }

        atomic_flag_clear(&r->busy);
}

void done_finish(int fd) {
        Range *r = range_of(fd);

        if (!done_follows(fd) || atomic_flag_test_and_set(&r->busy))
                return;

        give_back(fd, r, r->end);
        atomic_store(&r->followed, false);
        atomic_flag_clear(&r->busy);
}
