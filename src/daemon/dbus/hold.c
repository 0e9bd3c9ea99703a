/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds on D-Bus: conversion only. */

#include "daemon/control/hold.h"
#include "methods.h"
#include "objects.h"

/* ---- what is held */

static int append_hold(sd_bus_message *reply, const Hold *h) {
        g_auto(GStrv) settings = policy_setting_get_assignments(&h->setting);
        int r;

        r = sd_bus_message_open_container(reply, 'r', "usasssuut");
        if (r >= 0)
                r = sd_bus_message_append(reply, "us", h->cookie, h->unit);
        if (r >= 0)
                r = sd_bus_message_append_strv(reply, settings);
        if (r >= 0)
                r = sd_bus_message_append(reply, "ssuut", h->program, strempty(h->reason), (uint32_t) h->pid,
                                          (uint32_t) h->uid, h->since);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int hold_bus_append(sd_bus_message *reply, const Manager *m, const char *unit) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', HOLD_BUS_STRUCT);
        for (guint i = 0; r >= 0 && i < m->holds->len; i++) {
                const Hold *h = m->holds->pdata[i];

                if (!unit || streq(h->unit, unit))
                        r = append_hold(reply, h);
        }

        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* ---- methods */

static int reply_hold(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        if (reply->outcome->error < 0)
                return config_bus_reply_error(msg, reply);

        return sd_bus_reply_method_return(msg, "u", reply->hold->cookie);
}

int hold_bus_begin(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        _cleanup_strv_free_ char **assignments = NULL;
        const char *unit, *program, *reason;
        int r;

        r = config_bus_read_settings(msg, &unit, &assignments, error);
        if (r >= 0)
                r = sd_bus_message_read(msg, "ss", &program, &reason);
        if (r < 0)
                return r;

        return config_bus_request(msg, userdata, hold_bus_begin,
                                  &(const ConfigRequestArguments) {
                                          .change = {
                                                  .unit = unit,
                                                  .assignments = assignments,
                                          },
                                          .hold = true,
                                          .program = program,
                                          .reason = reason,
                                          .reply = reply_hold,
                                  },
                                  error);
}

/* Nobody but who holds may: to others the hold does not exist. */
int hold_bus_release(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        uint32_t cookie;
        int r;

        r = sd_bus_message_read(msg, "u", &cookie);
        if (r < 0)
                return r;

        r = hold_release(userdata, cookie, sd_bus_message_get_sender(msg));
        if (r < 0)
                return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_HOLD,
                                         "You have no hold with the cookie %u", cookie);

        return sd_bus_reply_method_return(msg, NULL);
}
