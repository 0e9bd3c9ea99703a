/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"

/* The method Monitor: all units at first, then every change, to any number of clients. */
int monitor_varlink_bind(Varlink *v);
/* A client went away, of whatever method. */
void monitor_varlink_disconnected(Varlink *v, sd_varlink *link);
/* No client is told anything any more. */
void monitor_varlink_stop(Varlink *v);
