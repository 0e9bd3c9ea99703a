/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>
#include <systemd/sd-varlink.h>

#include "shared/macro.h"

/* These return a negative errno after they logged what went wrong, in words for the person at the
 * terminal. */

/* Connects to the daemon: at $CACHEBPF_VARLINK, else where the daemon listens; on the machine that --host=
 * or --machine= names. */
int client_connect(sd_varlink **ret);

/* The same for calls with allowInteractiveAuthentication: a password may have to be typed. */
int client_connect_asking(sd_varlink **ret);

/* As client_connect(), without a word in the log. */
int client_connect_quiet(sd_varlink **ret);

/* One call, one reply. -ESRCH without a word in the log: the daemon knows no object of the name, or thread
 * of the number, we asked for. */
int client_call(sd_varlink *link, const char *method, sd_json_variant *parameters, sd_json_variant **ret);

/* Words for an error reply, or for what sd-varlink makes of
 * a connection that broke, and its errno. -ESRCH as above. */
int client_log_error(const char *method, const char *error_id, sd_json_variant *parameters);

/* The same with any number of replies, handed to "on_reply" one by one as they come (a negative return value
 * of it ends the call). */
typedef int (*ClientReply)(sd_json_variant *parameters, void *userdata);
int client_call_more(
                sd_varlink *link,
                const char *method,
                sd_json_variant *parameters,
                ClientReply on_reply,
                void *userdata);
