/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds on varlink: conversion only. A hold lasts as long as the connection does that asked for it. */

#include "daemon/core/registry.h"
#include "hold.h"
#include "request.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "unit.h"

/* The first reply; there is no other, but the call goes on. */
static int reply_hold(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *unit = NULL;
        Unit *u;
        int r;

        if (reply->outcome->error < 0)
                return config_varlink_refuse(link, reply);

        u = manager_find_unit(c->manager, reply->unit);
        if (u) {
                r = unit_varlink_build(u, &unit);
                if (r < 0)
                        return r;
        }

        return sd_varlink_notifybo(link,
                                   SD_JSON_BUILD_PAIR_UNSIGNED("cookie", reply->hold->cookie),
                                   SD_JSON_BUILD_PAIR_CONDITION(!!unit, "unit",
                                                                SD_JSON_BUILD_VARIANT(unit)));
}

typedef struct Parameters {
        const char *unit;
        char **settings;
        const char *program;
        const char *reason;
        int interactive;
} Parameters;

static void parameters_done(Parameters *p) {
        strv_free(p->settings);
}

static int method_hold(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                       void *userdata) {
        static const sd_json_dispatch_field table[] = {
                { "unit", SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string, offsetof(Parameters, unit),
                  SD_JSON_MANDATORY },
                { "settings", SD_JSON_VARIANT_ARRAY, sd_json_dispatch_strv, offsetof(Parameters, settings),
                  SD_JSON_MANDATORY },
                { "program", SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string,
                  offsetof(Parameters, program), SD_JSON_NULLABLE },
                { "reason", SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string,
                  offsetof(Parameters, reason), SD_JSON_NULLABLE },
                { "allowInteractiveAuthentication", SD_JSON_VARIANT_BOOLEAN, sd_json_dispatch_tristate,
                  offsetof(Parameters, interactive), SD_JSON_NULLABLE },
                {},
        };
        _cleanup_(parameters_done) Parameters p = {};
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        if (r != 0)
                return r;
        if (!(flags & SD_VARLINK_METHOD_MORE))
                return sd_varlink_error(link, SD_VARLINK_ERROR_EXPECTED_MORE, NULL);
        if (!p.settings || !p.settings[0])
                return sd_varlink_error_invalid_parameter_name(link, "settings");

        return config_varlink_request(link, userdata, &(const ConfigRequestArguments) {
                                                              .change = {
                                                                      .unit = p.unit,
                                                                      .assignments = p.settings,
                                                              },
                                                              .hold = true,
                                                              .program = p.program,
                                                              .reason = p.reason,
                                                              .interactive = p.interactive > 0,
                                                              .reply = reply_hold,
                                                      });
}

int hold_varlink_bind(sd_varlink_server *s) {
        return sd_varlink_server_bind_method(s, CACHEBPF_VARLINK_INTERFACE ".HoldUnit", method_hold);
}
