/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which managers a unit has, and what is configured for each. */

#include "daemon/core/registry.h"
#include "internal.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* Control groups that come and go are not looked at more often. */
#define SYNC_USEC (200 * USEC_PER_MSEC)

/* For a manager that is none any more: what was said for it is taken back. */
static const PolicySetting nothing;

typedef struct Sync {
        UnitFiles *files;
        GHashTable *seen; /* set of FileManager */
        unsigned n_children;
        bool again;
        bool full;        /* there are more than policies take */
} Sync;

static void complain_of_many(UnitFiles *f, const char *name) {
        const Unit *u = f->unit;

        if (!f->complained)
                log_full_fields(LOG_WARNING, 0,
                                LOG_FIELDS(.unit = u->name, .cgroup = u->cgroup, .policy = u->effective,
                                           .manager = name),
                                "%s: There are too many managers for what CacheFiles= and CacheLevel= say "
                                "of '%s'.", u->name, name);
        f->complained = true;
}

static void sync_manager(Sync *s, uint64_t id, const char *name, const CacheFiles *wanted) {
        FileManager *m = g_hash_table_lookup(s->files->managers, &id);

        if (!m && cache_files_is_empty(wanted))
                return;
        if (!m && g_hash_table_size(s->files->managers) >= MANAGERS_MAX) {
                s->full = true;
                complain_of_many(s->files, name);
                return;
        }
        if (!m) {
                m = file_manager_new(s->files, id, name);
                cache_files_make(&nothing, NULL, &m->wanted);
                g_hash_table_insert(s->files->managers, &m->id, m);
                m->again = true;
        }

        g_hash_table_add(s->seen, m);
        m->again = m->again || s->again;
        if (m->again || !cache_files_equal(&m->wanted, wanted)) {
                cache_files_done(&m->wanted);
                cache_files_copy(wanted, &m->wanted);
                m->not_before = MIN(m->not_before, (uint64_t) g_get_monotonic_time());
                m->complained = false;
                file_manager_mark_dirty(m);
        }
}

/* The unit that it is of; none are those of containers, whose names may be those of units elsewhere. */
static const Unit *find_child(const Unit *u, const char *name) {
        const Unit *child = manager_find_unit(u->manager, name);
        g_autofree char *path = g_build_filename(u->cgroup, name, NULL);

        return child && streq_ptr(child->cgroup, path) ? child : NULL;
}

/* What it wants is on its way: until then it may be anything. */
static bool is_coming(Manager *m, const char *name) {
        const Unit *u = manager_find_unit(m, name);

        return u && u->fetching && (!u->files_known || !u->cgroup);
}

static void keep_manager(Sync *s, uint64_t id) {
        FileManager *m = g_hash_table_lookup(s->files->managers, &id);

        if (m)
                g_hash_table_add(s->seen, m);
}

static void sync_child(const char *name, uint64_t id, void *userdata) {
        Sync *s = userdata;
        const Unit *u = s->files->unit, *child = find_child(u, name);
        _cleanup_cache_files_ CacheFiles wanted = {};

        s->n_children++;
        if (is_coming(u->manager, name)) {
                keep_manager(s, id);
                return;
        }
        if (child && child->link) /* it has a policy itself, its pages are not this one's */
                cache_files_make(&nothing, NULL, &wanted);
        else
                cache_files_make(child ? &child->setting : &u->setting, child ? &u->setting : NULL, &wanted);
        sync_manager(s, id, name, &wanted);
}

static gboolean is_unseen(gpointer id, gpointer m, gpointer seen) {
        return !g_hash_table_contains(seen, m);
}

/* A manager has gone: there may be room for others now. */
static void make_room(UnitFiles *f, bool sync) {
        GHashTableIter it;
        gpointer m;

        if (sync)
                unit_files_mark_dirty(f);

        g_hash_table_iter_init(&it, f->managers);
        while (g_hash_table_iter_next(&it, NULL, &m))
                if (((FileManager *) m)->failed)
                        file_manager_mark_dirty(m);
}

int unit_files_sync(UnitFiles *f, bool again) {
        _cleanup_hash_table_ GHashTable *seen = g_hash_table_new(NULL, NULL);
        _cleanup_cache_files_ CacheFiles wanted = {};
        Sync s = { .files = f, .seen = seen, .again = again };
        uint64_t begin = g_get_monotonic_time();
        int r;

        f->dirty = false;
        f->not_before = begin + SYNC_USEC;
        r = unit_files_foreach_child(f, sync_child, &s);
        if (r < 0) /* systemd will say what has become of it */
                return r;

        cache_files_make(s.n_children == 0 ? &f->unit->setting : &nothing, NULL, &wanted);
        sync_manager(&s, f->unit->cgroup_id, f->unit->name, &wanted);
        if (g_hash_table_foreach_remove(f->managers, is_unseen, seen) > 0)
                make_room(f, s.full);
        f->not_before = files_not_before(begin, SYNC_USEC);
        return 0;
}
