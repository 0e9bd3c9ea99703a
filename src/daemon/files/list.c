/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What managers said, and what is cached of it. */

#include <fcntl.h>
#include <linux/mman.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "files.h"
#include "internal.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

/* Root waits for no longer. */
#define COUNT_MSEC 1000

static void file_clear(void *p) {
        free(((ListedFile *) p)->path);
}

static void listed_manager_free(void *p) {
        ListedManager *m = p;

        g_array_unref(m->files);
        free(m->name);
        free(m);
}

/* ---- pages of a file */

/* By the path it had when it was found; what is there now may be another one. */
static uint64_t count_cached(const char *path, const PolicyFile *file) {
        _cleanup_close_ int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -EBADF;
        char again[STRLEN("/proc/self/fd/") + DECIMAL_STR_MAX(int)];
        FileMount mount = FILE_MOUNT_NONE;
        struct cachestat_range all = {};
        struct cachestat c;
        PolicyFile now;

        if (found < 0 || file_identify(found, &mount, &now) < 0 ||
            !policy_file_equal(&now, file))
                return UINT64_MAX;

        /* A regular file, as is known by now. */
        (void) snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
        fd = open(again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 || syscall(SYS_cachestat, fd, &all, &c, 0) < 0 ? UINT64_MAX : c.nr_cache;
}

/* In another process, see helper.h: as many numbers as there are files. */
static void count_all(int fd, void *userdata) {
        const GPtrArray *managers = userdata;

        for (guint i = 0; i < managers->len; i++) {
                const GArray *files = ((ListedManager *) managers->pdata[i])->files;

                for (guint j = 0; j < files->len; j++) {
                        const ListedFile *f = &g_array_index(files, ListedFile, j);
                        uint64_t n = f->path ? count_cached(f->path, &f->file) : UINT64_MAX;

                        if (write(fd, &n, sizeof(n)) != sizeof(n))
                                return;
                }
        }
}

/* As far as the time is enough. */
static void count_pages(Files *files, GPtrArray *managers) {
        off_t offset = 0;

        if (!helper_stop(&files->counter)) /* it hangs since the last time */
                return;
        helper_done(&files->counter);
        if (helper_start("cachebpfd-files", count_all, managers, -EBADF, &files->counter) < 0)
                return;

        helper_wait(&files->counter, COUNT_MSEC);
        for (guint i = 0; i < managers->len; i++) {
                GArray *l = ((ListedManager *) managers->pdata[i])->files;

                for (guint j = 0; j < l->len; j++, offset += (off_t) sizeof(uint64_t)) {
                        ListedFile *f = &g_array_index(l, ListedFile, j);
                        uint64_t n;

                        if (pread(files->counter.result, &n, sizeof(n), offset) == sizeof(n))
                                f->cached = n;
                }
        }
        (void) helper_stop(&files->counter);
}

static void show_paths(GPtrArray *managers) {
        for (guint i = 0; i < managers->len; i++) {
                GArray *l = ((ListedManager *) managers->pdata[i])->files;

                for (guint j = 0; j < l->len; j++) {
                        ListedFile *f = &g_array_index(l, ListedFile, j);

                        f->path = name_to_utf8(f->path);
                }
        }
}

/* ---- managers */

static void add_file(ListedManager *l, const PolicyFile *file, int level, const FoundFile *known) {
        ListedFile f = {
                .file = *file,
                .level = level,
                .path = known ? g_strdup(known->path) : NULL,
                .cached = UINT64_MAX,
        };

        g_array_append_val(l->files, f);
}

static int compare_files(gconstpointer a, gconstpointer b) {
        const ListedFile *x = a, *y = b;

        if (x->level != y->level)
                return x->level < y->level ? -1 : 1;
        if (!x->path != !y->path)
                return x->path ? -1 : 1;
        if (x->path)
                return strcmp(x->path, y->path);
        return x->file.ino < y->file.ino ? -1 : x->file.ino > y->file.ino;
}

/* The levels are the kernel's: programs may have said something else since. */
static void add_files(ListedManager *l, const FileManager *m, const GArray *levels) {
        _cleanup_hash_table_ GHashTable *seen = found_files_new();
        GHashTableIter it;
        gpointer p;

        for (guint i = 0; i < levels->len; i++) {
                const PolicyFileLevel *f = &g_array_index(levels, PolicyFileLevel, i);
                FoundFile *is;

                if (f->manager != l->kernel.id || g_hash_table_contains(seen, &f->file))
                        continue;

                is = g_new(FoundFile, 1);
                *is = (FoundFile) { .file = f->file };
                g_hash_table_insert(seen, &is->file, is);
                add_file(l, &f->file, f->level, m ? g_hash_table_lookup(m->said, &f->file) : NULL);
        }

        if (m) {
                g_hash_table_iter_init(&it, m->said);
                while (g_hash_table_iter_next(&it, NULL, &p)) {
                        const FoundFile *known = p;

                        if (!g_hash_table_contains(seen, &known->file))
                                add_file(l, &known->file, CACHE_LEVEL_DEFAULT, known);
                }
        }

        g_array_sort(l->files, compare_files);
}

static ListedManager *listed_manager_new(const UnitFiles *f, const PolicyManager *kernel, const char *name,
                                         const GArray *levels) {
        ListedManager *l = g_new(ListedManager, 1);

        *l = (ListedManager) {
                .kernel = *kernel,
                .name = g_strdup(name),
                .files = g_array_new(FALSE, FALSE, sizeof(ListedFile)),
        };
        l->kernel.revoked = kernel->revoked || unit_files_is_revoked(f, kernel->id);
        g_array_set_clear_func(l->files, file_clear);
        if (levels)
                add_files(l, g_hash_table_lookup(f->managers, &kernel->id), levels);
        return l;
}

static int compare_managers(gconstpointer a, gconstpointer b) {
        const ListedManager *x = *(const ListedManager *const *) a, *y = *(const ListedManager *const *) b;

        return strcmp(strempty(x->name), strempty(y->name));
}

/* The one with that id, or all if it is 0. */
static void list_unit(const UnitFiles *f, uint64_t id, bool files, GPtrArray *ret) {
        g_autoptr(GArray) managers = g_array_new(FALSE, FALSE, sizeof(PolicyManager)),
                          levels = files ? g_array_new(FALSE, FALSE, sizeof(PolicyFileLevel)) : NULL;
        _cleanup_hash_table_ GHashTable *names = unit_files_names(f),
                                        *seen = g_hash_table_new(g_int64_hash, g_int64_equal);
        const PolicyBackend *b = f->unit->manager->backend;

        if (b->read_managers(b->userdata, f->unit->link, managers) < 0 ||
            (files && b->read_levels(b->userdata, f->unit->link, levels) < 0))
                return;

        for (guint i = 0; i < managers->len; i++) {
                PolicyManager *m = &g_array_index(managers, PolicyManager, i);

                /* Some come twice if others went just then. */
                if ((id == 0 || m->id == id) && g_hash_table_add(seen, &m->id))
                        g_ptr_array_add(ret, listed_manager_new(f, m, g_hash_table_lookup(names, &m->id),
                                                                levels));
        }
}

/* Whether the control group is right below the unit's. */
static bool is_below(const char *cgroup, const Unit *u) {
        g_autofree char *above = cgroup ? g_path_get_dirname(cgroup) : NULL;

        return above && streq_ptr(above, u->cgroup);
}

GPtrArray *files_list(Unit *u, bool files) {
        GPtrArray *l = g_ptr_array_new_with_free_func(listed_manager_free);
        Files *f = NULL;
        GHashTableIter it;
        gpointer p;

        if (files_has_managers(u)) {
                f = u->files->files;
                list_unit(u->files, 0, files, l);
        } else if (u->cgroup_id != 0) {
                g_hash_table_iter_init(&it, u->manager->units);
                while (g_hash_table_iter_next(&it, NULL, &p))
                        if (files_has_managers(p) && is_below(u->cgroup, p)) {
                                f = ((Unit *) p)->files->files;
                                list_unit(((Unit *) p)->files, u->cgroup_id, files, l);
                        }
        }

        g_ptr_array_sort(l, compare_managers);
        if (f && files)
                count_pages(f, l);
        show_paths(l);
        return l;
}
