/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Where systemd looks for units of the system, from highest to lowest priority. */
extern const char *const unit_directories[];

/* Finds a unit's files as systemd does, without asking it: for when nobody can be asked. Root is put before
 * all paths; "" for none. *ret_fragment may be NULL, *ret_dropins (paths, NULL at the end) is in the order
 * of reading. */
void unit_path_find(const char *root, const char *unit, char **ret_fragment, GPtrArray **ret_dropins);
