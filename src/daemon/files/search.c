/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include "search.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define WATCHED_EVENTS \
        (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* Of each pattern: what users do in the directories of one is not to be felt by the others. */
#define DIRECTORIES_MAX 1024U
/* Names in directories. The daemon has others to serve. */
#define NAMES_MAX 65536U
/* So many are looked at in any case: somebody else may have had the processor. */
#define NAMES_MIN 16U
/* So many files are left for each pattern that follows, or half of them for all of these. */
#define FILES_LEFT 32U

typedef struct Search {
        FileSearch result;
        FileMount mount;
        const SearchLimits *limits;
        unsigned n_watches;

        /* of the pattern that is searched for */
        int level;
        unsigned n_directories;
        unsigned n_names;
        unsigned n_files_max; /* with those of the patterns before */
        uint64_t deadline;    /* CLOCK_MONOTONIC */
        bool cut;             /* no more of it */
        bool missed;          /* some of it was not to be had */
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
        if (s->partial)
                g_array_unref(s->partial);
        *s = (FileSearch) {};
}

static bool matches(const FilePattern *p, const FoundFile *f) {
        return fnmatch(p->pattern, f->path, FNM_PATHNAME | FNM_PERIOD | FNM_NOESCAPE) == 0;
}

bool file_search_may_lack(const FileSearch *s, const FoundFile *f) {
        for (guint i = 0; i < s->partial->len; i++) {
                const FilePattern *p = &g_array_index(s->partial, FilePattern, i);

                if (p->level == f->level && matches(p, f))
                        return true;
        }

        return false;
}

static FileSearch file_search_new(void) {
        return (FileSearch) {
                .files = found_files_new(),
                .directories = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, directory_free),
                .partial = file_patterns_new(),
        };
}

/* That there is nothing, or nothing for root, is an answer. All else may be over soon: on a network, or when
 * there is no memory. */
static void note_error(Search *s, int error) {
        static const int answers[] = { ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, ENAMETOOLONG, EINVAL };

        for (size_t i = 0; i < ELEMENTSOF(answers); i++)
                if (error == answers[i])
                        return;

        s->missed = true;
        s->result.error = s->result.error < 0 ? s->result.error : -error;
}

/* 0: not known. */
static unsigned file_system_of(int fd) {
        struct statfs sfs;

        return fstatfs(fd, &sfs) < 0 ? 0 : (unsigned) sfs.f_type;
}

/* Others change it as well: machines on a network, or a program. */
static bool is_remote(int fd) {
        static const unsigned remote[] = {
                AFS_FS_MAGIC, CEPH_SUPER_MAGIC, CIFS_SUPER_MAGIC, CODA_SUPER_MAGIC, FUSE_SUPER_MAGIC,
                NFS_SUPER_MAGIC, OCFS2_SUPER_MAGIC, SMB2_SUPER_MAGIC, SMB_SUPER_MAGIC, V9FS_MAGIC,
        };
        unsigned type = file_system_of(fd);

        for (size_t i = 0; i < ELEMENTSOF(remote); i++)
                if (type == remote[i])
                        return true;
        return false;
}

/* Before it is looked into: what comes after that is not missed. */
static int watch(Search *s, int fd) {
        char path[STRLEN("/proc/self/fd/") + DECIMAL_STR_MAX(int)];
        int wd = -1;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (s->limits->inotify_fd >= 0 && s->n_watches < s->limits->n_watches)
                wd = inotify_add_watch(s->limits->inotify_fd, path, WATCHED_EVENTS);
        if (wd < 0)
                s->result.unwatched = true;
        else
                s->n_watches++;
        return wd;
}

static void add_directory(Search *s, int fd, const char *path, const char *name) {
        SearchedDirectory *d = g_hash_table_lookup(s->result.directories, path);

        if (!d && ++s->n_directories > DIRECTORIES_MAX) {
                s->cut = true;
                return;
        }
        if (!d) {
                d = g_new(SearchedDirectory, 1);
                *d = (SearchedDirectory) {
                        .path = g_strdup(path),
                        .wd = watch(s, fd),
                        .names = g_ptr_array_new_with_free_func(g_free),
                };
                g_hash_table_insert(s->result.directories, d->path, d);
                s->result.remote = s->result.remote || is_remote(fd);
        }
        g_ptr_array_add(d->names, g_strdup(name));
}

static void add_file(Search *s, int fd, const char *path) {
        FoundFile *f;
        PolicyFile file;
        int r;

        r = file_identify(fd, &s->mount, &file);
        if (r < 0) {
                if (r != -EBADF)
                        note_error(s, -r);
                return;
        }
        s->result.overlay = s->result.overlay || file_system_of(fd) == OVERLAYFS_SUPER_MAGIC;

        f = g_hash_table_lookup(s->result.files, &file);
        if (!f && g_hash_table_size(s->result.files) >= s->n_files_max) {
                s->cut = true;
                return;
        }
        if (!f) {
                f = g_new(FoundFile, 1);
                *f = (FoundFile) { .file = file, .path = g_strdup(path) };
                g_hash_table_insert(s->result.files, &f->file, f);
        }
        f->level = s->level;
}

/* ---- the search */

static void search_in(Search *s, int dir_fd, const char *dir, const char *pattern, bool follow);

/* The name, without a pattern in it, in that directory; rest is the pattern behind it, if there is one. */
static void search_name(Search *s, int dir_fd, const char *dir, const char *name, const char *rest,
                        bool follow) {
        /* Neither waits for what is at the other end of a FIFO or a device. */
        _cleanup_close_ int fd = openat(dir_fd, name, O_PATH | O_CLOEXEC | (rest ? O_DIRECTORY : 0) |
                                                              (rest && follow ? 0 : O_NOFOLLOW));
        g_autofree char *path = NULL;

        if (fd < 0) {
                note_error(s, errno);
                return;
        }

        path = g_strdup_printf("%s/%s", streq(dir, "/") ? "" : dir, name);
        if (rest)
                search_in(s, fd, path, rest, follow);
        else
                add_file(s, fd, path);
}

static bool may_be(const struct dirent *de, bool directory) {
        /* Patterns go down only. */
        if (streq(de->d_name, ".") || streq(de->d_name, ".."))
                return false;

        return de->d_type == DT_UNKNOWN || de->d_type == (directory ? DT_DIR : DT_REG);
}

static bool is_cut(Search *s) {
        s->n_names++;
        s->cut = s->cut || s->n_names > NAMES_MAX ||
                (s->n_names > NAMES_MIN && g_get_monotonic_time() >= (int64_t) s->deadline);
        return s->cut;
}

static struct dirent *next_name(Search *s, DIR *d) {
        struct dirent *de;

        errno = 0;
        de = readdir(d);
        if (!de && errno > 0)
                note_error(s, errno);
        return de;
}

static void search_names(Search *s, int dir_fd, const char *dir, const char *pattern, const char *rest) {
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *de;

        if (!d) {
                note_error(s, errno);
                (void) safe_close(fd);
                return;
        }

        /* From here on it is not the administrator who says where it goes: no link is followed. */
        while ((de = next_name(s, d)) && !is_cut(s))
                if (may_be(de, rest) && fnmatch(pattern, de->d_name, FNM_PERIOD | FNM_NOESCAPE) == 0)
                        search_name(s, dir_fd, dir, de->d_name, rest, /* follow= */ false);
}

static void search_in(Search *s, int dir_fd, const char *dir, const char *pattern, bool follow) {
        const char *slash = strchr(pattern, '/'), *rest = slash ? slash + 1 : NULL;
        g_autofree char *name = g_strndup(pattern, slash ? (size_t) (slash - pattern) : strlen(pattern));

        if (strpbrk(name, "*?[")) {
                add_directory(s, dir_fd, dir, name);
                search_names(s, dir_fd, dir, name, rest);
        } else {
                add_directory(s, dir_fd, dir, name);
                search_name(s, dir_fd, dir, name, rest, follow);
        }
}

/* What earlier patterns found counts for this one as well, however far its own search came. */
static void note_partial(Search *s, const FilePattern *p) {
        GHashTableIter it;
        gpointer f;

        file_patterns_add(s->result.partial, p->level, p->pattern);
        g_hash_table_iter_init(&it, s->result.files);
        while (g_hash_table_iter_next(&it, NULL, &f))
                if (matches(p, f))
                        ((FoundFile *) f)->level = p->level;
}

void file_search(const CacheFiles *wanted, const SearchLimits *limits, FileSearch *ret) {
        Search s = {
                .result = file_search_new(),
                .mount = FILE_MOUNT_NONE,
                .limits = limits,
        };
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int error = errno;
        uint64_t begin = g_get_monotonic_time();
        guint n = wanted->patterns->len;

        for (guint i = 0; i < n; i++) {
                const FilePattern *p = &g_array_index(wanted->patterns, FilePattern, i);

                s.level = p->level;
                s.n_directories = s.n_names = 0;
                s.n_files_max = MANAGER_FILES_MAX - (n - 1 - i) * MIN(FILES_LEFT, MANAGER_FILES_MAX / 2 / n);
                s.deadline = begin + limits->usec * (i + 1) / n;
                s.cut = s.missed = false;
                if (root >= 0)
                        search_in(&s, root, "/", p->pattern + 1, /* follow= */ true);
                else
                        note_error(&s, error);
                if (s.cut || s.missed)
                        note_partial(&s, p);
                s.result.full = s.result.full || s.cut;
        }

        *ret = s.result;
}

/* ---- from one process to another */

#define FOUND_FILE "(tuuiay)"
#define SEARCHED_DIRECTORY "(ayiaay)"
#define PARTIAL_PATTERN "(iay)"
#define FOUND "(a" FOUND_FILE "a" SEARCHED_DIRECTORY "a" PARTIAL_PATTERN "bibbb)"

static GVariant *build(const FileSearch *s) {
        g_auto(GVariantBuilder) files, directories, partial;
        GHashTableIter it;
        gpointer p;

        g_variant_builder_init(&files, G_VARIANT_TYPE("a" FOUND_FILE));
        g_hash_table_iter_init(&it, s->files);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const FoundFile *f = p;

                g_variant_builder_add(&files, "(tuui^ay)", f->file.ino, f->file.dev, f->file.generation,
                                      f->level, f->path);
        }

        g_variant_builder_init(&directories, G_VARIANT_TYPE("a" SEARCHED_DIRECTORY));
        g_hash_table_iter_init(&it, s->directories);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const SearchedDirectory *d = p;

                g_variant_builder_add(&directories, "(^ayi@aay)", d->path, d->wd,
                                      g_variant_new_bytestring_array(
                                              (const char *const *) d->names->pdata, d->names->len));
        }

        g_variant_builder_init(&partial, G_VARIANT_TYPE("a" PARTIAL_PATTERN));
        for (guint i = 0; i < s->partial->len; i++) {
                const FilePattern *pattern = &g_array_index(s->partial, FilePattern, i);

                g_variant_builder_add(&partial, "(i^ay)", pattern->level, pattern->pattern);
        }

        return g_variant_ref_sink(g_variant_new(FOUND, &files, &directories, &partial, s->full, s->error,
                                                s->unwatched, s->remote, s->overlay));
}

int file_search_write(const FileSearch *s, int fd) {
        g_autoptr(GVariant) v = build(s);
        const char *bytes = g_variant_get_data(v);
        size_t size = g_variant_get_size(v);

        while (size > 0) {
                ssize_t n = write(fd, bytes, size);

                if (n < 0)
                        return -errno;
                bytes += n;
                size -= (size_t) n;
        }
        return 0;
}

int file_search_read(const void *bytes, size_t size, FileSearch *ret) {
        g_autoptr(GVariant) v = g_variant_ref_sink(
                g_variant_new_from_data(G_VARIANT_TYPE(FOUND), bytes, size, FALSE, NULL, NULL));
        g_autoptr(GVariantIter) files = NULL, directories = NULL, partial = NULL;
        gboolean full, unwatched, remote, overlay;
        GVariant *names;
        char *path;
        const char *pattern;
        int number, error;
        PolicyFile file;

        if (!g_variant_is_normal_form(v))
                return -EBADMSG;

        *ret = file_search_new();
        g_variant_get(v, FOUND, &files, &directories, &partial, &full, &error, &unwatched,
                      &remote, &overlay);
        while (g_variant_iter_next(files, "(tuui^ay)", &file.ino, &file.dev, &file.generation, &number,
                                   &path)) {
                FoundFile *f = g_new(FoundFile, 1);

                *f = (FoundFile) { .file = file, .level = number, .path = path };
                g_hash_table_replace(ret->files, &f->file, f);
        }
        while (g_variant_iter_next(directories, "(^ayi@aay)", &path, &number, &names)) {
                SearchedDirectory *d = g_new(SearchedDirectory, 1);
                char **l = g_variant_dup_bytestring_array(names, NULL);

                *d = (SearchedDirectory) {
                        .path = path,
                        .wd = number,
                        .names = g_ptr_array_new_take_null_terminated((gpointer *) l, g_free),
                };
                g_hash_table_replace(ret->directories, d->path, d);
                g_variant_unref(names);
        }
        while (g_variant_iter_next(partial, "(i^&ay)", &number, &pattern))
                file_patterns_add(ret->partial, number, pattern);
        ret->full = full;
        ret->error = error;
        ret->unwatched = unwatched;
        ret->remote = remote;
        ret->overlay = overlay;
        return 0;
}
