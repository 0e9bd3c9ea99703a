/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which managers have no say: each unit's are looked at now and then. */

#include <inttypes.h>

#include "daemon/core/messages.h"
#include "daemon/core/registry.h"
#include "files.h"
#include "internal.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* So often has a manager that was revoked to be seen with a say until it counts as having it. */
#define RESTORED_SAMPLES 15U

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
