/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "context.h"

/* Serves org.cachebpf.Manager on the socket PID 1 passes, or on our own if there is none. */
int varlink_new(Control *c, Varlink **ret);
/* For who serves on connections of his own (tests): all methods, no socket. */
int varlink_new_unconnected(Control *c, Varlink **ret);
Varlink *varlink_free(Varlink *v);
DEFINE_TRIVIAL_CLEANUP_FUNC(Varlink *, varlink_free);
