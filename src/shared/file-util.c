/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <unistd.h>

#include "cleanup.h"
#include "file-util.h"
#include "string-util.h"

static_assert(AT_FDCWD == -100, "file-util.h knows AT_FDCWD by value");

int read_full_file_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *buf = NULL;
        size_t n = 0, allocated = 0;

        assert(path);
        assert(ret);

        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;

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
