/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"

/* What a unit has asked for since its policy came, in pages. */
typedef struct Meter {
        uint64_t requests;
        uint64_t misses;
        uint64_t n_cached;   /* what its policy manages now */
} Meter;

/* Reads the kernel's counters of a unit that has a policy: one file. -ENOENT: its control group has gone. */
int meter_read(const Unit *u, Meter *ret);

/* How many pages the unit can have in its cache: what it has, and what its limits leave, but no more than
 * the machine has available; what it has, if its control group has gone. Reads two files or three for the
 * control group and each above it. */
uint64_t meter_read_capacity(const Unit *u, const Meter *m);
