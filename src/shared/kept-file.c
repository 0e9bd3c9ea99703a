/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "file-util.h"
#include "kept-file.h"
#include "string-util.h"

/* A file that is being written has the name of the one it is to replace between these two. */
#define NEW_PREFIX ".new-"
#define NAME_LENGTH_MAX (NAME_MAX - STRLEN(NEW_PREFIX))

const char *kept_strerror(int error) {
        switch (error) {
        case -EBADMSG:
                return "is damaged";
        case -EPROTONOSUPPORT:
                return "has another version";
        default:
                return strerror(abs(error));
        }
}

int kept_open(const char *path) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : fd;
}

/* ---- reading */

/* Nobody else has anything to do with the directory; what is no ordinary file there is damage, too. */
int kept_read(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                                        O_NOFOLLOW);
        g_autofree char *data = NULL;
        struct stat st;
        size_t n = 0;

        if (fd < 0)
                return errno == ELOOP ? -EBADMSG : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > (off_t) max)
                return -EBADMSG;

        data = g_malloc((size_t) st.st_size + 1);
        while (n < (size_t) st.st_size) {
                ssize_t l = read(fd, data + n, (size_t) st.st_size - n);

                if (l < 0 && errno == EINTR)
                        continue;
                if (l < 0)
                        return -errno;
                if (l == 0)
                        break;
                n += (size_t) l;
        }

        *ret = TAKE_PTR(data);
        *ret_size = n;
        return 0;
}

/* ---- writing */

char *kept_file_name(const char *unit) {
        char *name = g_uri_escape_string(unit, ":@\\", /* allow_utf8= */ FALSE);

        /* "." and "..", which are no units, and what looks like a file that is being written */
        if (name[0] == '.') {
                g_autofree char *old = name;

                name = g_strconcat("%2E", old + 1, NULL);
        }
        if (isempty(name) || strlen(name) > NAME_LENGTH_MAX) {
                g_free(name);
                name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, unit, -1);
        }
        return name;
}

static int write_parts(int fd, const struct iovec *parts, size_t n) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = write_all(fd, parts[i].iov_base, parts[i].iov_len);
        return r >= 0 && fsync(fd) < 0 ? -errno : r;
}

int kept_save(int dir_fd, const char *name, const struct iovec *parts, size_t n) {
        g_autofree char *new = g_strconcat(NEW_PREFIX, name, NULL);
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* one that a killed writer left, maybe not by a name only */
        r = kept_remove(dir_fd, new);
        if (r < 0)
                return r;

        fd = openat(dir_fd, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;

        r = write_parts(fd, parts, n);
        if (r >= 0 && renameat(dir_fd, new, dir_fd, name) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlinkat(dir_fd, new, 0);
                return r;
        }

        return fsync(dir_fd) < 0 ? -errno : 0;
}

int kept_remove(int dir_fd, const char *name) {
        return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int kept_forget(int dir_fd, const char *name, bool *ret_existed) {
        g_autofree char *new = g_strconcat(NEW_PREFIX, name, NULL);
        int r;

        *ret_existed = unlinkat(dir_fd, name, 0) >= 0;
        if (!*ret_existed && errno != ENOENT)
                return -errno;

        r = kept_remove(dir_fd, new);
        if (r < 0)
                return r;
        return fsync(dir_fd) < 0 ? -errno : 0;
}

static int open_entries(int dir_fd, DIR **ret) {
        /* not dup(): that would share the position in the directory */
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

        *ret = fd < 0 ? NULL : fdopendir(fd);
        if (*ret)
                return 0;
        r = -errno;
        safe_close(fd);
        return r;
}

int kept_clean(int dir_fd) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r, ret;

        ret = open_entries(dir_fd, &d);
        if (ret < 0)
                return ret;

        while ((de = readdir(d)))
                if (startswith(de->d_name, NEW_PREFIX)) {
                        r = kept_remove(dir_fd, de->d_name);
                        if (r < 0 && ret == 0)
                                ret = r;
                }
        return ret;
}

typedef struct Entry {
        char *name;
        uint64_t size;
        struct timespec written;
} Entry;

static void entry_clear(void *p) {
        g_free(((Entry *) p)->name);
}

static int compare_newest_first(const void *a, const void *b) {
        const struct timespec *x = &((const Entry *) a)->written, *y = &((const Entry *) b)->written;

        if (x->tv_sec != y->tv_sec)
                return x->tv_sec > y->tv_sec ? -1 : 1;
        return x->tv_nsec > y->tv_nsec ? -1 : x->tv_nsec < y->tv_nsec;
}

int kept_limit(int dir_fd, guint number, uint64_t size) {
        g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        uint64_t sum = 0;
        int r, ret;

        g_array_set_clear_func(entries, entry_clear);
        ret = open_entries(dir_fd, &d);
        if (ret < 0)
                return ret;

        while ((de = readdir(d))) {
                struct stat st;

                if (fstatat(dir_fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode))
                        g_array_append_val(entries, ((const Entry) {
                                .name = g_strdup(de->d_name),
                                .size = (uint64_t) st.st_blocks * 512,
                                .written = st.st_mtim,
                        }));
        }

        g_array_sort(entries, compare_newest_first);
        for (guint i = 0; i < entries->len; i++) {
                const Entry *e = &g_array_index(entries, Entry, i);

                sum += e->size;
                if (i < number && sum <= size)
                        continue;
                r = kept_remove(dir_fd, e->name);
                if (r < 0 && ret == 0)
                        ret = r;
        }
        return ret;
}
