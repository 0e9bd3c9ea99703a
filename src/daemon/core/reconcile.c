/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>

#include "choice.h"
#include "reconcile.h"
#include "registry.h"
#include "shared/log.h"
#include "unit.h"
#include "wanted.h"

#define set_statef(u, state, ...)                                               \
        ({                                                                      \
                g_autofree char *_reason = g_strdup_printf(__VA_ARGS__);        \
                unit_set_state(u, state, _reason);                              \
        })

static bool has_pin_left(const Unit *u) {
        return u->cgroup_id != 0 && g_hash_table_contains(u->manager->pinned, &u->cgroup_id);
}

/* Opens the pin that an earlier instance left for the unit's control group. If that fails, it stays for
 * another time. */
static int adopt(Unit *u) {
        const PolicyBackend *b = u->manager->backend;
        _cleanup_(policy_link_freep) PolicyLink *link = NULL;
        int r;

        if (u->link || !has_pin_left(u))
                return 0;

        r = b->open(b->userdata, u->cgroup_id, &link);
        if (r >= 0)
                r = unit_set_link(u, link, NULL, /* adopted= */ true);
        if (r < 0 && r != -ENOENT) /* that is: hung up since */
                return r;

        if (r >= 0)
                TAKE_PTR(link);
        g_hash_table_remove(u->manager->pinned, &u->cgroup_id);
        return 0;
}

/* Kernels that are older than this have all the rest. */
static bool kernel_can_plan(const Unit *u, const PolicyConfig *config, char **ret_problem) {
        const PolicyWord *w;

        if (!config->plans ||
            g_strv_contains((const char *const *) u->manager->kernel.features, "readahead"))
                return true;

        w = policy_words_get(u->setting.more + POLICY_KEY_READAHEAD, 0);
        *ret_problem = g_strdup_printf("this kernel does not let policies plan readahead, which '%s' "
                                       "(" SOURCE_FORMAT ") asks for", w->text,
                                       SOURCE_ARGUMENTS(w->file, w->line));
        return false;
}

/* The policy that is to run, and how. NULL: the unit is in state failed, and what runs goes on running. */
static const Policy *find_policy(Unit *u, const char *own, PolicyConfig *ret) {
        _cleanup_free_ char *problem = NULL;
        const Policy *p;

        if (unit_find_policy(u, own, &p, ret, &problem) >= 0 && kernel_can_plan(u, ret, &problem))
                return p;

        set_statef(u, UNIT_FAILED, "%s%s", problem,
                   u->effective ? "; the policy attached before keeps running" : "");
        return NULL;
}

/* The control group went away under us, or was replaced: systemd will tell, maybe did already. */
static void control_group_gone(Unit *u) {
        unit_drop_link(u);
        unit_reset_retry(u);
        u->choice = unit_choice_free(u->choice);
        u->cgroup = mfree(u->cgroup);
        u->cgroup_id = 0;
        unit_set_state(u, UNIT_INACTIVE, NULL);
}

static void lost(Unit *u, const KernelPolicy *k) {
        g_autofree char *policy = g_strdup(strna(u->effective));
        /* Not of an earlier policy, unless it is not known yet which one this was. */
        const char *why = u->policy_id == 0 || u->policy_id == k->ejected_id ? k->ejected : NULL;

        unit_drop_link(u);
        unit_schedule_retry(u, /* transient= */ true);

        /* The next attempt is with another one. */
        if (u->choice && (u->choice->chosen > 0 || u->choice->why))
                set_statef(u, UNIT_LOST, "the kernel %s policy '%s'%s%s", why ? "ejected" : "detached",
                           policy, why ? ": " : "", strempty(why));
        else if (u->retry_at == UINT64_MAX)
                set_statef(u, UNIT_LOST,
                           "the kernel %s policy '%s' again and again%s%s, giving up; 'systemctl reload "
                           "cachebpfd' tries once more", why ? "ejected" : "detached", policy,
                           why ? ": " : "", strempty(why));
        else
                set_statef(u, UNIT_LOST, "the kernel %s policy '%s'%s%s; attempt %u to attach it follows",
                           why ? "ejected" : "detached", policy, why ? ": " : "", strempty(why),
                           u->n_attempts);
}

static void attached(Unit *u, const KernelPolicy *k) {
        if (u->policy_id != k->id) {
                u->policy_id = k->id;
                manager_notify(u->manager, unit_changed, u);
        }

        unit_set_state(u, UNIT_ATTACHED, NULL);
}

static void set_failed(Unit *u, int error, const char *reason) {
        set_statef(u, UNIT_FAILED, "%s%s", reason ?: strerror(abs(error)),
                   u->link ? "; the policy attached before keeps running" : "");
}

static void failed(Unit *u, int error, const char *reason) {
        unit_schedule_retry(u, policy_error_is_transient(error));
        set_failed(u, error, reason);
}

/* The kernel cannot be asked what there is. That was no attempt to attach: it changes nothing for those that
 * follow, nor why there are none any more. */
static void not_readable(Unit *u, int error, const char *reason) {
        if (policy_error_is_transient(error))
                unit_look_again(u);
        if (u->retry_at != UINT64_MAX)
                set_failed(u, error, reason);
}

/* Attaches, or replaces in place what is attached, and believes only the kernel about the outcome. */
static void apply(Unit *u, const Policy *p, const PolicyConfig *config) {
        const PolicyBackend *b = u->manager->backend;
        _cleanup_kernel_policy_ KernelPolicy k = {};
        _cleanup_free_ char *reason = NULL;
        PolicyLink *link = NULL;
        bool update = u->link;
        int r;

        if (update) {
                manager_notify(u->manager, policy_goes, u);
                r = b->update(b->userdata, u->link, p, config, &reason);
        } else
                r = b->attach(b->userdata, p, config, u->cgroup_id, &link, &reason);
        if (r < 0) {
                /* No surprise if the control group went away meanwhile, or what was to be replaced. */
                int e = b->read_policy(b->userdata, u->cgroup, u->cgroup_id, &k);

                if (e == -ENOENT)
                        return control_group_gone(u);
                if (e >= 0 && update && !kernel_policy_own(&k))
                        return lost(u, &k);
                return failed(u, r, reason);
        }

        if (link) {
                r = unit_set_link(u, link, p->name, /* adopted= */ false);
                if (r < 0) { /* not watched: not ours, nor anybody's later */
                        (void) b->detach(b->userdata, link);
                        policy_link_free(link);
                        return failed(u, r, NULL);
                }
        } else {
                g_set_str(&u->effective, p->name);
                unit_watch_events(u);
                manager_notify(u->manager, policy_came, u);
        }

        policy_link_set_counters(u->link, p->counters);

        r = b->read_policy(b->userdata, u->cgroup, u->cgroup_id, &k);
        if (r == -ENOENT)
                return control_group_gone(u);
        if (r < 0 || !policy_kernel_name_equal(p->name, kernel_policy_own(&k)))
                return lost(u, &k);

        if (update)
                u->adopted = false; /* what runs now is ours */
        unit_note_update(u, update);
        attached(u, &k);
}

/* For a unit that wants a policy and has a control group, on a kernel that can. */
static void reconcile_active(Unit *u) {
        const PolicyBackend *b = u->manager->backend;
        _cleanup_kernel_policy_ KernelPolicy k = {};
        _cleanup_policy_config_ PolicyConfig config = {};
        const Policy *p;
        const char *own;
        int r;

        r = adopt(u);
        if (r < 0)
                return not_readable(u, r, NULL);

        r = b->read_policy(b->userdata, u->cgroup, u->cgroup_id, &k);
        if (r == -ENOENT)
                return control_group_gone(u);
        if (r == -EOPNOTSUPP)
                return not_readable(u, r,
                                    "the memory controller is not enabled in the unit's control group");
        if (r < 0)
                return not_readable(u, r, NULL);

        own = kernel_policy_own(&k);

        if (u->link && (u->hung_up || !own)) {
                if (own && !u->effective)
                        g_set_str(&u->effective, own);
                return lost(u, &k);
        }
        /* An adopted link: what it runs, the kernel says. */
        if (u->link && !u->effective)
                g_set_str(&u->effective,
                          policy_kernel_name_equal(u->setting.policy, own) ? u->setting.policy : own);

        if (!u->link && own)
                return set_statef(u, UNIT_FAILED,
                                  "the control group has policy '%s' already, attached by another program",
                                  own);

        p = find_policy(u, strempty(own), &config);
        if (!p)
                return;

        if (unit_runs(u, own, p, &config)) {
                g_set_str(&u->effective, p->name);
                policy_link_set_counters(u->link, p->counters); /* the fingerprint is that of its object */
                return attached(u, &k);
        }

        if (unit_may_try(u))
                apply(u, p, &config);
}

/* What ran before was not asked for any more: the stock policy takes its place. */
static void cannot_choose(Unit *u) {
        if (u->cgroup_id != 0)
                (void) adopt(u);
        unit_reset_retry(u);
        unit_drop_link(u);
        set_statef(u, UNIT_UNSUPPORTED, "%s; the stock policy runs", u->manager->no_choice);
}

static void tell_cgroup(Unit *u) {
        if (u->told_cgroup_id == u->cgroup_id || (u->cgroup_id != 0 && !u->cgroup)) /* half of it is known */
                return;

        u->told_cgroup_id = u->cgroup_id;
        manager_notify(u->manager, cgroup_changed, u);
}

static void tell_stopping(Unit *u) {
        bool told = u->told_stopping;

        u->told_stopping = u->stopping;
        if (u->stopping && !told)
                manager_notify(u->manager, unit_stopping, u);
}

static void unit_reconcile(Unit *u) {
        _cleanup_policy_config_ PolicyConfig config = {};
        Manager *m = u->manager;

        if (!u->loaded) {
                if (u->link)
                        control_group_gone(u);
                tell_cgroup(u);
                if (u->fetching) /* the last answer comes back here */
                        return;
                /* loaded for a question only: who asked it hears what is configured */
                if (u->files_known && u->setting.policy && u->state == UNIT_UNCONFIGURED)
                        unit_set_state(u, UNIT_INACTIVE, NULL);
                if (!u->asked)
                        unit_free(u);
                return;
        }

        /* The rest of the answer makes the unit dirty again. */
        if (u->fetching)
                return;

        /* Announced, but not started: not a unit of ours before that. */
        if (!u->files_known) {
                if (u->cgroup_id == 0)
                        tell_cgroup(u);
                if (!u->active) {
                        if (u->link)
                                control_group_gone(u);
                        policy_setting_done(&u->setting);
                        unit_set_state(u, UNIT_UNCONFIGURED, NULL);
                } else if (u->refused)
                        unit_set_state(u, UNIT_FAILED, "systemd cannot tell the unit's files");
                return;
        }

        (void) unit_resolve_setting(u);
        tell_cgroup(u);
        tell_stopping(u);

        if (u->link && u->link->cgroup_id != u->cgroup_id) {
                unit_drop_link(u);
                unit_reset_retry(u);
                u->choice = unit_choice_free(u->choice);
        }

        if (!policy_setting_is_auto(&u->setting))
                u->choice = unit_choice_free(u->choice);

        if (!u->setting.policy) {
                unit_reset_retry(u);
                unit_drop_link(u); /* a pin not adopted yet is left to remove_orphans() */
                unit_set_state(u, UNIT_UNCONFIGURED, NULL);
        } else if (!m->kernel.supported)
                unit_set_state(u, UNIT_UNSUPPORTED, m->kernel.reason);
        else if (policy_setting_is_auto(&u->setting) && m->no_choice)
                cannot_choose(u);
        else if (u->cgroup_id != 0)
                reconcile_active(u);
        else if (u->active && u->refused)
                unit_set_state(u, UNIT_FAILED, "systemd cannot tell the unit's control group");
        else if (find_policy(u, NULL, &config)) /* a wrong name is worth knowing before the unit starts */
                unit_set_state(u, UNIT_INACTIVE, NULL);
}

/* Pins that belong to no unit which wants a policy: the configuration changed, or the unit ended, while no
 * daemon was running. Only once everything systemd knows is known here. */
static void remove_orphans(Manager *m) {
        const PolicyBackend *b = m->backend;
        GHashTableIter it;
        gpointer key;

        g_hash_table_iter_init(&it, m->pinned);
        while (g_hash_table_iter_next(&it, &key, NULL)) {
                _cleanup_(policy_link_freep) PolicyLink *link = NULL;
                uint64_t id = *(uint64_t *) key;
                int r;

                r = b->open(b->userdata, id, &link);
                if (r >= 0)
                        r = b->detach(b->userdata, link);
                if (r < 0 && r != -ENOENT)
                        log_warning_errno(r, "Cannot detach the policy of control group %" PRIu64 ", "
                                          "ignoring: %m", id);
                else
                        log_info("Detached the policy of control group %" PRIu64 ": "
                                 "no unit asks for it any more.", id);

                g_hash_table_iter_remove(&it);
        }
}

/* A unit whose answer is on its way, or of which systemd cannot tell all, was passed over, and its pin may
 * be one of those that are left; so is that of one that could not adopt it. */
static bool is_passed_over_any(Manager *m) {
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const Unit *u = p;

                if (u->fetching || (u->loaded && u->active && u->refused) ||
                    (u->setting.policy && has_pin_left(u)))
                        return true;
        }

        return false;
}

bool manager_reconcile(Manager *m, uint64_t budget_usec) {
        _cleanup_ptr_array_ GPtrArray *work = g_ptr_array_new();
        int64_t begin = g_get_monotonic_time();
        GHashTableIter it;
        gpointer key;
        guint n = 0;

        /* What becomes dirty meanwhile is for the next time. */
        g_hash_table_iter_init(&it, m->dirty);
        while (g_hash_table_iter_next(&it, &key, NULL))
                g_ptr_array_add(work, key);
        g_hash_table_remove_all(m->dirty);

        while (n < work->len && (n == 0 || (uint64_t) (g_get_monotonic_time() - begin) < budget_usec))
                unit_reconcile(work->pdata[n++]);

        for (guint i = n; i < work->len; i++)
                g_hash_table_add(m->dirty, work->pdata[i]);
        if (n < work->len)
                return false;

        if (m->settled && g_hash_table_size(m->pinned) > 0 && !is_passed_over_any(m))
                remove_orphans(m);
        return true;
}
