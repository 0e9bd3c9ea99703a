/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "authorize.h"
#include "change.h"
#include "context.h"

/* A client asks for a change of the configuration, for a hold, or for all of it to be read again. Root may,
 * and whom polkit permits it; polkit may take its time, and so may systemd, which is asked whether there is
 * such a unit. What only asks what would come of it is for everybody. */

typedef struct ConfigReply {
        const char *unit;
        const Hold *hold;    /* that has begun, and is in effect as far as it can be */
        const ConfigOutcome *outcome;
        char **problems; /* of a reload: what is wrong with the configuration */
        /* of a change that was waited for: what came of it, pending if that is not known yet; */
        UnitState state;
        const char *reason;
} ConfigReply;

/* Answers the client; exactly one of msg and link is set. */
typedef int (*config_request_reply_t)(Control *c, sd_bus_message *msg, sd_varlink *link,
                                      const ConfigReply *reply);

typedef struct ConfigRequestArguments {
        ConfigChange change;   /* copied; without unit: a reload */
        bool forget;           /* no change: forget what the unit's policy has learned */
        bool hold;             /* the assignments are to be held, not set; these are copied: */
        const char *program;
        const char *reason;
        PolkitSubject subject;
        bool interactive;
        bool wait;             /* answer a change when it was carried out, in the kernel, or could not be */
        sd_bus_message *msg;
        sd_varlink *link;
        config_request_reply_t reply;
} ConfigRequestArguments;

/* Carries it out and calls reply, now or later. */
void config_request(Control *c, const ConfigRequestArguments *arguments);

/* The configuration has been read, and what follows from it is done: answers those that wait for that. */
void config_requests_reloaded(Control *c);
/* A reconcile is over: answers those that wait for a unit which it got to, having changed or held it. */
void config_requests_reconciled(Control *c);
/* Nothing more will come: answers those that were carried out, as far as they were. */
void config_requests_answer(Control *c);
/* Nobody waits for a reload any more. */
void config_requests_stop(Control *c);
