/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "choice.h"
#include "messages.h"
#include "registry.h"
#include "shared/log.h"
#include "unit.h"

#define RETRY_MAX 5U
#define RETRY_FIRST_USEC (1 * USEC_PER_SEC)
#define LOOK_AGAIN_USEC (5 * USEC_PER_SEC)
/* A policy that ran this long before it was lost did not fail to start: count from one again. */
#define RETRY_FORGET_USEC (300 * USEC_PER_SEC)

Unit *unit_new(Manager *m, const char *name) {
        Unit *u = g_new0(Unit, 1);

        u->name = g_strdup(name);
        u->loaded = true;
        u->since = g_get_real_time();
        u->manager = m;
        g_hash_table_insert(m->units, u->name, u);
        return u;
}

UnitReplay *unit_replay_free(UnitReplay *r) {
        if (!r)
                return NULL;

        free(r->reason);
        return mfree(r);
}

Unit *unit_free(Unit *u) {
        if (!u)
                return NULL;

        manager_forget_unit(u->manager, u);
        sd_event_source_disable_unref(u->link_source);
        sd_event_source_disable_unref(u->retry_source);
        sd_event_source_disable_unref(u->look_source);
        policy_events_free(u->events);
        policy_link_free(u->link);
        policy_setting_done(&u->file_setting);
        policy_setting_done(&u->setting);
        g_clear_pointer(&u->revoked, g_ptr_array_unref);
        unit_choice_free(u->choice);
        unit_replay_free(u->replay);
        free(u->cgroup);
        free(u->effective);
        free(u->dropped);
        free(u->reason);
        free(u->name);
        return mfree(u);
}

bool unit_is_managed(const Unit *u) {
        return u->setting.policy || u->link || u->replay;
}

char *unit_source(const Unit *u) {
        if (!u->setting.set)
                return NULL;

        return g_strdup_printf(SOURCE_FORMAT, SOURCE_ARGUMENTS(u->setting.file, u->setting.line));
}

/* ---- state */

static void log_change(Unit *u, int level, const char *message_id, const char *what) {
        const char *configured = unit_wanted_policy(u) ?: u->dropped,
                *policy = u->state == UNIT_FAILED ? configured : u->effective ?: configured;

        if (u->state == UNIT_LOST && u->dropped) /* another one may be wanted by now */
                policy = u->dropped;

        log_full_fields(level, 0,
                        LOG_FIELDS(.message_id = message_id, .unit = u->name, .cgroup = u->cgroup,
                                   .policy = policy,
                                   .state = unit_state_to_string(u->state), .reason = u->reason,
                                   .config_file = u->setting.file, .config_line = u->setting.line),
                        "%s: Cache policy %s%s%s%s%s%s.", u->name,
                        policy ? "'" : "", strempty(policy), policy ? "' " : "",
                        what, u->reason ? ": " : "", strempty(u->reason));
}

static void log_state(Unit *u, UnitState old) {
        switch (u->state) {
        case UNIT_ATTACHED:
                if (u->adopted)
                        log_change(u, LOG_INFO, MESSAGE_POLICY_ADOPTED,
                                   "was running already and is adopted");
                else
                        log_change(u, LOG_INFO, MESSAGE_POLICY_ATTACHED, "is attached");
                break;
        case UNIT_FAILED:
                log_change(u, LOG_ERR, MESSAGE_POLICY_FAILED, "failed");
                break;
        case UNIT_LOST:
                log_change(u, LOG_WARNING, MESSAGE_POLICY_LOST, "is lost");
                break;
        case UNIT_INACTIVE:
                if (old == UNIT_ATTACHED)
                        log_change(u, LOG_INFO, MESSAGE_POLICY_DETACHED, "ended with the control group");
                break;
        case UNIT_UNCONFIGURED:
                if (old == UNIT_ATTACHED)
                        log_change(u, LOG_INFO, MESSAGE_POLICY_DETACHED,
                                   "is detached, nothing asks for it any more");
                break;
        default:
                break;
        }
}

static void log_switch(Unit *u) {
        const UnitChoice *c = u->choice;

        log_full_fields(LOG_INFO, 0,
                        LOG_FIELDS(.message_id = MESSAGE_POLICY_SWITCHED, .unit = u->name,
                                   .cgroup = u->cgroup, .policy = u->effective,
                                   .state = unit_state_to_string(u->state), .reason = c->because,
                                   .config_file = u->setting.file, .config_line = u->setting.line),
                        "%s: Cache policy 'auto' switches %s.", u->name, c->because);
        manager_notify(u->manager, unit_changed, u);
}

void unit_note_update(Unit *u, bool update) {
        if (unit_note_chosen(u))
                log_switch(u);
        else if (update && u->state == UNIT_ATTACHED)
                log_change(u, LOG_INFO, MESSAGE_POLICY_UPDATED, "is attached in place of the one before");
}

void unit_set_state(Unit *u, UnitState state, const char *reason) {
        UnitState old = u->state;
        bool another_reason = g_set_str(&u->reason, reason);

        if (old != state) {
                u->state = state;
                u->since = g_get_real_time();
        }

        if (old != state || another_reason) {
                log_state(u, old);
                manager_notify(u->manager, unit_changed, u);
        }
}

/* ---- link */

static int on_link_event(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Unit *u = ASSERT_PTR(userdata);

        /* A hang-up stays: one look is enough. */
        (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);

        u->hung_up = true;
        manager_mark_dirty(u->manager, u);
        return 0;
}

int unit_set_link(Unit *u, PolicyLink *link, const char *effective, bool adopted) {
        int r;

        r = sd_event_add_io(u->manager->event, &u->link_source, link->fd, EPOLLHUP, on_link_event, u);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(u->link_source, u->name);

        g_set_str(&u->effective, effective);
        u->link = link;
        u->adopted = adopted;
        u->hung_up = false;
        u->attached_at = g_get_monotonic_time();
        unit_watch_events(u);
        manager_notify(u->manager, policy_came, u);
        return 0;
}

void unit_watch_events(Unit *u) {
        const PolicyLink *link = u->link;
        int r;

        u->events = policy_events_free(u->events);
        if (link->program_fd < 0)
                return;

        r = policy_events_new(u->manager->event, u->name, link->events_fd, link->program_fd, link->counts_fd,
                              &u->events);
        if (r < 0)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = u->name, .policy = u->effective),
                                "%s: Cannot watch what the cache policy asks for, it goes on without: %m",
                                u->name);
}

void unit_drop_link(Unit *u) {
        const PolicyBackend *b = u->manager->backend;
        int r;

        if (!u->link)
                return;

        manager_notify(u->manager, policy_goes, u);
        u->link_source = sd_event_source_disable_unref(u->link_source);
        u->events = policy_events_free(u->events);

        r = b->detach(b->userdata, u->link);
        if (r < 0)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = u->name, .policy = u->effective),
                                "%s: Cannot remove the pins of cache policy '%s', ignoring: %m",
                                u->name, strna(u->effective));

        u->link = policy_link_free(u->link);
        free(u->dropped);
        u->dropped = TAKE_PTR(u->effective);
        u->adopted = u->hung_up = false;
        u->policy_id = 0;
}

/* ---- trying again */

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata) {
        Unit *u = ASSERT_PTR(userdata);

        u->retry_at = 0;
        manager_mark_dirty(u->manager, u);
        return 0;
}

void unit_schedule_retry(Unit *u, bool transient) {
        uint64_t delay;
        int r;

        if (u->attached_at > 0 && g_get_monotonic_time() - u->attached_at > RETRY_FORGET_USEC)
                u->n_attempts = 0;
        u->attached_at = 0;

        u->retry_source = sd_event_source_disable_unref(u->retry_source);
        u->retry_at = UINT64_MAX;

        if (!transient || u->n_attempts >= RETRY_MAX)
                return;

        delay = RETRY_FIRST_USEC << u->n_attempts++;
        r = sd_event_add_time_relative(u->manager->event, &u->retry_source, CLOCK_MONOTONIC, delay, 0,
                                       on_retry, u);
        if (r < 0) {
                log_warning_errno(r, "%s: Cannot arm the timer for another attempt, ignoring: %m", u->name);
                return;
        }

        u->retry_at = g_get_monotonic_time() + delay;
}

void unit_reset_retry(Unit *u) {
        u->retry_source = sd_event_source_disable_unref(u->retry_source);
        u->retry_at = 0;
        u->n_attempts = 0;
}

static int on_look_again(sd_event_source *s, uint64_t usec, void *userdata) {
        Unit *u = ASSERT_PTR(userdata);

        manager_mark_dirty(u->manager, u);
        return 0;
}

void unit_look_again(Unit *u) {
        int r;

        u->look_source = sd_event_source_disable_unref(u->look_source);
        r = sd_event_add_time_relative(u->manager->event, &u->look_source, CLOCK_MONOTONIC, LOOK_AGAIN_USEC,
                                       0, on_look_again, u);
        if (r < 0)
                log_warning_errno(r, "%s: Cannot arm the timer to look again, ignoring: %m", u->name);
}

bool unit_may_try(const Unit *u) {
        return u->retry_at == 0;
}

/* ---- what the kernel says */

const char *unit_read_verified(Unit *u, KernelPolicy *k) {
        const PolicyBackend *b = u->manager->backend;

        if (!u->cgroup || u->cgroup_id == 0 || b->read_policy(b->userdata, u->cgroup, u->cgroup_id, k) < 0)
                return NULL;

        /* The kernel's spelling has no '-'; show the name the user knows. */
        if (policy_kernel_name_equal(u->effective, k->name))
                return u->effective;

        return k->name ?: "none";
}

static int tell_counter(const char *key, uint64_t n, flat_keyed_func_t func, void *userdata) {
        char value[DECIMAL_STR_MAX(uint64_t)];

        (void) snprintf(value, sizeof(value), "%" PRIu64, n);
        return func(key, value, userdata);
}

/* What the policy itself counts, under names that the kernel does not have. */
static int counters_foreach(Unit *u, flat_keyed_func_t func, void *userdata) {
        const PolicyBackend *b = u->manager->backend;
        const GArray *counters = u->link ? u->link->counters : NULL;
        uint64_t values[POLICY_COUNTERS_MAX];

        if (!counters || counters->len == 0 || b->read_counters(b->userdata, u->link, values) < 0)
                return 0;

        for (guint i = 0; i < counters->len; i++) {
                g_autofree char *key = g_strconcat(POLICY_COUNTER_PREFIX,
                                                   g_array_index(counters, PolicyCounter, i).name, NULL);
                int r;

                r = tell_counter(key, values[i], func, userdata);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int events_foreach(const PolicyEvents *events, flat_keyed_func_t func, void *userdata) {
        PolicyEventCounts c = policy_events_counts(events);
        const struct {
                const char *key;
                uint64_t value;
        } counters[] = {
                { "reconfigure_asked", c.asked },
                { "reconfigure_done", c.done },
                { "reconfigure_failed", c.failed },
        };

        for (size_t i = 0; i < ELEMENTSOF(counters); i++) {
                int r;

                r = tell_counter(counters[i].key, counters[i].value, func, userdata);
                if (r < 0)
                        return r;
        }

        return 0;
}

int unit_stat_foreach(Unit *u, flat_keyed_func_t func, void *userdata) {
        int r;

        if (!u->cgroup || u->cgroup_id == 0)
                return -ENOENT;

        r = cgroup_stat_foreach(u->manager->paths.kernel.cgroup, u->cgroup, u->cgroup_id, func, userdata);
        if (r < 0)
                return r;

        r = u->events ? events_foreach(u->events, func, userdata) : 0;
        return r < 0 ? r : counters_foreach(u, func, userdata);
}
