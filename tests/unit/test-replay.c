/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units are recorded, when, and what comes of that: with real children and files, and control
 * groups that are directories. */

#include "reconcile-fixture.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/replay/replay.h"
#include "shared/cleanup.h"
#include "shared/log.h"

#define DEVICE (8U << 20 | 17U)
#define UNIT "a.service"

static char *dir, *replay_dir, *data, *mounts;
static Replay *replay;
static GString *log_lines;

/* What the kernel part was asked for. */
static struct {
        int prepare_error, begin_error;
        unsigned n_prepare, n_begin, n_end;
        uint64_t cgroup_id, pages_max;
        unsigned level;
        bool used;           /* the unit uses a file */
} played;

static int prepare(void *userdata) {
        played.n_prepare++;
        return played.prepare_error;
}

static int begin(void *userdata, uint64_t cgroup_id, unsigned level, uint64_t pages_max) {
        if (played.begin_error < 0)
                return played.begin_error;
        assert_true(played.n_prepare > 0);
        played.n_begin++;
        played.cgroup_id = cgroup_id;
        played.level = level;
        played.pages_max = pages_max;
        return 0;
}

static int end(void *userdata, uint64_t cgroup_id, Uses *ret) {
        UsedFile f = { .value = { .size = sizeof("file\0data"), .whole = true } };
        UsedChunk c = { .value = { .pages = 0x7, .nsec = 1 } };
        struct stat st;

        assert_int_equal(cgroup_id, played.cgroup_id);
        played.n_end++;
        assert_int_equal(stat(data, &st), 0);
        f.key.ino = c.key.ino = st.st_ino;
        f.key.dev = c.key.dev = DEVICE;
        memcpy(f.value.names, "file\0data", sizeof("file\0data"));

        *ret = (Uses) {
                .files = g_array_new(FALSE, FALSE, sizeof(UsedFile)),
                .chunks = g_array_new(FALSE, FALSE, sizeof(UsedChunk)),
        };
        if (played.used) {
                g_array_append_val(ret->files, f);
                g_array_append_val(ret->chunks, c);
        }
        return 0;
}

static void done(void *userdata) {
}

static const ReplayBackend backend = { .prepare = prepare, .begin = begin, .end = end, .done = done };

static void on_log(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_INFO)
                g_string_append_printf(log_lines, "%s\n", message);
}

/* Whether something was said since the last time, which is forgotten. */
static void assert_said(const char *part) {
        if (!strstr(log_lines->str, part))
                fail_msg("no \"%s\" in \"%s\"", part, log_lines->str);
        g_string_truncate(log_lines, 0);
}

static void start_replay(void) {
        fixture->manager->paths.replay = replay_dir;
        fixture->manager->paths.mounts = mounts;
        fixture->manager->paths.kernel.cgroup = dir;
        replay = replay_new(fixture->manager, &backend);
        fixture->control->replay = replay;
}

static int setup(void **state) {
        static char content[5 * 65536];
        g_autofree char *line = NULL;

        fixture_setup(state);
        dir = test_dir_make();
        replay_dir = g_build_filename(dir, "replay", NULL);
        data = test_file_write(dir, "fs/data/file", content, sizeof(content));
        line = g_strdup_printf("21 20 8:17 / %s/fs rw - ext4 x rw\n", dir);
        mounts = test_file(dir, "mountinfo", line);
        log_lines = g_string_new(NULL);
        log_set_hook(on_log, NULL);
        memset(&played, 0, sizeof(played));
        played.used = true;
        start_replay();
        return 0;
}

static int teardown(void **state) {
        log_set_hook(NULL, NULL);
        fixture->control->replay = NULL;
        replay = replay_free(replay);
        fixture_teardown(state);
        g_string_free(log_lines, TRUE);
        free(data);
        free(mounts);
        free(replay_dir);
        test_dir_remove(dir);
        return 0;
}

static void settle(void) {
        run();
        while (replay_is_busy(replay))
                assert_true(sd_event_run(fixture->event, USEC_PER_SEC) >= 0);
        run();
}

static char *path_of_recording(void) {
        return g_build_filename(replay_dir, UNIT, NULL);
}

static bool is_kept(void) {
        g_autofree char *path = path_of_recording();

        return access(path, F_OK) >= 0;
}

/* A control group as the kernel has it: its id is the number of its directory. */
static void make_cgroup(const char *name) {
        g_autofree char *procs = g_strconcat("system.slice/", name, "/cgroup.procs", NULL);

        free(test_file(dir, procs, ""));
}

static char *procs_of(const char *name) {
        return g_build_filename(dir, "system.slice", name, "cgroup.procs", NULL);
}

/* As systemd tells it. */
static void enter_cgroup(Unit *u, const char *name) {
        g_autofree char *cgroup = g_strconcat("/system.slice/", name, NULL),
                        *path = g_strconcat(dir, cgroup, NULL);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        g_set_str(&u->cgroup, cgroup);
        u->cgroup_id = st.st_ino;
        u->active = true;
        u->started_at = (uint64_t) g_get_monotonic_time();
        manager_mark_dirty(fixture->manager, u);
}

static Unit *make_unit(const char *name) {
        Unit *u = add_unit(name, NULL, 0);

        set(u, "CacheReplay", "yes", 3);
        return u;
}

static void start_unit(Unit *u, const char *cgroup) {
        make_cgroup(cgroup);
        enter_cgroup(u, cgroup);
        settle();
}

static void stop_unit(Unit *u) {
        u->cgroup = mfree(u->cgroup);
        u->cgroup_id = 0;
        u->active = false;
        manager_mark_dirty(fixture->manager, u);
        settle();
}

static bool has_joined(const char *cgroup) {
        g_autofree char *path = procs_of(cgroup), *text = NULL;

        assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return streq(text, "0");
}

/* ---- tests */

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
             *none = add_unit("e.service", NULL, 0);

        start_unit(slice, "slice");
        assert_int_equal(played.n_begin, 0);
        assert_said("a.slice: CacheReplay= is ignored: slices have no start");

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

        start_unit(scope, "scope");
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

        played.begin_error = -E2BIG;
        start_unit(u, "three");
        assert_true(has_joined("three")); /* that can be done nevertheless */
        assert_said("a.service: Cannot record which pages it uses after its start");
        stop_unit(u);
        assert_int_equal(played.n_end, 2);
}

static void test_unprepared(void **state) {
        Unit *u;

        played.prepare_error = -EOPNOTSUPP;
        u = make_unit(UNIT);
        assert_said("only Linux 6.12 and later can tell");
        start_unit(u, "one");
        assert_int_equal(played.n_prepare, 1);
        assert_int_equal(played.n_begin, 0);
        assert_int_equal(log_lines->len, 0);
}

/* Who cannot be read from hangs; the unit stops, and nobody waits. */
static void test_hang(void **state) {
        g_autofree char *procs = procs_of("two");
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);

        make_cgroup("two");
        assert_int_equal(unlink(procs), 0);
        assert_int_equal(mkfifo(procs, 0600), 0);
        enter_cgroup(u, "two");
        run();
        assert_true(replay_is_busy(replay));
        stop_unit(u);
        assert_false(replay_is_busy(replay));

        start_unit(u, "three");
        assert_true(has_joined("three"));
}

/* ---- forgetting */

typedef struct Forgotten {
        unsigned n;
        int error;
        char *file;
} Forgotten;

static void on_forgotten(int error, const char *file, void *userdata) {
        Forgotten *f = userdata;

        f->n++;
        f->error = error;
        g_set_str(&f->file, file);
}

static void test_forget(void **state) {
        g_autofree char *path = path_of_recording();
        Forgotten f = {}, nobody = {};
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        replay_minute_over(replay, u); /* it is being saved */
        replay_forget(replay, UNIT, on_forgotten, &f);
        settle();
        assert_int_equal(f.n, 1);
        assert_int_equal(f.error, 0);
        assert_false(is_kept());

        stop_unit(u);
        start_unit(u, "two");
        replay_forget(replay, UNIT, on_forgotten, &f); /* it is being recorded */
        settle();
        stop_unit(u);
        assert_false(is_kept());
        assert_null(f.file);

        start_unit(u, "three");
        stop_unit(u);
        assert_true(is_kept());
        replay_forget(replay, UNIT, on_forgotten, &nobody);
        replay_disown(replay, &nobody);
        replay_forget(replay, UNIT, on_forgotten, &f);
        settle();
        assert_int_equal(nobody.n, 0);
        assert_false(is_kept());

        start_unit(u, "four");
        stop_unit(u);
        replay_forget(replay, UNIT, on_forgotten, &f);
        settle();
        assert_int_equal(f.n, 4);
        assert_string_equal(f.file, path);
        free(f.file);
}

#define REPLAY_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                REPLAY_TEST(test_life),
                REPLAY_TEST(test_short),
                REPLAY_TEST(test_who),
                REPLAY_TEST(test_no),
                REPLAY_TEST(test_damaged),
                REPLAY_TEST(test_cannot),
                REPLAY_TEST(test_unprepared),
                REPLAY_TEST(test_hang),
                REPLAY_TEST(test_forget),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
