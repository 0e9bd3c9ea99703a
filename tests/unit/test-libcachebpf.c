/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What libcachebpf's calls about pages say to the kernel, which is played here, and what they make of its
 * answers. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/advice.bpf.h"
#include "lib/cachebpf.h"
#include "shared/cleanup.h"
#include "test-util.h"

static struct {
        int n_calls;
        int fd, advice;
        int64_t start, len;
        /* of an own number */
        int answers[4];
} kernel;

/* In front of that of the C library. */
long syscall(long number, ...) {
        static long (*next)(long, ...) = NULL;
        long a[6];
        va_list ap;
        int r;

        va_start(ap, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(ap, long);
        va_end(ap);

        if (number != SYS_fadvise64) {
                if (!next)
                        next = (long (*)(long, ...)) dlsym(RTLD_NEXT, "syscall");
                return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        }

        kernel.fd = (int) a[0];
        kernel.start = a[1];
        kernel.len = a[2];
        kernel.advice = (int) a[3];
        r = kernel.answers[MIN(kernel.n_calls, 3)];
        kernel.n_calls++;
        if (r >= 0)
                return r;
        errno = -r;
        return -1;
}

static void answer(int r) {
        kernel.n_calls = 0;
        for (int i = 0; i < 4; i++)
                kernel.answers[i] = r;
}

static int advice_of(enum advice what, int level, int more) {
        return ADVICE | (int) what << 8 | (level + LEVEL_DEFAULT) << 4 | more;
}

/* The numbers are those that the policy has, and the levels. */
static void test_numbers(void **state) {
        enum cachebpf_replacement replacement;
        int level;

        assert_int_equal(CACHEBPF_PRIORITY_DEFAULT, 0);
        assert_int_equal(CACHEBPF_PRIORITY_MIN, -LEVEL_DEFAULT);
        assert_int_equal(CACHEBPF_PRIORITY_MAX, NR_LEVELS - 1 - LEVEL_DEFAULT);

        for (int i = CACHEBPF_PRIORITY_MIN; i <= CACHEBPF_PRIORITY_MAX; i++) {
                answer(0);
                assert_int_equal(cachebpf_set_priority(7, i), 0);
                assert_int_equal(kernel.advice, advice_of(ADVICE_SET_PRIORITY, i, 0));
                assert_int_equal(kernel.fd, 7);
                assert_int_equal(kernel.start, 0);
                assert_int_equal(kernel.len, 0);

                assert_int_equal(cachebpf_set_replacement(i, CACHEBPF_REPLACEMENT_MRU), 0);
                assert_int_equal(kernel.advice, advice_of(ADVICE_SET_REPLACEMENT, i, 1));
                assert_int_equal(cachebpf_set_replacement(i, CACHEBPF_REPLACEMENT_LRU), 0);
                assert_int_equal(kernel.advice, advice_of(ADVICE_SET_REPLACEMENT, i, 0));

                assert_int_equal(cachebpf_set_temporary_priority(8, INT64_C(1) << 40, 8192, i), 0);
                assert_int_equal(kernel.advice, advice_of(ADVICE_SET_TEMPORARY, i, 0));
                assert_int_equal(kernel.fd, 8);
                assert_true(kernel.start == INT64_C(1) << 40);
                assert_int_equal(kernel.len, 8192);

                answer(i + LEVEL_DEFAULT);
                assert_int_equal(cachebpf_get_priority(9, &level), 0);
                assert_int_equal(level, i);
                assert_int_equal(kernel.advice & ~0xff, advice_of(ADVICE_GET_PRIORITY, -1, 0));

                answer(i & 1);
                assert_int_equal(cachebpf_get_replacement(i, &replacement), 0);
                assert_int_equal(replacement, i & 1);
                assert_int_equal(kernel.advice, advice_of(ADVICE_GET_REPLACEMENT, i, 0));
                assert_int_equal(fcntl(kernel.fd, F_GETFD), -1); /* nothing stays open */
        }
}

/* The kernel is not asked about what cannot be. */
static void test_arguments(void **state) {
        enum cachebpf_replacement replacement;
        int level;

        answer(0);
        for (int i = -3; i <= 5; i++) {
                if (i >= -1 && i <= 3)
                        continue;
                assert_int_equal(cachebpf_set_priority(0, i), -EINVAL);
                assert_int_equal(cachebpf_set_replacement(i, CACHEBPF_REPLACEMENT_LRU), -EINVAL);
                assert_int_equal(cachebpf_get_replacement(i, &replacement), -EINVAL);
                assert_int_equal(cachebpf_set_temporary_priority(0, 0, 0, i), -EINVAL);
        }
        assert_int_equal(cachebpf_set_replacement(0, (enum cachebpf_replacement) 2), -EINVAL);
        assert_int_equal(cachebpf_set_replacement(0, (enum cachebpf_replacement) -1), -EINVAL);
        assert_int_equal(cachebpf_set_temporary_priority(0, -1, 0, 0), -EINVAL);
        assert_int_equal(cachebpf_set_temporary_priority(0, 0, -1, 0), -EINVAL);
        assert_int_equal(cachebpf_get_priority(0, NULL), -EINVAL);
        assert_int_equal(cachebpf_get_replacement(0, NULL), -EINVAL);
        assert_int_equal(kernel.n_calls, 0);

        /* Nor does it matter then whether somebody listens. */
        answer(-EOPNOTSUPP);
        assert_int_equal(cachebpf_set_priority(-1, 4), -EINVAL);
        assert_int_equal(cachebpf_get_priority(-1, &level), -EOPNOTSUPP);
}

/* What a kernel says that does not know the numbers, or whose policy has others, is not the caller's
 * mistake. */
static void test_answers(void **state) {
        static const struct {
                int said, expected;
        } cases[] = {
                { -EINVAL,     -EOPNOTSUPP },
                { -ENOSYS,     -EOPNOTSUPP },
                { -EOPNOTSUPP, -EOPNOTSUPP },
                { 77,          -EOPNOTSUPP },
                { -EBADF,      -EBADF      },
                { -ESPIPE,     -ESPIPE     },
                { -ENOSPC,     -ENOSPC     },
                { -EPERM,      -EPERM      },
                { -EAGAIN,     -EAGAIN     },
        };
        enum cachebpf_replacement replacement = 42;
        int level = 42;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                answer(cases[i].said);
                errno = 4711;
                assert_int_equal(cachebpf_set_priority(0, 1), cases[i].expected);
                assert_int_equal(cachebpf_get_priority(0, &level), cases[i].expected);
                assert_int_equal(cachebpf_set_replacement(1, CACHEBPF_REPLACEMENT_MRU), cases[i].expected);
                assert_int_equal(cachebpf_get_replacement(1, &replacement), cases[i].expected);
                assert_int_equal(cachebpf_set_temporary_priority(0, 0, 0, 1), cases[i].expected);
                assert_int_equal(errno, 4711);
                assert_int_equal(level, 42);
                assert_int_equal(replacement, 42);
        }

        answer(-EAGAIN);
        kernel.answers[3] = 0;
        assert_int_equal(cachebpf_set_priority(0, 1), 0);
        assert_int_equal(kernel.n_calls, 4);
}

/* What is said of levels takes a file: the next one if the kernel does not take the first. */
static void test_files(void **state) {
        struct rlimit before, none;
        int fd;

        answer(-EINVAL);
        kernel.answers[1] = 0;
        kernel.answers[2] = -EIO;
        assert_int_equal(cachebpf_set_replacement(0, CACHEBPF_REPLACEMENT_LRU), 0);
        assert_int_equal(kernel.n_calls, 2);

        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = before;
        none.rlim_cur = (rlim_t) fd;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        answer(0);
        assert_int_equal(cachebpf_set_replacement(0, CACHEBPF_REPLACEMENT_LRU), -EMFILE);
        assert_int_equal(kernel.n_calls, 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(close(fd), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_arguments),
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_files),
        };

        return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
