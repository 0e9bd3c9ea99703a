/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "config-change.h"
#include "polkit.h"

/* A client asks for a change of the configuration, or for all of it to be read again. Root may, and whom polkit
 * permits it; polkit may take its time, and so may systemd, which is asked whether there is such a unit. What only
 * asks what would come of it is for everybody. */
typedef struct ConfigRequest ConfigRequest;

typedef struct ConfigReply {
        const char *unit;
        const ConfigOutcome *outcome;
        char **problems; /* of a reload: what is wrong with the configuration */
        UnitState state; /* of a change that was waited for: what came of it, pending if that is not known yet; */
        const char *reason;
} ConfigReply;

/* Answers the client; exactly one of msg and link is set. */
typedef int (*config_request_reply_t)(Manager *m, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply);

typedef struct ConfigRequestArguments {
        ConfigChange change;   /* copied; without unit: a reload */
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
/* After each reconcile: answers those that wait for a unit which it brought to an end. */
void config_requests_reconciled(Manager *m);
/* The bus goes: answers those that wait for polkit or systemd with no, and the others. */
void config_requests_refuse(Manager *m);
void config_requests_free(Manager *m);
