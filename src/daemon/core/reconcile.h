/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* Compares what is configured, pinned and in the kernel for each dirty unit, and acts. Idempotent: calling
 * it once more, or for units where nothing changed, does nothing. */
void manager_reconcile(Manager *m);
