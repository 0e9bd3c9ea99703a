/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Units with CachePolicy=auto, on a fake kernel and with played shadows. */

#include "daemon/auto/auto.h"
#include "played-shadows.h"
#include "reconcile-fixture.h"
#include "shared/log.h"

#define AUTO_CANDIDATES "stock lru mru:nr_scan=64"
/* As the candidates above are numbered. */
enum { STOCK, LRU, MRU, N_CANDIDATES };

int auto_setup(void **state);
int auto_teardown(void **state);
/* Another instance of the daemon, while the kernel stays as it is. */
void auto_restart(void);

#define AUTO_TEST(f) cmocka_unit_test_setup_teardown(f, auto_setup, auto_teardown)

/* Windows pass, until shadows that have begun count. */
void warm_up(Unit *u);
/* A unit with these candidates, attached; its shadows are warm. */
Unit *add_auto_unit(const char *name, uint64_t cgroup_id);

/* A window passes in which the unit misses so many of 1000 requests, and the shadows so many; what comes of
 * that is carried out. */
void play_window(Unit *u, unsigned real, unsigned stock, unsigned lru, unsigned mru);
/* The same, but for the shadows' answer. */
void pass_window(Unit *u, unsigned real);
void answer_window(Unit *u, unsigned stock, unsigned lru, unsigned mru);
/* Two windows in which LRU would miss less, or MRU. */
void switch_to_lru(Unit *u);
void switch_to_mru(Unit *u);
/* The same, but the kernel refuses MRU, and would again: it is out for good. */
void refuse_mru(Unit *u);

/* More than a minute passes, in which the unit misses half of its requests. */
void pass_minute(Unit *u);
/* Windows in which LRU is a little better, until the unit has made room for another one. */
void make_room(Unit *u, const Unit *waiting);
/* The unit stops, and has another control group then. */
void start_again(Unit *u, uint64_t cgroup_id);
/* For log_set_hook(); userdata is unsigned. */
void count_warnings(int level, const LogFields *fields, const char *message, void *userdata);

static inline PlayedShadows *shadows_of(const Unit *u) {
        return played.shadows[u->cgroup_id];
}

#define assert_chosen(u, name) assert_string_equal(unit_chosen_name(u), name)
/* What the kernel runs. */
#define assert_runs(u, name) assert_string_equal(fixture->kernel.cgroups[(u)->cgroup_id].policy, name)
#define assert_contains(text, part)                                                       \
        do {                                                                              \
                if (!(text) || !strstr((text), part))                                     \
                        fail_msg("no \"%s\" in \"%s\"", part, (text) ?: "(null)");        \
        } while (false)
