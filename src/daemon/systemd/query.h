/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "daemon/core/unit.h"

/* The control groups of units without a policy of their own are not followed: that would be two calls to
 * systemd for each that starts or stops. Who asks for one by name still wants to know what it inherits, and
 * waits a moment for systemd's answer. */

typedef int (*unit_query_reply_t)(sd_varlink *link, Unit *u);

/* Returns true if the reply is put off:
 * func is called with the link when the answer is there, whatever it is. */
bool unit_query_defer(Unit *u, sd_varlink *link, unit_query_reply_t func);

/* systemd answered, or will not. */
void unit_query_answer(Unit *u);
