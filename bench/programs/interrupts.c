/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How long interrupts have to wait: has a timer go off again and again, at random intervals, and notes how
 * late it is. Until SIGTERM or SIGINT; then it prints how many there were, how late the latest one was, the
 * one that a thousandth of them are later than, and what kept those waiting that were late. Before that it
 * prints "watching". */

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench-util.h"
#include "interrupts.h"
#include "interrupts.skel.h"
#include "random.h"

/* Not in step with anything. */
#define INTERVAL_MIN_NSEC 20000
#define INTERVAL_SPAN_NSEC 40000

static volatile sig_atomic_t stop;

static void on_signal(int signal) {
        stop = 1;
}

static void interrupts_bpf__destroyp(struct interrupts_bpf **watcher) {
        interrupts_bpf__destroy(*watcher);
}

static int by_lateness(const void *a, const void *b) {
        uint32_t one = *(const uint32_t *) a, other = *(const uint32_t *) b;

        return (one > other) - (one < other);
}

static int watch(struct interrupts_bpf *watcher) {
        struct sched_param param = { .sched_priority = 1 };
        struct sigaction action = { .sa_handler = on_signal };

        (void) sigaction(SIGTERM, &action, NULL);
        (void) sigaction(SIGINT, &action, NULL);
        if (sched_setscheduler(0, SCHED_FIFO, &param) < 0 || mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
                return log_error(-errno, "cannot come before other threads: %s", strerror(errno));
        if (interrupts_bpf__attach(watcher) < 0)
                return log_error(-errno, "cannot look at timers: %s", strerror(errno));
        printf("watching\n");
        (void) fflush(stdout);

        for (uint64_t i = 0; !stop; i++) {
                struct timespec interval = {
                        .tv_nsec = INTERVAL_MIN_NSEC + (long) (random_numbered(1, i) % INTERVAL_SPAN_NSEC),
                };

                (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &interval, NULL);
        }
        interrupts_bpf__detach(watcher);
        return 0;
}

static void print_late(const struct late_interrupt *one) {
        printf("{\"ns\": %u, \"stack\": [", one->nsec);
        for (size_t i = 0; i < ELEMENTSOF(one->stack) && one->stack[i] != 0; i++)
                printf("%s%" PRIu64, i == 0 ? "" : ", ", (uint64_t) one->stack[i]);
        printf("]}");
}

static int report(struct interrupts_bpf *watcher) {
        uint64_t n = watcher->bss->n_interrupts;
        uint32_t *late = watcher->bss->late_nsec;

        if (n == 0 || n > INTERRUPTS_MAX || watcher->bss->n_late >= LATE_MAX)
                return log_error(-ERANGE, "%" PRIu64 " timers, %u of them late: there is room for %u and %u",
                                 n, watcher->bss->n_late, INTERRUPTS_MAX, LATE_MAX);
        qsort(late, n, sizeof(*late), by_lateness);
        printf("{\"interrupts\": %" PRIu64 ", \"latest_ns\": %u, \"late_ns\": %u, \"late\": [",
               n, late[n - 1], late[n - 1 - n / 1000]);
        for (uint32_t i = 0; i < watcher->bss->n_late; i++) {
                if (i > 0)
                        printf(", ");
                print_late(&watcher->bss->late_ones[i]);
        }
        printf("]}\n");
        return 0;
}

int main(int argc, char *argv[]) {
        _cleanup_(interrupts_bpf__destroyp) struct interrupts_bpf *watcher = NULL;

        if (argc > 1) {
                log_error(-EINVAL, "it takes no arguments, but SIGTERM");
                return EXIT_FAILURE;
        }
        watcher = interrupts_bpf__open();
        if (watcher)
                watcher->rodata->sleeper_pid = getpid();
        if (!watcher || interrupts_bpf__load(watcher) < 0) {
                log_error(-errno, "cannot load what looks at timers: %s", strerror(errno));
                return EXIT_FAILURE;
        }
        return watch(watcher) < 0 || report(watcher) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
