/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the reconciler does when something is wrong: the configuration, the policy, or the moment. */

#include "reconcile-fixture.h"

#include "daemon/core/messages.h"
#include "shared/log.h"

static void test_wrong_names(void **state) {
        Unit *unknown = add_unit("a.slice", "nonsense", 1), *inactive = add_unit("b.slice", "nonsense", 0),
             *invalid = add_unit("c.slice", "../lfu", 2), *broken = add_unit("d.slice", "broken", 3),
             *good = add_unit("e.slice", "lfu", 4);

        run();
        assert_state(unknown, UNIT_FAILED);
        assert_reason(unknown, "unknown policy 'nonsense' (/etc/x.slice:7)");
        assert_state(inactive, UNIT_FAILED);
        assert_state(invalid, UNIT_FAILED);
        assert_reason(invalid, "'../lfu' (/etc/x.slice:7) is not a policy name");
        assert_state(broken, UNIT_FAILED);
        assert_reason(broken, "it is not a BPF object file");
        /* Everything else goes on. */
        assert_state(good, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_attach, 1);

        configure(unknown, "lfu");
        run();
        assert_state(unknown, UNIT_ATTACHED);
}

static void test_wrong_name_while_attached(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        configure(u, "nonsense");
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "keeps running");
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(fixture->kernel.n_detach, 0);
}

static void test_update_fails(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        fixture->kernel.update_error = -EINVAL;
        configure(u, "mru");
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "update failed");
        assert_reason(u, "keeps running");
        assert_string_equal(u->effective, "lfu");
        assert_string_equal(fixture->kernel.cgroups[1].policy, "lfu");

        /* Not again and again. */
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(fixture->kernel.n_update, 1);

        fixture->kernel.update_error = 0;
        configure(u, "get-scan");
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "get_scan");
        assert_string_equal(u->effective, "get-scan");

        /* The kernel's name of it is not ours. */
        fixture->kernel.update_error = -EINVAL;
        configure(u, "lfu");
        run();
        assert_state(u, UNIT_FAILED);
        assert_string_equal(u->effective, "get-scan");
}

/* Pretends that the time of the next attempt has come. */
static void retry_now(Unit *u) {
        assert_int_not_equal(u->retry_at, 0);
        if (u->retry_at == UINT64_MAX)
                return;
        u->retry_at = 0;
        manager_mark_dirty(fixture->manager, u);
        run();
}

static void test_lost(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_LOST);
        assert_reason(u, "detached policy 'lfu'");
        assert_false(fixture->kernel.cgroups[1].pinned);
        assert_null(u->link);

        /* Not before its time. */
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_state(u, UNIT_LOST);
        assert_int_equal(fixture->kernel.n_attach, 1);

        retry_now(u);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_attach, 2);
}

static void test_ejected(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        FakeCgroup *c = &fixture->kernel.cgroups[1];

        run();
        c->ejected = "useless: it chose 0 of 4096";
        c->ejected_id = c->policy_id;
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_LOST);
        assert_reason(u, "the kernel ejected policy 'lfu': useless: it chose 0 of 4096; attempt 1 ");

        /* That one was another one's. */
        retry_now(u);
        assert_state(u, UNIT_ATTACHED);
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_LOST);
        assert_reason(u, "the kernel detached policy 'lfu'; ");
}

static void test_lost_for_good(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        for (unsigned i = 0; i < 20; i++) {
                if (u->state == UNIT_ATTACHED) {
                        fake_cgroup_eject(&fixture->kernel, 1);
                        run();
                }
                retry_now(u);
        }
        assert_state(u, UNIT_LOST);
        assert_reason(u, "giving up");
        assert_int_equal(fixture->kernel.n_attach, 6);

        /* A new start of the unit is a new chance. */
        fake_cgroup_remove(&fixture->kernel, 1);
        unit_reset_retry(u);
        set_cgroup(u, 2);
        run();
        assert_state(u, UNIT_ATTACHED);
}

static void test_kernel_is_believed(void **state) {
        Unit *u;

        fixture->kernel.attach_lies = true;
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_LOST);
        assert_null(u->effective);
}

static void test_transient_failure(void **state) {
        Unit *u;

        fixture->kernel.attach_error = -EAGAIN;
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "attach failed");

        fixture->kernel.attach_error = 0;
        retry_now(u);
        assert_state(u, UNIT_ATTACHED);
}

/* What cannot be watched is not left behind, as if another program had attached it. */
static void test_unwatchable(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        fixture->kernel.attach_unwatchable = true;
        run();
        assert_state(u, UNIT_FAILED);
        assert_int_equal(fixture->kernel.n_detach, 1);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "");
        assert_false(fixture->kernel.cgroups[1].pinned);

        fixture->kernel.attach_unwatchable = false;
        configure(u, "mru");
        run();
        assert_state(u, UNIT_ATTACHED);
}

static void test_lasting_failure(void **state) {
        Unit *u;

        fixture->kernel.attach_error = -EINVAL;
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_FAILED);
        assert_true(u->retry_at == UINT64_MAX);

        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(fixture->kernel.n_attach, 1);
}

/* To read fails before anything was tried; it works later, and then the policy is attached. */
static void test_not_readable(void **state) {
        Unit *u;

        fixture->kernel.read_error = -EOPNOTSUPP;
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "the memory controller is not enabled");

        fixture->kernel.read_error = 0;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_state(u, UNIT_ATTACHED);
}

/* It works again after a moment; what was given up before is given up still. */
static void test_not_readable_for_a_moment(void **state) {
        Unit *a, *b;

        fixture->kernel.attach_error = -EINVAL;
        a = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(a, UNIT_FAILED);
        fixture->kernel.attach_error = 0;

        fixture->kernel.read_error = -ENOMEM;
        manager_mark_dirty(fixture->manager, a);
        b = add_unit("b.slice", "lfu", 2);
        run();
        assert_state(b, UNIT_FAILED);
        assert_int_equal(b->n_attempts, 0);

        fixture->kernel.read_error = 0;
        assert_int_equal(sd_event_source_set_time(a->look_source, 0), 0);
        assert_int_equal(sd_event_source_set_time(b->look_source, 0), 0);
        run();
        assert_state(a, UNIT_FAILED);
        assert_state(b, UNIT_ATTACHED);
}

static void test_vanishes_while_attaching(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        fake_cgroup_remove(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_INACTIVE);
        assert_null(u->reason);
}

static void note_message(int level, const LogFields *fields, const char *message, void *userdata) {
        if (fields && fields->message_id)
                g_string_append_printf(userdata, "%s %s %s; ", fields->message_id, fields->policy,
                                       fields->state);
}

/* The policy in the journal is the one that the message is about, whatever runs or is wanted by then. */
static void test_journal(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        Unit *u;

        log_set_hook(note_message, heard);
        u = add_unit("a.slice", "lfu", 1);
        run();
        configure(u, "mru");
        run();
        configure(u, "nosuch");
        run();
        configure(u, "lfu");
        run();
        configure(u, NULL);
        run();
        log_set_hook(NULL, NULL);

        assert_string_equal(heard->str,
                            MESSAGE_POLICY_ATTACHED " lfu attached; "
                            MESSAGE_POLICY_UPDATED " mru attached; "
                            MESSAGE_POLICY_FAILED " nosuch failed; "
                            MESSAGE_POLICY_ATTACHED " lfu attached; "
                            MESSAGE_POLICY_DETACHED " lfu unconfigured; ");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                FIXTURE_TEST(test_wrong_names),
                FIXTURE_TEST(test_wrong_name_while_attached),
                FIXTURE_TEST(test_update_fails),
                FIXTURE_TEST(test_lost),
                FIXTURE_TEST(test_ejected),
                FIXTURE_TEST(test_lost_for_good),
                FIXTURE_TEST(test_kernel_is_believed),
                FIXTURE_TEST(test_transient_failure),
                FIXTURE_TEST(test_unwatchable),
                FIXTURE_TEST(test_lasting_failure),
                FIXTURE_TEST(test_not_readable),
                FIXTURE_TEST(test_not_readable_for_a_moment),
                FIXTURE_TEST(test_vanishes_while_attaching),
                FIXTURE_TEST(test_journal),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
