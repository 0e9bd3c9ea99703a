/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "shared/macro.h"

#define POLKIT_ACTION_CLASSIFY_THREADS "org.cachebpf1.classify-threads"
#define POLKIT_ACTION_HOLD_UNITS "org.cachebpf1.hold-units"
#define POLKIT_ACTION_MANAGE_UNITS "org.cachebpf1.manage-units"
#define POLKIT_ACTION_RELOAD "org.cachebpf1.reload"

/* Who asks: a peer on the bus (its unique name), or else a process. */
typedef struct PolkitSubject {
        const char *bus_name;
        int pidfd;
        pid_t pid; /* 0: it has none in our name space */
        uid_t uid;
} PolkitSubject;

/* Asks polkit, which may ask the user if interactive is set. */
int polkit_check(sd_bus *bus, const PolkitSubject *subject, const char *action, bool interactive,
                 sd_bus_message_handler_t on_reply, void *userdata, sd_bus_slot **ret);

/* What it answered: 1: authorized; 0: not; -ENOKEY: not without asking the user, which was not allowed;
 * others: polkit gave no answer. */
int polkit_read_reply(sd_bus_message *msg);
