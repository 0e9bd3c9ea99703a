/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The shadows of units: what comes of samples, and of processes that do not do what they should. The
 * processes are real ones, the kernel is not. */

#include "../test-util.h"

#include <dirent.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fake-sampler.h"
#include "daemon/auto/shadows.h"
#include "shared/file-util.h"
#include "shared/log.h"

#define CACHED 100U
/* In which something has to happen, on a slow machine. */
#define LONG_USEC (120 * USEC_PER_SEC)

static char *program, *fake_program;
static uint64_t own_id; /* of the control group of x.service */
static unsigned left;   /* what shadows_resize() said last */

typedef struct Fixture {
        char *dir, *sysfs, *cgroups;
        sd_event *event;
        ShadowHost *host;
        Shadows *shadows;
        ShadowsWindow window;
        unsigned n_windows, n_reseeded;
        bool free_in_handler;
} Fixture;

/* ---- around them */

static void on_window(Shadows *s, const ShadowsWindow *w, void *userdata) {
        Fixture *f = userdata;

        assert_ptr_equal(s, f->shadows);
        f->window = *w;
        f->n_windows++;
        if (f->free_in_handler)
                f->shadows = shadows_free(f->shadows);
}

static void on_reseeded(Shadows *s, void *userdata) {
        Fixture *f = userdata;

        f->n_reseeded++;
}

static const ShadowsHandlers handlers = { .window = on_window, .reseeded = on_reseeded };

static uint64_t make_cgroup(Fixture *f, const char *name) {
        g_autofree char *path = g_build_filename(f->cgroups, name, NULL);
        struct stat st;

        g_free(test_file(path, "memory.cachebpf.sample", ""));
        assert_int_equal(stat(path, &st), 0);
        return st.st_ino;
}

static int setup(void **state) {
        Fixture *f = g_new0(Fixture, 1);
        KernelPaths paths;

        f->dir = test_dir_make();
        f->sysfs = g_build_filename(f->dir, "sys", NULL);
        f->cgroups = g_build_filename(f->dir, "cgroup", NULL);
        paths = (KernelPaths) { .sysfs = f->sysfs, .cgroup = f->cgroups };
        g_free(test_file(f->dir, "sys/abi", "1\n"));
        g_free(test_file(f->dir, "sys/features", "rank\nsample\n"));
        own_id = make_cgroup(f, "x.service");
        assert_int_equal(sd_event_new(&f->event), 0);
        assert_int_equal(shadow_host_new(f->event, &paths, &f->host), 0);
        shadow_host_set_program(f->host, program);
        *state = f;
        return 0;
}

/* How many processes we have; one of them. */
static unsigned count_children(pid_t *ret_one) {
        _cleanup_closedir_ DIR *dir = opendir("/proc");
        struct dirent *e;
        unsigned n = 0;

        assert_non_null(dir);
        while ((e = readdir(dir))) {
                g_autofree char *path = g_strdup_printf("/proc/%s/stat", e->d_name);
                g_autofree char *text = NULL;
                const char *after;
                int parent;

                if (!g_ascii_isdigit(e->d_name[0]) || !g_file_get_contents(path, &text, NULL, NULL))
                        continue;
                after = strrchr(text, ')');
                if (!after || sscanf(after, ") %*c %d", &parent) != 1 || parent != getpid())
                        continue;
                if (ret_one)
                        *ret_one = (pid_t) atoi(e->d_name);
                n++;
        }
        return n;
}

static void run_once(Fixture *f) {
        assert_true(sd_event_run(f->event, 10 * USEC_PER_MSEC) >= 0);
}

#define eventually(f, condition)                                                        \
        do {                                                                            \
                int64_t end_ = g_get_monotonic_time() + (int64_t) LONG_USEC;            \
                while (!(condition)) {                                                  \
                        if (g_get_monotonic_time() > end_)                              \
                                fail_msg("eventually: %s", #condition);                 \
                        run_once(f);                                                    \
                }                                                                       \
        } while (false)

static int teardown(void **state) {
        Fixture *f = *state;

        shadows_free(f->shadows);
        assert_false(fake_sampler_is_there());
        eventually(f, count_children(NULL) == 0);
        shadow_host_free(f->host);
        sd_event_unref(f->event);
        g_free(f->sysfs);
        g_free(f->cgroups);
        test_dir_remove(f->dir);
        g_free(f);
        return 0;
}

static int try_begin(Fixture *f, const char *cgroup, uint64_t id, uint64_t n_pages,
                     const char *const *policies, Shadows **ret) {
        ShadowCandidate candidates[SHADOWS_CANDIDATES_MAX + 1] = {};
        size_t n = 0;

        for (; policies[n]; n++)
                candidates[n].policy = policies[n];
        return shadows_new(f->host, "x.service", cgroup, id, n_pages, candidates, n, &handlers, f, ret);
}

static void begin(Fixture *f, uint64_t n_pages, const char *const *policies) {
        assert_int_equal(try_begin(f, "/x.service", own_id, n_pages, policies, &f->shadows), 0);
}

#define LIST(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void end_window(Fixture *f) {
        unsigned before = f->n_windows;

        assert_int_equal(shadows_end_window(f->shadows), 0);
        assert_int_equal(f->n_windows, before); /* later */
        eventually(f, f->n_windows > before);
}

/* Processes began in the first one. */
static void begin_and_end_window(Fixture *f, uint64_t n_pages, const char *const *policies) {
        begin(f, n_pages, policies);
        end_window(f);
        for (size_t i = 0; policies[i]; i++)
                assert_false(f->window.candidates[i].valid);
}

/* Keys as the kernel has them are as good as random. */
static uint64_t key_of(uint64_t page) {
        return (page + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void loop(unsigned n_pages, unsigned times) {
        for (unsigned i = 0; i < n_pages * times; i++)
                fake_sampler_event(own_id, key_of(i % n_pages), false);
}

static void assert_sample_file(Fixture *f, const char *expected) {
        g_autofree char *path = g_build_filename(f->cgroups, "x.service/memory.cachebpf.sample", NULL);
        g_autofree char *text = NULL;

        assert_int_equal(read_full_file(path, 64, &text, NULL), 0);
        assert_string_equal(text, expected);
}

static void write_sample_file(Fixture *f, const char *text) {
        g_free(test_file(f->dir, "cgroup/x.service/memory.cachebpf.sample", text));
}

/* ---- windows */

static void test_windows(void **state) {
        Fixture *f = *state;

        begin(f, CACHED, LIST("stock", "lru", "mru"));
        assert_true(fake_sampler_has(own_id));
        assert_sample_file(f, "1");

        /* all of it fits */
        loop(50, 2);
        end_window(f);
        assert_int_equal(f->window.sampled, 100);
        assert_int_equal(f->window.one_in, 1);
        assert_int_equal(f->window.lost, 0);
        for (unsigned i = 0; i < 3; i++) {
                assert_false(f->window.candidates[i].valid);
                assert_int_equal(f->window.candidates[i].misses, 50);
        }

        /* half of it does */
        loop(200, 3);
        end_window(f);
        assert_int_equal(f->window.sampled, 600);
        for (unsigned i = 0; i < 3; i++)
                assert_true(f->window.candidates[i].valid);
        assert_in_range(f->window.candidates[0].misses, 500, 600);
        assert_in_range(f->window.candidates[1].misses, 500, 600);
        assert_in_range(f->window.candidates[2].misses, 300, 400);

        /* nothing happened */
        end_window(f);
        assert_int_equal(f->window.sampled, 0);
        for (unsigned i = 0; i < 3; i++) {
                assert_true(f->window.candidates[i].valid);
                assert_int_equal(f->window.candidates[i].misses, 0);
        }
        assert_int_equal(f->n_reseeded, 0);
}

static void test_gone(void **state) {
        Fixture *f = *state;

        begin_and_end_window(f, CACHED, LIST("lru"));
        loop(10, 1);
        for (unsigned i = 0; i < 5; i++)
                fake_sampler_event(own_id, key_of(i), true);
        loop(10, 1);
        end_window(f);
        assert_int_equal(f->window.sampled, 20);
        assert_int_equal(f->window.candidates[0].misses, 15);
}

/* What waits in the ring buffer belongs to the window; what is lost there is told. */
static void test_ring(void **state) {
        Fixture *f = *state;

        begin_and_end_window(f, CACHED, LIST("lru"));
        for (unsigned i = 0; i < 30; i++)
                fake_sampler_queue(own_id, key_of(i));
        fake_sampler_queue(own_id + 1, 1); /* of nobody */
        fake_sampler_lose(own_id, 7);
        end_window(f);
        assert_int_equal(f->window.sampled, 30);
        assert_int_equal(f->window.lost, 7);
        assert_int_equal(f->window.candidates[0].misses, 30);
        end_window(f);
        assert_int_equal(f->window.lost, 0);
}

static void test_one_at_a_time(void **state) {
        Fixture *f = *state;

        begin(f, CACHED, LIST("lru"));
        assert_int_equal(shadows_end_window(f->shadows), 0);
        assert_int_equal(shadows_end_window(f->shadows), -EALREADY);
        eventually(f, f->n_windows == 1);
        end_window(f);
}

static void test_free_in_handler(void **state) {
        Fixture *f = *state;

        begin(f, CACHED, LIST("lru", "mru"));
        f->free_in_handler = true;
        end_window(f);
        assert_null(f->shadows);
        assert_sample_file(f, "0");
}

static void test_options(void **state) {
        Fixture *f = *state;
        ShadowCandidate candidates[] = {
                { .policy = "lfu", .options = LIST("nr_scan=64") },
                { .policy = "lfu", .options = LIST("nr_scan=none") },
        };

        assert_int_equal(shadows_new(f->host, "x.service", "/x.service", own_id, CACHED, candidates, 2,
                                     &handlers, f, &f->shadows), 0);
        end_window(f);
        end_window(f);
        assert_true(f->window.candidates[0].valid);
        assert_false(f->window.candidates[1].valid);
}

/* ---- size and rate */

static void test_resize(void **state) {
        Fixture *f = *state;

        begin_and_end_window(f, 8192, LIST("lru"));
        assert_sample_file(f, "8");
        assert_int_equal(shadows_resize(f->shadows, 9000, &left), 1);
        assert_int_equal(shadows_resize(f->shadows, 7000, &left), 1);
        loop(10, 1);
        assert_int_equal(shadows_end_window(f->shadows), 0);
        assert_int_equal(shadows_resize(f->shadows, 16384, &left), 0);
        assert_int_equal(shadows_resize(f->shadows, 8192, &left), 0); /* not now, but they do not fit */
        assert_int_equal(left, 1);
        assert_int_equal(f->n_reseeded, 1);
        assert_sample_file(f, "16");
        end_window(f);
        assert_int_equal(f->n_windows, 2); /* without the one that was not told */
        assert_int_equal(f->window.one_in, 16);
        assert_int_equal(f->window.sampled, 0);
        assert_false(f->window.candidates[0].valid);
        /* the caches are empty */
        loop(10, 1);
        end_window(f);
        assert_true(f->window.candidates[0].valid);
        assert_int_equal(f->window.candidates[0].misses, 10);
}

/* So many events that it does not matter how slow the machine is. */
static void test_rate(void **state) {
        Fixture *f = *state;

        begin(f, 4096, LIST("fifo"));
        assert_sample_file(f, "4");
        loop(1000, 2000);
        assert_int_equal(shadows_end_window(f->shadows), 0);
        eventually(f, f->n_reseeded == 1);
        assert_int_equal(f->n_windows, 0);
        assert_sample_file(f, "8");

        /* nothing happens any more, in two windows */
        end_window(f);
        assert_int_equal(f->window.one_in, 8);
        assert_int_equal(shadows_end_window(f->shadows), 0);
        eventually(f, f->n_reseeded == 2);
        assert_sample_file(f, "4");
        end_window(f);
        assert_int_equal(f->window.one_in, 4);
}

/* Both, around their thresholds: they begin anew now and then. */
static void test_swings(void **state) {
        Fixture *f = *state;

        shadow_host_set_program(f->host, "/nowhere/cachebpf-shadow");
        begin(f, 4096, LIST("fifo"));
        for (unsigned i = 0; i < 100; i++)
                assert_true(shadows_resize(f->shadows, i % 2 == 0 ? 8192 : 2048, &left) >= 0);
        assert_in_range(f->n_reseeded, 1, 2);

        for (unsigned i = 0; i < 20; i++) {
                fake_sampler_lose(own_id, i % 2 == 0 ? 1000000 : 0);
                assert_int_equal(shadows_end_window(f->shadows), 0);
                eventually(f, f->n_windows + f->n_reseeded > i + 1);
        }
        assert_in_range(f->n_reseeded, 2, 4);
        shadow_host_set_program(f->host, program);
}

static void test_replaced(void **state) {
        Fixture *f = *state;

        begin(f, 4096, LIST("lru"));
        write_sample_file(f, "0\n");
        assert_int_equal(shadows_policy_replaced(f->shadows), 0);
        assert_sample_file(f, "4");
        write_sample_file(f, "4\n");
        assert_int_equal(shadows_policy_replaced(f->shadows), 0);
        assert_sample_file(f, "4\n");
}

/* The unit was stopped and started again, and nobody has told yet: the sample of the new control group is
 * not ours. */
static void test_another_cgroup(void **state) {
        g_autofree char *path = NULL, *aside = NULL;
        Fixture *f = *state;

        begin_and_end_window(f, 4096, LIST("lru"));
        path = g_build_filename(f->cgroups, "x.service", NULL);
        aside = g_build_filename(f->cgroups, "old.service", NULL);
        assert_int_equal(rename(path, aside), 0);
        assert_true(make_cgroup(f, "x.service") != own_id);
        write_sample_file(f, "0");

        assert_int_equal(shadows_policy_replaced(f->shadows), -ENOENT);
        assert_int_equal(shadows_resize(f->shadows, 16384, &left), -ENOENT);
        assert_int_equal(f->n_reseeded, 0);
        assert_sample_file(f, "0");
        write_sample_file(f, "2");
        f->shadows = shadows_free(f->shadows);
        assert_sample_file(f, "2");
}

/* What the kernel does not take is no change: the next window tries again. */
static void test_cannot_begin_again(void **state) {
        Fixture *f = *state;
        g_autofree char *file = g_build_filename(f->cgroups, "x.service/memory.cachebpf.sample", NULL);

        begin(f, 8192, LIST("lru"));
        assert_true(unlink(file) == 0 && mkdir(file, 0755) == 0);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(shadows_resize(f->shadows, 16384, &left), -EISDIR);
}

/* ---- processes */

static void test_killed(void **state) {
        Fixture *f = *state;
        pid_t pid;

        begin_and_end_window(f, CACHED, LIST("lru"));
        assert_int_equal(count_children(&pid), 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        loop(10, 1);
        end_window(f);
        assert_false(f->window.candidates[0].valid);

        /* another one begins, with an empty cache */
        eventually(f, count_children(&pid) == 1);
        eventually(f, ({ end_window(f); f->window.candidates[0].valid; }));
        loop(10, 1);
        end_window(f);
        assert_true(f->window.candidates[0].valid);
        assert_int_equal(f->window.candidates[0].misses, 10);
}

static void test_stopped(void **state) {
        Fixture *f = *state;
        pid_t pid;

        begin_and_end_window(f, CACHED, LIST("lru", "fifo"));
        assert_int_equal(count_children(&pid), 2);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        loop(1000, 100); /* more than fits; nobody waits */
        end_window(f);
        assert_int_equal(f->window.lost, 0); /* the other one got all */
        assert_true(f->window.candidates[0].valid + f->window.candidates[1].valid <= 1);

        eventually(f, ({ end_window(f);
                         f->window.candidates[0].valid && f->window.candidates[1].valid; }));
        assert_int_equal(kill(pid, 0), -1);

        /* nor for the one that has room for what it is told, but does not answer */
        assert_int_equal(count_children(&pid), 2);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        end_window(f);
        assert_int_equal(f->window.candidates[0].valid + f->window.candidates[1].valid, 1);
        eventually(f, kill(pid, 0) < 0);
}

/* Whatever one says, the window is told, and the one beside it counts. */
static void test_nonsense(void **state) {
        static const char *const ways[] = { "short", "long", "liar", "other", "more", "leaves", "ends",
                                            "chatter", "silent", "twice", "flood" };

        for (size_t i = 0; i < ELEMENTSOF(ways); i++) {
                Fixture *f;
                void *own;

                assert_int_equal(setup(&own), 0);
                f = own;
                shadow_host_set_program(f->host, fake_program);
                begin_and_end_window(f, CACHED, LIST("good", ways[i]));
                end_window(f);
                assert_true(f->window.candidates[0].valid);
                assert_false(f->window.candidates[1].valid);
                assert_int_equal(teardown(&own), 0);
        }
}

static void test_no_program(void **state) {
        Fixture *f = *state;

        shadow_host_set_program(f->host, "/nowhere/cachebpf-shadow");
        begin_and_end_window(f, CACHED, LIST("lru", "mru"));
        loop(10, 1);
        end_window(f);
        assert_int_equal(f->window.sampled, 10);
        assert_int_equal(f->window.lost, 0);
        assert_false(f->window.candidates[0].valid);
        shadow_host_set_program(f->host, program);
}

/* ---- units */

/* One with a control group of its own, whose id is returned. */
static uint64_t begin_another(Fixture *f, unsigned number, const char *const *policies, Shadows **ret) {
        g_autofree char *cgroup = g_strdup_printf("/%u.service", number);
        uint64_t id = make_cgroup(f, cgroup);

        assert_int_equal(try_begin(f, cgroup, id, CACHED, policies, ret), 0);
        return id;
}

static void test_many(void **state) {
        Fixture *f = *state;
        Shadows *all[8];
        uint64_t ids[ELEMENTSOF(all)];

        for (unsigned i = 0; i < ELEMENTSOF(all); i++) {
                ids[i] = begin_another(f, i, LIST("lru", "fifo"), all + i);
                fake_sampler_event(ids[i], 1, false);
        }
        for (unsigned i = 0; i < ELEMENTSOF(all); i++) {
                for (unsigned k = 0; k < i; k++)
                        fake_sampler_event(ids[i], key_of(k), false);
                f->shadows = all[i];
                end_window(f);
                assert_int_equal(f->window.sampled, i + 1);
                assert_int_equal(f->window.candidates[1].misses, i + 1);
        }
        f->shadows = NULL;
        for (unsigned i = 0; i < ELEMENTSOF(all); i++) {
                assert_true(fake_sampler_has(ids[i]));
                shadows_free(all[i]);
                assert_false(fake_sampler_has(ids[i]));
        }
}

static void test_bound(void **state) {
        static const char *const policies[] = { "lru", "lru", "lru", "lru", "lru", NULL };
        const unsigned n = ELEMENTSOF(policies) - 1, n_units = SHADOWS_PROCESSES_MAX / n;
        Fixture *f = *state;
        Shadows *all[n_units];

        shadow_host_set_program(f->host, "/nowhere/cachebpf-shadow");
        for (unsigned i = 0; i < n_units; i++)
                (void) begin_another(f, i, policies, all + i);
        assert_int_equal(try_begin(f, "/x.service", own_id, CACHED, policies, &f->shadows), -EBUSY);
        shadows_free(all[0]);
        begin(f, CACHED, policies);
        for (unsigned i = 1; i < n_units; i++)
                shadows_free(all[i]);
}

static void test_errors(void **state) {
        Fixture *f = *state;
        KernelPaths paths = { .sysfs = f->sysfs, .cgroup = f->cgroups };
        const char *many[SHADOWS_CANDIDATES_MAX + 2] = {};
        ShadowHost *host;
        Shadows *s;

        for (unsigned i = 0; i <= SHADOWS_CANDIDATES_MAX; i++)
                many[i] = "lru";
        assert_int_equal(try_begin(f, "/x.service", own_id, CACHED, many, &s), -EINVAL);
        assert_int_equal(try_begin(f, "/x.service", own_id, CACHED, LIST(NULL), &s), -EINVAL);
        assert_int_equal(try_begin(f, "/x.service", own_id, 0, LIST("lru"), &s), -EINVAL);
        assert_int_equal(try_begin(f, "/y.service", own_id, CACHED, LIST("lru"), &s), -ENOENT);
        assert_false(fake_sampler_is_there());
        begin(f, CACHED, LIST("lru"));
        assert_int_equal(try_begin(f, "/x.service", own_id, CACHED, LIST("lru"), &s), -EEXIST);
        assert_true(fake_sampler_has(own_id));

        g_free(test_file(f->dir, "sys/features", "rank\n"));
        assert_int_equal(shadow_host_new(f->event, &paths, &host), -EOPNOTSUPP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char *argv[]) {
        static const struct CMUnitTest tests[] = {
                TEST(test_windows),
                TEST(test_gone),
                TEST(test_ring),
                TEST(test_one_at_a_time),
                TEST(test_free_in_handler),
                TEST(test_options),
                TEST(test_resize),
                TEST(test_cannot_begin_again),
                TEST(test_rate),
                TEST(test_swings),
                TEST(test_replaced),
                TEST(test_another_cgroup),
                TEST(test_killed),
                TEST(test_stopped),
                cmocka_unit_test(test_nonsense),
                TEST(test_no_program),
                TEST(test_many),
                TEST(test_bound),
                TEST(test_errors),
        };

        assert(argc > 2);
        program = argv[1];
        fake_program = argv[2];
        log_set_target(LOG_TARGET_NULL);
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
