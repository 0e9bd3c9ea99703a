/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/macro.h"

/* The pins of one control group: a directory named by its id with
 *     link          the attached policy; its presence means that everything else here is in place
 *     map-NAME      the policy's own maps
 *     reconfigure   the program that the policy asks to be run, if it has one, and
 *     counts        the map that counts these runs (events.h)
 *     say           the program by which the daemon speaks for managers, if the policy listens to them
 *     config-HEX    a mark (directory): the fingerprint of the object and its configuration
 *     learned-LABEL a mark, if the policy learns: what the content of its map means
 *     restored      a mark: what an earlier instance learned is in that map
 *     updating      a mark (directory): an update began and did not end
 * A killed daemon leaves things without link (never attached: removed at the next start) or the mark next to
 * the link (the rest may be of either policy: the update is done again).
 *
 * Beside these directories is
 *     threads       the map with the classes of threads, which all policies use */

#define PIN_LINK "link"
#define PIN_MAP_PREFIX "map-"
#define PIN_COUNTERS PIN_MAP_PREFIX "_data_counters" /* POLICY_COUNTERS_MAP, without its dots */
#define PIN_PROGRAM "reconfigure"
#define PIN_COUNTS "counts"
#define PIN_SAY "say"
#define PIN_CONFIG_PREFIX "config-"
#define PIN_LEARNED_PREFIX "learned-"
#define PIN_RESTORED "restored"
#define PIN_UPDATING "updating"
#define PIN_THREADS "threads"

/* "ROOT/ID" or "ROOT/ID/NAME" (name may be NULL). */
char *pin_path(const char *root, uint64_t cgroup_id, const char *name);

/* Makes the directory of a control group, with nothing in it. */
int pin_directory_make(const char *root, uint64_t cgroup_id);
/* Removes it with all pins, the link first. */
int pin_directory_remove(const char *root, uint64_t cgroup_id);
/* Removes everything but the link and the mark of an update. */
int pin_directory_clear(const char *root, uint64_t cgroup_id);

int pin_mark_updating(const char *root, uint64_t cgroup_id, bool updating);

/* The fingerprint of object and configuration; no mark is the empty one. */
int pin_mark_config(const char *root, uint64_t cgroup_id, const char *fingerprint);
int pin_read_config(const char *root, uint64_t cgroup_id, char **ret);

/* The label of what the policy learns. */
int pin_mark_learned(const char *root, uint64_t cgroup_id, const char *label);
int pin_read_learned(const char *root, uint64_t cgroup_id, char **ret /* NULL: nothing */);
int pin_mark_restored(const char *root, uint64_t cgroup_id);
bool pin_is_restored(const char *root, uint64_t cgroup_id);
