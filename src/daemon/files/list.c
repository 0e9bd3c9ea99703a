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

/* ---- managers */

static void add_file(ListedManager *l, const PolicyFile *file, int level, const FoundFile *known) {
        ListedFile f = {
                .file = *file,
                .level = level,
                .path = known ? name_to_utf8(g_strdup(known->path)) : NULL,
                .cached = known ? count_cached(known->path, file) : UINT64_MAX,
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
        _cleanup_hash_table_ GHashTable *seen = g_hash_table_new(NULL, NULL);
        GHashTableIter it;
        gpointer p;

        for (guint i = 0; i < levels->len; i++) {
                const PolicyFileLevel *f = &g_array_index(levels, PolicyFileLevel, i);
                FoundFile *known;

                if (f->manager != l->kernel.id)
                        continue;

                known = m ? g_hash_table_lookup(m->said, &f->file) : NULL;
                if (known)
                        g_hash_table_add(seen, known);
                add_file(l, &f->file, f->level, known);
        }

        if (m) {
                g_hash_table_iter_init(&it, m->said);
                while (g_hash_table_iter_next(&it, NULL, &p)) {
                        const FoundFile *known = p;

                        if (!g_hash_table_contains(seen, known))
                                add_file(l, &known->file, CACHE_LEVEL_DEFAULT, known);
                }
        }

        g_array_sort(l->files, compare_files);
}

static ListedManager *listed_manager_new(const UnitFiles *f, const PolicyManager *kernel,
                                         const GArray *levels) {
        ListedManager *l = g_new(ListedManager, 1);

        *l = (ListedManager) {
                .kernel = *kernel,
                .name = unit_files_name_of(f, kernel->id),
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

/* The one of that name, or all if it is NULL. */
static void list_unit(const UnitFiles *f, const char *name, bool files, GPtrArray *ret) {
        g_autoptr(GArray) managers = g_array_new(FALSE, FALSE, sizeof(PolicyManager)),
                          levels = files ? g_array_new(FALSE, FALSE, sizeof(PolicyFileLevel)) : NULL;
        const PolicyBackend *b = f->unit->manager->backend;

        if (b->read_managers(b->userdata, f->unit->link, managers) < 0 ||
            (files && b->read_levels(b->userdata, f->unit->link, levels) < 0))
                return;

        for (guint i = 0; i < managers->len; i++) {
                const PolicyManager *m = &g_array_index(managers, PolicyManager, i);
                g_autofree char *its = name ? unit_files_name_of(f, m->id) : NULL;

                if (!name || streq_ptr(its, name))
                        g_ptr_array_add(ret, listed_manager_new(f, m, levels));
        }
}

GPtrArray *files_list(Unit *u, bool files) {
        GPtrArray *l = g_ptr_array_new_with_free_func(listed_manager_free);
        GHashTableIter it;
        gpointer p;

        if (files_has_managers(u))
                list_unit(u->files, NULL, files, l);
        else {
                g_hash_table_iter_init(&it, u->manager->units);
                while (g_hash_table_iter_next(&it, NULL, &p))
                        if (files_has_managers(p))
                                list_unit(((Unit *) p)->files, u->name, files, l);
        }

        g_ptr_array_sort(l, compare_managers);
        return l;
}
