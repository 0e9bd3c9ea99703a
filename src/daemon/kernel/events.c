/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/epoll.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "events.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* Events taken off the ring before other work of the daemon gets its turn. */
#define EVENTS_AT_ONCE 1024U
/* A policy that asks too often gets its runs, only not at the expense of everybody else. */
#define RATE_INTERVAL_USEC (100 * USEC_PER_MSEC)
#define RATE_BURST 20U

struct PolicyEvents {
        char *name;
        int program_fd;
        struct ring_buffer *ring;
        sd_event_source *source;
        PolicyEventCounts *counts;
        /* position in the ring: the last run began after all events before it were posted */
        unsigned long covered;
        bool failing;
};

int policy_events_make_counts(void) {
        return bpf_map_create(BPF_MAP_TYPE_ARRAY, "reconfigured", sizeof(uint32_t),
                              sizeof(PolicyEventCounts), 1,
                              &(struct bpf_map_create_opts) {
                                      .sz = sizeof(struct bpf_map_create_opts),
                                      .map_flags = BPF_F_MMAPABLE,
                              });
}

static void run_program(PolicyEvents *p) {
        LIBBPF_OPTS(bpf_test_run_opts, opts);
        int r;

        r = bpf_prog_test_run_opts(p->program_fd, &opts);
        if (r >= 0)
                r = (int) opts.retval > 0 ? -EREMOTEIO : (int) opts.retval;

        if (r >= 0) {
                p->counts->done++;
                p->failing = false;
                return;
        }

        p->counts->failed++;
        if (!p->failing) /* once, not each time */
                log_warning_errno(r,
                                  "%s: The program that its cache policy "
                                  "asked for failed, going on without: %m",
                                  p->name);
        p->failing = true;
}

/* libbpf takes the event off the ring when this returns. */
static int on_sample(void *ctx, void *data, size_t size) {
        PolicyEvents *p = ASSERT_PTR(ctx);
        struct ring *ring = ring_buffer__ring(p->ring, 0);

        if ((long) (ring__consumer_pos(ring) - p->covered) >= 0) {
                p->covered = ring__producer_pos(ring);
                run_program(p);
        }

        p->counts->asked++;
        return 0;
}

static int on_events(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        PolicyEvents *p = ASSERT_PTR(userdata);
        int r;

        r = ring_buffer__consume_n(p->ring, EVENTS_AT_ONCE);
        if (r < 0) {
                log_warning_errno(r,
                                  "%s: Cannot read what its cache policy "
                                  "asks for, ignoring it from now on: %m", p->name);
                (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        }

        return 0;
}

PolicyEvents *policy_events_free(PolicyEvents *p) {
        if (!p)
                return NULL;

        sd_event_source_disable_unref(p->source);
        ring_buffer__free(p->ring);
        if (p->counts)
                (void) munmap(p->counts, sizeof(PolicyEventCounts));
        free(p->name);
        return mfree(p);
}

int policy_events_new(sd_event *event, const char *name, int events_fd, int program_fd, int counts_fd,
                      PolicyEvents **ret) {
        _cleanup_(policy_events_freep) PolicyEvents *p = g_new0(PolicyEvents, 1);
        void *counts;
        int r;

        p->program_fd = program_fd;
        p->name = g_strdup(name);

        counts = mmap(NULL, sizeof(PolicyEventCounts), PROT_READ | PROT_WRITE, MAP_SHARED, counts_fd, 0);
        if (counts == MAP_FAILED)
                return -errno;
        p->counts = counts;

        p->ring = ring_buffer__new(events_fd, on_sample, p, NULL);
        if (!p->ring)
                return -errno;
        p->covered = ring__consumer_pos(ring_buffer__ring(p->ring, 0));

        r = sd_event_add_io(event, &p->source, ring_buffer__epoll_fd(p->ring), EPOLLIN, on_events, p);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(p->source, "policy-events");
        (void) sd_event_source_set_ratelimit(p->source, RATE_INTERVAL_USEC, RATE_BURST);

        *ret = TAKE_PTR(p);
        return 0;
}

PolicyEventCounts policy_events_counts(const PolicyEvents *p) {
        return *p->counts;
}
