/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings of units on D-Bus: conversion only. */

#include "daemon/control/check.h"
#include "methods.h"
#include "objects.h"

static int set_error(sd_bus_error *error, const ConfigReply *reply) {
        const ConfigOutcome *o = reply->outcome;

        if (o->problem)
                return sd_bus_error_set(error,
                                        o->error == -EINVAL ? SD_BUS_ERROR_INVALID_ARGS :
                                                              BUS_ERROR_CANNOT_STORE,
                                        o->problem);

        switch (o->error) {
        case -ESRCH:
                return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_UNIT, "There is no unit '%s'",
                                         reply->unit);
        case -EACCES:
                return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED,
                                         "Not authorized to change the configuration of cache policies");
        case -ENOKEY:
                return sd_bus_error_setf(error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
                                         "Interactive authentication required");
        default:
                return sd_bus_error_set_errno(error, o->error);
        }
}

int config_bus_reply_error(sd_bus_message *msg, const ConfigReply *reply) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        (void) set_error(&error, reply);
        return sd_bus_reply_method_error(msg, &error);
}

static int reply_strings(sd_bus_message *msg, char **strings) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(msg, &reply);
        if (r >= 0)
                r = sd_bus_message_append_strv(reply, strings);
        return r < 0 ? r : sd_bus_message_send(reply);
}

int bus_open_array(sd_bus_message *msg, const char *type, sd_bus_message **ret) {
        int r;

        r = sd_bus_message_new_method_return(msg, ret);
        return r < 0 ? r : sd_bus_message_open_container(*ret, 'a', type);
}

int bus_send_array(sd_bus_message *reply, int result) {
        if (result >= 0)
                result = sd_bus_message_close_container(reply);
        return result < 0 ? result : sd_bus_message_send(reply);
}

int bus_append_counter(const char *key, const char *value, void *userdata) {
        uint64_t n;

        if (safe_atou64(value, &n) < 0)
                return 0;

        return sd_bus_message_append(userdata, "{st}", key, n);
}

/* ---- what clients ask for */

int config_bus_request(sd_bus_message *msg, Control *c, sd_bus_message_handler_t handler,
                       const ConfigRequestArguments *arguments, sd_bus_error *error) {
        ConfigRequestArguments a = *arguments;
        int r;

        r = bus_get_subject(msg, c, handler, &a.subject, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        a.interactive = sd_bus_message_get_allow_interactive_authorization(msg) > 0;
        a.msg = msg;
        config_request(c, &a);
        return 1;
}

static int request(sd_bus_message *msg, Control *c, sd_bus_message_handler_t handler,
                   const ConfigChange *change, config_request_reply_t reply, sd_bus_error *error) {
        return config_bus_request(msg, c, handler,
                                  &(const ConfigRequestArguments) { .change = *change, .reply = reply },
                                  error);
}

static int reply_files(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        GPtrArray *files = reply->outcome->files;

        if (reply->outcome->error < 0)
                return config_bus_reply_error(msg, reply);

        return reply_strings(msg, files ? (char **) files->pdata : NULL);
}

int config_bus_read_settings(sd_bus_message *msg, const char **ret_unit, char ***ret_assignments,
                             sd_bus_error *error) {
        _cleanup_strv_free_ char **assignments = NULL;
        int r;

        r = sd_bus_message_read(msg, "s", ret_unit);
        if (r >= 0)
                r = sd_bus_message_read_strv(msg, &assignments);
        if (r < 0)
                return r;
        if (!assignments || !assignments[0])
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "There are no settings in the call");

        *ret_assignments = TAKE_PTR(assignments);
        return 0;
}

int config_bus_set_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        _cleanup_strv_free_ char **assignments = NULL;
        int persistent, dry_run, r;
        const char *unit;

        r = config_bus_read_settings(msg, &unit, &assignments, error);
        if (r >= 0)
                r = sd_bus_message_read(msg, "bb", &persistent, &dry_run);
        if (r < 0)
                return r;

        return request(msg, userdata, config_bus_set_unit_settings,
                       &(const ConfigChange) {
                               .unit = unit,
                               .assignments = assignments,
                               .persistent = persistent,
                               .dry_run = dry_run,
                       },
                       reply_files, error);
}

int config_bus_reset_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        int persistent, dry_run, r;
        const char *unit;

        r = sd_bus_message_read(msg, "sbb", &unit, &persistent, &dry_run);
        if (r < 0)
                return r;

        return request(msg, userdata, config_bus_reset_unit,
                       &(const ConfigChange) {
                               .unit = unit,
                               .persistent = persistent,
                               .dry_run = dry_run,
                       },
                       reply_files, error);
}

int config_bus_forget_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        const char *unit;
        int r;

        r = sd_bus_message_read(msg, "s", &unit);
        if (r < 0)
                return r;

        return config_bus_request(msg, userdata, config_bus_forget_unit,
                                  &(const ConfigRequestArguments) {
                                          .change = { .unit = unit },
                                          .forget = true,
                                          .reply = reply_files,
                                  },
                                  error);
}

static int reply_reload(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        return reply->outcome->error < 0 ? config_bus_reply_error(msg, reply) :
                                           reply_strings(msg, reply->problems);
}

int config_bus_reload(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        return request(msg, userdata, config_bus_reload, &(const ConfigChange) {}, reply_reload, error);
}

/* ---- questions about a unit */

int lookup_bus(sd_bus_message *msg, Control *c, sd_bus_message_handler_t handler, bool cgroup,
               lookup_reply_t reply, sd_bus_error *error) {
        PolkitSubject subject;
        const char *unit;
        int r;

        r = bus_get_subject(msg, c, handler, &subject, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = sd_bus_message_read(msg, "s", &unit);
        if (r < 0)
                return r;

        control_lookup(c, &(const LookupArguments) {
                                  .uid = subject.uid,
                                  .msg = msg,
                                  .name = unit,
                                  .cgroup = cgroup,
                                  .reply = reply,
                          });
        return 1;
}

static int append_line(sd_bus_message *reply, const PolicySetting *s, const PolicyLine *l) {
        g_autofree char *source = g_strdup_printf(SOURCE_FORMAT, SOURCE_ARGUMENTS(l->file, l->line));

        return sd_bus_message_append(reply, "(ssssb)", l->key, l->value, source,
                                     policy_layer_to_string(l->layer),
                                     (int) policy_setting_line_counts(s, l));
}

static int reply_settings(Control *c, sd_bus_message *msg, sd_varlink *link, const char *unit, bool exists) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(config_outcome_done) ConfigOutcome o = {};
        int r;

        config_show(c->manager, unit, exists, &o);
        if (o.error < 0)
                return config_bus_reply_error(msg, &(const ConfigReply) { .unit = unit, .outcome = &o });

        r = bus_open_array(msg, "(ssssb)", &reply);
        for (guint i = 0; r >= 0 && i < policy_setting_count_lines(&o.setting); i++)
                r = append_line(reply, &o.setting, policy_setting_get_line(&o.setting, i));
        return bus_send_array(reply, r);
}

int config_bus_get_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        return lookup_bus(msg, userdata, config_bus_get_unit_settings, /* cgroup= */ false, reply_settings,
                          error);
}
