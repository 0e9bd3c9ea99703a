/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "authorize.h"
#include "context.h"
#include "daemon/systemd/resolve.h"

/* A request of a client, by whatever bus, that may have to wait: for polkit, for systemd, for a reconcile.
 * Each kind of request embeds it as its first member, and says what is done when. */
typedef struct Pending Pending;

typedef struct PendingKind {
        /* The client may. */
        void (*permitted)(Pending *p);
        /* It may not, or cannot be asked about: -EACCES, -ENOKEY: only after asking the user, -EBUSY. */
        void (*refused)(Pending *p, int error);
        void (*free)(Pending *p);
} PendingKind;

struct Pending {
        const PendingKind *kind;
        Control *control;
        uid_t uid;
        sd_bus_message *msg;     /* to be answered; exactly one of the two is set */
        sd_varlink *link;
        sd_bus_slot *polkit;     /* is being asked */
        SystemdResolve *resolve; /* so is systemd, which unit is meant, */
        bool queries;            /* or what is to be known of it */
};

/* The request belongs to the control from now on, until pending_done(), in any case: with too many of the
 * user waiting, or too little memory, it is refused at once and false returned. */
bool pending_begin(Pending *p, const PendingKind *kind, Control *c, uid_t uid, sd_bus_message *msg,
                   sd_varlink *link);
/* Takes it out, and frees it. */
void pending_done(Pending *p);
/* It could not be answered, most likely since the client went away: tries to tell that. */
void pending_failed(Pending *p, int error);

/* Calls permitted() or refused(), at once or later. Root may do everything. */
void pending_authorize(Pending *p, const PolkitSubject *subject, const char *action, bool interactive);

/* Calls func, with the request, when more is known of the unit (systemd_query()); false: all is. */
bool pending_query(Pending *p, const char *unit, bool cgroup, void (*func)(void *userdata));
/* Waits for systemd or polkit. */
bool pending_is_asking(const Pending *p);

/* Those of a kind (NULL: any) at this moment. */
GPtrArray *pending_list(Control *c, const PendingKind *kind);
/* The client is gone. */
void pending_disconnected(Control *c, sd_varlink *link);
void pending_free_all(Control *c);
