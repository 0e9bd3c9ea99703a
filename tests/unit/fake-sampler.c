/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fake-sampler.h"

#include <glib.h>

#include "daemon/auto/sampler.h"
#include "test-util.h"

typedef struct Event {
        uint64_t cgroup_id, key;
} Event;

struct Sampler {
        sampler_func_t func;
        void *userdata;
        GHashTable *lost; /* uint64_t by uint64_t */
        GArray *queue;    /* of Event */
};

static Sampler *sampler;

int sampler_new(sd_event *event, sampler_func_t func, void *userdata, Sampler **ret) {
        assert_null(sampler);
        sampler = g_new(Sampler, 1);
        *sampler = (Sampler) {
                .func = func,
                .userdata = userdata,
                .lost = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
                .queue = g_array_new(false, false, sizeof(Event)),
        };
        *ret = sampler;
        return 0;
}

Sampler *sampler_free(Sampler *s) {
        if (!s)
                return NULL;

        assert_ptr_equal(s, sampler);
        g_hash_table_unref(s->lost);
        g_array_unref(s->queue);
        g_free(s);
        sampler = NULL;
        return NULL;
}

int sampler_add(Sampler *s, uint64_t cgroup_id) {
        assert_true(g_hash_table_insert(s->lost, g_memdup2(&cgroup_id, sizeof(cgroup_id)),
                                        g_new0(uint64_t, 1)));
        return 0;
}

void sampler_remove(Sampler *s, uint64_t cgroup_id) {
        assert_true(g_hash_table_remove(s->lost, &cgroup_id));
}

uint64_t sampler_lost(Sampler *s, uint64_t cgroup_id) {
        return *(uint64_t *) ASSERT_PTR(g_hash_table_lookup(s->lost, &cgroup_id));
}

void sampler_read(Sampler *s) {
        for (guint i = 0; i < s->queue->len; i++) {
                Event *e = &g_array_index(s->queue, Event, i);

                s->func(e->cgroup_id, e->key, false, s->userdata);
        }
        g_array_set_size(s->queue, 0);
}

bool fake_sampler_is_there(void) {
        return sampler;
}

bool fake_sampler_has(uint64_t cgroup_id) {
        return sampler && g_hash_table_contains(sampler->lost, &cgroup_id);
}

void fake_sampler_event(uint64_t cgroup_id, uint64_t key, bool gone) {
        sampler->func(cgroup_id, key, gone, sampler->userdata);
}

void fake_sampler_queue(uint64_t cgroup_id, uint64_t key) {
        Event e = { cgroup_id, key };

        g_array_append_val(sampler->queue, e);
}

void fake_sampler_lose(uint64_t cgroup_id, uint64_t n) {
        *(uint64_t *) ASSERT_PTR(g_hash_table_lookup(sampler->lost, &cgroup_id)) += n;
}
