/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"

typedef struct SystemdWatch SystemdWatch;

/* The control groups of units without a policy of their own are not followed: that would be two calls to
 * systemd for each that starts or stops. Who asks for one by name still wants to know what it inherits, and
 * waits a moment for systemd's answer.
 *
 * Returns true if func is called when the answer is there, whatever it is, unless that is cancelled
 * before. */
bool systemd_query(SystemdWatch *w, Unit *u, void (*func)(void *userdata), void *userdata);
void systemd_query_cancel(SystemdWatch *w, void *userdata);
