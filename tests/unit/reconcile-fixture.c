/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "reconcile-fixture.h"

#include <stdio.h>

#include "daemon/control/check.h"
#include "daemon/core/choice.h"
#include "shared/log.h"

static const char *const no_directories[] = { NULL };

Fixture *fixture;

static void count_change(void *userdata, Unit *u) {
        ((Fixture *) userdata)->n_changed++;
}

static const ManagerObserver observer = {
        .unit_changed = count_change,
};

void add_policy(const char *name, const char *problem) {
        Policy *p = policy_new(name, "/x.bpf.o");

        p->problem = problem ? strdup(problem) : NULL;
        p->filters = p->plans = p->knows_threads = !problem;
        p->listens = strcmp(name, "acfs") == 0;
        g_array_append_val(p->tunables, ((PolicyTunable) {
                .name = strdup("nr_scan"),
                .size = 4,
                .default_value = 512,
                .has_range = true,
                .min = 32,
                .max = 4096,
        }));
        g_ptr_array_add(fixture->manager->policies, p);
}

void start_daemon(void) {
        static const ManagerPaths paths = {
                .kernel = { .sysfs = "/nonexistent", .cgroup = "/nonexistent" },
                .policies = no_directories,
                .rules = no_directories,
        };
        Fixture *f = fixture;

        assert_int_equal(sd_event_new(&f->event), 0);
        assert_int_equal(manager_new(&paths, f->event, &f->kernel.backend, &f->manager), 0);
        assert_int_equal(manager_load(f->manager), 0);
        manager_observe(f->manager, &observer, f);
        f->control = control_new(f->manager);
        assert_int_equal(files_new(f->manager, &f->files), 0);

        /* manager_load() found a kernel without cachebpf, hence no pins either. */
        assert_false(f->manager->kernel.supported);
        f->manager->kernel.supported = true;
        for (uint64_t id = 1; id < FAKE_CGROUPS; id++)
                if (f->kernel.cgroups[id].pinned)
                        g_hash_table_add(f->manager->pinned, g_memdup2(&id, sizeof(id)));

        add_policy("lfu", NULL);
        add_policy("mru", NULL);
        add_policy("acfs", NULL);
        add_policy("get-scan", NULL);
        add_policy("broken", "it is not a BPF object file");
}

void stop_daemon(void) {
        fixture->control = control_free(fixture->control);
        fixture->files = files_free(fixture->files);
        fixture->manager = manager_free(fixture->manager);
        fixture->event = sd_event_unref(fixture->event);
}

int fixture_setup(void **state) {
        log_set_target(LOG_TARGET_NULL);
        fixture = calloc(1, sizeof(Fixture));
        fake_kernel_init(&fixture->kernel);
        start_daemon();
        return 0;
}

int fixture_teardown(void **state) {
        stop_daemon();
        fake_kernel_done(&fixture->kernel);
        free(fixture);
        return 0;
}

void run(void) {
        bool wait = false;

        while (sd_event_run(fixture->event, wait ? 10 * USEC_PER_MSEC : 0) > 0 || wait)
                wait = files_are_searched(fixture->files);
}

static void assign_policy(Unit *u, const char *policy) {
        u->file_setting.layer = POLICY_LAYER_UNIT;
        assert_int_equal(policy_setting_assign(&u->file_setting, "CachePolicy", policy, "/etc/x.slice", 7),
                         0);
}

static void make_cgroup(Unit *u, uint64_t id) {
        fake_cgroup_make(&fixture->kernel, id);
        assert_true(asprintf(&u->cgroup, "/%u", (unsigned) id) > 0);
}

Unit *add_unit(const char *name, const char *policy, uint64_t cgroup_id) {
        Unit *u = unit_new(fixture->manager, name);

        u->files_known = true;
        if (policy)
                assign_policy(u, policy);
        if (cgroup_id > 0) {
                make_cgroup(u, cgroup_id);
                u->cgroup_id = cgroup_id;
                u->active = true;
        }
        manager_mark_dirty(fixture->manager, u);
        return u;
}

void configure(Unit *u, const char *policy) {
        if (policy)
                assign_policy(u, policy);
        else
                policy_setting_done(&u->file_setting);
        manager_mark_dirty(fixture->manager, u);
}

void set(Unit *u, const char *key, const char *value, unsigned line) {
        assert_int_equal(policy_setting_assign(&u->file_setting, key, value, "/etc/x.slice", line), 0);
        manager_mark_dirty(fixture->manager, u);
        run();
}

Unit *add_chosen_unit(const char *name, uint64_t cgroup_id) {
        Unit *u;

        g_set_str(&fixture->manager->no_choice, NULL);
        add_policy("noop", NULL);
        add_policy("lru", NULL);
        u = add_unit(name, "auto", cgroup_id);
        set(u, "CacheCandidates", "stock lru mru:nr_scan=64", 8);
        u->choice->figures[1] = (CandidateFigures) { .known = true, .miss_ratio = 0.25 };
        u->choice->figures[2] = (CandidateFigures) { .banned = 2, .out = true };
        g_set_str(&u->choice->verdict, "stays with lru: no other policy gains more than the margin");
        unit_choose(u, 1, "from stock to lru: figures");
        run();
        return u;
}

void set_cgroup(Unit *u, uint64_t id) {
        free(u->cgroup);
        u->cgroup = NULL;
        u->cgroup_id = id;
        if (id > 0)
                make_cgroup(u, id);
        manager_mark_dirty(fixture->manager, u);
}

void assert_lines(const char *unit, bool counting, const char *expected) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {};
        g_autoptr(GString) s = g_string_new(NULL);

        config_show(fixture->manager, unit, /* exists= */ true, &o);
        assert_int_equal(o.error, 0);
        for (guint i = 0; i < policy_setting_count_lines(&o.setting); i++) {
                const PolicyLine *l = policy_setting_get_line(&o.setting, i);

                if (policy_setting_line_counts(&o.setting, l) == counting)
                        g_string_append_printf(s, "%s%s=%s %s", s->len > 0 ? ", " : "", l->key, l->value,
                                               policy_layer_to_string(l->layer));
        }
        assert_string_equal(s->str, expected);
}
