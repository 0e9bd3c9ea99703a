/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A server of the daemon's interface without a socket, on the manager of the fixture, and its clients. */

#include "daemon/varlink/context.h"
#include "reconcile-fixture.h"

/* NULL when it does not run. */
extern Varlink *varlink;

void server_start(void);
void server_stop(void);

typedef int (*send_t)(sd_varlink *link, const char *method, sd_json_variant *parameters);
typedef void (*reply_t)(sd_json_variant *parameters, void *userdata);

typedef struct Connection {
        sd_varlink *link;
        reply_t reply; /* for each reply of a stream */
        void *userdata;
        bool ended;            /* by the last of the replies */
        char *error, *problem; /* how the call ended else, and the member of that name; or NULL */
        uint64_t thread;       /* another member of the error */
} Connection;

/* Makes one call, and runs the loop. */
void connection_call(Connection *c, send_t send, const char *method, sd_json_variant *parameters,
                     reply_t reply, void *userdata);
void connection_close(Connection *c);
void connection_done(Connection *c);

/* NULL: there is none, or it is null. */
const char *member_string(sd_json_variant *v, const char *key);
