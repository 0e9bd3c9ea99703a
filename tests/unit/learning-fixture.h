/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The reconciler on a fake kernel, with a file in place of the map of the policy "lfu", which the daemon's
 * child processes read and write by the calls of libbpf that are played here. */

#include "reconcile-fixture.h"

#include "daemon/learning/learning.h"

#define N_ENTRIES 5000U

/* The children have it, too. */
typedef struct PlayedMap {
        int error;                 /* what reading fails with */
        int write_error;
        volatile bool holds_writes; /* who writes waits until this is false */
        uint32_t value_size;
        volatile unsigned n_hangs; /* so many children hang when they read it */
} PlayedMap;
extern PlayedMap *played;

extern char *learning_dir;
extern Learning *learning;
/* of the log, and the last one */
extern unsigned n_warnings;
extern GString *warning;

int learning_setup(void **state);
int learning_teardown(void **state);
#define LEARNING_TEST(f) cmocka_unit_test_setup_teardown(f, learning_setup, learning_teardown)

/* Writes the first and the last entry of the map, or reads them: they are equal. */
void learn(uint64_t value);
uint64_t learned(void);
/* As the map of a policy that was just loaded. */
void new_map(void);

/* Another daemon. */
void restart(void);
/* Until no child has anything to do. */
void settle(void);
void save_now(void);
/* Of the unit's file. */
char *path_of(const char *unit);
/* Tells one file of a unit from the next; 0: there is none. */
uint64_t written(const char *unit);
Unit *start_unit(uint64_t cgroup_id);
