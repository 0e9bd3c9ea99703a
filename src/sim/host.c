/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The life of the host, and the helpers that belong to no subject of their own. */

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-state.h"

Host host;

static host_fail_t fail_handler;

void host_set_fail_handler(host_fail_t handler) {
        fail_handler = handler;
}

void host_fail(const char *format, ...) {
        char message[256];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(message, sizeof(message), format, ap);
        va_end(ap);

        if (fail_handler)
                fail_handler(message);

        /* nobody wants to know */
        (void) fprintf(stderr, "%s\n", message);
        abort();
}

const char *callback_to_string(Callback callback) {
        static const char *const names[_CALLBACK_MAX] = {
                [CALLBACK_NONE]        = "no callback",
                [CALLBACK_INIT]        = "policy_init",
                [CALLBACK_EXIT]        = "policy_exit",
                [CALLBACK_EVICT]       = "evict_folios",
                [CALLBACK_ADDED]       = "folio_added",
                [CALLBACK_ACCESSED]    = "folio_accessed",
                [CALLBACK_REMOVED]     = "folio_removed",
                [CALLBACK_ADMIT]       = "admit_folio",
                [CALLBACK_ADVISE]      = "advise",
                [CALLBACK_RECONFIGURE] = "the reconfigure program",
        };

        assert(callback >= 0 && callback < _CALLBACK_MAX);
        return names[callback];
}

void host_check_callback(unsigned allowed, const char *function) {
        if (allowed & 1U << host.callback)
                return;

        host_fail("%s() must not be called in %s, and the kernel would refuse to load the policy",
                  function, callback_to_string(host.callback));
}

static void begin_lists(void) {
        memset(host.lists, 0, sizeof(host.lists));
        host.n_lists = 1; /* the one for unlisted folios */
        host.new_list = UNLISTED;
        host.new_at_tail = true;
}

int host_start(const SimPolicy *policy, const Trace *trace, uint32_t capacity) {
        assert(policy);
        assert(trace);
        assert(capacity > 0);
        assert(!host.folios);

        host = (Host) {
                .policy = policy,
                .n_objects = trace->n_objects,
                .keys = trace->keys,
                .trace = trace,
                .capacity = capacity,
                .random = UINT64_C(0x9e3779b97f4a7c15),
        };

        begin_lists();
        host.folios = calloc((size_t) trace->n_objects + 1, sizeof(*host.folios));
        return host.folios ? 0 : -ENOMEM;
}

void host_restart(const SimPolicy *policy) {
        buckets_done();
        maps_done();
        begin_lists();
        host.policy = policy;
        host.learned = NULL;
        host.events = false;
        host.n_cached = 0;
}

void host_stop(void) {
        buckets_done();
        maps_done();
        free(host.folios);
        host = (Host) {};
}

/* Of control groups there is not more to know than whether they are there. */
struct cgroup *bpf_cgroup_from_id(__u64 id) {
        static const char any;

        return id > 0 && id <= ELEMENTSOF(host.gone) && !host.gone[id - 1] ? (struct cgroup *) &any : NULL;
}

void bpf_cgroup_release(struct cgroup *cgroup) {
}

/* xorshift64*, by S. Vigna ("An experimental exploration of Marsaglia's xorshift generators, scrambled") */
__u32 bpf_get_prandom_u32(void) {
        host.random ^= host.random >> 12;
        host.random ^= host.random << 25;
        host.random ^= host.random >> 27;
        return (host.random * UINT64_C(0x2545f4914f6cdd1d)) >> 32;
}

/* ---- tasks */

static struct task_struct tasks[] = {
        { .tgid = 1, .pid = 1, .comm = "normal" },
        { .tgid = 1, .pid = 2, .comm = "scan" },
        { .tgid = 1, .pid = 3, .comm = "background" },
        { .tgid = 1, .pid = 4, .comm = "unknown" },
};

struct task_struct *bpf_get_current_task_btf(void) {
        assert(host.task_class < ELEMENTSOF(tasks));
        return tasks + host.task_class;
}

__u64 bpf_get_current_pid_tgid(void) {
        struct task_struct *task = bpf_get_current_task_btf();

        return (__u64) task->tgid << 32 | (__u32) task->pid;
}

long bpf_get_current_comm(void *buf, __u32 size) {
        if (size == 0)
                return -EINVAL;

        (void) snprintf(buf, size, "%s", bpf_get_current_task_btf()->comm);
        return 0;
}

int sim_printk(const char *format, ...) {
        va_list ap;
        int n;

        va_start(ap, format);
        n = vfprintf(stderr, format, ap);
        va_end(ap);
        return n;
}
