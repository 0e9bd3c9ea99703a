/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The reconciler on a fake kernel, without systemd and without a bus: tests set what the watcher would have
 * found out, let the event loop run, and look at units and kernel. */

#include "test-util.h"

#include "daemon/control/control.h"
#include "daemon/core/manager.h"
#include "daemon/core/reconcile.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "daemon/core/wanted.h"
#include "daemon/files/files.h"
#include "fake-backend.h"

typedef struct Fixture {
        FakeKernel kernel;
        sd_event *event;
        Manager *manager;
        Control *control;
        Files *files;
        unsigned n_changed; /* units that were told as changed */
} Fixture;

/* The one of the test that runs. */
extern Fixture *fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);

#define FIXTURE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

/* The daemon starts and ends;
 * the kernel stays as it is. A problem is what is wrong with a policy, or NULL. */
void start_daemon(void);
void stop_daemon(void);
void add_policy(const char *name, const char *problem);

/* A unit with CachePolicy=auto that has switched from the stock policy to lru. Nothing chooses for it. */
Unit *add_chosen_unit(const char *name, uint64_t cgroup_id);

/* Runs the loop until nothing happens any more. */
void run(void);

/* A unit that asks for a policy, unless that is NULL, and runs in a control group, unless that is 0. */
Unit *add_unit(const char *name, const char *policy, uint64_t cgroup_id);
/* Its file says something else; NULL: nothing. */
void configure(Unit *u, const char *policy);
/* Another line of its file, and what comes of it. */
void set(Unit *u, const char *key, const char *value, unsigned line);
/* What systemd says when a unit stopped (0) or started. */
void set_cgroup(Unit *u, uint64_t id);

/* "key=value layer, ..." of the lines about a unit that count, or of those that do not. */
void assert_lines(const char *unit, bool counting, const char *expected);

#define assert_state(u, s) assert_string_equal(unit_state_to_string((u)->state), unit_state_to_string(s))
#define assert_reason(u, part)                                                            \
        do {                                                                              \
                if (!(u)->reason || !strstr((u)->reason, part))                           \
                        fail_msg("no \"%s\" in \"%s\"", part, (u)->reason ?: "(null)");   \
        } while (false)
