/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <fnmatch.h>

#include "search.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define DIRECTORIES_MAX 1024U
/* Names in directories. The daemon has others to serve. */
#define NAMES_MAX 65536U

typedef struct Search {
        FileSearch result;
        FileMount mount;
        unsigned n_names;
} Search;

/* ---- what was found */

static guint file_hash(gconstpointer p) {
        return g_int64_hash(&((const PolicyFile *) p)->ino);
}

static gboolean file_equal(gconstpointer a, gconstpointer b) {
        return policy_file_equal(a, b);
}

void found_file_free(void *p) {
        FoundFile *f = p;

        free(f->path);
        free(f);
}

GHashTable *found_files_new(void) {
        return g_hash_table_new_full(file_hash, file_equal, NULL, found_file_free);
}

static void directory_free(void *p) {
        SearchedDirectory *d = p;

        g_ptr_array_unref(d->names);
        free(d->path);
        free(d);
}

bool searched_directory_has(const SearchedDirectory *d, const char *name) {
        for (guint i = 0; i < d->names->len; i++)
                if (fnmatch(d->names->pdata[i], name, FNM_PERIOD | FNM_NOESCAPE) == 0)
                        return true;

        return false;
}

void file_search_done(FileSearch *s) {
        if (s->files)
                g_hash_table_unref(s->files);
        if (s->directories)
                g_hash_table_unref(s->directories);
        *s = (FileSearch) {};
}

static void add_directory(Search *s, const char *path, const char *name) {
        SearchedDirectory *d = g_hash_table_lookup(s->result.directories, path);

        if (!d && g_hash_table_size(s->result.directories) >= DIRECTORIES_MAX) {
                s->result.full = true;
                return;
        }
        if (!d) {
                d = g_new(SearchedDirectory, 1);
                *d = (SearchedDirectory) {
                        .path = g_strdup(path),
                        .names = g_ptr_array_new_with_free_func(g_free),
                };
                g_hash_table_insert(s->result.directories, d->path, d);
        }
        g_ptr_array_add(d->names, g_strdup(name));
}

static void add_file(Search *s, int fd, const char *path, int level) {
        FoundFile *f;
        PolicyFile file;

        if (file_identify(fd, &s->mount, &file) < 0)
                return;

        f = g_hash_table_lookup(s->result.files, &file);
        if (!f && g_hash_table_size(s->result.files) >= MANAGER_FILES_MAX) {
                s->result.full = true;
                return;
        }
        if (!f) {
                f = g_new(FoundFile, 1);
                *f = (FoundFile) { .file = file, .path = g_strdup(path) };
                g_hash_table_insert(s->result.files, &f->file, f);
        }
        f->level = level;
}

/* ---- the search */

static void search_in(Search *s, int dir_fd, const char *dir, const char *pattern, int level);

/* The name, without a pattern in it, in that directory; rest is the pattern behind it, if there is one. */
static int search_name(Search *s, int dir_fd, const char *dir, const char *name, const char *rest,
                       int level) {
        /* Neither waits for what is at the other end of a FIFO or a device. */
        _cleanup_close_ int fd = openat(dir_fd, name,
                                        O_PATH | O_CLOEXEC | (rest ? O_DIRECTORY : O_NOFOLLOW));
        g_autofree char *path = NULL;

        if (fd < 0)
                return -errno;

        path = g_strdup_printf("%s/%s", streq(dir, "/") ? "" : dir, name);
        if (rest)
                search_in(s, fd, path, rest, level);
        else
                add_file(s, fd, path, level);
        return 0;
}

static bool may_be(const struct dirent *de, bool directory) {
        return de->d_type == DT_UNKNOWN ||
                (directory ? de->d_type == DT_DIR || de->d_type == DT_LNK : de->d_type == DT_REG);
}

static void search_names(Search *s, int dir_fd, const char *dir, const char *pattern, const char *rest,
                         int level) {
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *de;

        if (!d) {
                (void) safe_close(fd);
                return;
        }

        while ((de = readdir(d))) {
                if (++s->n_names > NAMES_MAX || (s->result.full && !rest)) {
                        s->result.full = true;
                        return;
                }
                if (may_be(de, rest) && fnmatch(pattern, de->d_name, FNM_PERIOD | FNM_NOESCAPE) == 0)
                        (void) search_name(s, dir_fd, dir, de->d_name, rest, level);
        }
}

static void search_in(Search *s, int dir_fd, const char *dir, const char *pattern, int level) {
        const char *slash = strchr(pattern, '/'), *rest = slash ? slash + 1 : NULL;
        g_autofree char *name = g_strndup(pattern, slash ? (size_t) (slash - pattern) : strlen(pattern));

        if (strpbrk(name, "*?[")) {
                add_directory(s, dir, name);
                search_names(s, dir_fd, dir, name, rest, level);
        } else if (!rest || search_name(s, dir_fd, dir, name, rest, level) < 0) {
                /* of a path only the end changes, as long as there is all of it */
                add_directory(s, dir, name);
                if (!rest)
                        (void) search_name(s, dir_fd, dir, name, NULL, level);
        }
}

void file_search(const CacheFiles *wanted, FileSearch *ret) {
        Search s = {
                .result = {
                        .files = found_files_new(),
                        .directories = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, directory_free),
                },
                .mount = FILE_MOUNT_NONE,
        };
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        for (guint i = 0; root >= 0 && i < wanted->patterns->len; i++) {
                const FilePattern *p = &g_array_index(wanted->patterns, FilePattern, i);

                search_in(&s, root, "/", p->pattern + 1, p->level);
        }

        *ret = s.result;
}
