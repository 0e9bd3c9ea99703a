/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "macro.h"

/* The pins of one control group: a directory named by its id with
 *     link          the attached policy; its presence means that everything else here is in place
 *     map-NAME      the policy's own maps
 *     updating      a mark (directory): an update began and did not end
 * A killed daemon leaves maps without link (never attached: removed at the next start) or the mark next to the
 * link (the maps may be of either policy: the update is done again). */

#define PIN_LINK "link"
#define PIN_MAP_PREFIX "map-"
#define PIN_UPDATING "updating"

/* "ROOT/ID" or "ROOT/ID/NAME" (name may be NULL). */
char *pin_path(const char *root, uint64_t cgroup_id, const char *name);

/* Makes the directory of a control group, with nothing in it. */
int pin_directory_make(const char *root, uint64_t cgroup_id);
/* Removes it with all pins, the link first. */
int pin_directory_remove(const char *root, uint64_t cgroup_id);
/* Removes the map pins only. */
int pin_directory_remove_maps(const char *root, uint64_t cgroup_id);

int pin_mark_updating(const char *root, uint64_t cgroup_id, bool updating);
