/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A manager with CacheReplay=: with real children and files, and control groups that are directories. */

#include "reconcile-fixture.h"

#include "daemon/replay/replay.h"

#define UNIT "a.service"

/* What the kernel part was asked for, and what it answers. */
typedef struct Played {
        int prepare_error, begin_error;
        unsigned n_prepare, n_begin, n_end;
        uint64_t cgroup_id, pages_max;
        unsigned level;
        bool used;           /* the unit uses a file, */
        uint64_t pages;      /* … these of the first pages */
} Played;

extern Played played;
/* Of the test, where control groups are, too; that of recordings; the file that says what is mounted. */
extern char *dir, *replay_dir, *mounts;
extern Replay *replay;
/* What was said. */
extern GString *log_lines;

int replay_setup(void **state);
int replay_teardown(void **state);
#define REPLAY_TEST(f) cmocka_unit_test_setup_teardown(f, replay_setup, replay_teardown)

/* That was said since the last time; all of it is forgotten. */
void assert_said(const char *part);
/* Until no child works any more. */
void settle(void);

char *path_of_recording(void);
bool is_kept(void);

/* A control group as the kernel has it: its id is the number of its directory. */
void make_cgroup(const char *name);
char *procs_of(const char *name);
bool has_joined(const char *cgroup);

/* With CacheReplay=yes. */
Unit *make_unit(const char *name);
/* As systemd tells it. */
void enter_cgroup(Unit *u, const char *name);
void start_unit(Unit *u, const char *cgroup);
void stop_unit(Unit *u);
