/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a program says of its own pages: posix_fadvise() with numbers that are policies' alone, see
 * cachebpf-policy(7). The C library's own function keeps answers above 0 to itself, hence the system call.
 * Nothing here takes a lock or memory, or touches errno: it may be called from a signal handler. */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cachebpf.h"

#define _public_ __attribute__((__visibility__("default")))

#define ADVICE 0x43420000

enum {
        SET_PRIORITY = 1,
        GET_PRIORITY,
        SET_REPLACEMENT,
        GET_REPLACEMENT,
        SET_TEMPORARY_PRIORITY,
};

/* Where 64 bits take two registers, these are a pair, and on some the number goes before them. */
static long fadvise(int fd, int64_t start, int64_t len, int advice) {
#if __SIZEOF_LONG__ == 8 || defined(__x86_64__)
        return syscall(SYS_fadvise64, fd, start, len, advice);
#else
#  define PAIR(x) __LONG_LONG_PAIR((long) ((x) >> 32), (long) (x))
#  if defined(__arm__)
        return syscall(SYS_arm_fadvise64_64, fd, advice, PAIR(start), PAIR(len));
#  elif defined(__powerpc__) || defined(__xtensa__) || defined(__csky__)
        return syscall(SYS_fadvise64_64, fd, advice, PAIR(start), PAIR(len));
#  else
        return syscall(SYS_fadvise64_64, fd, PAIR(start), PAIR(len), advice);
#  endif
#endif
}

/* What is wrong with the arguments is found before the kernel is asked. So if that does not know the number,
 * or if there is nothing to give up in such a file, nobody listens. */
static int say(int fd, int64_t start, int64_t len, int what, int level, int more) {
        int advice = ADVICE | what << 8 | (level - CACHEBPF_PRIORITY_MIN) << 4 | more;
        int saved = errno, r = -EAGAIN;

        /* Two threads are the first ones of their control group to speak, or the policy is just being
         * replaced. */
        for (int i = 0; i < 16 && r == -EAGAIN; i++) {
                r = (int) fadvise(fd, start, len, advice);
                if (r < 0)
                        r = -errno;
        }

        errno = saved;
        return r == -EINVAL || r == -ENOSYS ? -EOPNOTSUPP : r;
}

/* Advice takes a file, though this is about none. What any process can open, and what has pages: its
 * program; else a directory, which the file systems of containers do not take. */
static int say_of_level(int what, int level, int more) {
        static const char *const paths[] = { "/proc/self/exe", "/", "." };
        int saved = errno, r = -EOPNOTSUPP;

        for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && r == -EOPNOTSUPP; i++) {
                int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

                if (fd < 0) {
                        if (errno == EMFILE || errno == ENFILE)
                                r = -errno;
                        continue;
                }
                r = say(fd, 0, 0, what, level, more);
                (void) close(fd);
        }

        errno = saved;
        return r;
}

static bool is_level(int level) {
        return level >= CACHEBPF_PRIORITY_MIN && level <= CACHEBPF_PRIORITY_MAX;
}

_public_ int cachebpf_set_priority(int fd, int priority) {
        int r;

        if (!is_level(priority))
                return -EINVAL;

        r = say(fd, 0, 0, SET_PRIORITY, priority, 0);
        return r > 0 ? -EOPNOTSUPP : r;
}

_public_ int cachebpf_get_priority(int fd, int *ret) {
        int r;

        if (!ret)
                return -EINVAL;

        r = say(fd, 0, 0, GET_PRIORITY, CACHEBPF_PRIORITY_MIN, 0);
        if (r < 0)
                return r;
        if (!is_level(r + CACHEBPF_PRIORITY_MIN))
                return -EOPNOTSUPP;

        *ret = r + CACHEBPF_PRIORITY_MIN;
        return 0;
}

_public_ int cachebpf_set_replacement(int priority, enum cachebpf_replacement replacement) {
        int r;

        if (!is_level(priority) ||
            (replacement != CACHEBPF_REPLACEMENT_LRU && replacement != CACHEBPF_REPLACEMENT_MRU))
                return -EINVAL;

        r = say_of_level(SET_REPLACEMENT, priority, (int) replacement);
        return r > 0 ? -EOPNOTSUPP : r;
}

_public_ int cachebpf_get_replacement(int priority, enum cachebpf_replacement *ret) {
        int r;

        if (!is_level(priority) || !ret)
                return -EINVAL;

        r = say_of_level(GET_REPLACEMENT, priority, 0);
        if (r < 0)
                return r;
        if (r > CACHEBPF_REPLACEMENT_MRU)
                return -EOPNOTSUPP;

        *ret = (enum cachebpf_replacement) r;
        return 0;
}

_public_ int cachebpf_set_temporary_priority(int fd, int64_t start, int64_t len, int priority) {
        int r;

        if (!is_level(priority) || start < 0 || len < 0)
                return -EINVAL;

        r = say(fd, start, len, SET_TEMPORARY_PRIORITY, priority, 0);
        return r > 0 ? -EOPNOTSUPP : r;
}
