/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* systemd, played on the client's connection of the bus fixture: it has the units that tests give it,
 * answers what they want, and says what it was asked. */

#include "bus-fixture.h"

#include "daemon/systemd/internal.h"
#include "daemon/systemd/watch.h"

#define REFUSED "org.freedesktop.DBus.Error.AccessDenied"
#define MALFORMED "malformed" /* an answer of another type */
#define HELD "held"           /* no answer before play_release() */

/* What is asked about a unit. */
#define FILES_OF(unit) unit ":FragmentPath " unit ":DropInPaths "
#define CGROUP_OF(unit) unit ":ControlGroup " unit ":ControlGroupId "
#define LIST "List(*.slice *.service *.scope) "
#define NEW(units) "New(active,reloading,activating,deactivating,refreshing: " units ") "

/* For read_rules(): services have a policy. */
#define RULE "[Match]\nUnit=*.service\n[Policy]\nCachePolicy=mru\n"

typedef struct PlayedUnit {
        char *name;
        char *path;          /* on the bus */
        const char *alias;   /* another name */
        const char *load, *active;
        char *fragment;
        char *dropins[3];
        uint64_t cgroup;     /* its id, "/ID" is its path; 0: none */
} PlayedUnit;

/* A directory for files of the test. */
extern char *play_dir;
/* What looks at the played systemd, from start_watch() to stop_watch() or the test's end. */
extern SystemdWatch *watch;
/* Calls that wait for play_release(). */
extern GPtrArray *held;

int play_setup(void **state);
int play_teardown(void **state);
#define PLAY_TEST(f) cmocka_unit_test_setup_teardown(f, play_setup, play_teardown)

/* systemd comes and leaves. */
void start_systemd(void);
void stop_systemd(void);

void start_watch(void);
void stop_watch(void);
/* Skips the test where there is no bus; else starts the watch, which has its answers then. */
void start(void);

/* A rule of policies.d, and the daemon's own reload. */
void read_rules(const char *text);

/* It has a unit, with a file that asks for the policy, unless that is NULL. Nothing is said of it. */
PlayedUnit *play_unit(const char *name, const char *active, uint64_t cgroup, const char *policy);
/* Its file, or drop-in of that number, is that text. */
void play_file(PlayedUnit *p, const char *text);
void play_dropin(PlayedUnit *p, unsigned i, const char *text);
/* It is not there any more; nothing is said of that. */
void play_forget(PlayedUnit *p);

/* Signals; a text that is no state is sent as it is. */
void play_new(const PlayedUnit *p);
void play_removed(const PlayedUnit *p);
void play_state(PlayedUnit *p, const char *active);
void play_reloading(bool begins);
/* Any other one. */
void play_signal(const char *path, const char *interface, const char *member, const char *types, ...);

/* How a question is answered from now on: by an error of that name, MALFORMED, HELD, an object path, or as
 * usual (NULL). Questions are "Subscribe", "List" (of all units), "New" (of some), "LoadUnit", and
 * "UNIT:PROPERTY". */
void play_oddly(const char *question, const char *how);
/* Answers what was held. */
void play_release(void);

/* Runs until everything that was sent has arrived, and nothing is under way but what is held. */
void run_until_quiet(void);

/* "active POLICY CGROUP ID STATE", with "-" for what is not there; NULL: the unit is not known. */
void expect_unit(const char *name, const char *expected);
/* The questions since the last time, each with a space behind it. */
void expect_asked(const char *expected);
void forget_asked(void);
/* How often that is in them. */
unsigned count_asked(const char *text);
/* What the watch has of a unit; NULL: it does not know it. */
SystemdUnit *find_watched(const char *name);
