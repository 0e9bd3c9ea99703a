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

/* So many files at a time: to look at one waits for its directory and its inode, and the disk has nothing to
 * do meanwhile. */
#define N_THREADS 4U

typedef struct Reader {
        const Recording *recording;
        struct libmnt_table *mounts;
        uint64_t (*room)(void *userdata);
        void *userdata;
        uint64_t keep;        /* bytes that are left to others */
        uint64_t page;        /* bytes */

        GMutex lock;          /* of what follows */
        guint next;           /* file that nobody has begun */
        uint64_t n_unlooked;  /* bytes since the last look */
        ReplayCounts counts;
} Reader;

/* Accounts for so many bytes that are going to be read; false: there is no room for them. */
static bool take_room(Reader *x, uint64_t n) {
        bool full;

        g_mutex_lock(&x->lock);
        if (x->n_unlooked >= BYTES_BETWEEN_LOOKS) {
                x->n_unlooked = 0;
                /* what was read is in nobody's use yet, and so counts as room */
                x->counts.full = x->counts.full ||
                        x->room(x->userdata) <= x->keep + x->counts.n_pages * x->page;
        }
        full = x->counts.full;
        if (!full) {
                x->n_unlooked += n;
                x->counts.n_pages += n / x->page;
        }
        g_mutex_unlock(&x->lock);
        return !full;
}

/* Only for reading, from what was looked at. */
static int reopen(int path_fd) {
        char path[FD_PATH_SIZE];
        int fd = open(path_of_fd(path_fd, path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        return fd < 0 ? -errno : fd;
}

static bool read_range(Reader *x, int fd, const RecordedRange *r) {
        uint64_t begin = r->first * x->page, end = begin + r->n * x->page;

        for (uint64_t at = begin; at < end; at += BYTES_AT_ONCE) {
                uint64_t n = MIN(end - at, BYTES_AT_ONCE);

                if (!take_room(x, n) || readahead(fd, (off64_t) at, n) < 0)
                        return false;
        }

        return true;
}

/* Returns whether it is as it was recorded. */
static bool read_file(Reader *x, const RecordedFile *f) {
        _cleanup_close_ int path_fd = recorded_file_open(x->mounts, f),
                            fd = path_fd < 0 ? path_fd : reopen(path_fd);
        guint n = 0;

        if (fd < 0)
                return false;

        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* more at once */
        while (n < f->ranges->len && read_range(x, fd, &g_array_index(f->ranges, RecordedRange, n)))
                n++;

        g_mutex_lock(&x->lock);
        x->counts.n_ranges += n;
        g_mutex_unlock(&x->lock);
        return true;
}

static void *read_files(void *userdata) {
        Reader *x = userdata;

        g_mutex_lock(&x->lock);
        while (!x->counts.full && x->next < x->recording->files->len) {
                const RecordedFile *f = x->recording->files->pdata[x->next++];
                bool read;

                g_mutex_unlock(&x->lock);
                read = read_file(x, f);
                g_mutex_lock(&x->lock);
                *(read ? &x->counts.n_files : &x->counts.n_passed_over) += 1;
        }
        g_mutex_unlock(&x->lock);
        return NULL;
}

int recording_read(const Recording *recording, const char *mountinfo, uint64_t (*room)(void *userdata),
                   void *userdata, ReplayCounts *ret) {
        Reader x = {
                .recording = recording,
                .room = room,
                .userdata = userdata,
                .keep = room(userdata) / 2,
                .page = (uint64_t) sysconf(_SC_PAGESIZE),
        };
        GThread *threads[N_THREADS - 1];
        int r;

        x.counts.full = x.keep == 0;
        r = mounts_read(mountinfo, &x.mounts);
        if (r < 0)
                return r;

        g_mutex_init(&x.lock);
        for (size_t i = 0; i < ELEMENTSOF(threads); i++) /* a unit may have no room for more tasks */
                threads[i] = g_thread_try_new("reader", read_files, &x, NULL);
        (void) read_files(&x);
        for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                if (threads[i])
                        (void) g_thread_join(threads[i]);
        g_mutex_clear(&x.lock);
        mnt_unref_table(x.mounts);
        *ret = x.counts;
        return 0;
}
