/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define _printf_(a, b) __attribute__((__format__(printf, a, b)))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))

/* The length of a string literal, as a constant expression. */
#define STRLEN(s) (sizeof("" s "") - 1)

/* Room for the decimal form of an integer type, with sign and NUL. */
#define DECIMAL_STR_MAX(type) (3 * sizeof(type) + 2)

#define USEC_PER_SEC ((uint64_t) 1000000ULL)
#define USEC_PER_MSEC ((uint64_t) 1000ULL)

/* GLib defines these too; whichever header comes first wins. */
#ifndef MIN
#  define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#  define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

/* Hands the value of a variable over and leaves its "nothing" behind. */
#define TAKE_GENERIC(var, type, nullvalue)      \
        ({                                      \
                type *_take_p = &(var);         \
                type _take_v = *_take_p;        \
                *_take_p = (nullvalue);         \
                _take_v;                        \
        })
#define TAKE_PTR(ptr) TAKE_GENERIC(ptr, __typeof__(ptr), NULL)
#define TAKE_FD(fd) TAKE_GENERIC(fd, int, -EBADF)
#define TAKE_STRUCT(s) TAKE_GENERIC(s, __typeof__(s), (__typeof__(s)) {})

/* Asserts that a pointer is set and returns it. */
#define ASSERT_PTR(expr)                        \
        ({                                      \
                __typeof__(expr) _expr_p = (expr); \
                assert(_expr_p);                \
                _expr_p;                        \
        })

/* Turns the "-1 and errno" convention into negative errno. */
#define RET_NERRNO(expr)                        \
        ({                                      \
                int _ret_r = (expr);            \
                _ret_r < 0 ? (errno > 0 ? -errno : -EINVAL) : _ret_r; \
        })

/* True when r is one of the constants listed. */
#define IN_ERRNO(r, ...)                        \
        ({                                      \
                static const int _in_list[] = { __VA_ARGS__ }; \
                int _in_r = (r);                \
                bool _in_found = false;         \
                for (size_t _in_i = 0; _in_i < ELEMENTSOF(_in_list); _in_i++) \
                        if (_in_r == _in_list[_in_i]) \
                                _in_found = true; \
                _in_found;                      \
        })

/* ---- clean-up of locals at the end of their scope */

#define _cleanup_(f) __attribute__((__cleanup__(f)))

/* Defines funcp(T *p), which calls func() on a set pointer: what _cleanup_() wants. */
#define DEFINE_TRIVIAL_CLEANUP_FUNC(type, func)                 \
        static inline void func##p(type *p) {                   \
                if (*p)                                         \
                        *p = func(*p);                          \
        }                                                       \
        struct cleanup_needs_a_semicolon

/* The same for destructors that return nothing. */
#define DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(type, func)            \
        static inline void func##p(type *p) {                   \
                if (*p)                                         \
                        func(*p);                               \
        }                                                       \
        struct cleanup_needs_a_semicolon

static inline void *mfree(void *p) {
        free(p);
        return NULL;
}

static inline void freep(void *p) {
        *(void **) p = mfree(*(void **) p);
}

#define _cleanup_free_ _cleanup_(freep)

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}
