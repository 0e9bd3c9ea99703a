/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units are recorded, when, and what comes of that. */

#include "replay-fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static void test_life(void **state) {
        g_autofree char *path = path_of_recording();
        Unit *u = make_unit(UNIT);
        struct stat st;

        assert_int_equal(played.n_prepare, 1); /* before it starts */
        start_unit(u, "one");
        assert_int_equal(played.n_begin, 1);
        assert_int_equal(played.cgroup_id, u->cgroup_id);
        assert_int_equal(played.level, 2);
        assert_true(played.pages_max > 0);
        assert_false(has_joined("one")); /* there is nothing to read ahead */
        assert_false(is_kept());

        replay_minute_over(replay, u);
        settle();
        assert_int_equal(played.n_end, 1);
        assert_said("a.service: Recorded for its next start that it uses 3 pages of 1 files.");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode, S_IFREG | 0600);
        assert_int_equal(stat(replay_dir, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);

        /* once a start */
        manager_mark_dirty(fixture->manager, u);
        replay_minute_over(replay, u);
        stop_unit(u);
        assert_int_equal(played.n_end, 1);

        start_unit(u, "two");
        assert_true(has_joined("two"));
        assert_said("a.service: Read 3 pages of 1 files ahead, 0 files are not as they were recorded.");
        assert_int_equal(played.n_begin, 2);
}

/* What ends before is recorded until then. */
static void test_short(void **state) {
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);
        assert_int_equal(played.n_end, 1);
        assert_true(is_kept());

        /* nothing is no reason to lose what there is */
        played.used = false;
        start_unit(u, "two");
        stop_unit(u);
        assert_int_equal(played.n_end, 2);
        assert_true(is_kept());

        played.used = true;
        start_unit(u, "three");
        g_string_truncate(log_lines, 0);
        unit_free(u);
        settle();
        assert_int_equal(played.n_end, 3);
        assert_said("Recorded");
}

static void test_who(void **state) {
        Unit *slice = make_unit("a.slice"), *scope = make_unit("a.scope"), *wrong = make_unit("b.service"),
             *old = make_unit("c.service"), *late = make_unit("d.service"),
             *none = add_unit("e.service", NULL, 0), *transient = make_unit("f.service");

        start_unit(slice, "slice");
        assert_said("a.slice: CacheReplay= is ignored: it is for services that start again.");
        start_unit(scope, "scope");
        assert_said("a.scope: CacheReplay= is ignored: it is for services that start again.");
        transient->transient = true;
        start_unit(transient, "transient");
        assert_said("f.service: CacheReplay= is ignored: it is for services that start again.");
        assert_int_equal(played.n_begin, 0);

        set(wrong, "CacheReplay", "sometimes", 4);
        start_unit(wrong, "wrong");
        assert_int_equal(played.n_begin, 0);
        assert_said("'sometimes' (/etc/x.slice:4) is neither yes nor no");

        start_unit(none, "none");
        assert_int_equal(played.n_begin, 0);

        /* it runs when the daemon comes */
        make_cgroup("old");
        enter_cgroup(old, "old");
        old->started_at = 0;
        settle();
        assert_int_equal(played.n_begin, 0);

        /* CacheReplay= comes when it runs for a while */
        make_cgroup("late");
        enter_cgroup(late, "late");
        late->started_at -= 61 * USEC_PER_SEC;
        settle();
        assert_int_equal(played.n_begin, 0);

        start_unit(none, "again");
        assert_int_equal(played.n_begin, 0);
        set(none, "CacheReplay", "yes", 5);
        stop_unit(none);
        start_unit(none, "again");
        assert_int_equal(played.n_begin, 1);
}

/* With a policy a bad value is refused with it, and that is said once. */
static void test_once(void **state) {
        Unit *u = add_unit(UNIT, "lfu", 1);

        set(u, "CacheReplay", "sometimes", 4);
        settle();
        assert_int_equal(u->state, UNIT_FAILED);
        assert_non_null(strstr(log_lines->str, "'sometimes' (/etc/x.slice:4) is neither yes nor no"));
        assert_null(strstr(log_lines->str, "is ignored"));
}

/* systemd told the id of the control group, and not yet where it is. */
static void test_half_known(void **state) {
        g_autofree char *cgroup = NULL;
        Unit *u = make_unit(UNIT);

        make_cgroup("one");
        enter_cgroup(u, "one");
        cgroup = TAKE_PTR(u->cgroup);
        settle();
        assert_int_equal(played.n_begin, 0);
        u->cgroup = TAKE_PTR(cgroup);
        manager_mark_dirty(fixture->manager, u);
        settle();
        assert_int_equal(played.n_begin, 1);
}

/* It is not wanted any more: what there was stays, and nothing is added. */
static void test_no(void **state) {
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        set(u, "CacheReplay", "no", 4);
        settle();
        assert_int_equal(played.n_end, 1);
        assert_false(is_kept());
        stop_unit(u);

        set(u, "CacheReplay", "yes", 5);
        start_unit(u, "two");
        stop_unit(u);
        assert_true(is_kept());
        set(u, "CacheReplay", "no", 6);
        start_unit(u, "three");
        assert_false(has_joined("three"));
        assert_true(is_kept());
}

static void test_damaged(void **state) {
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);
        free(test_file(replay_dir, UNIT, "cacherpl and then nothing of use, as far as anybody can tell"));
        start_unit(u, "two");
        assert_said("/replay/a.service' has another version.");
        assert_false(has_joined("two"));
        stop_unit(u);
        free(test_file(replay_dir, UNIT, ""));
        start_unit(u, "three");
        assert_said("/replay/a.service' is damaged.");
        stop_unit(u);
        start_unit(u, "four"); /* there is a new one by now */
        assert_true(has_joined("four"));
}

static void test_cannot(void **state) {
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);

        /* the control group is another one by now, which is no reason to complain */
        make_cgroup("two");
        enter_cgroup(u, "two");
        u->cgroup_id++;
        g_string_truncate(log_lines, 0);
        settle();
        assert_false(has_joined("two"));
        assert_int_equal(log_lines->len, 0);
        stop_unit(u);

        played.begin_error = -EUSERS;
        start_unit(u, "three");
        assert_true(has_joined("three")); /* that can be done nevertheless */
        assert_said("a.service: Not recorded at this start: too many units start at a time.");
        stop_unit(u);
        played.begin_error = -E2BIG; /* what attaching a program may say */
        start_unit(u, "four");
        assert_said("a.service: Cannot record which pages it uses after its start: Argument list too long");
        stop_unit(u);
        assert_int_equal(played.n_end, 2);
}

static void test_unprepared(void **state) {
        Unit *u;

        played.prepare_error = -EOPNOTSUPP;
        u = make_unit(UNIT);
        assert_said("Cannot record which pages units use: the kernel has no time.");
        start_unit(u, "one");
        assert_int_equal(played.n_prepare, 1);
        assert_int_equal(played.n_begin, 0);
        assert_int_equal(log_lines->len, 0);
        assert_string_equal(u->replay->reason, "it cannot be recorded: the kernel has no time");
}

/* A start that ends early, as by a crash, leaves a recording of more pages. */
static void test_brief(void **state) {
        static char content[65536];
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        replay_minute_over(replay, u);
        settle();
        assert_said("uses 3 pages");
        stop_unit(u);

        played.pages = 0x1;
        start_unit(u, "two");
        stop_unit(u);
        assert_null(strstr(log_lines->str, "Recorded"));
        start_unit(u, "three");
        replay_minute_over(replay, u);
        settle();
        assert_said("uses 1 pages");
        stop_unit(u);

        played.pages = 0x7;
        start_unit(u, "four");
        stop_unit(u);
        assert_said("uses 3 pages");

        /* what was recorded is no more what is there */
        free(test_file_write(dir, "fs/data/file", content, sizeof(content)));
        played.pages = 0x1;
        start_unit(u, "five");
        stop_unit(u);
        assert_said("uses 1 pages");
}

/* What people see. */
static void test_shown(void **state) {
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), now = (uint64_t) g_get_real_time();
        Unit *u = make_unit(UNIT);
        UnitReplay *x = u->replay;

        assert_non_null(x);
        assert_true(unit_is_managed(u));
        settle();
        assert_true(x->known);
        assert_int_equal(x->recorded_at, 0);

        start_unit(u, "one");
        assert_in_range(x->recording_until, now + 59 * USEC_PER_SEC, now + 90 * USEC_PER_SEC);
        assert_null(x->reason);
        replay_minute_over(replay, u);
        settle();
        assert_int_equal(x->recording_until, 0);
        assert_true(x->recorded_at >= now);
        assert_int_equal(x->recorded_bytes, 3 * page);
        assert_int_equal(x->recorded_ranges, 1);
        assert_int_equal(x->read_at, 0);
        stop_unit(u);

        start_unit(u, "two");
        assert_true(x->read_at >= now);
        assert_int_equal(x->read_bytes, 3 * page);
        assert_int_equal(x->read_ranges, 1);
        stop_unit(u);
        start_unit(u, "three");
        assert_int_equal(x->read_bytes_total, 6 * page);
        stop_unit(u);

        /* a start for which nothing is read */
        make_cgroup("four");
        free(test_file(dir, "system.slice/four/pids.max", "9\n"));
        free(test_file(dir, "system.slice/four/pids.current", "1\n"));
        g_string_truncate(log_lines, 0);
        enter_cgroup(u, "four");
        settle();
        assert_int_equal(x->read_at, 0);
        assert_string_equal(x->reason, "nothing was read ahead: it has too little room for more tasks "
                                       "(TasksMax=)");
        assert_string_equal(log_lines->str, "a.service: Nothing was read ahead: it has too little room for "
                                            "more tasks (TasksMax=).\n");
        assert_int_equal(x->recorded_bytes, 3 * page);
        stop_unit(u);
        start_unit(u, "five");
        assert_null(x->reason);

        replay_forget(replay, UNIT, NULL, NULL);
        settle();
        assert_int_equal(x->recording_until, 0);
        assert_int_equal(x->recorded_at, 0);
        set(u, "CacheReplay", "no", 4);
        assert_null(u->replay);
        assert_false(unit_is_managed(u));
}

/* What an earlier daemon kept is found; so is what is wrong with the setting. */
static void test_shown_before(void **state) {
        Unit *u = make_unit(UNIT), *scope, *wrong;

        start_unit(u, "one");
        stop_unit(u);
        unit_free(u);
        settle();
        u = make_unit(UNIT);
        settle();
        assert_true(u->replay->recorded_at > 0);
        assert_int_equal(u->replay->recorded_ranges, 1);

        scope = make_unit("a.scope");
        assert_string_equal(scope->replay->reason, "it is for services that start again");
        wrong = make_unit("b.service");
        set(wrong, "CacheReplay", "sometimes", 4);
        assert_string_equal(wrong->replay->reason, "'sometimes' (/etc/x.slice:4) is neither yes nor no");
        set(wrong, "CacheReplay", "yes", 4);
        assert_null(wrong->replay->reason);
        settle();
}

/* What cannot be kept is said once for each unit. */
static void test_failing(void **state) {
        Unit *a = make_unit("a.service"), *b = make_unit("b.service");

        settle();
        free(test_file(dir, "replay", "this is no directory"));
        start_unit(a, "one");
        stop_unit(a);
        assert_said("a.service: Cannot keep in '");
        assert_non_null(strstr(a->replay->reason, "/replay': Not a directory"));
        start_unit(b, "two");
        stop_unit(b);
        assert_said("b.service: Cannot keep in '");
        start_unit(a, "three");
        stop_unit(a);
        assert_null(strstr(log_lines->str, "Cannot keep"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                REPLAY_TEST(test_life),
                REPLAY_TEST(test_shown),
                REPLAY_TEST(test_shown_before),
                REPLAY_TEST(test_failing),
                REPLAY_TEST(test_short),
                REPLAY_TEST(test_who),
                REPLAY_TEST(test_no),
                REPLAY_TEST(test_damaged),
                REPLAY_TEST(test_cannot),
                REPLAY_TEST(test_unprepared),
                REPLAY_TEST(test_brief),
                REPLAY_TEST(test_once),
                REPLAY_TEST(test_half_known),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
