/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Takes the entries of one unit out of a table of uses.bpf.c, whose keys begin with the id of the unit's
 * control group, and appends key and value of each to ret. After an error, none of them is left in the table
 * either: the next recording would have them. */
int uses_table_take(int fd, size_t key_size, size_t value_size, uint64_t id, GArray *ret);
