/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/learned-file.h"

/* The map in which a policy keeps what it learns. All of this may take some milliseconds. */

/* -EOPNOTSUPP: it is no map whose content could be kept. */
int learned_map_get_shape(int map_fd, LearnedShape *ret);

/* What is in it now; the policy may be changing it. */
int learned_map_read(int map_fd, const char *label, Learned *ret);

/* -EMEDIUMTYPE: it is for a map of another shape. A policy that runs may have written into the map: that is
 * replaced where there is something else. */
int learned_map_write(int map_fd, const Learned *l);

/* Nothing is in it any more; in an array, only zeroes. */
int learned_map_empty(int map_fd);
