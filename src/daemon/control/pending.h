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
        /* What matters of the unit is known; or not, then as in systemd_resolve_reply_t. */
        void (*found)(Pending *p, int error, const char *problem);
        /* Frees what is not Pending's. */
        void (*free)(Pending *p);
} PendingKind;

struct Pending {
        const PendingKind *kind;
        char *unit;              /* NULL: it is about none */
        bool cgroup;             /* the unit's control group has to be known as well, for what it inherits */

        Control *control;
        uid_t uid;
        sd_bus_message *msg;     /* to be answered; exactly one of the two is set */
        sd_varlink *link;
        sd_bus_slot *polkit;     /* is being asked */
        SystemdResolve *resolve; /* so is systemd, which unit is meant, */
        bool queries;            /* or what is to be known of it */
};

/* The request belongs to the control from now on, until pending_done(), in any case: with too many of the
 * user waiting it is refused at once and false returned. */
bool pending_begin(Pending *p, Control *c, uid_t uid, sd_bus_message *msg, sd_varlink *link);
/* Takes it out, and frees it. A negative result: the client has had no answer, most likely since it went
 * away; tries to tell that. */
void pending_done(Pending *p, int result);

/* Calls permitted() or refused(), at once or later. Root may do everything. */
void pending_authorize(Pending *p, const PolkitSubject *subject, const char *action, bool interactive);

/* Asks systemd which unit is meant, and goes on with pending_query(). */
void pending_resolve(Pending *p);
/* Calls found() when more is known of the unit (systemd_query()), at once or later. */
void pending_query(Pending *p);
/* Waits for systemd or polkit. */
bool pending_is_asking(const Pending *p);

/* Those of a kind (NULL: any) at this moment. */
GPtrArray *pending_list(Control *c, const PendingKind *kind);
/* The client is gone. */
void pending_disconnected(Control *c, sd_varlink *link);
void pending_free_all(Control *c);
