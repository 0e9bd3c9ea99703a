/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units have policies that listen, and when something is to be done for one. */

#include "daemon/core/registry.h"
#include "files.h"
#include "internal.h"
#include "shared/cleanup.h"
#include "watch.h"

/* Who is revoked is known so much later. */
#define SAMPLE_USEC (2 * USEC_PER_SEC)

bool files_has_managers(const Unit *u) {
        return u->files && policy_link_listens(u->link);
}

/* ---- managers that are dirty */

uint64_t files_not_before(uint64_t begin, uint64_t usec) {
        uint64_t now = (uint64_t) g_get_monotonic_time();

        return now + MAX(usec, 10 * (now - begin));
}

void files_schedule(Files *f, uint64_t usec) {
        uint64_t due;

        if (sd_event_source_get_enabled(f->apply_source, NULL) > 0 &&
            sd_event_source_get_time(f->apply_source, &due) >= 0 && due <= usec)
                return;

        (void) sd_event_source_set_time(f->apply_source, usec);
        (void) sd_event_source_set_enabled(f->apply_source, SD_EVENT_ONESHOT);
}

void file_manager_mark_dirty(FileManager *m) {
        m->dirty = true;
        files_schedule(m->owner->files, m->not_before);
}

void unit_files_mark_dirty(UnitFiles *f) {
        f->dirty = true;
        files_schedule(f->files, f->not_before);
}

/* Whose turn it is: of the unit, or of that manager of it. */
typedef struct Turn {
        uint64_t due; /* CLOCK_MONOTONIC */
        UnitFiles *unit;
        FileManager *manager;
} Turn;

/* Who waits for the longest time is the first, or those that always have something to do would keep out the
 * others. */
static void ask_for_turn(Turn *t, uint64_t due, UnitFiles *u, FileManager *m) {
        if (due < t->due)
                *t = (Turn) { .due = due, .unit = u, .manager = m };
}

static void find_turn(UnitFiles *u, bool may_search, Turn *t) {
        GHashTableIter it;
        gpointer p;

        if (u->dirty)
                ask_for_turn(t, u->not_before, u, NULL);

        g_hash_table_iter_init(&it, u->managers);
        while (may_search && g_hash_table_iter_next(&it, NULL, &p)) {
                FileManager *m = p;

                if (!m->finder) /* when it ends we are back */
                        ask_for_turn(t, m->dirty ? m->not_before : m->retry_at, u, m);
        }
}

/* One thing a time: others may have their turn before the next one. */
static int on_apply(sd_event_source *s, uint64_t usec, void *userdata) {
        Files *f = ASSERT_PTR(userdata);
        uint64_t now = g_get_monotonic_time(), next;
        Turn first = { .due = UINT64_MAX };
        GHashTableIter it;
        gpointer u;

        g_hash_table_iter_init(&it, f->units);
        while (g_hash_table_iter_next(&it, &u, NULL))
                if (files_has_managers(u))
                        find_turn(((Unit *) u)->files, !f->finder && f->not_before <= now, &first);

        next = MAX(first.due, now);
        if (first.due <= now && first.manager)
                file_manager_begin(first.manager);
        else if (first.due <= now)
                (void) unit_files_sync(first.unit, /* again= */ false);

        if (!f->finder && f->not_before > now)
                next = MIN(next, f->not_before);
        if (next != UINT64_MAX)
                files_schedule(f, next);
        return 0;
}

static int on_sample(sd_event_source *s, uint64_t usec, void *userdata) {
        Files *f = ASSERT_PTR(userdata);

        files_sample(f);
        if (g_hash_table_size(f->units) > 0) {
                (void) sd_event_source_set_time_relative(s, SAMPLE_USEC);
                (void) sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        }
        return 0;
}

/* ---- units */

static UnitFiles *unit_files_free(UnitFiles *f) {
        if (!f)
                return NULL;

        sd_event_source_disable_unref(f->watch);
        g_hash_table_unref(f->managers);
        g_array_unref(f->revoked);
        return mfree(f);
}

static void sync_unit(Files *f, Unit *u) {
        bool again;

        if (!u->files) {
                u->files = g_new(UnitFiles, 1);
                *u->files = (UnitFiles) {
                        .files = f,
                        .unit = u,
                        .managers = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                                          file_manager_free),
                        .revoked = g_array_new(FALSE, FALSE, sizeof(RevokedManager)),
                };
        }

        again = u->files->policy_id != u->policy_id;
        u->files->complained = u->files->complained && !again;
        unit_files_watch_children(u->files);
        if (unit_files_sync(u->files, again) >= 0)
                u->files->policy_id = u->policy_id;
}

static void forget(Files *f, Unit *u) {
        (void) g_hash_table_remove(f->units, u);
        u->files = unit_files_free(u->files);
        g_clear_pointer(&u->revoked, g_ptr_array_unref);
}

static void unit_changed(void *userdata, Unit *u) {
        Files *f = ASSERT_PTR(userdata);

        if (!policy_link_listens(u->link))
                forget(f, u);
        else if (g_hash_table_add(f->units, u) && g_hash_table_size(f->units) == 1) {
                (void) sd_event_source_set_time_relative(f->sample_source, SAMPLE_USEC);
                (void) sd_event_source_set_enabled(f->sample_source, SD_EVENT_ONESHOT);
        }
}

static void unit_removed(void *userdata, Unit *u) {
        forget(userdata, u);
}

/* Whatever the configuration, or the units below, may have become. */
static void reconciled(void *userdata) {
        Files *f = ASSERT_PTR(userdata);
        GHashTableIter it;
        gpointer u;

        g_hash_table_iter_init(&it, f->units);
        while (g_hash_table_iter_next(&it, &u, NULL))
                if (((Unit *) u)->cgroup)
                        sync_unit(f, u);
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .unit_removed = unit_removed,
        .reconciled = reconciled,
};

bool files_are_searched(const Files *f) {
        return f->finder || f->not_before > (uint64_t) g_get_monotonic_time();
}

int files_new(Manager *m, Files **ret) {
        _cleanup_(files_freep) Files *f = g_new0(Files, 1);
        int r;

        f->manager = m;
        f->counter = HELPER_NONE;
        f->units = g_hash_table_new(NULL, NULL);
        f->watches = file_watches_new(m->event);
        f->finders = g_ptr_array_new_with_free_func(file_finder_free);
        manager_observe(m, &observer, f);

        r = sd_event_add_time(m->event, &f->apply_source, CLOCK_MONOTONIC, 0, 1, on_apply, f);
        if (r >= 0)
                r = sd_event_source_set_priority(f->apply_source, PRIORITY_USERS);
        if (r >= 0)
                r = sd_event_source_set_enabled(f->apply_source, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time(m->event, &f->sample_source, CLOCK_MONOTONIC, 0, SAMPLE_USEC / 2,
                                      on_sample, f);
        if (r >= 0)
                r = sd_event_source_set_enabled(f->sample_source, SD_EVENT_OFF);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(f);
        return 0;
}

Files *files_free(Files *f) {
        _cleanup_ptr_array_ GPtrArray *units = NULL;

        if (!f)
                return NULL;

        manager_unobserve(f->manager, &observer, f);
        units = g_hash_table_get_keys_as_ptr_array(f->units);
        for (guint i = 0; i < units->len; i++)
                forget(f, units->pdata[i]);
        g_hash_table_unref(f->units);
        g_ptr_array_unref(f->finders);
        helper_done(&f->counter);
        file_watches_free(f->watches);
        sd_event_source_disable_unref(f->apply_source);
        sd_event_source_disable_unref(f->sample_source);
        return mfree(f);
}
