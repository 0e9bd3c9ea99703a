/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "file-util.h"
#include "string-util.h"

static_assert(AT_FDCWD == -100, "file-util.h knows AT_FDCWD by value");

int read_full_file_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *buf = NULL;
        size_t n = 0, allocated = 0;
        struct stat st;

        assert(path);
        assert(ret);

        /* Nobody waits for the other end of a FIFO. */
        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
                return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;

        for (;;) {
                ssize_t l;

                if (n + 1 >= allocated) {
                        size_t want = MAX(allocated * 2, (size_t) 4096);
                        char *p = realloc(buf, want);

                        if (!p)
                                return -ENOMEM;
                        buf = p;
                        allocated = want;
                }

                l = read(fd, buf + n, allocated - n - 1);
                if (l < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (l == 0)
                        break;

                n += l;
                if (n > max)
                        return -E2BIG;
        }

        buf[n] = 0;
        *ret = TAKE_PTR(buf);
        if (ret_size)
                *ret_size = n;
        return 0;
}

int flat_keyed_foreach(char *text, flat_keyed_func_t func, void *userdata) {
        char *state = NULL;
        int r;

        for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                char *value = strchr(line, ' ');

                if (!value)
                        continue;
                *value++ = 0;

                r = func(line, strstrip(value), userdata);
                if (r < 0)
                        return r;
        }

        return 0;
}

int write_all(int fd, const void *data, size_t n) {
        for (const char *p = data; n > 0;) {
                ssize_t l = write(fd, p, n);

                if (l < 0 && errno == EINTR)
                        continue;
                if (l < 0)
                        return -errno;
                p += l;
                n -= (size_t) l;
        }

        return 0;
}

/* So that the new name, or that there is none, survives a loss of power. */
static int sync_directory_of(const char *path) {
        g_autofree char *dir = g_path_get_dirname(path);
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int file_update_prepare(const char *path, const char *text, FileUpdate *ret) {
        _cleanup_(file_update_done) FileUpdate u = { .path = strdup(path) };
        g_autofree char *dir = g_path_get_dirname(path);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!u.path)
                return -ENOMEM;

        if (text) {
                if (g_mkdir_with_parents(dir, 0755) < 0)
                        return -errno;

                if (asprintf(&u.temporary, "%s/" FILE_UPDATE_PREFIX "XXXXXX", dir) < 0) {
                        u.temporary = NULL;
                        return -ENOMEM;
                }

                fd = mkostemp(u.temporary, O_CLOEXEC);
                if (fd < 0) {
                        r = -errno;
                        u.temporary = mfree(u.temporary);
                        return r;
                }

                r = write_all(fd, text, strlen(text));
                if (r >= 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0))
                        r = -errno;
                if (r < 0)
                        return r;
        }

        *ret = u;
        u = (FileUpdate) {};
        return 0;
}

int file_update_commit(FileUpdate *u) {
        if (u->temporary) {
                if (rename(u->temporary, u->path) < 0)
                        return -errno;
                u->temporary = mfree(u->temporary);
        } else if (unlink(u->path) < 0)
                return errno == ENOENT ? 0 : -errno;

        return sync_directory_of(u->path);
}

void file_update_done(FileUpdate *u) {
        if (u->temporary)
                (void) unlink(u->temporary);
        free(u->temporary);
        free(u->path);
        *u = (FileUpdate) {};
}
