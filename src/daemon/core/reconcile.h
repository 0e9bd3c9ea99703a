/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* Compares what is configured, pinned and in the kernel for each dirty unit, and acts. Idempotent: calling
 * it once more, or for units where nothing changed, does nothing. Stops after about budget_usec (UINT64_MAX:
 * never), but not before the first unit; returns whether all were looked at, the others stay dirty. */
bool manager_reconcile(Manager *m, uint64_t budget_usec);
