/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <unistd.h>

#include "locate.h"
#include "read.h"
#include "shared/cleanup.h"

/* For one call, which reads no more than twice the readahead of the disk (128 KiB, mostly). */
#define BYTES_AT_ONCE (128U << 10)
/* Between two looks whether there is room. */
#define BYTES_BETWEEN_LOOKS (1U << 20)

typedef struct Reader {
        uint64_t (*room)(void *userdata);
        void *userdata;
        uint64_t keep;        /* bytes that are left to others */
        uint64_t n_unlooked;  /* bytes since the last look */
        uint64_t page;        /* bytes */
        ReplayCounts counts;
} Reader;

static bool has_room(Reader *x) {
        if (x->n_unlooked >= BYTES_BETWEEN_LOOKS) {
                x->n_unlooked = 0;
                x->counts.full = x->room(x->userdata) <= x->keep;
        }
        return !x->counts.full;
}

/* Only for reading, from what was looked at. */
static int reopen(int path_fd) {
        char path[FD_PATH_SIZE];
        int fd = open(path_of_fd(path_fd, path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        return fd < 0 ? -errno : fd;
}

static void read_range(Reader *x, int fd, const RecordedRange *r) {
        uint64_t begin = r->first * x->page, end = begin + r->n * x->page;

        for (uint64_t at = begin; at < end && has_room(x); at += BYTES_AT_ONCE) {
                uint64_t n = MIN(end - at, BYTES_AT_ONCE);

                if (readahead(fd, (off64_t) at, n) < 0)
                        return;
                x->n_unlooked += n;
                x->counts.n_pages += n / x->page;
        }
}

static void read_file(Reader *x, const RecordedFile *f) {
        _cleanup_close_ int path_fd = recorded_file_open(f), fd = path_fd < 0 ? path_fd : reopen(path_fd);

        if (fd < 0) {
                x->counts.n_passed_over++;
                return;
        }

        x->counts.n_files++;
        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* more at once */
        for (guint i = 0; i < f->ranges->len && !x->counts.full; i++)
                read_range(x, fd, &g_array_index(f->ranges, RecordedRange, i));
}

void recording_read(const Recording *r, uint64_t (*room)(void *userdata), void *userdata,
                    ReplayCounts *ret) {
        Reader x = {
                .room = room,
                .userdata = userdata,
                .keep = room(userdata) / 2,
                .page = (uint64_t) sysconf(_SC_PAGESIZE),
        };

        for (guint i = 0; i < r->files->len && !x.counts.full; i++)
                read_file(&x, r->files->pdata[i]);
        *ret = x.counts;
}
