/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/control/lookup.h"
#include "daemon/control/request.h"

/* ---- what all have in common (request.c) */

/* Defines the function that reads a property: it appends to reply what it finds by userdata. */
#define BUS_GETTER(name, append)                                                                        \
        static int name(sd_bus *bus, const char *path, const char *interface, const char *property,     \
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {                   \
                return append;                                                                          \
        }                                                                                               \
        struct getter_needs_a_semicolon

/* An answer that is one array: opened, to be filled, and then, unless something failed, sent. */
int bus_open_array(sd_bus_message *msg, const char *type, sd_bus_message **ret);
int bus_send_array(sd_bus_message *reply, int result);

/* A flat_keyed_func_t: appends one {st} to the message given as userdata. */
int bus_append_counter(const char *key, const char *value, void *userdata);

/* ---- who calls (caller.c) */

/* Who sent the message. 0: the bus has to be asked; the handler, whose userdata is the control, is called
 * again when that is known, for the message from its beginning, and is to return 1 for now.
 *
 * To wait for the bus's answer right here (sd_bus_query_sender_creds()) would have sd-bus keep everything
 * that comes before it: whoever sends calls faster than they are answered would fill our memory. */
int bus_get_subject(sd_bus_message *msg, Control *control, sd_bus_message_handler_t handler,
                    PolkitSubject *ret, sd_bus_error *error);

/* ---- settings of units (request.c) */

int config_bus_get_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_set_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_reset_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_forget_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_reload(sd_bus_message *msg, void *userdata, sd_bus_error *error);

/* The arguments "sas" that calls for changes begin with: a unit and its settings, at least one. */
int config_bus_read_settings(sd_bus_message *msg, const char **ret_unit, char ***ret_assignments,
                             sd_bus_error *error);
/* For handlers of other methods that ask for a change: who asks is filled in. */
int config_bus_request(sd_bus_message *msg, Control *c, sd_bus_message_handler_t handler,
                       const ConfigRequestArguments *arguments, sd_bus_error *error);
int config_bus_reply_error(sd_bus_message *msg, const ConfigReply *reply);

/* For handlers of methods that ask about the unit which their only argument names. */
int lookup_bus(sd_bus_message *msg, Control *c, sd_bus_message_handler_t handler, bool cgroup,
               lookup_reply_t reply, sd_bus_error *error);

/* ---- holds (hold.c) */

int hold_bus_begin(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int hold_bus_release(sd_bus_message *msg, void *userdata, sd_bus_error *error);

/* Cookie, unit, settings, program, reason, process, user, since; of all units or one. */
#define HOLD_BUS_STRUCT "(usasssuut)"
int hold_bus_append(sd_bus_message *reply, const Manager *m, const char *unit);

/* ---- files of managers (files.c) */

/* Name, control group, revoked, decisions, wrong ones, levels, files. */
#define FILES_BUS_STRUCT "(stbtta(ist)a(isstut))"
int files_bus_list(sd_bus_message *msg, void *userdata, sd_bus_error *error);

/* ---- classes of threads (threads.c) */

int threads_bus_set_thread_class(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int threads_bus_set_process_class(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int threads_bus_list(sd_bus_message *msg, void *userdata, sd_bus_error *error);
