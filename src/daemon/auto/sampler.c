/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/epoll.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sampler.h"
#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "shared/log.h"

#include <linux/types.h>

#include "sample-event.h"
#include "sample.skel.h"

/* Before other work of the daemon gets its turn. */
#define EVENTS_AT_ONCE 1024U
/* What fits the ring buffer. */
#define EVENTS_MAX (SAMPLE_RING_SIZE / sizeof(struct sample_event))

struct Sampler {
        struct sample_bpf *bpf;
        struct ring_buffer *ring;
        sampler_func_t func;
        void *userdata;
        sd_event_source *wakeup, *turn;
};

Sampler *sampler_free(Sampler *s) {
        if (!s)
                return NULL;

        sd_event_source_disable_unref(s->wakeup);
        sd_event_source_disable_unref(s->turn);
        ring_buffer__free(s->ring);
        sample_bpf__destroy(s->bpf);
        return mfree(s);
}

static int on_event(void *userdata, void *data, size_t size) {
        const struct sample_event *e = data;
        Sampler *s = ASSERT_PTR(userdata);

        if (size >= sizeof(*e))
                s->func(e->cgroup, e->key, e->gone, s->userdata);
        return 0;
}

static int on_turn(sd_event_source *source, void *userdata) {
        Sampler *s = ASSERT_PTR(userdata);
        int n = ring_buffer__consume_n(s->ring, EVENTS_AT_ONCE);

        if (n < 0)
                return log_warning_errno(n, "Cannot read samples of what units use: %m");
        /* The kernel says nothing of what is left. */
        return sd_event_source_set_enabled(source, n < (int) EVENTS_AT_ONCE ? SD_EVENT_OFF : SD_EVENT_ON);
}

/* It says so once. To be told as long as there is anything would have the daemon awake for each event. */
static int on_wakeup(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Sampler *s = ASSERT_PTR(userdata);

        return sd_event_source_set_enabled(s->turn, SD_EVENT_ON);
}

static int add_sources(Sampler *s, sd_event *event) {
        int r;

        r = sd_event_add_io(event, &s->wakeup, ring_buffer__epoll_fd(s->ring), EPOLLIN | EPOLLET, on_wakeup,
                            s);
        if (r >= 0)
                r = sd_event_add_defer(event, &s->turn, on_turn, s);
        if (r >= 0)
                r = sd_event_source_set_enabled(s->turn, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_source_set_priority(s->turn, SD_EVENT_PRIORITY_IDLE);
        return r;
}

int sampler_new(sd_event *event, sampler_func_t func, void *userdata, Sampler **ret) {
        _cleanup_(sampler_freep) Sampler *s = g_new0(Sampler, 1);
        int r;

        s->func = func;
        s->userdata = userdata;
        bpf_log_setup();
        bpf_log_reset();

        s->bpf = sample_bpf__open_and_load();
        if (!s->bpf)
                return errno == ESRCH ? -EOPNOTSUPP : -errno;
        s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.events), on_event, s, NULL);
        if (!s->ring)
                return -errno;
        r = sample_bpf__attach(s->bpf);
        if (r >= 0)
                r = add_sources(s, event);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

int sampler_add(Sampler *s, uint64_t cgroup_id) {
        struct sample_unit unit = {};

        return bpf_map__update_elem(s->bpf->maps.units, &cgroup_id, sizeof(cgroup_id), &unit, sizeof(unit),
                                    BPF_ANY);
}

void sampler_remove(Sampler *s, uint64_t cgroup_id) {
        (void) bpf_map__delete_elem(s->bpf->maps.units, &cgroup_id, sizeof(cgroup_id), 0);
}

uint64_t sampler_lost(Sampler *s, uint64_t cgroup_id) {
        struct sample_unit unit;

        return bpf_map__lookup_elem(s->bpf->maps.units, &cgroup_id, sizeof(cgroup_id), &unit, sizeof(unit),
                                    0) < 0 ? 0 : unit.n_lost;
}

void sampler_read(Sampler *s) {
        (void) ring_buffer__consume_n(s->ring, EVENTS_MAX);
}
