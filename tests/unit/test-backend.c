/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's way into the kernel, which is played: pins, updates, threads, programs of policies. The first
 * argument is the directory of the policies as built. */

#include "test-util.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "config/catalog.h"
#include "daemon/kernel/backend.h"
#include "daemon/kernel/events.h"
#include "daemon/kernel/pin.h"
#include "played-kernel.h"
#include "shared/kernel-features.h"
#include "shared/log.h"

static const char *objects;
static char *dir;
static GPtrArray *policies;
static PolicyBackend *backend;

#define OLD "0123456789abcdef"
#define NEW "fedcba9876543210"

static int setup(void **state) {
        const char *dirs[] = { objects, NULL };

        dir = test_dir_make();
        policies = policies_load(dirs);
        log_set_target(LOG_TARGET_NULL);
        return 0;
}

static int teardown(void **state) {
        g_ptr_array_unref(policies);
        test_dir_remove(dir);
        return 0;
}

/* Each test has pins of its own. */
static int begin(void **state) {
        g_autofree char *root = g_build_filename(dir, "pins-XXXXXX", NULL);

        assert_non_null(mkdtemp(root));
        played_kernel_reset();
        backend = policy_bpf_backend_new(root, "/nonexistent");
        *state = g_steal_pointer(&root);
        return 0;
}

static int end(void **state) {
        backend = policy_bpf_backend_free(backend);
        g_free(*state);
        return 0;
}

static const Policy *policy(const char *name) {
        const Policy *p = policies_find(policies, name);

        assert_non_null(p);
        assert_null(p->problem);
        return p;
}

static PolicyConfig config_of(const char *fingerprint) {
        PolicyConfig c = {};

        (void) snprintf(c.fingerprint, sizeof(c.fingerprint), "%s", fingerprint);
        return c;
}

static PolicyLink *attach(const char *name) {
        PolicyConfig c = config_of(OLD);
        _cleanup_free_ char *reason = NULL;
        PolicyLink *link = NULL;

        assert_int_equal(backend->attach(backend->userdata, policy(name), &c, 42, &link, &reason), 0);
        assert_null(reason);
        return link;
}

/* An attempt that fails; the reason ends so. */
static void assert_not_attached(const char *name, int error, const char *end_of_reason) {
        PolicyConfig c = config_of(OLD);
        _cleanup_free_ char *reason = NULL;
        PolicyLink *link = NULL;

        assert_int_equal(backend->attach(backend->userdata, policy(name), &c, 42, &link, &reason), error);
        assert_non_null(reason);
        assert_true(g_str_has_prefix(reason, "policy 'lhd' ("));
        assert_true(g_str_has_suffix(reason, end_of_reason));
        assert_null(link);
}

static int update(PolicyLink *link, const char *name, char **ret_reason) {
        PolicyConfig c = config_of(NEW);

        return backend->update(backend->userdata, link, policy(name), &c, ret_reason);
}

static bool exists(const char *root, const char *name) {
        g_autofree char *path = g_build_filename(root, name, NULL);

        return access(path, F_OK) >= 0;
}

/* A policy that learns says what; whether its map has what was known before, outlives the daemon, and begins
 * anew with another policy. */
static void test_learned(void **state) {
        PolicyLink *link = attach("wtinylfu");
        _cleanup_free_ char *reason = NULL;

        assert_true(policy("wtinylfu")->learns);
        assert_false(policy("lfu")->learns);
        assert_true(exists(*state, "42/learned-wtinylfu@0"));
        assert_true(exists(*state, "42/map-cachebpf_learned"));
        assert_true(link->learned_fd >= 0);
        assert_string_equal(link->learned, "wtinylfu@0");
        assert_false(link->restored);
        assert_int_equal(backend->mark_restored(backend->userdata, link), 0);

        /* that it cannot be noted does not make it untrue */
        link->restored = true;
        link->cgroup_id = 43;
        assert_int_equal(backend->mark_restored(backend->userdata, link), -ENOENT);
        assert_true(link->restored);
        policy_link_free(link);

        assert_int_equal(backend->open(backend->userdata, 42, &link), 0);
        assert_true(link->learned_fd >= 0);
        assert_string_equal(link->learned, "wtinylfu@0");
        assert_true(link->restored);

        assert_int_equal(update(link, "wtinylfu", &reason), 0);
        assert_true(link->learned_fd >= 0);
        assert_false(link->restored);

        assert_int_equal(update(link, "lfu", &reason), 0);
        assert_int_equal(link->learned_fd, -EBADF);
        assert_null(link->learned);
        assert_false(exists(*state, "42/learned-wtinylfu@0"));
        assert_int_equal(backend->detach(backend->userdata, link), 0);
        policy_link_free(link);
}

static void make_directory(const char *root, const char *name) {
        g_autofree char *path = g_build_filename(root, name, NULL);

        assert_int_equal(mkdir(path, 0700), 0);
}

/* ---- attaching */

static void test_attach(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("lhd");
        g_autofree char *pins = pin_path(*state, 42, NULL);
        g_autoptr(GDir) d = g_dir_open(pins, 0, NULL);

        assert_string_equal(kernel.name, "lhd");
        assert_int_equal(kernel.cgroup_id, 42);
        assert_int_equal(link->cgroup_id, 42);
        assert_string_equal(link->config, OLD);
        assert_false(link->incomplete);
        assert_true(link->fd >= 0 && link->events_fd >= 0 && link->program_fd >= 0 && link->counts_fd >= 0);

        assert_true(exists(*state, "42/link"));
        assert_true(exists(*state, "42/reconfigure"));
        assert_true(exists(*state, "42/counts"));
        assert_true(exists(*state, "42/map-cachebpf_events"));
        /* Threads have one map for all policies, and constants are nothing that anybody would look at. What
         * nobody asked for is not there. */
        assert_true(exists(*state, "threads"));
        for (const char *name; (name = g_dir_read_name(d));) {
                assert_null(strstr(name, "cachebpf_threads"));
                assert_null(strstr(name, "rodata"));
                assert_null(strstr(name, "readahead"));
        }
}

/* A policy that asks for nothing has nothing to be run. */
static void test_attach_plain(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("noop");

        assert_true(link->fd >= 0);
        assert_true(link->events_fd < 0 && link->program_fd < 0 && link->counts_fd < 0);
        assert_false(exists(*state, "42/reconfigure"));
        assert_false(exists(*state, "42/counts"));
}

/* Nothing is left of what fails, whichever step it was. */
static void test_attach_fails(void **state) {
        static const char *const pins[] = { "link", "counts", "reconfigure", "map-cachebpf_events" };

        kernel.load = -EINVAL;
        assert_not_attached("lhd", -EINVAL, policy_step_error(POLICY_STEP_LOAD, -EINVAL));
        assert_false(exists(*state, "42"));
        kernel.load = 0;

        kernel.attach = -EBUSY;
        assert_not_attached("lhd", -EBUSY, policy_step_error(POLICY_STEP_ATTACH, -EBUSY));
        assert_false(exists(*state, "42"));
        kernel.attach = 0;

        for (size_t i = 0; i < ELEMENTSOF(pins); i++) {
                kernel.unpinnable = pins[i];
                assert_not_attached("lhd", -EACCES, policy_step_error(POLICY_STEP_PIN, -EACCES));
                assert_false(exists(*state, "42"));
        }
        kernel.unpinnable = NULL;
        policy_link_free(attach("lhd"));
}

static void test_threads_unpinnable(void **state) {
        kernel.unpinnable = "threads";
        assert_not_attached("lhd", -EACCES, policy_step_error(POLICY_STEP_PIN, -EACCES));
        assert_false(exists(*state, "42"));
}

/* ---- adopting */

static int open_link(PolicyLink **ret) {
        return backend->open(backend->userdata, 42, ret);
}

static void test_open(void **state) {
        g_autofree char *counts = pin_path(*state, 42, PIN_COUNTS);
        PolicyLink *link = NULL;

        assert_int_equal(open_link(&link), -ENOENT);
        policy_link_free(attach("lhd"));

        assert_int_equal(open_link(&link), 0);
        assert_int_equal(link->cgroup_id, 42);
        assert_string_equal(link->config, OLD);
        assert_false(link->incomplete);
        assert_true(link->fd >= 0 && link->events_fd >= 0 && link->program_fd >= 0 && link->counts_fd >= 0);
        link = policy_link_free(link);

        /* An update that did not end, and a pin that is gone, are made good by another update. */
        assert_int_equal(pin_mark_updating(*state, 42, true), 0);
        assert_int_equal(open_link(&link), 0);
        assert_true(link->incomplete);
        link = policy_link_free(link);
        assert_int_equal(pin_mark_updating(*state, 42, false), 0);
        assert_int_equal(unlink(counts), 0);
        assert_int_equal(open_link(&link), 0);
        assert_true(link->incomplete);
        link = policy_link_free(link);

        kernel.hung_up = true;
        assert_int_equal(open_link(&link), -ENOENT);
        kernel.link_type = BPF_LINK_TYPE_CGROUP;
        assert_int_equal(open_link(&link), -EMEDIUMTYPE);
        kernel.open_pin = -EPERM;
        assert_int_equal(open_link(&link), -EPERM);
        assert_null(link);
}

static void assert_enumerated(const uint64_t *expected, guint n) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));

        assert_int_equal(backend->enumerate(backend->userdata, ids), 0);
        assert_int_equal(ids->len, n);
        for (guint i = 0; i < n; i++)
                assert_int_equal(g_array_index(ids, uint64_t, i), expected[i]);
}

static void test_enumerate(void **state) {
        static const uint64_t one[] = { 42 };

        policy_link_free(attach("lhd"));
        make_directory(*state, "43"); /* somebody was killed before there was a link */
        make_directory(*state, "something");
        assert_enumerated(one, 1);
        assert_false(exists(*state, "43"));
        assert_true(exists(*state, "something"));

        /* What is not ours, and what cannot be opened, stays. */
        kernel.link_type = BPF_LINK_TYPE_CGROUP;
        assert_enumerated(NULL, 0);
        assert_true(exists(*state, "42/link"));
        kernel.open_pin = -EPERM;
        assert_enumerated(NULL, 0);
        assert_true(exists(*state, "42/link"));

        played_kernel_reset();
        kernel.hung_up = true;
        assert_enumerated(NULL, 0);
        assert_false(exists(*state, "42"));

        /* Without the directory there is nothing. */
        test_dir_remove(g_strdup(*state));
        assert_enumerated(NULL, 0);
}

/* ---- updating */

static void test_update(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("noop");
        _cleanup_free_ char *reason = NULL;

        assert_int_equal(update(link, "lhd", &reason), 0);
        assert_null(reason);
        assert_int_equal(kernel.n_updates, 1);
        assert_string_equal(kernel.name, "lhd");
        assert_string_equal(link->config, NEW);
        assert_true(link->events_fd >= 0 && link->program_fd >= 0 && link->counts_fd >= 0);
        assert_true(exists(*state, "42/link"));
        assert_true(exists(*state, "42/reconfigure"));
        assert_true(exists(*state, "42/config-" NEW));
        assert_false(exists(*state, "42/config-" OLD));
        assert_false(exists(*state, "42/updating"));

        /* Members are where the kernel has them; without CacheAdmission= there is no filter. */
        assert_int_equal(kernel.value.cgroup_id, 42);
        assert_int_equal(kernel.value.evict_folios, PLAYED_PROGRAM_FD);
        assert_int_equal(kernel.value.admit_folio, 0);
        assert_int_equal(kernel.value.newer, 0);

        /* What it asked for goes with it. */
        assert_int_equal(update(link, "noop", &reason), 0);
        assert_true(link->events_fd < 0 && link->program_fd < 0 && link->counts_fd < 0);
        assert_false(exists(*state, "42/reconfigure"));
        assert_int_equal(kernel.n_layouts, 1);
}

static void test_update_with_filter(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("noop");
        _cleanup_free_ char *reason = NULL;
        PolicyConfig c = config_of(NEW);

        c.filter = true;
        assert_int_equal(backend->update(backend->userdata, link, policy("lhd"), &c, &reason), 0);
        assert_int_equal(kernel.value.admit_folio, PLAYED_PROGRAM_FD);
}

static void assert_not_updated(PolicyLink *link, int error, PolicyStep step) {
        _cleanup_free_ char *reason = NULL;

        assert_int_equal(update(link, "lhd", &reason), error);
        assert_non_null(reason);
        assert_true(g_str_has_suffix(reason, policy_step_error(step, error)));
        assert_int_equal(kernel.n_updates, 0);
        assert_string_equal(link->config, OLD);
}

/* The old policy runs on, and its pins are what they were. */
static void test_update_fails(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("noop");

        kernel.load = -ENOMEM;
        assert_not_updated(link, -ENOMEM, POLICY_STEP_LOAD);
        kernel.load = 0;
        kernel.btf_broken = true;
        assert_not_updated(link, -ESRCH, POLICY_STEP_LOAD);
        kernel.btf_broken = false;

        kernel.update = -EPERM;
        assert_not_updated(link, -EPERM, POLICY_STEP_ATTACH);
        assert_false(exists(*state, "42/updating"));
        assert_true(exists(*state, "42/config-" OLD));

        /* The mark of an earlier one that did not end stays. */
        assert_int_equal(pin_mark_updating(*state, 42, true), 0);
        link->incomplete = true;
        assert_not_updated(link, -EPERM, POLICY_STEP_ATTACH);
        assert_true(exists(*state, "42/updating"));
}

/* The new policy runs; the next start of the daemon puts the pins in order. */
static void test_update_unpinnable(void **state) {
        _cleanup_(policy_link_freep) PolicyLink *link = attach("noop"), *again = NULL;
        _cleanup_free_ char *reason = NULL;

        kernel.unpinnable = "counts";
        assert_int_equal(update(link, "lhd", &reason), 0);
        assert_int_equal(kernel.n_updates, 1);
        assert_false(link->incomplete);
        assert_string_equal(link->config, NEW);
        assert_true(exists(*state, "42/link"));
        assert_true(exists(*state, "42/updating"));

        assert_int_equal(open_link(&again), 0);
        assert_true(again->incomplete);
        kernel.unpinnable = NULL;
        assert_int_equal(update(again, "lhd", &reason), 0);
        assert_false(exists(*state, "42/updating"));
        assert_true(again->program_fd >= 0);
}

static void test_detach(void **state) {
        static const int answers[] = { 0, -ENOLINK, -EPERM };

        for (size_t i = 0; i < ELEMENTSOF(answers); i++) {
                PolicyLink *link = attach("lhd");

                kernel.detach = answers[i];
                assert_int_equal(backend->detach(backend->userdata, link), 0);
                policy_link_free(link);
                assert_false(exists(*state, "42"));
        }
}

/* ---- threads */

static void test_threads(void **state) {
        ThreadClass class = _THREAD_CLASS_MAX;

        assert_int_equal(backend->set_class(backend->userdata, 7, THREAD_CLASS_SCAN), 0);
        assert_int_equal(backend->get_class(backend->userdata, 7, &class), 0);
        assert_int_equal(class, THREAD_CLASS_SCAN);
        assert_true(exists(*state, "threads"));

        /* One map, also for the next daemon. */
        policy_link_free(attach("lhd"));
        backend = policy_bpf_backend_free(backend);
        backend = policy_bpf_backend_new(*state, "/nonexistent");
        assert_int_equal(backend->get_class(backend->userdata, 7, &class), 0);
        assert_int_equal(kernel.n_thread_maps, 1);

        /* A class of a later version is none of ours. */
        kernel.thread_class = _THREAD_CLASS_MAX;
        assert_int_equal(backend->get_class(backend->userdata, 7, &class), 0);
        assert_int_equal(class, THREAD_CLASS_NORMAL);

        kernel.thread_error = -ENOENT;
        assert_int_equal(backend->set_class(backend->userdata, 7, THREAD_CLASS_SCAN), -ESRCH);
        assert_int_equal(backend->get_class(backend->userdata, 7, &class), -ENOENT);
        kernel.thread_error = -EPERM;
        assert_int_equal(backend->set_class(backend->userdata, 7, THREAD_CLASS_SCAN), -EPERM);
}

/* A map that cannot be opened is not made anew: another one would not be the policies'. */
static void test_threads_unopenable(void **state) {
        ThreadClass class;

        kernel.open_pin = -EACCES;
        assert_int_equal(backend->set_class(backend->userdata, 7, THREAD_CLASS_SCAN), -EACCES);
        assert_int_equal(backend->get_class(backend->userdata, 7, &class), -EACCES);
        assert_int_equal(kernel.n_thread_maps, 0);
}

/* ---- programs that policies ask for */

typedef struct Watched {
        sd_event *event;
        PolicyEvents *events;
        int counts_fd;
        unsigned n_warnings;
} Watched;

static void note_warning(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_WARNING)
                ((Watched *) userdata)->n_warnings++;
}

static void watch(Watched *w) {
        assert_true(sd_event_new(&w->event) >= 0);
        w->counts_fd = policy_events_make_counts();
        assert_true(w->counts_fd >= 0);
        assert_int_equal(policy_events_new(w->event, "a.slice", 3, PLAYED_PROGRAM_FD, w->counts_fd,
                                           &w->events), 0);
        log_set_hook(note_warning, w);
}

static void watched_done(Watched *w) {
        log_set_hook(NULL, NULL);
        policy_events_free(w->events);
        sd_event_unref(w->event);
        assert_int_equal(close(w->counts_fd), 0);
}

#define _cleanup_watched_ _cleanup_(watched_done)

static void assert_counts(Watched *w, uint64_t asked, uint64_t done, uint64_t failed) {
        PolicyEventCounts c;

        for (int i = 0; i < 1000 && policy_events_counts(w->events).asked < asked; i++)
                assert_true(sd_event_run(w->event, 10 * USEC_PER_MSEC) >= 0);
        c = policy_events_counts(w->events);
        assert_int_equal(c.asked, asked);
        assert_int_equal(c.done, done);
        assert_int_equal(c.failed, failed);
        assert_int_equal(kernel.n_runs, done + failed);
}

static void test_events(void **state) {
        _cleanup_watched_ Watched w = {};

        watch(&w);
        played_kernel_post(1);
        assert_counts(&w, 1, 1, 0);
        /* Those that wait are one run. */
        played_kernel_post(3);
        assert_counts(&w, 4, 2, 0);
        /* Not so one that came while the program ran. */
        kernel.n_posted_in_run = 2;
        played_kernel_post(1);
        assert_counts(&w, 7, 4, 0);
        assert_int_equal(w.n_warnings, 0);
}

/* Counts and events outlive who watches. */
static void test_events_wait(void **state) {
        _cleanup_watched_ Watched w = {};

        kernel.n_posted = kernel.n_taken = 5;
        played_kernel_post(2);
        watch(&w);
        assert_counts(&w, 2, 1, 0);
        w.events = policy_events_free(w.events);
        played_kernel_post(1);
        assert_int_equal(policy_events_new(w.event, "a.slice", 3, PLAYED_PROGRAM_FD, w.counts_fd,
                                           &w.events), 0);
        assert_counts(&w, 3, 2, 0);
}

/* One line in the journal for failures in a row. */
static void test_events_fail(void **state) {
        _cleanup_watched_ Watched w = {};

        watch(&w);
        kernel.run = -EPERM;
        played_kernel_post(1);
        assert_counts(&w, 1, 0, 1);
        assert_int_equal(w.n_warnings, 1);
        played_kernel_post(1);
        assert_counts(&w, 2, 0, 2);
        assert_int_equal(w.n_warnings, 1);

        kernel.run = 0;
        played_kernel_post(1);
        assert_counts(&w, 3, 1, 2);
        assert_int_equal(w.n_warnings, 1);

        /* The program ran, and says that it failed. */
        kernel.retval = 1;
        played_kernel_post(1);
        assert_counts(&w, 4, 1, 3);
        kernel.retval = -ENOSPC;
        played_kernel_post(1);
        assert_counts(&w, 5, 1, 4);
        assert_int_equal(w.n_warnings, 2);
}

int main(int argc, char *argv[]) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                TEST(test_attach),
                TEST(test_attach_plain),
                TEST(test_learned),
                TEST(test_attach_fails),
                TEST(test_threads_unpinnable),
                TEST(test_open),
                TEST(test_enumerate),
                TEST(test_update),
                TEST(test_update_with_filter),
                TEST(test_update_fails),
                TEST(test_update_unpinnable),
                TEST(test_detach),
                TEST(test_threads),
                TEST(test_threads_unopenable),
                TEST(test_events),
                TEST(test_events_wait),
                TEST(test_events_fail),
        };

        if (argc != 2) {
                fprintf(stderr, "Usage: %s OBJECTS\n", argv[0]);
                return 2;
        }
        objects = argv[1];

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
