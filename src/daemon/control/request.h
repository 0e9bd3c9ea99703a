/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "authorize.h"
#include "change.h"

/* A client asks for a change of the configuration, for a hold, or for all of it to be read again. Root may,
 * and whom polkit permits it; polkit may take its time, and so may systemd, which is asked whether there is
 * such a unit. What only asks what would come of it is for everybody. */
typedef struct ConfigRequest ConfigRequest;

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
typedef int (*config_request_reply_t)(Manager *m, sd_bus_message *msg, sd_varlink *link,
                                      const ConfigReply *reply);

typedef struct ConfigRequestArguments {
        ConfigChange change;   /* copied; without unit: a reload */
        bool hold;             /* the assignments are to be held, not set; these are copied: */
        const char *program;
        const char *reason;
        pid_t pid;
        PolkitSubject subject; /* copied */
        bool interactive;
        bool wait;             /* answer a change when it was carried out, in the kernel, or could not be */
        sd_bus_message *msg;
        sd_varlink *link;
        config_request_reply_t reply;
} ConfigRequestArguments;

/* Carries it out and calls reply, now or later. */
int config_request(Manager *m, const ConfigRequestArguments *arguments);

/* The configuration has been read, and what follows from it is done: answers those that wait for that. */
void config_requests_reloaded(Manager *m);
/* A reconcile is over: answers those that wait for a unit which it got to, having changed or held it. */
void config_requests_reconciled(Manager *m);
/* The client is gone: forgets what it waits for. */
void config_requests_disconnected(Manager *m, sd_varlink *link);
/* The bus goes: answers those that wait for polkit or systemd with no, and the others. */
void config_requests_refuse(Manager *m);
void config_requests_free(Manager *m);
