/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the reconciler does with what units want: on a fake kernel, see reconcile-fixture.h. */

#include "reconcile-fixture.h"

static void test_attach(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        unsigned changed;

        run();
        assert_state(u, UNIT_ATTACHED);
        assert_null(u->reason);
        assert_string_equal(u->effective, "lfu");
        assert_string_equal(fixture->kernel.cgroups[1].policy, "lfu");
        assert_int_equal(u->policy_id, fixture->kernel.cgroups[1].policy_id);
        assert_false(u->adopted);

        /* Once more does nothing, and says nothing. */
        changed = fixture->n_changed;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(fixture->kernel.n_attach, 1);
        assert_int_equal(fixture->kernel.n_update, 0);
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_int_equal(fixture->n_changed, changed);
}

static void test_options(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        FakeCgroup *c = fixture->kernel.cgroups + 1;

        run();
        assert_string_equal(c->config, "");

        /* Another configuration of the same policy replaces it in place;
         * the same one, written anew, does not. */
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(strlen(c->config), POLICY_FINGERPRINT_LENGTH);
        set(u, "CachePolicyOptions", "", 8);
        set(u, "CachePolicyOptions", "nr_scan=512", 9);
        assert_int_equal(fixture->kernel.n_update, 2);
        assert_string_equal(c->config, "");

        /* A wrong one is a failure that names its line, and what runs goes on. */
        set(u, "CachePolicyOptions", "nr_scan=5", 10);
        assert_state(u, UNIT_FAILED);
        assert_reason(u,
                      "'nr_scan=5' (/etc/x.slice:10): tunable 'nr_scan' "
                      "of policy 'lfu' takes a number from 32 to 4096");
        assert_reason(u, "; the policy attached before keeps running");
        assert_string_equal(c->policy, "lfu");
        assert_int_equal(fixture->kernel.n_detach, 0);
        set(u, "CachePolicyOptions", "", 10);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 2);
}

/* The admission filter alone goes with the policy that does nothing else. */
static void test_admission(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        run();
        assert_state(u, UNIT_UNCONFIGURED);
        add_policy("noop", NULL);
        set(u, "CacheAdmission", "yes", 4);
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "noop");
        assert_int_equal(u->setting.line, 4);
        set(u, "CacheAdmission", "perhaps", 5);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "'perhaps' (/etc/x.slice:5) is neither yes nor no");
        set(u, "CacheAdmission", "no", 6);
        assert_state(u, UNIT_UNCONFIGURED);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "");

        set(u, "CachePolicy", "mru", 7);
        set(u, "CacheAdmission", "background", 8);
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "mru");
        assert_string_not_equal(fixture->kernel.cgroups[1].config, "");
}

static void set_features(const char *word) {
        KernelFeatures *f = &fixture->manager->kernel;

        g_strfreev(f->features);
        f->features = g_new0(char *, 2);
        f->features[0] = g_strdup(word);
}

/* So does readahead of another kind, where the kernel has that. */
static void test_readahead(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        add_policy("noop", NULL);
        set(u, "CacheReadahead", "stock", 4);
        assert_state(u, UNIT_UNCONFIGURED);
        set(u, "CacheReadahead", "adaptive", 5);
        assert_state(u, UNIT_FAILED);
        assert_string_equal(u->reason, "this kernel does not let policies plan readahead, which 'adaptive' "
                                       "(/etc/x.slice:5) asks for");
        assert_int_equal(fixture->kernel.n_attach, 0);

        set_features("readahead");
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "noop");
        assert_int_equal(u->setting.line, 5);
        set(u, "CacheReadahead", "6K", 6);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "'6K' (/etc/x.slice:6) is neither stock");

        /* in place, and back */
        set(u, "CacheReadahead", "off", 7);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        set(u, "CachePolicy", "mru", 8);
        assert_string_equal(u->effective, "mru");
        assert_string_not_equal(fixture->kernel.cgroups[1].config, "");
        set(u, "CacheReadahead", "stock", 9);
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "mru");
        assert_string_equal(fixture->kernel.cgroups[1].config, "");
        assert_int_equal(fixture->kernel.n_detach, 0);

        /* What runs goes on where the kernel cannot. */
        set_features("rank");
        set(u, "CacheReadahead", "128K", 10);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "; the policy attached before keeps running");
        set(u, "CacheReadahead", "", 11);
        assert_state(u, UNIT_ATTACHED);
}

static void test_not_configured(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        run();
        assert_state(u, UNIT_UNCONFIGURED);
        assert_false(unit_is_managed(u));
        assert_int_equal(fixture->kernel.n_attach, 0);
}

static void test_life(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 0);

        run();
        assert_state(u, UNIT_INACTIVE);
        assert_true(unit_is_managed(u));

        set_cgroup(u, 1);
        run();
        assert_state(u, UNIT_ATTACHED);

        /* The kernel tells first... */
        fake_cgroup_remove(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_INACTIVE);
        assert_false(fixture->kernel.cgroups[1].pinned);

        /* ... then systemd; and the unit starts again elsewhere. */
        set_cgroup(u, 0);
        run();
        set_cgroup(u, 2);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(fixture->kernel.cgroups[2].policy, "lfu");
}

static void test_restart_in_one_go(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 2);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_false(fixture->kernel.cgroups[1].pinned);
        assert_true(fixture->kernel.cgroups[2].pinned);
}

static void test_update(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        uint64_t id;

        run();
        id = u->policy_id;
        configure(u, "mru");
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "mru");
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_int_not_equal(u->policy_id, id);
        assert_int_equal(u->policy_id, fixture->kernel.cgroups[1].policy_id);
}

static void test_remove_configuration(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        configure(u, NULL);
        run();
        assert_state(u, UNIT_UNCONFIGURED);
        assert_int_equal(fixture->kernel.n_detach, 1);
        assert_false(fixture->kernel.cgroups[1].pinned);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "");
}

static void test_unit_gone(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        u->loaded = false;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_null(manager_find_unit(fixture->manager, "a.slice"));
        assert_false(fixture->kernel.cgroups[1].pinned);
}

/* Thousands of units do not keep clients and the watchdog waiting. */
static void test_budget(void **state) {
        Unit *units[5];
        unsigned n = 0;

        for (unsigned i = 0; i < ELEMENTSOF(units); i++) {
                g_autofree char *name = g_strdup_printf("a%u.slice", i);

                units[i] = add_unit(name, "lfu", i + 1);
        }

        assert_false(manager_reconcile(fixture->manager, 0));
        assert_int_equal(fixture->kernel.n_attach, 1);
        assert_int_equal(g_hash_table_size(fixture->manager->dirty), ELEMENTSOF(units) - 1);
        while (!manager_reconcile(fixture->manager, 0))
                n++;
        assert_int_equal(n, ELEMENTSOF(units) - 2);
        for (unsigned i = 0; i < ELEMENTSOF(units); i++)
                assert_state(units[i], UNIT_ATTACHED);
        assert_int_equal(g_hash_table_size(fixture->manager->dirty), 0);
}

static int note_attached(sd_event_source *s, uint64_t usec, void *userdata) {
        unsigned *n = userdata;

        *n = fixture->kernel.n_attach;
        return 0;
}

/* Nor do those who come first after all others: who connects is one of them. */
static void test_users_in_between(void **state) {
        _cleanup_(sd_event_source_unrefp) sd_event_source *user = NULL;
        unsigned n = 0;

        fixture->kernel.attach_usec = 250000; /* a turn's time, and more */
        for (unsigned i = 0; i < 4; i++) {
                g_autofree char *name = g_strdup_printf("a%u.slice", i);

                (void) add_unit(name, "lfu", i + 1);
        }
        /* while the first of them gets its policy */
        assert_int_equal(sd_event_add_time_relative(fixture->event, &user, CLOCK_MONOTONIC, 100000, 1,
                                                    note_attached, &n), 0);
        assert_int_equal(sd_event_source_set_priority(user, PRIORITY_USERS), 0);

        run();
        assert_int_equal(fixture->kernel.n_attach, 4);
        assert_in_range(n, 1, 2);
}

static void note_state(void *userdata, Unit *u) {
        *(UnitState *) userdata = u->state;
}

/* systemd loads a unit for a question about it, and unloads it before it was looked at. */
static void test_loaded_for_a_question(void **state) {
        static const ManagerObserver observer = { .unit_removed = note_state };
        UnitState last = _UNIT_STATE_INVALID;
        Unit *u = add_unit("a.slice", "lfu", 0);

        manager_observe(fixture->manager, &observer, &last);
        assert_int_equal(unit_resolve_setting(u), 1);
        u->loaded = false;
        run();
        assert_null(manager_find_unit(fixture->manager, "a.slice"));
        assert_int_equal(last, UNIT_INACTIVE);
        manager_unobserve(fixture->manager, &observer, &last);
}

static void test_unsupported(void **state) {
        Unit *u;

        fixture->manager->kernel.supported = false;
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_UNSUPPORTED);
        assert_reason(u, "has no cachebpf");
        assert_int_equal(fixture->kernel.n_attach, 0);
}

/* Answers of systemd that are on their way: nothing happens on half of the truth. */
static void test_waits_for_files(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        u->files_known = false;
        run();
        assert_int_equal(fixture->kernel.n_attach, 0);

        u->files_known = true;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(fixture->kernel.n_attach, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                FIXTURE_TEST(test_attach),
                FIXTURE_TEST(test_options),
                FIXTURE_TEST(test_admission),
                FIXTURE_TEST(test_readahead),
                FIXTURE_TEST(test_not_configured),
                FIXTURE_TEST(test_life),
                FIXTURE_TEST(test_restart_in_one_go),
                FIXTURE_TEST(test_update),
                FIXTURE_TEST(test_remove_configuration),
                FIXTURE_TEST(test_unit_gone),
                FIXTURE_TEST(test_budget),
                FIXTURE_TEST(test_users_in_between),
                FIXTURE_TEST(test_loaded_for_a_question),
                FIXTURE_TEST(test_unsupported),
                FIXTURE_TEST(test_waits_for_files),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
