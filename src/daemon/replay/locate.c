/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <libmount.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "locate.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

char *path_of_fd(int fd, char ret[static FD_PATH_SIZE]) {
        (void) snprintf(ret, FD_PATH_SIZE, "/proc/self/fd/%i", fd);
        return ret;
}

int mounts_read(const char *mountinfo, struct libmnt_table **ret) {
        errno = 0;
        *ret = mnt_new_table_from_file(mountinfo);
        if (*ret)
                return 0;
        return errno > 0 ? -errno : -ENOMEM;
}

/* A path below an automount point would have it mounted. */
static bool may_hang(struct libmnt_fs *fs) {
        const char *type = strempty(mnt_fs_get_fstype(fs));

        return mnt_fs_is_netfs(fs) || startswith(type, "fuse") || streq(type, "autofs");
}

/* The library compares strings alone. */
static bool leads_to_hang(struct libmnt_table *mounts, const char *path) {
        struct libmnt_fs *fs = mnt_table_find_mountpoint(mounts, path, MNT_ITER_BACKWARD);

        return !fs || may_hang(fs);
}

/* Follows no link: it could lead to what hangs, and strings do not tell. openat2() could do that, but not
 * under RestrictSUIDSGID= of the daemon. */
static int open_without_links(const char *path) {
        g_auto(GStrv) names = g_strsplit(path, "/", -1);
        _cleanup_close_ int fd = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);

        for (char **name = names; *name && fd >= 0; name++) {
                _cleanup_close_ int parent = fd;

                fd = openat(parent, **name ? *name : ".", O_PATH | O_CLOEXEC | O_NOFOLLOW);
        }
        return fd < 0 ? -errno : TAKE_FD(fd);
}

int recorded_path_open(struct libmnt_table *mounts, const char *path, struct stat *ret) {
        _cleanup_close_ int fd = -EBADF;

        if (leads_to_hang(mounts, path))
                return -EXDEV;
        fd = open_without_links(path);
        if (fd < 0)
                return fd;
        if (fstat(fd, ret) < 0)
                return -errno;
        return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -EBADF;
}

int recorded_file_open(struct libmnt_table *mounts, const RecordedFile *f) {
        struct stat st;
        _cleanup_close_ int fd = recorded_path_open(mounts, f->path, &st);

        if (fd < 0)
                return fd;
        return st.st_ino == f->ino && (uint64_t) st.st_size == f->size &&
                       st.st_mtim.tv_sec == f->mtime_sec && (uint32_t) st.st_mtim.tv_nsec == f->mtime_nsec ?
                TAKE_FD(fd) : -ESTALE;
}

/* ---- where it is */

/* The kernel's own form. */
static bool is_on_device(struct libmnt_fs *fs, uint32_t device) {
        return mnt_fs_get_devno(fs) == makedev(device >> 20, device & 0xfffff);
}

/* A mount shows the file system from its root on. NULL: not this file. */
static char *path_below(struct libmnt_fs *fs, const char *path) {
        const char *root = strempty(mnt_fs_get_root(fs)), *target = mnt_fs_get_target(fs), *rest;

        root = streq(root, "/") ? "" : root;
        target = streq(target, "/") ? "" : target;
        rest = startswith(path, root);
        return rest && rest[0] == '/' ? g_strconcat(target, rest, NULL) : NULL;
}

static bool is_there(struct libmnt_table *mounts, const char *path, const RecordedFile *f,
                     struct stat *ret) {
        _cleanup_close_ int fd = recorded_path_open(mounts, path, ret);

        return fd >= 0 && ret->st_ino == f->ino;
}

/* The last mount at a place hides those before. */
static bool locate_file(RecordedFile *f, struct libmnt_table *mounts) {
        struct libmnt_iter *it = mnt_new_iter(MNT_ITER_BACKWARD);
        struct libmnt_fs *fs;
        bool found = false;

        while (!found && mnt_table_next_fs(mounts, it, &fs) == 0) {
                g_autofree char *path = is_on_device(fs, f->device) ? path_below(fs, f->path) : NULL;
                struct stat st;

                if (!path || !is_there(mounts, path, f, &st))
                        continue;

                found = true;
                g_set_str(&f->path, path);
                f->size = (uint64_t) st.st_size;
                f->mtime_sec = st.st_mtim.tv_sec;
                f->mtime_nsec = (uint32_t) st.st_mtim.tv_nsec;
        }

        mnt_free_iter(it);
        return found;
}

/* It may have become shorter. */
static void clip(RecordedFile *f) {
        uint64_t n_pages = file_pages(f->size);

        for (guint i = f->ranges->len; i > 0; i--) {
                RecordedRange *r = &g_array_index(f->ranges, RecordedRange, i - 1);

                if (r->first >= n_pages)
                        g_array_remove_index(f->ranges, i - 1);
                else
                        r->n = MIN(r->n, n_pages - r->first);
        }
}

int recording_locate(Recording *recording, const char *mountinfo) {
        struct libmnt_table *mounts;
        int r = mounts_read(mountinfo, &mounts);

        if (r < 0)
                return r;

        for (guint i = recording->files->len; i > 0; i--) {
                RecordedFile *f = recording->files->pdata[i - 1];

                if (locate_file(f, mounts))
                        clip(f);
                else
                        g_array_set_size(f->ranges, 0);
                if (f->ranges->len == 0)
                        g_ptr_array_remove_index(recording->files, i - 1);
        }

        mnt_unref_table(mounts);
        return 0;
}

uint64_t recording_count_current(const Recording *r, const char *mountinfo) {
        struct libmnt_table *mounts;
        uint64_t n = 0;

        if (mounts_read(mountinfo, &mounts) < 0)
                return 0;

        for (guint i = 0; i < r->files->len; i++) {
                _cleanup_close_ int fd = recorded_file_open(mounts, r->files->pdata[i]);

                n += fd >= 0 ? recorded_file_count_pages(r->files->pdata[i]) : 0;
        }

        mnt_unref_table(mounts);
        return n;
}
