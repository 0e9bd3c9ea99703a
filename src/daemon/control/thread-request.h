/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "authorize.h"
#include "context.h"
#include "shared/thread-class.h"
#include "threads.h"

/* A client asks for a class to be given to threads. Everybody may do that with his own: it says no more than
 * posix_fadvise() does about single files, and hurts nobody else. For those of others polkit is asked, and
 * may take its time; without polkit only root may. */

typedef struct ThreadRequestResult {
        /* 0, -ESRCH: no such thread, -EACCES, -ENOKEY: only after asking the user, … */
        int error;
        unsigned n_threads;       /* that have got the class */
} ThreadRequestResult;

/* Answers the client; exactly one of msg and link is set. */
typedef int (*thread_request_reply_t)(Control *c, sd_bus_message *msg, sd_varlink *link,
                                      const ThreadRequestResult *result);

typedef struct ThreadRequestArguments {
        ThreadTarget target;      /* taken over */
        ThreadClass class;
        PolkitSubject subject;    /* its uid is the client's; copied */
        bool interactive;
        sd_bus_message *msg;
        sd_varlink *link;
        thread_request_reply_t reply;
} ThreadRequestArguments;

/* Carries it out and calls reply, now or later. */
void thread_request(Control *c, const ThreadRequestArguments *arguments);
