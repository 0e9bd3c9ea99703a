/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* Serves org.cachebpf.Manager on the socket PID 1 passes, or on our own if there is none. */
int manager_varlink_start(Manager *m);
void manager_varlink_stop(Manager *m);
