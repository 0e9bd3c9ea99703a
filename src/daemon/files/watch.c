/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#include "shared/cleanup.h"
#include "shared/log.h"
#include "watch.h"

/* Others need some of what the kernel gives root (fs.inotify.max_user_watches). */
#define WATCHES_MAX 16384U

struct FileWatches {
        sd_event *event;
        int fd;                  /* of inotify, once there was one to be had */
        sd_event_source *source, *mounts;
        GHashTable *directories; /* watch descriptor -> GPtrArray of FileWatch */
        GHashTable *unseen;      /* set of watch descriptors that had events during the search; NULL: none */
};

/* Whom to tell. */
typedef struct FileWatch {
        FileManager *manager;
        const SearchedDirectory *directory;
} FileWatch;

static GPtrArray *watches_of(const FileWatches *w, int wd) {
        return g_hash_table_lookup(w->directories, GINT_TO_POINTER(wd));
}

/* ---- events */

static bool matters(const FileWatch *w, const struct inotify_event *e) {
        return e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED) || e->len == 0 ||
                searched_directory_has(w->directory, e->name);
}

static void tell_all(FileWatches *w) {
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, w->directories);
        while (g_hash_table_iter_next(&it, NULL, &p))
                for (guint i = 0; i < ((GPtrArray *) p)->len; i++)
                        file_manager_mark_dirty(((FileWatch *) ((GPtrArray *) p)->pdata[i])->manager);
}

static void on_event(FileWatches *w, const struct inotify_event *e) {
        GPtrArray *l = watches_of(w, e->wd);

        if (e->mask & IN_Q_OVERFLOW) {
                tell_all(w);
                return;
        }

        for (guint i = 0; l && i < l->len; i++)
                if (matters(l->pdata[i], e))
                        file_manager_mark_dirty(((FileWatch *) l->pdata[i])->manager);

        if (w->unseen)
                g_hash_table_add(w->unseen, GINT_TO_POINTER(e->wd));
        else if (!l && !(e->mask & IN_IGNORED)) /* left by a search that was given up */
                (void) inotify_rm_watch(w->fd, e->wd);
        if (e->mask & IN_IGNORED)
                (void) g_hash_table_remove(w->directories, GINT_TO_POINTER(e->wd));
}

static int on_events(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        FileWatches *w = ASSERT_PTR(userdata);
        _Alignas(struct inotify_event) char buffer[4096];
        ssize_t n = read(fd, buffer, sizeof(buffer));

        for (char *p = buffer; n > 0 && p < buffer + n;) {
                const struct inotify_event *e = (const struct inotify_event *) p;

                on_event(w, e);
                p += sizeof(*e) + e->len;
        }
        return 0;
}

/* What is mounted on a directory hides it without an event. */
static int on_mounts(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        tell_all(userdata);
        return 0;
}

static int watch_mounts(FileWatches *w) {
        _cleanup_close_ int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;

        r = sd_event_add_io(w->event, &w->mounts, fd, EPOLLPRI, on_mounts, w);
        if (r >= 0)
                r = sd_event_source_set_io_fd_own(w->mounts, true);
        if (r < 0)
                return r;
        TAKE_FD(fd);
        r = sd_event_source_set_priority(w->mounts, PRIORITY_USERS);
        /* with FUSE users may mount, again and again */
        return r < 0 ? r : sd_event_source_set_ratelimit(w->mounts, 10 * USEC_PER_SEC, 5);
}

/* ---- who watches what */

static bool is_of(const FileWatch *w, const FileManager *m) {
        return w->manager == m;
}

unsigned file_watches_room(const FileWatches *w, const FileManager *m) {
        unsigned n_others = 0;
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, w->directories);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const GPtrArray *l = p;
                bool others = false;

                for (guint i = 0; i < l->len; i++)
                        others = others || !is_of(l->pdata[i], m);
                n_others += others;
        }

        return WATCHES_MAX - MIN(n_others, WATCHES_MAX);
}

/* Returns a set of watch descriptors: those that it had. */
static GHashTable *drop(FileWatches *w, const FileManager *m) {
        GHashTable *had = g_hash_table_new(NULL, NULL);
        GHashTableIter it;
        gpointer wd, p;

        g_hash_table_iter_init(&it, w->directories);
        while (g_hash_table_iter_next(&it, &wd, &p))
                for (guint i = ((GPtrArray *) p)->len; i-- > 0;)
                        if (is_of(((GPtrArray *) p)->pdata[i], m)) {
                                g_ptr_array_remove_index_fast(p, i);
                                g_hash_table_add(had, wd);
                        }
        return had;
}

/* Not during a search, which may just have found one of them. */
static void remove_unused(FileWatches *w) {
        GHashTableIter it;
        gpointer wd, p;

        g_hash_table_iter_init(&it, w->directories);
        while (!w->unseen && g_hash_table_iter_next(&it, &wd, &p))
                if (((GPtrArray *) p)->len == 0) {
                        (void) inotify_rm_watch(w->fd, GPOINTER_TO_INT(wd));
                        g_hash_table_iter_remove(&it);
                }
}

void file_watches_remove(FileWatches *w, const FileManager *m) {
        g_hash_table_unref(drop(w, m));
        remove_unused(w);
}

void file_watches_replace(FileWatches *w, FileManager *m, const FileSearch *found) {
        _cleanup_hash_table_ GHashTable *had = drop(w, m);
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, found->directories);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const SearchedDirectory *d = p;
                GPtrArray *l = watches_of(w, d->wd);
                FileWatch *watch;

                if (d->wd < 0)
                        continue;
                if (w->unseen && g_hash_table_contains(w->unseen, GINT_TO_POINTER(d->wd)) &&
                    !g_hash_table_contains(had, GINT_TO_POINTER(d->wd)))
                        file_manager_mark_dirty(m);
                if (!l) {
                        l = g_ptr_array_new_with_free_func(g_free);
                        g_hash_table_insert(w->directories, GINT_TO_POINTER(d->wd), l);
                }
                watch = g_new(FileWatch, 1);
                *watch = (FileWatch) { .manager = m, .directory = d };
                g_ptr_array_add(l, watch);
        }
}

/* Others of root may have taken all that there are (fs.inotify.max_user_instances): maybe later. */
static int open_inotify(FileWatches *w) {
        _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        int r;

        if (fd < 0)
                return -errno;

        r = sd_event_add_io(w->event, &w->source, fd, EPOLLIN, on_events, w);
        if (r >= 0)
                r = sd_event_source_set_priority(w->source, PRIORITY_USERS);
        if (r >= 0)
                w->fd = TAKE_FD(fd);
        else
                w->source = sd_event_source_disable_unref(w->source);
        return r;
}

void file_watches_begin(FileWatches *w) {
        if (w->fd < 0)
                (void) open_inotify(w);
        w->unseen = g_hash_table_new(NULL, NULL);
}

void file_watches_end(FileWatches *w) {
        g_clear_pointer(&w->unseen, g_hash_table_unref);
        remove_unused(w);
}

int file_watches_fd(const FileWatches *w) {
        return w->fd;
}

static void array_unref(void *p) {
        g_ptr_array_unref(p);
}

FileWatches *file_watches_new(sd_event *event) {
        FileWatches *w = g_new0(FileWatches, 1);
        int r;

        w->event = sd_event_ref(event);
        w->directories = g_hash_table_new_full(NULL, NULL, NULL, array_unref);
        w->fd = -EBADF;
        r = watch_mounts(w);
        if (r < 0)
                log_debug_errno(r, "Cannot watch what is mounted, ignoring: %m");
        return w;
}

FileWatches *file_watches_free(FileWatches *w) {
        if (!w)
                return NULL;

        sd_event_source_disable_unref(w->source);
        sd_event_source_disable_unref(w->mounts);
        (void) safe_close(w->fd);
        sd_event_unref(w->event);
        g_hash_table_unref(w->directories);
        g_clear_pointer(&w->unseen, g_hash_table_unref);
        return mfree(w);
}
