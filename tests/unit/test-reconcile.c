/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The reconciler on a fake kernel, without systemd and without a bus: tests set what the watcher would have found
 * out, let the event loop run, and look at units and kernel. */

#include "test-util.h"

#include <stdio.h>
#include <unistd.h>

#include "fake-backend.h"
#include "log.h"
#include "manager.h"
#include "reconcile.h"

static const char *const no_directories[] = { NULL };

typedef struct Fixture {
        FakeKernel kernel;
        sd_event *event;
        Manager *manager;
        unsigned n_changed;
} Fixture;

static Fixture *fixture;

static void count_change(Unit *u) {
        fixture->n_changed++;
}

static void add_policy(Manager *m, const char *name, const char *problem) {
        Policy *p = calloc(1, sizeof(Policy));

        p->name = strdup(name);
        p->path = strdup("/x.bpf.o");
        p->problem = problem ? strdup(problem) : NULL;
        p->tunables = g_array_new(FALSE, TRUE, sizeof(PolicyTunable));
        p->filters = p->knows_threads = !problem;
        g_array_append_val(p->tunables, ((PolicyTunable) {
                .name = strdup("nr_scan"),
                .size = 4,
                .default_value = 512,
                .has_range = true,
                .min = 32,
                .max = 4096,
        }));
        g_ptr_array_add(m->policies, p);
}

/* A daemon that starts; the kernel is as it was. */
static void start_daemon(Fixture *f) {
        static const ManagerPaths paths = {
                .kernel = { .sysfs = "/nonexistent", .cgroup = "/nonexistent" },
                .policies = no_directories,
                .rules = no_directories,
        };

        assert_int_equal(sd_event_new(&f->event), 0);
        assert_int_equal(manager_new(&paths, f->event, &f->kernel.backend, &f->manager), 0);
        assert_int_equal(manager_load(f->manager), 0);
        f->manager->unit_changed = count_change;

        /* manager_load() found a kernel without cachebpf, hence no pins either. */
        assert_false(f->manager->kernel.supported);
        f->manager->kernel.supported = true;
        for (uint64_t id = 1; id < FAKE_CGROUPS; id++)
                if (f->kernel.cgroups[id].pinned)
                        g_hash_table_add(f->manager->pinned, g_memdup2(&id, sizeof(id)));

        add_policy(f->manager, "lfu", NULL);
        add_policy(f->manager, "mru", NULL);
        add_policy(f->manager, "get-scan", NULL);
        add_policy(f->manager, "broken", "it is not a BPF object file");
}

static void stop_daemon(Fixture *f) {
        f->manager = manager_free(f->manager);
        f->event = sd_event_unref(f->event);
}

static int setup(void **state) {
        log_set_target(LOG_TARGET_NULL);
        fixture = calloc(1, sizeof(Fixture));
        fake_kernel_init(&fixture->kernel);
        start_daemon(fixture);
        return 0;
}

static int teardown(void **state) {
        stop_daemon(fixture);
        fake_kernel_done(&fixture->kernel);
        free(fixture);
        return 0;
}

/* Runs the loop until nothing happens any more. */
static void run(void) {
        while (sd_event_run(fixture->event, 0) > 0)
                ;
}

static Unit *add_unit(const char *name, const char *policy, uint64_t cgroup_id) {
        Unit *u;

        assert_int_equal(unit_new(fixture->manager, name, &u), 0);
        u->files_known = true;
        if (policy)
                assert_int_equal(policy_setting_assign(&u->file_setting, "CachePolicy", policy, "/etc/x.slice", 7), 0);
        if (cgroup_id > 0) {
                fake_cgroup_make(&fixture->kernel, cgroup_id);
                assert_true(asprintf(&u->cgroup, "/%u", (unsigned) cgroup_id) > 0);
                u->cgroup_id = cgroup_id;
                u->active = true;
        }
        manager_mark_dirty(fixture->manager, u);
        return u;
}

static void configure(Unit *u, const char *policy) {
        if (policy)
                assert_int_equal(policy_setting_assign(&u->file_setting, "CachePolicy", policy, "/etc/x.slice", 7), 0);
        else
                policy_setting_done(&u->file_setting);
        manager_mark_dirty(fixture->manager, u);
}

/* What systemd says when a unit stopped or started. */
static void set_cgroup(Unit *u, uint64_t id) {
        free(u->cgroup);
        u->cgroup = NULL;
        u->cgroup_id = id;
        if (id > 0) {
                fake_cgroup_make(&fixture->kernel, id);
                assert_true(asprintf(&u->cgroup, "/%u", (unsigned) id) > 0);
        }
        manager_mark_dirty(fixture->manager, u);
}

#define assert_state(u, s) assert_string_equal(unit_state_to_string((u)->state), unit_state_to_string(s))
#define assert_reason(u, part)                                                            \
        do {                                                                              \
                if (!(u)->reason || !strstr((u)->reason, part))                           \
                        fail_msg("no \"%s\" in \"%s\"", part, (u)->reason ?: "(null)");   \
        } while (false)

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

static void set(Unit *u, const char *key, const char *value, unsigned line) {
        assert_int_equal(policy_setting_assign(&u->file_setting, key, value, "/etc/x.slice", line), 0);
        manager_mark_dirty(fixture->manager, u);
        run();
}

static void test_options(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        FakeCgroup *c = fixture->kernel.cgroups + 1;

        run();
        assert_string_equal(c->config, "");

        /* Another configuration of the same policy replaces it in place; the same one, written anew, does not. */
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
        assert_reason(u, "'nr_scan=5' (/etc/x.slice:10): tunable 'nr_scan' of policy 'lfu' takes a number from 32 to 4096");
        assert_reason(u, "; the policy attached before goes on");
        assert_string_equal(c->policy, "lfu");
        assert_int_equal(fixture->kernel.n_detach, 0);
        set(u, "CachePolicyOptions", "", 10);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 2);
}

/* What an earlier daemon attached is left alone if it is configured as it is wanted, and replaced if not. */
static void test_adopt_options(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        stop_daemon(fixture);
        start_daemon(fixture);
        u = add_unit("a.slice", "lfu", 1);
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        assert_true(u->adopted);
        assert_int_equal(fixture->kernel.n_update, 0);
        stop_daemon(fixture);
        start_daemon(fixture);
        u = add_unit("a.slice", "lfu", 1);
        set(u, "CachePolicyOptions", "nr_scan=65", 8);
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_attach, 1);
}

/* The admission filter alone goes with the policy that does nothing else. */
static void test_admission(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        run();
        assert_state(u, UNIT_UNCONFIGURED);
        add_policy(fixture->manager, "noop", NULL);
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

static void test_update_fails(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        fixture->kernel.update_error = -EINVAL;
        configure(u, "mru");
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "update failed");
        assert_reason(u, "goes on");
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
        assert_reason(u, "goes on");
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(fixture->kernel.n_detach, 0);
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

static void test_adopt(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        uint64_t id;

        run();
        id = u->policy_id;

        stop_daemon(fixture);
        assert_true(fixture->kernel.cgroups[1].pinned);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "lfu");

        start_daemon(fixture);
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

static void test_adopt_other_policy(void **state) {
        Unit *u;

        fake_cgroup_make(&fixture->kernel, 1);
        fake_cgroup_attach(&fixture->kernel, 1, "mru", true);
        stop_daemon(fixture);
        start_daemon(fixture);

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

        fake_cgroup_make(&fixture->kernel, 1);
        fake_cgroup_attach(&fixture->kernel, 1, "mru", true);
        stop_daemon(fixture);
        start_daemon(fixture);

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

        fake_cgroup_make(&fixture->kernel, 1);
        fake_cgroup_attach(&fixture->kernel, 1, "lfu", true);
        fixture->kernel.cgroups[1].updating = true;
        stop_daemon(fixture);
        start_daemon(fixture);

        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_false(u->link->incomplete);
}

static void test_orphans(void **state) {
        Unit *u;

        fake_cgroup_make(&fixture->kernel, 1);
        fake_cgroup_attach(&fixture->kernel, 1, "lfu", true);
        fake_cgroup_make(&fixture->kernel, 2);
        fake_cgroup_attach(&fixture->kernel, 2, "lfu", true);
        stop_daemon(fixture);
        start_daemon(fixture);

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

static void test_foreign_policy(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        fake_cgroup_attach(&fixture->kernel, 1, "mru", false);
        run();
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "another program");
        assert_int_equal(fixture->kernel.n_attach, 0);
        assert_int_equal(fixture->kernel.n_detach, 0);
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

static void test_vanishes_while_attaching(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        fake_cgroup_remove(&fixture->kernel, 1);
        run();
        assert_state(u, UNIT_INACTIVE);
        assert_null(u->reason);
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
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(test_attach),
                T(test_options), T(test_adopt_options), T(test_admission),
                T(test_not_configured),
                T(test_life),
                T(test_restart_in_one_go),
                T(test_update),
                T(test_update_fails),
                T(test_remove_configuration),
                T(test_unit_gone),
                T(test_wrong_names),
                T(test_wrong_name_while_attached),
                T(test_unsupported),
                T(test_adopt),
                T(test_adopt_other_policy),
                T(test_adopt_unknown_policy),
                T(test_adopt_interrupted_update),
                T(test_orphans),
                T(test_foreign_policy),
                T(test_lost),
                T(test_ejected),
                T(test_lost_for_good),
                T(test_kernel_is_believed),
                T(test_transient_failure),
                T(test_lasting_failure),
                T(test_vanishes_while_attaching),
                T(test_waits_for_files),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
