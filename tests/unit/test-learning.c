/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When what policies learn is saved and restored: the reconciler on a fake kernel, with a file in place of
 * the map of the policy "lfu", which the daemon's child processes read and write by the calls of libbpf that
 * are played here. */

#include "reconcile-fixture.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "daemon/control/hold.h"
#include "daemon/kernel/learned-map.h"
#include "daemon/learning/learning.h"
#include "shared/cleanup.h"
#include "shared/log.h"

#define N_ENTRIES 5000U

static char *dir;
static Learning *learning;
static unsigned n_warnings;
static GString *warning;

/* ---- the map */

static struct {
        int error;           /* what reading fails with */
        int write_error;
        uint32_t value_size;
} *played; /* the children have it, too */

int bpf_map_get_info_by_fd(int fd, struct bpf_map_info *info, uint32_t *len) {
        *info = (struct bpf_map_info) {
                .type = BPF_MAP_TYPE_ARRAY,
                .key_size = sizeof(uint32_t),
                .value_size = played->value_size,
                .max_entries = N_ENTRIES,
        };
        return 0;
}

int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, uint32_t *count,
                         const struct bpf_map_batch_opts *opts) {
        uint32_t first = 0, n;

        if (played->error < 0)
                return played->error;

        if (in)
                memcpy(&first, in, sizeof(first));
        n = MIN(*count, N_ENTRIES - first);
        for (uint32_t i = 0; i < n; i++)
                ((uint32_t *) keys)[i] = first + i;
        assert_int_equal(pread(fd, values, (size_t) n * 8, (off_t) first * 8), (size_t) n * 8);
        *count = n;
        first += n;
        memcpy(out, &first, sizeof(first));
        return first == N_ENTRIES ? -ENOENT : 0;
}

int bpf_map_update_batch(int fd, const void *keys, const void *values, uint32_t *count,
                         const struct bpf_map_batch_opts *opts) {
        if (played->write_error < 0)
                return played->write_error;

        for (uint32_t i = 0; i < *count; i++) {
                uint32_t key = ((const uint32_t *) keys)[i];

                assert_int_equal(pwrite(fd, (const uint64_t *) values + i, 8, (off_t) key * 8), 8);
        }
        return 0;
}

/* The first and the last one. */
static void learn(uint64_t value) {
        int fd = fixture->kernel.learned_fd;

        assert_int_equal(pwrite(fd, &value, sizeof(value), 0), sizeof(value));
        assert_int_equal(pwrite(fd, &value, sizeof(value), (N_ENTRIES - 1) * 8), sizeof(value));
}

static uint64_t learned(void) {
        uint64_t first, last;

        assert_int_equal(pread(fixture->kernel.learned_fd, &first, sizeof(first), 0), sizeof(first));
        assert_int_equal(pread(fixture->kernel.learned_fd, &last, sizeof(last), (N_ENTRIES - 1) * 8),
                         sizeof(last));
        assert_int_equal(first, last);
        return first;
}

/* As the map of a policy that was just loaded. */
static void new_map(void) {
        safe_close(fixture->kernel.learned_fd);
        fixture->kernel.learned_fd = memfd_create("map", MFD_CLOEXEC);
        assert_true(fixture->kernel.learned_fd >= 0);
        assert_int_equal(ftruncate(fixture->kernel.learned_fd, N_ENTRIES * 8), 0);
}

/* ---- the daemon */

static void on_log(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level > LOG_WARNING)
                return;
        n_warnings++;
        g_string_assign(warning, message);
}

static void start_learning(void) {
        fixture->manager->paths.learned = dir;
        assert_int_equal(learning_new(fixture->manager, &learning), 0);
        fixture->control->learning = learning;
}

static void stop(void) {
        fixture->control->learning = NULL;
        learning = learning_free(learning);
        stop_daemon();
}

static void restart(void) {
        stop();
        start_daemon();
        start_learning();
}

static int setup(void **state) {
        fixture_setup(state);
        log_set_target(LOG_TARGET_NULL);
        dir = test_dir_make();
        played = mmap(NULL, sizeof(*played), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(played != MAP_FAILED);
        played->value_size = 8;
        n_warnings = 0;
        warning = g_string_new(NULL);
        log_set_hook(on_log, NULL);
        new_map();
        start_learning();
        return 0;
}

static int teardown(void **state) {
        log_set_hook(NULL, NULL);
        learning = learning_free(learning);
        fixture->control->learning = NULL;
        safe_close(fixture->kernel.learned_fd);
        fixture_teardown(state);
        munmap(played, sizeof(*played));
        g_string_free(warning, TRUE);
        test_dir_remove(dir);
        return 0;
}

/* Until no child has anything to do. */
static void settle(void) {
        run();
        while (learning_is_busy(learning))
                assert_true(sd_event_run(fixture->event, USEC_PER_SEC) >= 0);
        run();
}

static void save_now(void) {
        learning_minute(learning);
        settle();
}

static char *path_of(const char *unit) {
        g_autofree char *name = learned_file_name(unit);

        return g_build_filename(dir, name, NULL);
}

/* When the file was written; 0: there is none. */
static uint64_t written(const char *unit) {
        g_autofree char *path = path_of(unit);
        struct stat st;

        return stat(path, &st) < 0 ? 0 : st.st_ino;
}

static Unit *start_unit(uint64_t cgroup_id) {
        Unit *u = add_unit("a.slice", "lfu", cgroup_id);

        settle();
        assert_state(u, UNIT_ATTACHED);
        return u;
}

/* ---- */

/* Nothing is there at first; then it stops, and starts again in another control group. */
static void test_stop_and_start(void **state) {
        Unit *u = start_unit(1);

        assert_true(u->link->restored);
        assert_true(fixture->kernel.cgroups[1].restored);
        assert_int_equal(written("a.slice"), 0);
        assert_int_equal(n_warnings, 0);

        learn(7);
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();
        assert_true(written("a.slice") > 0);

        new_map();
        set_cgroup(u, 2);
        settle();
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(learned(), 7);
        assert_true(u->link->restored);
        assert_int_equal(n_warnings, 0);
}

/* Each minute what has changed; a daemon that follows finds the policy at work, and leaves its map alone. */
static void test_minutes(void **state) {
        uint64_t first;

        (void) start_unit(1);
        learn(1);
        save_now();
        first = written("a.slice");
        assert_true(first > 0);
        save_now();
        assert_int_equal(written("a.slice"), first);
        learn(2);
        save_now();
        assert_int_not_equal(written("a.slice"), first);

        learn(3);
        restart();
        assert_true(start_unit(1)->adopted);
        assert_int_equal(learned(), 3);
        assert_int_equal(fixture->kernel.n_attach, 1);
        first = written("a.slice");
        learning_finish(learning);
        assert_false(learning_is_busy(learning));
        assert_int_not_equal(written("a.slice"), first);
}

/* A daemon that was killed before it had restored anything: what is in the map is no reason to lose the
 * file, and the next daemon restores it. */
static void test_killed_before(void **state) {
        Unit *u = start_unit(1);

        learn(5);
        save_now();
        fixture->kernel.cgroups[1].restored = false;
        learn(0);
        restart();

        u = add_unit("a.slice", "lfu", 1);
        run();
        learning_minute(learning); /* not before that */
        settle();
        assert_true(u->link->restored);
        assert_int_equal(learned(), 5);
}

/* Replaced in place, by itself or by one that learns nothing. */
static void test_update(void **state) {
        Unit *u = start_unit(1);
        uint64_t before;

        learn(9);
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        settle();
        assert_int_equal(fixture->kernel.n_update, 1);
        before = written("a.slice");
        assert_true(before > 0);
        assert_true(u->link->restored);
        assert_int_equal(learned(), 9);

        learn(10);
        configure(u, "mru");
        settle();
        assert_int_not_equal(written("a.slice"), before);
        before = written("a.slice");
        save_now();
        assert_int_equal(written("a.slice"), before);

        /* nothing asks for a policy any more */
        configure(u, "lfu");
        settle();
        learn(11);
        configure(u, NULL);
        settle();
        assert_null(u->link);
        assert_int_not_equal(written("a.slice"), before);
}

static void test_setting(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        set(u, "CacheLearning", "no", 8);
        settle();
        learn(3);
        save_now();
        assert_int_equal(written("a.slice"), 0);
        assert_false(u->link->restored);

        set(u, "CacheLearning", "yes", 9);
        settle();
        assert_int_equal(fixture->kernel.n_update, 0); /* that is no reason to begin anew */
        save_now();
        assert_true(written("a.slice") > 0);

        set(u, "CacheLearning", "sometimes", 10);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "'sometimes' (/etc/x.slice:10) is neither yes nor no");
}

static void write_file(const char *content) {
        free(test_file(dir, "a.slice", content));
}

/* One message, and then as if there were nothing. */
static void test_damaged(void **state) {
        Unit *u;

        write_file("this is not what was saved, but longer than what is in front of it, which has more "
                   "than a hundred bytes");
        u = start_unit(1);
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "a.slice' is damaged"));
        assert_true(u->link->restored);
        learn(4);
        save_now();
        assert_int_equal(n_warnings, 1);

        /* a map of another shape */
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();
        new_map();
        played->value_size = 4;
        set_cgroup(u, 2);
        settle();
        assert_int_equal(n_warnings, 2);
        assert_non_null(strstr(warning->str, "is of another policy"));
        assert_int_equal(learned(), 0);
}

/* It cannot be saved: said once, until it can. */
static void test_errors(void **state) {
        uint64_t before;

        (void) start_unit(1);
        learn(1);
        save_now();
        before = written("a.slice");

        played->error = -EIO;
        learn(2);
        save_now();
        save_now();
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "Cannot save what its cache policy has learned"));
        assert_int_equal(written("a.slice"), before);

        played->error = 0;
        save_now();
        assert_int_not_equal(written("a.slice"), before);
        played->error = -EIO;
        save_now();
        assert_int_equal(n_warnings, 2);
}

static void test_forget(void **state) {
        _cleanup_free_ char *file = NULL, *again = NULL, *path = path_of("a.slice");

        (void) start_unit(1);
        learn(6);
        save_now();
        learning_minute(learning); /* is not to bring it back */
        assert_int_equal(learning_forget(learning, "a.slice", &file), 0);
        assert_string_equal(file, path);
        assert_int_equal(learning_forget(learning, "a.slice", &again), 0);
        assert_null(again);
        settle();
        assert_int_equal(written("a.slice"), 0);
        assert_int_equal(learned(), 0);

        save_now();
        assert_true(written("a.slice") > 0);
        assert_int_equal(n_warnings, 0);
}

/* What could not be restored for want of something is in the file still, and is tried again. */
static void test_restored_later(void **state) {
        uint64_t before;
        Unit *u = start_unit(1);

        learn(6);
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();
        before = written("a.slice");
        assert_true(before > 0);

        new_map();
        played->write_error = -ENOMEM;
        set_cgroup(u, 2);
        settle();
        assert_false(u->link->restored);
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "trying again"));
        learn(1);
        save_now();
        assert_int_equal(written("a.slice"), before);
        assert_int_equal(n_warnings, 1);

        played->write_error = 0;
        save_now();
        assert_true(u->link->restored);
        assert_int_equal(learned(), 6);
}

/* The policy is replaced, or what it learned forgotten, before that was restored. */
static void test_overtaken(void **state) {
        g_autofree char *file = NULL;
        Unit *u = start_unit(1);

        learn(6);
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();

        new_map();
        set_cgroup(u, 2);
        run();
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        assert_true(learning_is_busy(learning));
        settle();
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_true(u->link->restored);
        assert_int_equal(learned(), 6);

        fake_cgroup_remove(&fixture->kernel, 2);
        set_cgroup(u, 0);
        settle();
        new_map();
        set_cgroup(u, 3);
        run();
        assert_int_equal(learning_forget(learning, "a.slice", &file), 0);
        settle();
        assert_true(u->link->restored);
        assert_int_equal(learned(), 0);
}

/* ---- killed while it saves */

static void test_kills(void **state) {
        unsigned n_kills = 200;

        (void) start_unit(1);
        learn(1);
        save_now();

        for (unsigned i = 0; i < n_kills; i++) {
                _cleanup_learned_ Learned l = {};
                _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                uint64_t first, last;

                learn(i + 2);
                learning_minute(learning);
                assert_int_equal(usleep(i * 53 % 4000), 0);
                /* the child goes with the daemon */
                restart();
                (void) start_unit(1);

                assert_true(fd >= 0);
                assert_int_equal(learned_load(fd, "a.slice", "lfu@0", &l), 0);
                memcpy(&first, l.entries + 4, 8);
                memcpy(&last, l.entries + (N_ENTRIES - 1) * 12 + 4, 8);
                assert_int_equal(first, last);
        }
        assert_int_equal(n_warnings, 0);
}

#define LEARNING_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                LEARNING_TEST(test_stop_and_start),
                LEARNING_TEST(test_minutes),
                LEARNING_TEST(test_killed_before),
                LEARNING_TEST(test_update),
                LEARNING_TEST(test_setting),
                LEARNING_TEST(test_damaged),
                LEARNING_TEST(test_errors),
                LEARNING_TEST(test_forget),
                LEARNING_TEST(test_restored_later),
                LEARNING_TEST(test_overtaken),
                LEARNING_TEST(test_kills),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
