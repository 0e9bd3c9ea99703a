/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units have policies that listen, which managers these have, and when something is to be done. */

#include <fcntl.h>
#include <inttypes.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "daemon/core/messages.h"
#include "daemon/core/registry.h"
#include "files.h"
#include "internal.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "watch.h"

/* Control groups that come and go are not looked at more often, */
#define SYNC_USEC (200 * USEC_PER_MSEC)
/* nor more of them: to whom a unit is delegated makes as many as he likes. */
#define CHILDREN_MAX 4096U
/* Who is revoked is known so much later. */
#define SAMPLE_USEC (2 * USEC_PER_SEC)
/* So often has a manager that was revoked to be seen with a say until it counts as having it. */
#define RESTORED_SAMPLES 15U

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

static void mark_dirty(UnitFiles *f) {
        f->dirty = true;
        files_schedule(f->files, f->not_before);
}

static int sync_managers(UnitFiles *f, bool again);

/* Does one thing that is due, or says when there is one to do. */
static bool apply_unit(UnitFiles *u, uint64_t now, uint64_t *next) {
        GHashTableIter it;
        gpointer p;

        if (u->dirty && u->not_before <= now) {
                (void) sync_managers(u, /* again= */ false);
                return true;
        }
        if (u->dirty)
                *next = MIN(*next, u->not_before);

        g_hash_table_iter_init(&it, u->managers);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                FileManager *m = p;
                uint64_t due = MAX(m->dirty ? MIN(m->not_before, m->retry_at) : m->retry_at,
                                   u->files->not_before);

                if (m->finder || u->files->finder) /* when it ends we are back */
                        continue;
                if (due <= now) {
                        file_manager_begin(m);
                        return true;
                }
                *next = MIN(*next, due);
        }

        return false;
}

/* One thing a time: others may have their turn before the next one. */
static int on_apply(sd_event_source *s, uint64_t usec, void *userdata) {
        Files *f = ASSERT_PTR(userdata);
        uint64_t now = g_get_monotonic_time(), next = UINT64_MAX;
        GHashTableIter it;
        gpointer u;

        g_hash_table_iter_init(&it, f->units);
        while (g_hash_table_iter_next(&it, &u, NULL))
                if (files_has_managers(u) && apply_unit(((Unit *) u)->files, now, &next)) {
                        next = now;
                        break;
                }

        if (next != UINT64_MAX)
                files_schedule(f, next);
        return 0;
}

/* ---- control groups */

/* Not that of the root: NULL if there is none now. */
static char *cgroup_path(const Unit *u) {
        return u->cgroup ? g_strconcat(u->manager->paths.kernel.cgroup, u->cgroup, NULL) : NULL;
}

int unit_files_foreach_child(const UnitFiles *f, child_func_t func, void *userdata) {
        g_autofree char *path = cgroup_path(f->unit);
        _cleanup_closedir_ DIR *d = path ? opendir(path) : NULL;
        struct dirent *de;
        unsigned n = 0;

        if (!d)
                return path ? -errno : -ENOENT;

        while (n < CHILDREN_MAX && (de = readdir(d))) {
                struct stat st;

                if (de->d_type != DT_DIR || de->d_name[0] == '.')
                        continue;
                n++;
                /* The id of a control group is the inode number of its directory. */
                if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        func(de->d_name, st.st_ino, userdata);
        }

        return 0;
}

char *name_to_utf8(char *name) {
        char *valid;

        if (!name || utf8_is_valid_n(name, strlen(name)))
                return name;

        valid = g_utf8_make_valid(name, -1);
        g_free(name);
        return valid;
}

static void add_name(const char *name, uint64_t id, void *userdata) {
        g_hash_table_insert(userdata, g_memdup2(&id, sizeof(id)), name_to_utf8(g_strdup(name)));
}

GHashTable *unit_files_names(const UnitFiles *f) {
        GHashTable *names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);

        (void) unit_files_foreach_child(f, add_name, names);
        add_name(f->unit->name, f->unit->cgroup_id, names);
        return names;
}

/* ---- what managers are to say */

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
                cache_files_make(&(const PolicySetting) {}, NULL, &m->wanted);
                g_hash_table_insert(s->files->managers, &m->id, m);
                m->again = true;
        }

        g_hash_table_add(s->seen, m);
        m->again = m->again || s->again;
        if (m->again || !cache_files_equal(&m->wanted, wanted)) {
                cache_files_done(&m->wanted);
                cache_files_copy(wanted, &m->wanted);
                m->not_before = 0;
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

static void sync_child(const char *name, uint64_t id, void *userdata) {
        Sync *s = userdata;
        const Unit *u = s->files->unit, *child = find_child(u, name);
        _cleanup_cache_files_ CacheFiles wanted = {};

        s->n_children++;
        if (child && child->link) /* it has a policy itself, its pages are not this one's */
                return;
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
                mark_dirty(f);

        g_hash_table_iter_init(&it, f->managers);
        while (g_hash_table_iter_next(&it, NULL, &m))
                if (((FileManager *) m)->failed)
                        file_manager_mark_dirty(m);
}

static int sync_managers(UnitFiles *f, bool again) {
        _cleanup_hash_table_ GHashTable *seen = g_hash_table_new(NULL, NULL);
        Sync s = { .files = f, .seen = seen, .again = again };
        uint64_t begin = g_get_monotonic_time();
        int r;

        f->dirty = false;
        f->not_before = begin + SYNC_USEC;
        r = unit_files_foreach_child(f, sync_child, &s);
        if (r < 0) /* systemd will say what has become of it */
                return r;

        if (s.n_children == 0) {
                _cleanup_cache_files_ CacheFiles wanted = {};

                cache_files_make(&f->unit->setting, NULL, &wanted);
                sync_manager(&s, f->unit->cgroup_id, f->unit->name, &wanted);
        }

        if (g_hash_table_foreach_remove(f->managers, is_unseen, seen) > 0)
                make_room(f, s.full);
        f->not_before = files_not_before(begin, SYNC_USEC);
        return 0;
}

static int on_child(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        UnitFiles *f = ASSERT_PTR(userdata);

        if (event->mask & (IN_ISDIR | IN_Q_OVERFLOW))
                mark_dirty(f);
        return 0;
}

/* ---- who is revoked */

static void log_revoked(const Unit *u, const char *name, const PolicyManager *m) {
        log_full_fields(m->revoked ? LOG_NOTICE : LOG_INFO, 0,
                        LOG_FIELDS(.message_id = m->revoked ? MESSAGE_MANAGER_REVOKED :
                                                              MESSAGE_MANAGER_RESTORED,
                                   .unit = u->name, .cgroup = u->cgroup, .policy = u->effective,
                                   .manager = name),
                        "%s: Manager '%s' %s in which of its pages go first; of %" PRIu64 " decisions "
                        "%" PRIu64 " were wrong.", u->name, name,
                        m->revoked ? "has no say any more" : "has a say again", m->n_decisions,
                        m->n_wrong);
}

static RevokedManager *find_revoked(const UnitFiles *f, uint64_t id) {
        for (guint i = 0; i < f->revoked->len; i++) {
                RevokedManager *r = &g_array_index(f->revoked, RevokedManager, i);

                if (r->id == id)
                        return r;
        }

        return NULL;
}

bool unit_files_is_revoked(const UnitFiles *f, uint64_t id) {
        return find_revoked(f, id);
}

/* Returns whether that is another state of the manager; one that is gone has none. */
static bool sample_manager(UnitFiles *f, const PolicyManager *m, GHashTable *names) {
        RevokedManager *r = find_revoked(f, m->id);
        const char *name;

        if (r && m->revoked)
                r->n_samples = 0;
        if (r ? m->revoked || ++r->n_samples < RESTORED_SAMPLES : !m->revoked)
                return false;

        name = g_hash_table_lookup(names, &m->id);
        if (!r && !name)
                return false;
        if (r)
                g_array_remove_index_fast(f->revoked, r - (RevokedManager *) f->revoked->data);
        else
                g_array_append_val(f->revoked, ((const RevokedManager) { .id = m->id }));
        if (name)
                log_revoked(f->unit, name, m);
        return true;
}

static bool is_manager(const GArray *managers, uint64_t id) {
        for (guint i = 0; i < managers->len; i++)
                if (g_array_index(managers, PolicyManager, i).id == id)
                        return true;

        return false;
}

static void show_revoked(UnitFiles *f, GHashTable *names) {
        g_clear_pointer(&f->unit->revoked, g_ptr_array_unref);
        for (guint i = 0; i < f->revoked->len; i++) {
                const char *name = g_hash_table_lookup(names,
                                                       &g_array_index(f->revoked, RevokedManager, i).id);

                if (!f->unit->revoked)
                        f->unit->revoked = g_ptr_array_new_null_terminated(0, g_free, TRUE);
                if (name)
                        g_ptr_array_add(f->unit->revoked, g_strdup(name));
        }

        manager_notify(f->unit->manager, unit_changed, f->unit);
}

static void sample_unit(UnitFiles *f) {
        g_autoptr(GArray) managers = g_array_new(FALSE, FALSE, sizeof(PolicyManager));
        _cleanup_hash_table_ GHashTable *names = NULL;
        const PolicyBackend *b = f->unit->manager->backend;
        bool changed = false, revoked = f->revoked->len > 0;

        if (b->read_managers(b->userdata, f->unit->link, managers) < 0)
                return;
        for (guint i = 0; i < managers->len; i++)
                revoked = revoked || g_array_index(managers, PolicyManager, i).revoked;
        if (!revoked)
                return;

        names = unit_files_names(f);
        for (guint i = 0; i < managers->len; i++)
                changed = sample_manager(f, &g_array_index(managers, PolicyManager, i), names) || changed;

        for (guint i = f->revoked->len; i-- > 0;) {
                uint64_t id = g_array_index(f->revoked, RevokedManager, i).id;

                if (!g_hash_table_contains(names, &id) || !is_manager(managers, id)) {
                        g_array_remove_index_fast(f->revoked, i);
                        changed = true;
                }
        }

        if (changed)
                show_revoked(f, names);
}

void files_sample(Files *f) {
        _cleanup_ptr_array_ GPtrArray *units = g_hash_table_get_keys_as_ptr_array(f->units);

        for (guint i = 0; i < units->len; i++)
                if (files_has_managers(units->pdata[i]))
                        sample_unit(((Unit *) units->pdata[i])->files);
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

static void watch_children(UnitFiles *f) {
        g_autofree char *path = cgroup_path(f->unit);
        int r;

        if (f->cgroup_id == f->unit->cgroup_id)
                return;

        f->cgroup_id = 0;
        f->watch = sd_event_source_disable_unref(f->watch);
        if (!path)
                return;

        r = sd_event_add_inotify(f->unit->manager->event, &f->watch, path,
                                 IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR, on_child, f);
        if (r >= 0)
                r = sd_event_source_set_priority(f->watch, PRIORITY_USERS);
        if (r >= 0)
                f->cgroup_id = f->unit->cgroup_id;
        else
                log_debug_errno(r, "%s: Cannot watch its control group, trying again later: %m",
                                f->unit->name);
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
        watch_children(u->files);
        if (sync_managers(u->files, again) >= 0)
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
