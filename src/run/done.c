/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
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
        DoneFile file;
        int64_t begin, end;      /* read, and not given back */
        atomic_uintptr_t buffer; /* of a stream: what is before was got from it */
} Range;

static Range ranges[DESCRIPTORS];

static Range *range_of(int fd) {
        return fd >= 0 && fd < DESCRIPTORS ? ranges + fd : NULL;
}

const DoneFile *done_file(int fd) {
        Range *r = range_of(fd);

        return r && atomic_load_explicit(&r->followed, memory_order_relaxed) ? &r->file : NULL;
}

void done_follow(int fd, const DoneFile *file) {
        Range *r = range_of(fd);

        if (!r || (!file && !done_file(fd)))
                return;

        atomic_store(&r->followed, file != NULL);
        atomic_store(&r->buffer, 0);
        if (atomic_flag_test_and_set(&r->busy))
                return;
        if (file)
                r->file = *file;
        r->begin = r->end = 0;
        atomic_flag_clear(&r->busy);
}

/* Gives back what is before a position. */
static void give_back(int fd, Range *r, int64_t position) {
        int64_t begin = r->begin, n = position - begin;
        int saved = errno;
        struct stat st;

        if (n <= 0)
                return;

        r->begin = position;
        if (fstat(fd, &st) < 0 || st.st_dev != r->file.device || st.st_ino != r->file.inode ||
            cachebpf_set_temporary_priority(fd, begin, n, CACHEBPF_PRIORITY_MIN) == -EOPNOTSUPP)
                atomic_store(&r->followed, false); /* it is another file by now, or nobody listens */
        errno = saved;
}

bool done_from_buffer(int fd, const char *end, size_t n) {
        Range *r = range_of(fd);

        return r && n > 0 && atomic_exchange(&r->buffer, (uintptr_t) end) == (uintptr_t) end - n;
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

        if (!done_file(fd) || atomic_flag_test_and_set(&r->busy))
                return;

        give_back(fd, r, r->end);
        atomic_flag_clear(&r->busy);
}
