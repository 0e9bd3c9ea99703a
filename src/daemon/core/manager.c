/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>

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
        .learned = "/var/lib/cachebpf/learned",
        .replay = "/var/lib/cachebpf/replay",
        .mounts = "/proc/self/mountinfo",
};

/* Clients, and the watchdog, do not wait for longer while thousands of units get their policies. */
#define RECONCILE_USEC (200 * USEC_PER_MSEC)

static int on_reconcile(sd_event_source *s, uint64_t usec, void *userdata) {
        Manager *m = ASSERT_PTR(userdata);
        unsigned n = g_hash_table_size(m->dirty);
        int64_t begin = g_get_monotonic_time();
        bool done;
        int r;

        done = manager_reconcile(m, RECONCILE_USEC);
        n -= done ? 0 : g_hash_table_size(m->dirty);
        log_debug("Reconciled %u units in %" PRIi64 " us.", n, g_get_monotonic_time() - begin);

        if (done)
                manager_notify(m, reconciled);
        else
                manager_queue_reconcile(m);

        /* What is left takes turns with users: a new client is one of them, whoever that is. */
        r = sd_event_source_set_priority(s, done ? PRIORITY_RECONCILE : PRIORITY_USERS);
        if (r < 0)
                log_error_errno(r, "Cannot have clients come before the rest of the units: %m");
        return 0;
}

int manager_new(const ManagerPaths *paths, sd_event *event, PolicyBackend *backend, Manager **ret) {
        _cleanup_(manager_freep) Manager *m = g_new0(Manager, 1);
        int r;

        m->paths = *paths;
        m->event = sd_event_ref(event);
        m->backend = backend;
        m->no_choice = g_strdup("this program chooses no policies");
        m->units = g_hash_table_new(g_str_hash, g_str_equal);
        m->holds = g_ptr_array_new();
        m->observers = g_array_new(FALSE, FALSE, sizeof(Observer));
        m->dirty = g_hash_table_new(NULL, NULL);
        m->pinned = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

        /* Its time has come whenever there is something to do. A deferred event would not take turns with
         * others, but come before them. */
        r = sd_event_add_time(event, &m->reconcile_source, CLOCK_MONOTONIC, 0, 1, on_reconcile, m);
        if (r < 0)
                return r;

        r = sd_event_source_set_priority(m->reconcile_source, PRIORITY_RECONCILE);
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
        g_array_set_size(m->observers, 0);
        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &u)) {
                g_hash_table_iter_steal(&it);
                unit_free(u);
        }

        g_hash_table_unref(m->units);
        g_hash_table_unref(m->dirty);
        g_hash_table_unref(m->pinned);
        g_clear_pointer(&m->policies, g_ptr_array_unref);
        g_ptr_array_unref(m->holds);
        g_array_unref(m->observers);
        policy_rules_done(&m->rules);
        unit_overrides_done(&m->overrides);
        kernel_features_done(&m->kernel);
        free(m->no_choice);
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

static void load_configuration(Manager *m) {
        GPtrArray *policies = policies_load(m->paths.policies);

        log_changed_policies(m->policies, policies);
        g_clear_pointer(&m->policies, g_ptr_array_unref);
        m->policies = policies;

        policy_rules_done(&m->rules);
        m->rules = policy_rules_load(m->paths.rules);
        unit_overrides_done(&m->overrides);
        m->overrides = unit_overrides_load(m->paths.overrides);
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

        load_configuration(m);

        if (m->kernel.supported) {
                r = load_pins(m);
                if (r < 0)
                        return log_error_errno(r, "Cannot read the pinned policies: %m");
        }

        return 0;
}

void manager_reload(Manager *m) {
        GHashTableIter it;
        gpointer u;

        load_configuration(m);

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &u))
                unit_reset_retry(u);

        manager_mark_all_dirty(m);
        manager_notify(m, reloaded);
}
