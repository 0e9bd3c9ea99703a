/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "internal.h"
#include "resolve.h"
#include "shared/string-util.h"

struct SystemdResolve {
        sd_bus *bus;
        sd_bus_slot *slot;
        char *name;
        char *id;
        systemd_resolve_reply_t reply;
        void *userdata;
};

SystemdResolve *systemd_resolve_free(SystemdResolve *q) {
        if (!q)
                return NULL;

        sd_bus_slot_unref(q->slot);
        sd_bus_unref(q->bus);
        free(q->name);
        free(q->id);
        return mfree(q);
}

/* It need not be loaded: a setting may wait for the day on which it is started. */
static int on_load_state(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdResolve *q = ASSERT_PTR(userdata);
        const char *state;
        int r = 0;

        q->slot = sd_bus_slot_unref(q->slot);

        if (sd_bus_message_is_method_error(msg, NULL))
                r = -sd_bus_message_get_errno(msg);
        else if (sd_bus_message_read(msg, "v", "s", &state) < 0)
                r = -EBADMSG;
        else if (streq(state, "not-found"))
                r = -ESRCH;
        q->reply(r, q->id, NULL, q->userdata);
        return 0;
}

static void refuse(SystemdResolve *q, const sd_bus_error *e) {
        g_autofree char *problem = g_strdup_printf("systemd refuses unit '%s': %s", q->name,
                                                   strempty(e->message));
        char *stop = endswith(problem, ".");

        /* systemd's sentences have full stops, ours get one from who prints them. */
        if (stop)
                *stop = 0;
        q->reply(-EINVAL, NULL, problem, q->userdata);
}

/* The path has the unit's own name. */
static int on_loaded(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdResolve *q = ASSERT_PTR(userdata);
        const char *path;
        int r;

        q->slot = sd_bus_slot_unref(q->slot);

        if (sd_bus_error_has_names(sd_bus_message_get_error(msg), SYSTEMD_SILENCE)) {
                q->reply(-sd_bus_message_get_errno(msg), NULL, NULL, q->userdata);
                return 0;
        }
        if (sd_bus_message_is_method_error(msg, NULL)) {
                refuse(q, sd_bus_message_get_error(msg));
                return 0;
        }

        r = sd_bus_message_read(msg, "o", &path);
        if (r >= 0)
                r = sd_bus_path_decode(path, SYSTEMD_PATH "/unit", &q->id);
        if (r > 0)
                r = sd_bus_call_method_async(q->bus, &q->slot, SYSTEMD_SERVICE, path,
                                             "org.freedesktop.DBus.Properties", "Get", on_load_state, q,
                                             "ss", SYSTEMD_UNIT_INTERFACE, "LoadState");
        if (r <= 0)
                q->reply(r < 0 ? r : -EBADMSG, NULL, NULL, q->userdata);
        return 0;
}

int systemd_resolve(sd_bus *bus, const char *name, systemd_resolve_reply_t reply, void *userdata,
                    SystemdResolve **ret) {
        _cleanup_(systemd_resolve_freep) SystemdResolve *q = g_new0(SystemdResolve, 1);
        int r;

        q->bus = sd_bus_ref(bus);
        q->reply = reply;
        q->userdata = userdata;
        q->name = g_strdup(name);

        r = sd_bus_call_method_async(bus, &q->slot, SYSTEMD_SERVICE, SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE,
                                     "LoadUnit", on_loaded, q, "s", name);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(q);
        return 0;
}
