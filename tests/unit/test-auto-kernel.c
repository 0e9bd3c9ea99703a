/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: what the kernel does not take, or ends, and what the journal says. */

#include "auto-fixture.h"

#include "daemon/core/choice.h"
#include "daemon/core/messages.h"
#include "shared/log.h"
#include "shared/string-util.h"

static void note_warning(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level == LOG_WARNING)
                g_string_append_printf(userdata, "%s\n", message);
}

static void note_message(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_INFO && fields)
                g_string_append_printf(userdata, "%s %s %s\n", strempty(fields->message_id), fields->policy,
                                       message);
}

static void eject(Unit *u) {
        FakeCgroup *c = fixture->kernel.cgroups + u->cgroup_id;

        c->ejected_id = c->policy_id;
        c->ejected = "useless";
        fake_cgroup_eject(&fixture->kernel, u->cgroup_id);
        run();
}

/* Another try could succeed: it comes later. */
static void test_refused(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        fixture->kernel.update_error = -ENOMEM;
        for (unsigned i = 0; i < 2; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "noop");
        assert_chosen(u, "stock");
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "noop");
        assert_contains(u->choice->verdict, "to mru nr_scan=64 failed, which is out for 16 windows");
        assert_true(u->choice->figures[MRU].banned > 0);
        assert_int_equal(u->choice->n_switches, 0);
        assert_null(u->choice->because);
        assert_int_equal(fixture->kernel.n_update, 1);

        /* The windows that it is out, and two to win again. */
        fixture->kernel.update_error = 0;
        for (unsigned i = 0; i < 18; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
}

/* Another try would come to the same. */
static void test_refused_for_good(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        refuse_mru(u);
        for (unsigned i = 0; i < 8; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "noop");
        assert_int_equal(fixture->kernel.n_update, 1);

        /* The others are in the race. */
        switch_to_lru(u);

        /* After a reload it may be another object. */
        manager_notify(fixture->manager, reloaded);
        for (unsigned i = 0; i < 8; i++)
                play_window(u, 300, 500, 500, 100);
        assert_runs(u, "mru");
}

/* What fails without a try is no refusal. */
static void test_failed_before_a_switch(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        fixture->kernel.read_error = -EIO;
        unit_choose(u, MRU, "from stock to mru: figures");
        run();
        assert_state(u, UNIT_FAILED);
        assert_int_equal(u->choice->figures[MRU].banned, 0);
        assert_chosen(u, "mru nr_scan=64");

        fixture->kernel.read_error = 0;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_runs(u, "mru");
        assert_int_equal(u->choice->n_switches, 1);
}

static void mark_dirty(void *userdata, Unit *u) {
        manager_mark_dirty(fixture->manager, u);
}

/* The unit changes while it is reconciled: the race hears of the switch after the next time. */
static void test_dirty_again(void **state) {
        static const ManagerObserver observer = { .policy_came = mark_dirty };
        Unit *u = add_auto_unit("a.slice", 1);

        manager_observe(fixture->manager, &observer, NULL);
        switch_to_mru(u);
        assert_int_equal(shadows_of(u)->n_replaced, 1);
        play_window(u, 300, 500, 500, 300);
        assert_contains(u->choice->verdict, "stays with mru");
}

/* What follows has to be tried again. */
static void test_ejected_and_refused(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        fixture->kernel.attach_error = -ENOMEM;
        eject(u);
        assert_chosen(u, "stock");
        assert_state(u, UNIT_FAILED);
        assert_int_equal(fixture->kernel.n_attach, 2);

        fixture->kernel.attach_error = 0;
        unit_reset_retry(u);
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_runs(u, "noop");
}

static void test_ejected(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        eject(u);
        assert_runs(u, "noop");
        assert_chosen(u, "stock");
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(u->n_attempts, 0);
        assert_true(u->choice->figures[MRU].banned > 0);
        assert_contains(u->choice->because, "back from mru nr_scan=64 to stock");
        assert_contains(u->choice->because, "useless");
        assert_int_equal(u->choice->n_switches, 2);
        assert_int_equal(played.n_new, 1);

        for (unsigned i = 0; i < 16; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "noop");
        for (unsigned i = 0; i < 4; i++) /* the second switch takes twice as much */
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
}

/* While another one was about to come: that one is not to blame. */
static void test_ejected_in_a_switch(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        unit_choose(u, MRU, "from lru to mru: figures");
        log_set_hook(note_message, heard);
        eject(u);
        log_set_hook(NULL, NULL);
        assert_contains(heard->str, MESSAGE_POLICY_LOST " lru a.slice: Cache policy 'lru' is lost: ");
        assert_true(u->choice->figures[LRU].banned > 0);
        assert_int_equal(u->choice->figures[MRU].banned, 0);
        assert_runs(u, "mru");
        assert_chosen(u, "mru nr_scan=64");
        assert_state(u, UNIT_ATTACHED);
        assert_contains(u->choice->because, "from lru to mru nr_scan=64, as lru is out for 16 windows: the "
                                            "kernel ejected policy 'lru': useless");

        /* The race goes on with it. */
        play_window(u, 300, 500, 500, 300);
        assert_contains(u->choice->verdict, "stays with mru");
}

/* The same while the other one was loaded. */
static void test_ejected_in_an_update(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        fixture->kernel.update_ejects = "useless";
        unit_choose(u, MRU, "from lru to mru: figures");
        run();
        assert_true(u->choice->figures[LRU].banned > 0);
        assert_int_equal(u->choice->figures[MRU].banned, 0);
        assert_false(u->choice->figures[MRU].out);
        assert_runs(u, "mru");
        assert_contains(u->choice->because, "as lru is out for 16 windows: the kernel ejected policy 'lru': "
                                            "useless");
}

/* It was to make room for the stock policy: that is what follows, not another attempt. */
static void test_ejected_on_the_way_to_stock(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        unit_choose(u, STOCK, "back from lru to stock: figures");
        log_set_hook(note_message, heard);
        eject(u);
        log_set_hook(NULL, NULL);
        assert_true(u->choice->figures[LRU].banned > 0);
        assert_runs(u, "noop");
        assert_contains(heard->str, " lru a.slice: Cache policy 'lru' is lost: the kernel ejected policy "
                                    "'lru': useless.\n");
}

/* And the other one cannot come: the stock policy does, not nothing. */
static void test_refused_after_ejected(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        unit_choose(u, MRU, "from lru to mru: figures");
        fixture->kernel.attach_refuses = "mru";
        eject(u);
        assert_true(u->choice->figures[LRU].banned > 0);
        assert_true(u->choice->figures[MRU].out);
        assert_runs(u, "noop");
        assert_state(u, UNIT_ATTACHED);
        assert_contains(u->choice->because, "back to stock: the switch to mru nr_scan=64 failed, which is "
                                            "out for good (");
        play_window(u, 500, 500, 500, 500);
        assert_contains(u->choice->verdict, "stays with stock");
}

/* The same if the stock policy was ended. */
static void test_refused_after_stock_is_ejected(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        unit_choose(u, MRU, "from stock to mru: figures");
        fixture->kernel.attach_refuses = "mru";
        eject(u);
        unit_reset_retry(u); /* the time for the next attempt has come */
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_true(u->choice->figures[MRU].out);
        assert_runs(u, "noop");
        assert_state(u, UNIT_ATTACHED);
}

/* It came, and was ended before anybody looked. */
static void test_ejected_at_once(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        fixture->kernel.update_lies = true;
        for (unsigned i = 0; i < 4; i++)
                play_window(u, 300, 500, 300, 100);
        assert_true(u->choice->figures[MRU].banned > 0);
        assert_int_equal(u->choice->figures[LRU].banned, 0);
        assert_runs(u, "noop");
}

/* The kernel samples nothing for the policy that came: it is told once more, and no window counts before. */
static void test_sample_fails(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        Unit *u = add_auto_unit("a.slice", 1);
        UnitChoice *choice;

        played.replaced_error = -ENOENT; /* it seems to have stopped, but has not */
        log_set_hook(note_warning, heard);
        switch_to_mru(u);
        played.replaced_error = -ENOMEM;
        answer_window(u, 0, 0, 0); /* of the one before */
        for (unsigned i = 0; i < 3; i++)
                pass_window(u, 300);
        log_set_hook(NULL, NULL);
        assert_string_equal(u->choice->verdict, "stays with mru nr_scan=64: the kernel does not sample what "
                                                "the unit reads: Cannot allocate memory");
        assert_int_equal(shadows_of(u)->n_replaced, 4);
        assert_int_equal(shadows_of(u)->n_answered, shadows_of(u)->n_ended);
        assert_string_equal(heard->str, "a.slice: Cannot have the kernel sample what the unit reads, trying "
                                        "again: Cannot allocate memory\n");

        /* Something else is set, which the race has not heard of. */
        choice = TAKE_PTR(u->choice);
        pass_window(u, 300);
        u->choice = choice;

        played.replaced_error = 0;
        pass_window(u, 300);
        assert_null(u->choice->verdict);
        assert_int_equal(shadows_of(u)->n_replaced, 5);
        play_window(u, 300, 500, 500, 300);
        assert_int_equal(shadows_of(u)->n_replaced, 5);
        assert_contains(u->choice->verdict, "stays with mru");
}

/* There is nothing else to go back to: as with other policies. */
static void test_stock_is_ejected(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        eject(u);
        assert_state(u, UNIT_LOST);
        assert_int_equal(u->n_attempts, 1);
}

/* ---- the journal */

/* One entry a switch. */
static void test_journal(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        Unit *u = add_auto_unit("a.slice", 1);

        log_set_hook(note_message, heard);
        switch_to_lru(u);
        log_set_hook(NULL, NULL);
        assert_string_equal(heard->str,
                            MESSAGE_POLICY_SWITCHED " lru a.slice: Cache policy 'auto' switches from "
                            "stock to lru: lru would miss 30.0 % of all requests, stock 50.0 %.\n");

        g_string_truncate(heard, 0);
        fixture->kernel.update_error = -EINVAL;
        log_set_hook(note_message, heard);
        for (unsigned i = 0; i < 6; i++)
                play_window(u, 300, 500, 500, 100);
        log_set_hook(NULL, NULL);
        assert_contains(heard->str, MESSAGE_POLICY_FAILED " mru a.slice: Cache policy 'mru' failed: update "
                                    "failed; the policy attached before keeps running.\n");
        assert_contains(heard->str, " mru nr_scan=64 a.slice: Cache policy 'auto' stays with lru: the "
                                    "switch to mru nr_scan=64 failed, which is out for good (update failed");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_refused),
                AUTO_TEST(test_refused_for_good),
                AUTO_TEST(test_failed_before_a_switch),
                AUTO_TEST(test_dirty_again),
                AUTO_TEST(test_ejected),
                AUTO_TEST(test_ejected_in_a_switch),
                AUTO_TEST(test_ejected_in_an_update),
                AUTO_TEST(test_ejected_on_the_way_to_stock),
                AUTO_TEST(test_refused_after_ejected),
                AUTO_TEST(test_refused_after_stock_is_ejected),
                AUTO_TEST(test_ejected_at_once),
                AUTO_TEST(test_ejected_and_refused),
                AUTO_TEST(test_sample_fails),
                AUTO_TEST(test_stock_is_ejected),
                AUTO_TEST(test_journal),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
