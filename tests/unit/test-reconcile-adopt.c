/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the reconciler does with what it finds in the kernel, from an earlier daemon, from an object that has
 * changed since, or from another program. */

#include "reconcile-fixture.h"

#include <stdio.h>

static void restart(void) {
        stop_daemon();
        start_daemon();
}

/* An earlier daemon left a policy in a control group, and another one finds it. */
static FakeCgroup *find_left_over(uint64_t id, const char *policy) {
        FakeCgroup *c = fake_cgroup_make(&fixture->kernel, id);

        fake_cgroup_attach(&fixture->kernel, id, policy, true);
        restart();
        return c;
}

static void test_adopt(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        uint64_t id;

        run();
        id = u->policy_id;

        stop_daemon();
        assert_true(fixture->kernel.cgroups[1].pinned);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "lfu");

        start_daemon();
        u = add_unit("a.slice", "lfu", 1);
        manager_set_settled(fixture->manager, true);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_true(u->adopted);
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(u->policy_id, id);
        assert_int_equal(fixture->kernel.n_attach, 1);
        assert_int_equal(fixture->kernel.n_update, 0);
        assert_int_equal(fixture->kernel.n_detach, 0);

        /* And it is watched like one of our own. */
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_LOST);
}

/* What an earlier daemon attached is left alone if it is configured as it is wanted, and replaced if not. */
static void test_adopt_options(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        restart();
        u = add_unit("a.slice", "lfu", 1);
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        assert_true(u->adopted);
        assert_int_equal(fixture->kernel.n_update, 0);
        restart();
        u = add_unit("a.slice", "lfu", 1);
        set(u, "CachePolicyOptions", "nr_scan=65", 8);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_attach, 1);
}

/* Another object by the name of the policy. */
static void change_object(const char *policy, const char *digest, const char *problem) {
        Policy *p = (Policy *) policies_find(fixture->manager->policies, policy);

        (void) snprintf(p->digest, sizeof(p->digest), "%s", digest);
        g_set_str(&p->problem, problem);
        manager_mark_all_dirty(fixture->manager);
        run();
}

static void test_object_changes(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1), *other = add_unit("b.slice", "mru", 2);
        uint64_t id;

        change_object("lfu", "a", NULL);
        assert_int_equal(fixture->kernel.n_attach, 2);
        assert_int_equal(fixture->kernel.n_update, 0);

        /* Replaced in place, and only where it runs. */
        id = u->policy_id;
        change_object("lfu", "b", NULL);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.cgroups[2].updates, 0);
        assert_state(other, UNIT_ATTACHED);
        assert_int_not_equal(u->policy_id, id);

        /* One that cannot be read, or that the kernel rejects: the one before goes on. */
        id = u->policy_id;
        change_object("lfu", "c", "it is not a BPF object file");
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "not a BPF object file; the policy attached before keeps running");
        fixture->kernel.update_error = -EINVAL;
        unit_reset_retry(u); /* as a reload does */
        change_object("lfu", "d", NULL);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "update failed; the policy attached before keeps running");
        assert_int_equal(fixture->kernel.n_update, 2);
        change_object("lfu", "d", NULL); /* it is not tried again and again */
        assert_int_equal(fixture->kernel.n_update, 2);
        assert_int_equal(fixture->kernel.cgroups[1].policy_id, id);

        /* The one that runs is back. */
        change_object("lfu", "b", NULL);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 2);

        /* The next daemon knows which one runs. */
        fixture->kernel.update_error = 0;
        restart();
        (void) snprintf(((Policy *) policies_find(fixture->manager->policies, "lfu"))->digest, 2, "b");
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_true(u->adopted);
        assert_int_equal(fixture->kernel.n_update, 2);
        change_object("lfu", "e", NULL);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 3);
        assert_int_equal(fixture->kernel.n_detach, 0);
}

static void test_adopt_other_policy(void **state) {
        Unit *u;

        (void) find_left_over(1, "mru");

        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_attach, 0);
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "lfu");
}

static void test_adopt_unknown_policy(void **state) {
        Unit *u;

        (void) find_left_over(1, "mru");

        u = add_unit("a.slice", "nonsense", 1);
        manager_set_settled(fixture->manager, true);
        run();
        assert_state(u, UNIT_FAILED);
        assert_string_equal(u->effective, "mru");
        assert_int_equal(fixture->kernel.n_detach, 0);
}

/* Killed between the new policy and its pins: done again, in place. */
static void test_adopt_interrupted_update(void **state) {
        Unit *u;

        find_left_over(1, "lfu")->updating = true;

        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_false(u->link->incomplete);
}

/* A unit is passed over while systemd is asked about it: its pin waits with it. */
static void test_no_orphan(void **state) {
        Unit *u;

        add_unit("a.slice", "lfu", 1);
        run();
        stop_daemon();
        start_daemon();
        u = add_unit("a.slice", "lfu", 1);
        u->fetching = true;
        manager_set_settled(fixture->manager, true);
        run();
        assert_int_equal(fixture->kernel.n_detach, 0);

        u->fetching = false;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_true(u->adopted);
        assert_int_equal(fixture->kernel.n_detach, 0);
}

static void test_orphans(void **state) {
        Unit *u;

        (void) find_left_over(1, "lfu");
        (void) find_left_over(2, "lfu");

        /* As long as systemd has not told everything nothing is taken away. */
        u = add_unit("a.slice", NULL, 1);
        run();
        assert_int_equal(fixture->kernel.n_detach, 0);

        manager_set_settled(fixture->manager, true);
        run();
        assert_state(u, UNIT_UNCONFIGURED);
        assert_int_equal(fixture->kernel.n_detach, 2);
        assert_false(fixture->kernel.cgroups[1].pinned);
        assert_false(fixture->kernel.cgroups[2].pinned);
}

/* It cannot be opened for a while: nobody takes it away, and it is adopted later. */
static void test_adopt_fails(void **state) {
        Unit *u;

        (void) find_left_over(1, "lfu");
        (void) find_left_over(2, "mru");
        fixture->kernel.open_error = -EACCES;
        u = add_unit("a.slice", "lfu", 1);
        manager_set_settled(fixture->manager, true);
        run();
        assert_state(u, UNIT_FAILED);
        assert_true(fixture->kernel.cgroups[1].pinned);

        fixture->kernel.open_error = 0;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_true(u->adopted);
        assert_int_equal(fixture->kernel.n_attach, 0);
        assert_int_equal(fixture->kernel.n_detach, 1);
        assert_false(fixture->kernel.cgroups[2].pinned);
}

static void test_foreign_policy(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        fake_cgroup_attach(&fixture->kernel, 1, "mru", false);
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "another program");
        assert_null(u->effective); /* what is effective is ours */
        assert_int_equal(fixture->kernel.n_attach, 0);
        assert_int_equal(fixture->kernel.n_detach, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                FIXTURE_TEST(test_adopt),
                FIXTURE_TEST(test_adopt_options),
                FIXTURE_TEST(test_object_changes),
                FIXTURE_TEST(test_adopt_other_policy),
                FIXTURE_TEST(test_adopt_unknown_policy),
                FIXTURE_TEST(test_adopt_interrupted_update),
                FIXTURE_TEST(test_no_orphan),
                FIXTURE_TEST(test_orphans),
                FIXTURE_TEST(test_adopt_fails),
                FIXTURE_TEST(test_foreign_policy),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
