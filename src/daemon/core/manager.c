/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <time.h>

#include "manager.h"
#include "messages.h"
#include "reconcile.h"
#include "registry.h"
#include "shared/log.h"
#include "unit.h"

const ManagerPaths manager_default_paths = {
        .kernel = {
                .sysfs = "/sys/kernel/cachebpf",
                .cgroup = "/sys/fs/cgroup",
                .bpffs = "/sys/fs/bpf",
                .btf = "/sys/kernel/btf/vmlinux",
        },
        .policies = policy_directories,
        .rules = policy_rule_directories,
        .overrides = unit_override_directories,
};

/* Clients, and the watchdog, do not wait for longer while thousands of units get their policies. */
#define RECONCILE_USEC (200 * USEC_PER_MSEC)

static uint64_t now_usec(void) {
        struct timespec ts;

        assert(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

static int on_reconcile(sd_event_source *s, void *userdata) {
        Manager *m = ASSERT_PTR(userdata);
        unsigned n = g_hash_table_size(m->dirty);
        uint64_t begin = now_usec();
        bool done;

        done = manager_reconcile(m, RECONCILE_USEC);
        n -= done ? 0 : g_hash_table_size(m->dirty);
        log_debug("Reconciled %u units in %" PRIu64 " us.", n, now_usec() - begin);

        if (done)
                manager_reconciled(m);
        else
                manager_queue_reconcile(m);
        return 0;
}

int manager_new(const ManagerPaths *paths, sd_event *event, PolicyBackend *backend, Manager **ret) {
        _cleanup_(manager_freep) Manager *m = calloc(1, sizeof(Manager));
        int r;

        if (!m)
                return -ENOMEM;

        m->paths = *paths;
        m->event = sd_event_ref(event);
        m->backend = backend;
        m->units = g_hash_table_new(g_str_hash, g_str_equal);
        m->holds = g_ptr_array_new();
        m->observers = g_array_new(FALSE, FALSE, sizeof(Observer));
        m->dirty = g_hash_table_new(NULL, NULL);
        m->pinned = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

        r = sd_event_add_defer(event, &m->reconcile_source, on_reconcile, m);
        if (r < 0)
                return r;

        /* After everything else that is waiting: one reconcile for a burst of events. */
        r = sd_event_source_set_priority(m->reconcile_source, SD_EVENT_PRIORITY_NORMAL + 10);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(m->reconcile_source, SD_EVENT_OFF);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(m->reconcile_source, "reconcile");

        *ret = TAKE_PTR(m);
        return 0;
}

Manager *manager_free(Manager *m) {
        GHashTableIter it;
        gpointer u;

        if (!m)
                return NULL;

        /* Nothing is shown any more, and nothing is detached: policies outlive the daemon. */
        if (m->observers)
                g_array_set_size(m->observers, 0);
        if (m->units) {
                g_hash_table_iter_init(&it, m->units);
                while (g_hash_table_iter_next(&it, NULL, &u)) {
                        g_hash_table_iter_steal(&it);
                        unit_free(u);
                }
                g_hash_table_unref(m->units);
        }
        if (m->dirty)
                g_hash_table_unref(m->dirty);
        if (m->pinned)
                g_hash_table_unref(m->pinned);
        if (m->policies)
                g_ptr_array_unref(m->policies);

        if (m->holds)
                g_ptr_array_unref(m->holds);
        if (m->observers)
                g_array_unref(m->observers);
        policy_rules_done(&m->rules);
        unit_overrides_done(&m->overrides);
        kernel_features_done(&m->kernel);
        sd_event_source_disable_unref(m->reconcile_source);
        sd_event_unref(m->event);
        return mfree(m);
}

/* Units that have one of these get what it is now, each in place of what it was. */
static void log_changed_policies(GPtrArray *old, GPtrArray *new) {
        for (guint i = 0; old && i < new->len; i++) {
                const Policy *p = new->pdata[i], *before = policies_find(old, p->name);

                if (before && !streq(before->digest, p->digest))
                        log_full_fields(LOG_INFO, 0, LOG_FIELDS(.policy = p->name),
                                        "Policy '%s' has changed: '%s'.",
                                        p->name, p->path);
        }
}

static int load_configuration(Manager *m) {
        _cleanup_ptr_array_ GPtrArray *policies = NULL;
        UnitOverrides overrides;
        PolicyRules rules;
        int r;

        r = policies_load(m->paths.policies, &policies);
        if (r < 0)
                return r;

        r = unit_overrides_load(m->paths.overrides, &overrides);
        if (r < 0)
                return r;

        r = policy_rules_load(m->paths.rules, &rules);
        if (r < 0) {
                unit_overrides_done(&overrides);
                return r;
        }

        log_changed_policies(m->policies, policies);
        if (m->policies)
                g_ptr_array_unref(m->policies);
        m->policies = TAKE_PTR(policies);

        policy_rules_done(&m->rules);
        m->rules = rules;
        unit_overrides_done(&m->overrides);
        m->overrides = overrides;
        return 0;
}

static int load_pins(Manager *m) {
        GArray *ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        int r;

        r = m->backend->enumerate(m->backend->userdata, ids);
        for (guint i = 0; i < ids->len; i++)
                g_hash_table_add(m->pinned, g_memdup2(&g_array_index(ids, uint64_t, i), sizeof(uint64_t)));

        g_array_unref(ids);
        return r;
}

int manager_load(Manager *m) {
        int r;

        r = kernel_features_load(&m->paths.kernel, &m->kernel);
        if (r < 0)
                return log_error_errno(r, "Cannot find out what the kernel can do: %m");
        if (m->kernel.supported && m->paths.kernel.btf)
                m->kernel.reason = kernel_btf_check(m->paths.kernel.btf);
        m->kernel.supported = !m->kernel.reason;
        if (!m->kernel.supported)
                log_full_fields(LOG_WARNING, 0,
                                LOG_FIELDS(.message_id = MESSAGE_KERNEL_UNSUPPORTED,
                                           .reason = m->kernel.reason),
                                "No cache policy can be attached: %s.", m->kernel.reason);

        r = load_configuration(m);
        if (r < 0)
                return log_error_errno(r, "Cannot read the configuration: %m");

        if (m->kernel.supported) {
                r = load_pins(m);
                if (r < 0)
                        return log_error_errno(r, "Cannot read the pinned policies: %m");
        }

        return 0;
}

int manager_reload(Manager *m) {
        GHashTableIter it;
        gpointer u;
        int r;

        r = load_configuration(m);
        if (r < 0)
                return log_error_errno(r, "Cannot read the configuration again, keeping the old one: %m");

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &u))
                unit_reset_retry(u);

        manager_mark_all_dirty(m);
        manager_reloaded(m);
        return 0;
}
