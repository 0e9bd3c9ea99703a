/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings of units on varlink: conversion only. */

#include "daemon/control/request.h"
#include "daemon/core/registry.h"
#include "methods.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "unit.h"

/* All kinds of change, holds and Reload. */
typedef struct Parameters {
        const char *unit;
        char **settings;
        const char *program;
        const char *reason;
        int persistent;
        int dry_run;
        int wait;
        int interactive;
} Parameters;

#define FIELD_UNIT                                                                                   \
        { "unit", SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string, offsetof(Parameters, unit), \
          SD_JSON_MANDATORY }
#define FIELD_SETTINGS                                                                              \
        { "settings", SD_JSON_VARIANT_ARRAY, sd_json_dispatch_strv, offsetof(Parameters, settings), \
          SD_JSON_MANDATORY }
#define FIELD_TEXT(name)                                                                            \
        { #name, SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string, offsetof(Parameters, name), \
          SD_JSON_NULLABLE }
#define FIELD_FLAG(name, member)                                                                  \
        { name, SD_JSON_VARIANT_BOOLEAN, sd_json_dispatch_tristate, offsetof(Parameters, member), \
          SD_JSON_NULLABLE }
#define FIELD_INTERACTIVE FIELD_FLAG("allowInteractiveAuthentication", interactive)
#define FIELDS_OF_CHANGE                                                                 \
        FIELD_UNIT, FIELD_FLAG("persistent", persistent), FIELD_FLAG("dryRun", dry_run), \
                FIELD_FLAG("wait", wait), FIELD_INTERACTIVE

static void parameters_done(Parameters *p) {
        strv_free(p->settings);
}

static int refuse(sd_varlink *link, const ConfigReply *reply) {
        const ConfigOutcome *o = reply->outcome;

        switch (o->error) {
        case -ESRCH:
                return sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT,
                                          SD_JSON_BUILD_PAIR_STRING("unit", strempty(reply->unit)));
        case -EACCES:
                if (o->problem) /* not the caller's lack of rights, but ours */
                        break;
                return sd_varlink_error(link, SD_VARLINK_ERROR_PERMISSION_DENIED, NULL);
        case -ENOKEY:
                return sd_varlink_error(link, "io.systemd.InteractiveAuthenticationRequired", NULL);
        }

        if (!o->problem)
                return sd_varlink_error_errno(link, o->error);

        return sd_varlink_errorbo(link, o->error == -EINVAL ? CACHEBPF_VARLINK_ERROR_INVALID_SETTING
                                                            : CACHEBPF_VARLINK_ERROR_CANNOT_STORE,
                                  SD_JSON_BUILD_PAIR_STRING("problem", o->problem));
}

static int build_settings(const PolicySetting *s, sd_json_variant **ret) {
        int r;

        r = sd_json_variant_new_array(ret, NULL, 0);

        for (guint i = 0; r >= 0 && i < policy_setting_count_lines(s); i++) {
                const PolicyLine *l = policy_setting_get_line(s, i);
                g_autofree char *source = g_strdup_printf(SOURCE_FORMAT, SOURCE_ARGUMENTS(l->file, l->line));

                r = sd_json_variant_append_arraybo(
                        ret,
                        SD_JSON_BUILD_PAIR_STRING("key", l->key),
                        SD_JSON_BUILD_PAIR_STRING("value", l->value),
                        SD_JSON_BUILD_PAIR_STRING("source", source),
                        SD_JSON_BUILD_PAIR_STRING("layer", policy_layer_to_string(l->layer)),
                        SD_JSON_BUILD_PAIR_BOOLEAN("effective", policy_setting_line_counts(s, l)));
        }

        return r;
}

int lookup_varlink(sd_varlink *link, Control *c, const char *name, bool cgroup, lookup_reply_t reply) {
        LookupArguments a = {
                .link = link,
                .name = name,
                .cgroup = cgroup,
                .reply = reply,
        };
        int r;

        r = sd_varlink_get_peer_uid(link, &a.uid);
        if (r < 0)
                return r;

        control_lookup(c, &a);
        return 0;
}

/* ---- GetUnitSettings */

static int reply_settings(Control *c, sd_bus_message *msg, sd_varlink *link, const char *unit, bool exists) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *settings = NULL;
        _cleanup_(config_outcome_done) ConfigOutcome o = {};
        int r;

        config_show(c->manager, unit, exists, &o);
        if (o.error < 0)
                return refuse(link, &(const ConfigReply) { .unit = unit, .outcome = &o });

        r = build_settings(&o.setting, &settings);
        if (r < 0)
                return r;

        return sd_varlink_replybo(link,
                                  SD_JSON_BUILD_PAIR_STRING("unit", unit),
                                  SD_JSON_BUILD_PAIR_VARIANT("settings", settings),
                                  SD_JSON_BUILD_PAIR_BOOLEAN("unitFilesKnown", o.files_known));
}

static int method_get_unit_settings(sd_varlink *link, sd_json_variant *parameters,
                                    sd_varlink_method_flags_t flags, void *userdata) {
        static const sd_json_dispatch_field table[] = {
                FIELD_UNIT,
                {},
        };
        Parameters p = {};
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        return r != 0 ? r : lookup_varlink(link, ((Varlink *) userdata)->control, p.unit,
                                           /* cgroup= */ false, reply_settings);
}

/* ---- SetUnitSettings, ResetUnit */

static int reply_change(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *settings = NULL;
        const ConfigOutcome *o = reply->outcome;
        char **files = o->files ? (char **) o->files->pdata : NULL;
        int r;

        if (o->error < 0)
                return refuse(link, reply);

        r = build_settings(&o->setting, &settings);
        if (r < 0)
                return r;

        return sd_varlink_replybo(link,
                                  SD_JSON_BUILD_PAIR_STRING("unit", reply->unit),
                                  SD_JSON_BUILD_PAIR_STRV("files", files),
                                  SD_JSON_BUILD_PAIR_VARIANT("settings", settings),
                                  SD_JSON_BUILD_PAIR_BOOLEAN("unitFilesKnown", o->files_known),
                                  SD_JSON_BUILD_PAIR_CONDITION(
                                                  reply->state >= 0, "state",
                                                  SD_JSON_BUILD_STRING(unit_state_to_string(reply->state))),
                                  VARLINK_PAIR_NULLABLE("reason", reply->reason));
}

int varlink_get_subject(sd_varlink *link, PolkitSubject *ret) {
        *ret = (PolkitSubject) { .pidfd = sd_varlink_get_peer_pidfd(link) };
        (void) sd_varlink_get_peer_pid(link, &ret->pid);
        return sd_varlink_get_peer_uid(link, &ret->uid);
}

static int request(sd_varlink *link, Varlink *v, const Parameters *p, bool hold,
                   config_request_reply_t reply) {
        ConfigRequestArguments a = {
                .change = {
                        .unit = p->unit,
                        .assignments = p->settings,
                        .persistent = p->persistent > 0,
                        .dry_run = p->dry_run > 0,
                },
                .hold = hold,
                .program = p->program,
                .reason = p->reason,
                .interactive = p->interactive > 0,
                .wait = p->wait > 0,
                .link = link,
                .reply = reply,
        };
        int r;

        r = varlink_get_subject(link, &a.subject);
        if (r < 0)
                return r;

        config_request(v->control, &a);
        return 0;
}

static int method_set_unit_settings(sd_varlink *link, sd_json_variant *parameters,
                                    sd_varlink_method_flags_t flags, void *userdata) {
        static const sd_json_dispatch_field table[] = {
                FIELDS_OF_CHANGE,
                FIELD_SETTINGS,
                {},
        };
        _cleanup_(parameters_done) Parameters p = {};
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        if (r != 0)
                return r;
        if (!p.settings || !p.settings[0])
                return sd_varlink_error_invalid_parameter_name(link, "settings");

        return request(link, userdata, &p, /* hold= */ false, reply_change);
}

static int method_reset_unit(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                             void *userdata) {
        static const sd_json_dispatch_field table[] = {
                FIELDS_OF_CHANGE,
                {},
        };
        Parameters p = {};
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        return r != 0 ? r : request(link, userdata, &p, /* hold= */ false, reply_change);
}

/* ---- ForgetUnit */

static int reply_forget(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        const ConfigOutcome *o = reply->outcome;

        if (o->error < 0)
                return refuse(link, reply);

        return sd_varlink_replybo(link,
                                  SD_JSON_BUILD_PAIR_STRING("unit", reply->unit),
                                  SD_JSON_BUILD_PAIR_STRV("files",
                                                          o->files ? (char **) o->files->pdata : NULL));
}

static int method_forget_unit(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                              void *userdata) {
        static const sd_json_dispatch_field table[] = {
                FIELD_UNIT,
                FIELD_INTERACTIVE,
                {},
        };
        Parameters p = {};
        ConfigRequestArguments a = {
                .forget = true,
                .link = link,
                .reply = reply_forget,
        };
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        if (r != 0)
                return r;

        a.change.unit = p.unit;
        a.interactive = p.interactive > 0;
        r = varlink_get_subject(link, &a.subject);
        if (r < 0)
                return r;

        config_request(((Varlink *) userdata)->control, &a);
        return 0;
}

/* ---- HoldUnit */

/* The first reply; there is no other, but the call goes on: a hold lasts as long as the connection does. */
static int reply_hold(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *unit = NULL;
        Unit *u;
        int r;

        if (reply->outcome->error < 0)
                return refuse(link, reply);

        /* systemd may have unloaded the unit in between; it says nothing of the hold then */
        u = manager_find_unit(c->manager, reply->unit);
        if (u && (u->active || u->files_known)) {
                r = unit_varlink_build(u, &unit);
                if (r < 0)
                        return r;
        }

        return sd_varlink_notifybo(link,
                                   SD_JSON_BUILD_PAIR_UNSIGNED("cookie", reply->hold->cookie),
                                   VARLINK_PAIR_NULLABLE_VARIANT("unit", unit));
}

static int method_hold(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                       void *userdata) {
        static const sd_json_dispatch_field table[] = {
                FIELD_UNIT,
                FIELD_SETTINGS,
                FIELD_TEXT(program),
                FIELD_TEXT(reason),
                FIELD_INTERACTIVE,
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

        return request(link, userdata, &p, /* hold= */ true, reply_hold);
}

/* ---- Reload */

static int reply_reload(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        if (reply->outcome->error < 0)
                return refuse(link, reply);

        return sd_varlink_replybo(link, SD_JSON_BUILD_PAIR_STRV("problems", reply->problems));
}

static int method_reload(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                         void *userdata) {
        static const sd_json_dispatch_field table[] = {
                FIELD_INTERACTIVE,
                {},
        };
        Parameters p = {};
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        return r != 0 ? r : request(link, userdata, &p, /* hold= */ false, reply_reload);
}

int config_varlink_bind(sd_varlink_server *s) {
        return sd_varlink_server_bind_method_many(
                s,
                CACHEBPF_VARLINK_INTERFACE ".GetUnitSettings", method_get_unit_settings,
                CACHEBPF_VARLINK_INTERFACE ".SetUnitSettings", method_set_unit_settings,
                CACHEBPF_VARLINK_INTERFACE ".ResetUnit", method_reset_unit,
                CACHEBPF_VARLINK_INTERFACE ".ForgetUnit", method_forget_unit,
                CACHEBPF_VARLINK_INTERFACE ".HoldUnit", method_hold,
                CACHEBPF_VARLINK_INTERFACE ".Reload", method_reload);
}
