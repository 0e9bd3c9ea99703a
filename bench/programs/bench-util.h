/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What the measuring programs share.  They do not use src/shared: a benchmark that carries nothing of the
 * daemon is also built and run where only the C library and the databases are installed. */

#define _cleanup_(f) __attribute__((cleanup(f)))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))

static inline void freep(void *p) {
        free(*(void **) p);
}

static inline void fclosep(FILE **f) {
        if (*f)
                fclose(*f);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_fclose_ _cleanup_(fclosep)

/* Prints "kv: MESSAGE" and yields the error, so that one writes: return log_error(-EIO, "…"); */
#define log_error(error, format, ...)                                                                   \
        ({                                                                                              \
                fprintf(stderr, "%s: " format "\n", program_invocation_short_name, ##__VA_ARGS__);      \
                (error);                                                                                \
        })

#define NSEC_PER_SEC UINT64_C(1000000000)

static inline uint64_t clock_nsec(clockid_t clock) {
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (uint64_t) ts.tv_sec * NSEC_PER_SEC + (uint64_t) ts.tv_nsec;
}

static inline uint64_t now_nsec(void) {
        /* In the laboratory this clock counts the instructions the guest executed and the disk's time. */
        return clock_nsec(CLOCK_MONOTONIC);
}

static inline uint64_t calendar_nsec(void) {
        return clock_nsec(CLOCK_REALTIME);
}
