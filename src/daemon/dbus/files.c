/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of managers on D-Bus: conversion only. */

#include "daemon/core/registry.h"
#include "daemon/files/files.h"
#include "methods.h"
#include "objects.h"

static int append_levels(sd_bus_message *reply, const PolicyManager *m) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ist)");
        for (unsigned i = 0; r >= 0 && i < CACHE_LEVELS; i++)
                if (policy_manager_has_level(m, i))
                        r = sd_bus_message_append(reply, "(ist)", (int32_t) i + CACHE_LEVEL_MIN,
                                                  policy_manager_replacement(m, i), m->pages[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_files(sd_bus_message *reply, const ListedManager *m) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(isstut)");
        for (guint i = 0; r >= 0 && i < m->files->len; i++) {
                const ListedFile *f = &g_array_index(m->files, ListedFile, i);
                g_autofree char *device = policy_file_device(&f->file);

                r = sd_bus_message_append(reply, "(isstut)", (int32_t) f->level, strempty(f->path), device,
                                          f->file.ino, f->file.generation, f->cached);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_manager(sd_bus_message *reply, const ListedManager *m) {
        int r;

        r = sd_bus_message_open_container(reply, 'r', "stbtta(ist)a(isstut)");
        if (r >= 0)
                r = sd_bus_message_append(reply, "stbtt", strempty(m->name), m->kernel.id,
                                          (int) m->kernel.revoked, m->kernel.n_decisions, m->kernel.n_wrong);
        if (r >= 0)
                r = append_levels(reply, &m->kernel);
        if (r >= 0)
                r = append_files(reply, m);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int reply_managers(Control *c, sd_bus_message *msg, const char *name, bool exists, bool files) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Unit *u = exists ? manager_find_unit(c->manager, name) : NULL;
        _cleanup_ptr_array_ GPtrArray *managers = NULL;
        int r;

        if (!u)
                return sd_bus_reply_method_errorf(msg, BUS_ERROR_NO_SUCH_UNIT, "There is no unit '%s'",
                                                  name);

        r = bus_open_array(msg, FILES_BUS_STRUCT, &reply);
        if (r < 0)
                return r;

        managers = files_list(u, files);
        for (guint i = 0; r >= 0 && i < managers->len; i++)
                r = append_manager(reply, managers->pdata[i]);
        return bus_send_array(reply, r);
}

static int reply_to_root(Control *c, sd_bus_message *msg, sd_varlink *link, const char *name, bool exists) {
        return reply_managers(c, msg, name, exists, /* files= */ true);
}

static int reply_to_user(Control *c, sd_bus_message *msg, sd_varlink *link, const char *name, bool exists) {
        return reply_managers(c, msg, name, exists, /* files= */ false);
}

int files_bus_list(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        PolkitSubject subject;
        int r;

        r = bus_get_subject(msg, userdata, files_bus_list, &subject, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        return lookup_bus(msg, userdata, files_bus_list, /* cgroup= */ true,
                          subject.uid == 0 ? reply_to_root : reply_to_user, error);
}
