/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"
#include "shared/cleanup.h"

/* CachePolicy=auto: follows the units that ask for it, by the manager, and chooses their policies. */
typedef struct Auto Auto;

/* Before the manager loads anything. On a kernel that cannot sample, units with CachePolicy=auto have the
 * stock policy, and their state says why. */
int auto_new(Manager *m, const AutoBackend *b, Auto **ret);
Auto *auto_free(Auto *a);
DEFINE_TRIVIAL_CLEANUP_FUNC(Auto *, auto_free);

/* What happens every second: windows that are over end. The time is that of CLOCK_MONOTONIC. */
void auto_tick(Auto *a, uint64_t now);
