/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Searches for the files of managers: each in a process of its own, since a file system may not answer, and
 * what it finds comes back when that ends. */

#include <errno.h>
#include <sys/epoll.h>

#include "files.h"
#include "internal.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "watch.h"

/* What was found by then is what counts. */
#define SEARCH_USEC USEC_PER_SEC
/* Who has not ended by then hangs. */
#define HANGS_USEC (5 * USEC_PER_SEC)

/* Those that hang: control groups that come and go have others begin. */
#define FINDERS_MAX 64U

struct FileFinder {
        Files *files;
        FileManager *manager; /* NULL: it has gone */
        Helper helper;
        uint64_t begin;       /* CLOCK_MONOTONIC */
        sd_event_source *ended, *timer;
};

void file_finder_free(void *p) {
        FileFinder *f = p;

        if (f->manager)
                f->manager->finder = NULL;
        if (f->files->finder == f) {
                f->files->finder = NULL;
                file_watches_end(f->files->watches);
        }
        sd_event_source_disable_unref(f->ended);
        sd_event_source_disable_unref(f->timer);
        helper_done(&f->helper);
        free(f);
}

void file_finder_forget(FileManager *m) {
        if (!m->finder)
                return;

        (void) helper_stop(&m->finder->helper);
        m->finder->manager = NULL;
        m->finder = NULL;
}

/* ---- in the other process */

static void search(int fd, void *userdata) {
        const FileManager *m = userdata;
        const FileWatches *w = m->owner->files->watches;
        SearchLimits limits = {
                .usec = SEARCH_USEC,
                .inotify_fd = file_watches_fd(w),
                .n_watches = file_watches_room(w, m),
        };
        _cleanup_file_search_ FileSearch found = {};

        file_search(&m->wanted, &limits, &found);
        (void) file_search_write(&found, fd);
}

/* ---- what comes back */

static int read_found(FileFinder *f, FileSearch *ret) {
        g_autofree void *bytes = NULL;
        size_t size;
        int r;

        r = helper_read(&f->helper, &bytes, &size);
        return r < 0 ? r : file_search_read(bytes, size, ret);
}

/* NULL: it has gone, or its policy has. */
static FileManager *listener(const FileFinder *f) {
        return f->manager && files_has_managers(f->manager->owner->unit) ? f->manager : NULL;
}

static int on_ended(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        FileFinder *f = ASSERT_PTR(userdata);
        FileManager *m = listener(f);
        Files *files = f->files;
        FileSearch found;
        int r = read_found(f, &found);

        if (files->finder == f && m && r >= 0)
                file_manager_found(m, &found, f->begin);
        else if (files->finder == f && m)
                file_manager_not_found(m, r, f->begin);
        else if (r >= 0)
                file_search_done(&found);

        if (files->finder == f) {
                uint64_t now = (uint64_t) g_get_monotonic_time();

                /* All of them have half of the time. */
                files->not_before = now + MIN(now - f->begin, SEARCH_USEC);
        }
        (void) g_ptr_array_remove_fast(files->finders, f);
        files_schedule(files, 0);
        return 0;
}

static int on_hangs(sd_event_source *s, uint64_t usec, void *userdata) {
        FileFinder *f = ASSERT_PTR(userdata);
        Files *files = f->files;

        (void) helper_stop(&f->helper);
        files->finder = NULL;
        file_watches_end(files->watches);
        if (listener(f))
                file_manager_not_found(f->manager, -ETIMEDOUT, f->begin);
        files_schedule(files, 0);
        return 0;
}

int file_finder_start(FileManager *m) {
        Files *files = m->owner->files;
        sd_event *event = files->manager->event;
        FileFinder *f;
        int r;

        if (files->finders->len >= FINDERS_MAX)
                return -EBUSY;

        f = g_new0(FileFinder, 1);
        f->files = files;
        f->manager = m;
        f->helper = HELPER_NONE;
        f->begin = (uint64_t) g_get_monotonic_time();

        file_watches_begin(files->watches);
        r = helper_start("cachebpfd-files", search, m, file_watches_fd(files->watches), &f->helper);
        if (r >= 0)
                r = sd_event_add_io(event, &f->ended, f->helper.pidfd, EPOLLIN, on_ended, f);
        if (r >= 0)
                r = sd_event_source_set_priority(f->ended, PRIORITY_USERS);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &f->timer, CLOCK_MONOTONIC, HANGS_USEC, 0, on_hangs,
                                               f);
        if (r < 0) {
                file_watches_end(files->watches);
                file_finder_free(f);
                return r;
        }

        m->finder = files->finder = f;
        g_ptr_array_add(files->finders, f);
        return 0;
}
