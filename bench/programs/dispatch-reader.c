/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads what the policy "dispatch" sends, counts it, and does nothing else: the least that a policy in user
 * space would do.  Until SIGTERM or SIGINT; then it takes what is left, and prints its counts, the policy's,
 * and the processor time it took for all. */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "dispatch.bpf.h"

static const char *const kinds[DISPATCH_KINDS] = {
        [DISPATCH_ADDED] = "added",
        [DISPATCH_ACCESSED] = "accessed",
        [DISPATCH_REMOVED] = "removed",
};

static volatile sig_atomic_t stop;

static void on_signal(int signal) {
        stop = 1;
}

static void ring_buffer__freep(struct ring_buffer **ring) {
        ring_buffer__free(*ring);
}

/* The newest map of that name: those of a policy that is gone may be there for a moment. */
static int open_map(const char *name) {
        int found = -ENOENT;

        for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
                struct bpf_map_info info = {};
                uint32_t size = sizeof(info);
                int fd = bpf_map_get_fd_by_id(id);

                if (fd < 0)
                        continue; /* just gone */
                if (bpf_map_get_info_by_fd(fd, &info, &size) < 0 || strcmp(info.name, name) != 0) {
                        (void) close(fd);
                        continue;
                }
                if (found >= 0)
                        (void) close(found);
                found = fd;
        }

        return found >= 0 ? found :
                log_error(found, "there is no map %s: the policy \"dispatch\" is not attached", name);
}

static int on_event(void *context, void *data, size_t size) {
        uint64_t *received = context;
        const struct dispatch_event *event = data;

        if (size < sizeof(*event) || event->kind >= DISPATCH_KINDS)
                return -EBADMSG;

        received[event->kind]++;
        return 0;
}

/* What the policy counted on all processors. */
static int read_counts(int fd, uint64_t ret[static DISPATCH_COUNTS_MAX]) {
        int cpus = libbpf_num_possible_cpus();
        _cleanup_free_ uint64_t *values = NULL;

        if (cpus < 0)
                return log_error(cpus, "cannot count the processors: %s", strerror(-cpus));
        values = calloc((size_t) cpus, sizeof(uint64_t));
        if (!values)
                return log_error(-ENOMEM, "out of memory");

        for (uint32_t what = 0; what < DISPATCH_COUNTS_MAX; what++) {
                if (bpf_map_lookup_elem(fd, &what, values) < 0)
                        return log_error(-errno, "cannot read " DISPATCH_COUNTS ": %s", strerror(errno));
                ret[what] = 0;
                for (int cpu = 0; cpu < cpus; cpu++)
                        ret[what] += values[cpu];
        }

        return 0;
}

static int read_events(struct ring_buffer *ring) {
        int r = 0;

        /* a signal may come just before it waits: not for ever, then */
        while (!stop && (r >= 0 || r == -EINTR))
                r = ring_buffer__poll(ring, 1000);
        if (r >= 0 || r == -EINTR)
                r = ring_buffer__consume(ring);
        return r < 0 ? log_error(r, "cannot read " DISPATCH_EVENTS ": %s", strerror(-r)) : 0;
}

static void print_counts(const char *name, const uint64_t *counts) {
        printf("\"%s\": {", name);
        for (unsigned kind = 0; kind < DISPATCH_KINDS; kind++)
                printf("%s\"%s\": %" PRIu64, kind == 0 ? "" : ", ", kinds[kind], counts[kind]);
        printf("}, ");
}

int main(int argc, char *argv[]) {
        _cleanup_(ring_buffer__freep) struct ring_buffer *ring = NULL;
        uint64_t received[DISPATCH_KINDS] = {}, sent[DISPATCH_COUNTS_MAX];
        struct sigaction action = { .sa_handler = on_signal };
        int events, counts;

        if (argc > 1) {
                log_error(-EINVAL, "it takes no arguments, but SIGTERM");
                return EXIT_FAILURE;
        }

        events = open_map(DISPATCH_EVENTS);
        counts = events < 0 ? events : open_map(DISPATCH_COUNTS);
        if (counts < 0)
                return EXIT_FAILURE;
        ring = ring_buffer__new(events, on_event, received, NULL);
        if (!ring) {
                log_error(-errno, "cannot map " DISPATCH_EVENTS ": %s", strerror(errno));
                return EXIT_FAILURE;
        }
        (void) sigaction(SIGTERM, &action, NULL);
        (void) sigaction(SIGINT, &action, NULL);
        printf("reading\n");
        (void) fflush(stdout);

        if (read_events(ring) < 0 || read_counts(counts, sent) < 0)
                return EXIT_FAILURE;
        printf("{");
        print_counts("received", received);
        print_counts("sent", sent);
        printf("\"lost\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 "}\n", sent[DISPATCH_LOST],
               clock_nsec(CLOCK_PROCESS_CPUTIME_ID));
        return EXIT_SUCCESS;
}
