/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an administrator sets at run time: its files, what is stronger than what, and mistakes. */

#include "reconcile-fixture.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/unit-file.h"
#include "daemon/control/change.h"
#include "daemon/control/check.h"
#include "shared/file-util.h"

static char *dir, *directories[_OVERRIDE_MAX];

static int setup(void **state) {
        dir = test_dir_make();
        assert_true(asprintf(directories + OVERRIDE_PERSISTENT, "%s/etc/units.d", dir) > 0);
        assert_true(asprintf(directories + OVERRIDE_RUNTIME, "%s/run", dir) > 0);
        fixture_setup(state);
        fixture->manager->paths.overrides = (const char *const *) directories;
        return 0;
}

static int teardown(void **state) {
        fixture_teardown(state);
        test_dir_remove(dir);
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                free(directories[k]);
        return 0;
}

static void restart(void) {
        stop_daemon();
        start_daemon();
        fixture->manager->paths.overrides = (const char *const *) directories;
        fixture->manager->overrides = unit_overrides_load(fixture->manager->paths.overrides);
}

/* ---- calls */

typedef enum How {
        PERSISTENT = 1 << 0,
        DRY_RUN    = 1 << 1,
} How;

static void change(const char *unit, How how, const char *a, const char *b, ConfigOutcome *ret) {
        char *assignments[] = { (char *) a, (char *) b, NULL };

        config_change(fixture->manager,
                      &(const ConfigChange) {
                              .unit = unit,
                              .assignments = a ? assignments : NULL,
                              .persistent = how & PERSISTENT,
                              .dry_run = how & DRY_RUN,
                      },
                      ret);
        run();
}

static void do_set(const char *unit, How how, const char *a, const char *b) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {};

        change(unit, how, a, b, &o);
        if (o.error < 0)
                fail_msg("%s: %s", a, o.problem ?: strerror(-o.error));
}

/* Returns how many files went. */
static unsigned do_reset(const char *unit, How how) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {};

        change(unit, how, NULL, NULL, &o);
        assert_int_equal(o.error, 0);
        return o.files ? o.files->len : 0;
}

static void check_refused(const char *unit, const char *a, const char *b, const char *expected) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {};

        change(unit, 0, a, b, &o);
        assert_int_equal(o.error, -EINVAL);
        assert_non_null(o.problem);
        assert_string_equal(o.problem, expected);
}

/* ---- files */

static char *file_of(OverrideKind kind, const char *unit) {
        _cleanup_free_ char *path = unit_override_path(directories[kind], unit);
        char *text;

        return read_full_file(path, 4096, &text, NULL) < 0 ? NULL : text;
}

/* What it says below its section's header. */
static void check_file(OverrideKind kind, const char *unit, const char *expected) {
        _cleanup_free_ char *text = file_of(kind, unit);
        const char *body;

        if (!expected) {
                assert_null(text);
                return;
        }
        assert_non_null(text);
        body = strstr(text, "]\n");
        assert_non_null(body);
        assert_string_equal(body + 2, expected);
}

static unsigned count_files(const char *path) {
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;
        unsigned n = 0;

        while (d && (de = readdir(d)))
                n += !streq(de->d_name, ".") && !streq(de->d_name, "..");
        return n;
}

/* ---- tests */

static void test_stronger_than_files(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_free_ char *source = NULL, *expected = NULL;

        run();
        assert_string_equal(u->effective, "lfu");
        assert_lines("a.slice", true, "CachePolicy=lfu unit");

        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->effective, "mru");
        assert_int_equal(fixture->kernel.n_update, 1);
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=mru\n");
        check_file(OVERRIDE_PERSISTENT, "a.slice", NULL);
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 1);
        assert_lines("a.slice", true, "CachePolicy=mru runtime");
        assert_lines("a.slice", false, "CachePolicy=lfu unit");

        source = unit_source(u);
        assert_true(asprintf(&expected, "%s/a.slice.conf:3", directories[OVERRIDE_RUNTIME]) > 0);
        assert_string_equal(source, expected);

        /* The daemon ends, another one comes: nothing changes. */
        restart();
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_string_equal(u->effective, "mru");
        assert_true(u->adopted);
        assert_int_equal(fixture->kernel.n_update, 1);

        assert_int_equal(do_reset("a.slice", 0), 1);
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 0);
        assert_int_equal(do_reset("a.slice", 0), 0);
}

static void test_merging(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        run();
        assert_state(u, UNIT_UNCONFIGURED);

        do_set("a.slice", 0, "CachePolicy=lfu", "CachePolicyOptions=nr_scan=64");
        do_set("a.slice", 0, "X-CacheAdmission= yes ", NULL);
        check_file(OVERRIDE_RUNTIME, "a.slice",
                   "CachePolicy=lfu\nCachePolicyOptions=nr_scan=64\nCacheAdmission=yes\n");
        assert_string_equal(u->effective, "lfu");

        /* A key replaces itself, assignments of one call add up as lines do, and none is a value. */
        do_set("a.slice", 0, "CachePolicyOptions=nr_scan=32", "CachePolicyOptions=nr_scan=33");
        do_set("a.slice", 0, "CacheAdmission=", NULL);
        check_file(OVERRIDE_RUNTIME, "a.slice",
                   "CachePolicy=lfu\nCachePolicyOptions=nr_scan=32 nr_scan=33\nCacheAdmission=\n");
        assert_lines("a.slice", true,
                    "CachePolicy=lfu runtime, CachePolicyOptions=nr_scan=32 "
                    "nr_scan=33 runtime, CacheAdmission= runtime");

        /* The options were for another policy. */
        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=mru\nCacheAdmission=\n");

        do_set("a.slice", 0, "CachePolicy=", NULL);
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=\nCacheAdmission=\n");
        assert_state(u, UNIT_UNCONFIGURED);
        assert_null(u->link);
        assert_lines("a.slice", true, "CachePolicy= runtime, CacheAdmission= runtime");

        do_set("a.slice", 0, "CacheAdmission=no", NULL);
        assert_null(u->link);
}

/* What the unit's file says besides the policy stays. */
static void test_other_keys_stay(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        set(u, "CacheAdmission", "yes", 9);

        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        assert_string_equal(u->effective, "mru");
        assert_lines("a.slice", true, "CacheAdmission=yes unit, CachePolicy=mru runtime");
        assert_lines("a.slice", false, "CachePolicy=lfu unit, CachePolicyOptions=nr_scan=64 unit");
}

static void test_persistent(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        do_set("a.slice", PERSISTENT, "CachePolicy=mru", NULL);
        check_file(OVERRIDE_PERSISTENT, "a.slice", "CachePolicy=mru\n");
        assert_string_equal(u->effective, "mru");

        /* Until the next boot goes first … */
        do_set("a.slice", 0, "CachePolicy=get-scan", "CacheAdmission=yes");
        assert_string_equal(u->effective, "get-scan");
        assert_lines("a.slice", false, "CachePolicy=lfu unit, CachePolicy=mru persistent");

        /* … unless the same is set to stay afterwards. */
        do_set("a.slice", PERSISTENT, "CacheAdmission=no", NULL);
        check_file(OVERRIDE_PERSISTENT, "a.slice", "CachePolicy=mru\nCacheAdmission=no\n");
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=get-scan\n");
        do_set("a.slice", PERSISTENT, "CachePolicy=lfu", NULL);
        check_file(OVERRIDE_PERSISTENT, "a.slice", "CachePolicy=lfu\nCacheAdmission=no\n");
        check_file(OVERRIDE_RUNTIME, "a.slice", NULL);
        assert_string_equal(u->effective, "lfu");
        assert_lines("a.slice", true, "CachePolicy=lfu persistent, CacheAdmission=no persistent");

        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        assert_int_equal(do_reset("a.slice", 0), 1);
        check_file(OVERRIDE_PERSISTENT, "a.slice", "CachePolicy=lfu\nCacheAdmission=no\n");
        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        assert_int_equal(do_reset("a.slice", PERSISTENT), 2);
        assert_lines("a.slice", true, "CachePolicy=lfu unit");
}

static void test_dry_run(void **state) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {}, reset = {};
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        change("a.slice", DRY_RUN, "CachePolicy=mru", NULL, &o);
        assert_int_equal(o.error, 0);
        assert_string_equal(o.setting.policy, "mru");
        assert_int_equal(o.files->len, 1);
        assert_true(o.files_known);
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 0);
        assert_string_equal(u->effective, "lfu");
        assert_lines("a.slice", true, "CachePolicy=lfu unit");

        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        change("a.slice", DRY_RUN, NULL, NULL, &reset);
        assert_int_equal(reset.files->len, 1);
        assert_string_equal(reset.setting.policy, "lfu");
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=mru\n");
        assert_string_equal(u->effective, "mru");
}

static void test_refused(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1), *plain = add_unit("plain.slice", NULL, 2);
        static const char unwritable[] = "a value has characters that a configuration file cannot hold "
                                         "(line breaks, a backslash at its end, bytes that are not UTF-8)";

        run();
        do_set("a.slice", 0, "CachePolicyOptions=nr_scan=64", NULL);

        check_refused("a.slice", "CachePolicy=lru2000", NULL,
                      "unknown policy 'lru2000': no lru2000.bpf.o in ; "
                      "'cachectl policies' lists what there is");
        check_refused("a.slice", "CachePolicy=../lfu", NULL,
                      "'../lfu' is not a policy name (at most 15 letters, digits, '-' and '_')");
        check_refused("a.slice", "CachePolicy=broken", NULL,
                      "policy 'broken' cannot be used: it is not a BPF object file");
        check_refused("a.slice", "CachePolicyOptions=nr_scan=1", NULL,
                      "'nr_scan=1': tunable 'nr_scan' of policy 'lfu' takes a number from 32 to 4096");
        check_refused("a.slice", "CachePolicyOptions=what=1", NULL,
                      "policy 'lfu' has no tunable 'what'; it has nr_scan");
        check_refused("a.slice", "CacheAdmission=maybe", NULL,
                      "'maybe' is neither yes nor no nor a class of threads, such "
                      "as 'scan' or 'background'");
        check_refused("a.slice", "MemoryMax=1G", NULL,
                      "'MemoryMax=' is no setting of a unit; there are CachePolicy=, "
                      "CachePolicyOptions=, CacheScanThreads=, CacheAdmission=, CacheReadahead=, "
                      "CacheFiles=, CacheLevel=, CacheLearning=, CacheReplay=, CacheCandidates=, "
                      "CacheAutoMargin=");
        check_refused("a.slice", "CacheFiles=0 /a b", NULL,
                      "'CacheFiles=0 /a b': 'b' is neither a priority nor an absolute path");
        check_refused("a.slice", "CacheLevel=0 mru", NULL,
                      "policy 'lfu' has no levels for files, which CacheLevel= is about");
        check_refused("a.slice", "CacheAdmission=yes", "lfu", "'lfu' is no assignment, which is KEY=VALUE");
        check_refused("a.slice", "CachePolicy=lfu\nMemoryMax=1G", NULL, unwritable);
        check_refused("a.slice", "CachePolicyOptions=nr_scan=64\\", NULL, unwritable);
        check_refused("a.slice", "CachePolicy=\xff\xfe", NULL, unwritable);
        check_refused("a.slice", "CacheReplay=maybe", NULL, "'maybe' is neither yes nor no");
        check_refused("plain.slice", "CacheReplay=maybe", NULL, "'maybe' is neither yes nor no");
        check_refused("plain.slice", "CachePolicyOptions=nr_scan=64", NULL,
                      "unit 'plain.slice' has no cache policy that "
                      "this could be for; name one with CachePolicy=");

        /* All of it or nothing. */
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicyOptions=nr_scan=64\n");
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 1);
        assert_state(u, UNIT_ATTACHED);
        assert_state(plain, UNIT_UNCONFIGURED);

        /* What is wrong elsewhere is named with its line. */
        configure(u, "nosuch");
        run();
        check_refused("a.slice", "CacheAdmission=yes", NULL,
                      "unknown policy 'nosuch' (/etc/x.slice:7): no nosuch.bpf.o in ; "
                      "'cachectl policies' lists what there is");
        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        assert_string_equal(u->effective, "mru");
}

static void test_auto(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        (void) add_unit("plain.slice", NULL, 2);
        g_set_str(&fixture->manager->no_choice, NULL);
        add_policy("noop", NULL);
        run();
        do_set("a.slice", 0, "CachePolicy=auto", "CacheCandidates=mru:nr_scan=64 lfu");
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=auto\nCacheCandidates=mru:nr_scan=64 lfu\n");
        assert_state(u, UNIT_ATTACHED);
        assert_string_equal(u->setting.policy, "auto");

        /* What runs already is one of them: nothing is replaced. */
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(fixture->kernel.n_update, 0);
        do_set("a.slice", 0, "CacheAutoMargin=0.5", NULL);
        assert_true(u->choice->candidates.margin == 0.5);

        check_refused("a.slice", "CacheCandidates=nosuch", NULL,
                      "unknown policy 'nosuch': no nosuch.bpf.o in ; "
                      "'cachectl policies' lists what there is");
        check_refused("a.slice", "CachePolicyOptions=nr_scan=64", NULL,
                      "policy 'auto' takes no CachePolicyOptions=; CacheCandidates=POLICY:NAME=VALUE gives "
                      "options to a candidate");
        check_refused("a.slice", "CacheAutoMargin=x", NULL,
                      "'x': CacheAutoMargin= takes a number of percent from 0 to 100");
        check_refused("plain.slice", "CacheCandidates=mru", NULL,
                      "unit 'plain.slice' has no cache policy that this could be for; name one with "
                      "CachePolicy=");

        do_set("a.slice", 0, "CachePolicy=mru", NULL);
        assert_null(u->choice);
        assert_string_equal(u->effective, "mru");
}

static void test_cannot_write(void **state) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {}, both = {};
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_free_ char *expected = NULL,
                        *path = unit_override_path(directories[OVERRIDE_RUNTIME], "a.slice");

        run();
        do_set("a.slice", 0, "CachePolicy=mru", NULL);

        /* A file where the directory should be. */
        free(test_file(dir, "etc", "no directory"));
        change("a.slice", PERSISTENT, "CachePolicy=get-scan", NULL, &o);
        assert_int_equal(o.error, -ENOTDIR);
        assert_true(asprintf(&expected, "cannot write '%s/a.slice.conf': %s",
                             directories[OVERRIDE_PERSISTENT], strerror(ENOTDIR)) > 0);
        assert_string_equal(o.problem, expected);

        /* Neither file is another one than before. */
        check_file(OVERRIDE_RUNTIME, "a.slice", "CachePolicy=mru\n");
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 1);
        assert_string_equal(u->effective, "mru");
        assert_lines("a.slice", true, "CachePolicy=mru runtime");

        /* A directory where the file should be: nothing is left over of the attempt. */
        assert_int_equal(do_reset("a.slice", 0), 1);
        assert_int_equal(mkdir(path, 0755), 0);
        change("a.slice", 0, "CachePolicy=mru", NULL, &both);
        assert_int_equal(both.error, -EISDIR);
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 1);
        assert_string_equal(u->effective, "lfu");
}

static void test_loading(void **state) {
        Unit *u = add_unit("odd\\x2dname.slice", NULL, 1), *root = add_unit("-.slice", NULL, 2);

        run();
        do_set("odd\\x2dname.slice", 0, "CachePolicy=mru", NULL);
        do_set("-.slice", PERSISTENT, "CachePolicy=lfu", NULL);
        assert_string_equal(u->effective, "mru");
        assert_string_equal(root->effective, "lfu");

        free(test_file(directories[OVERRIDE_RUNTIME], "../x.conf", "[Slice]\nCachePolicy=lfu\n"));
        free(test_file(directories[OVERRIDE_RUNTIME], "x.mount.conf", "[Mount]\nCachePolicy=lfu\n"));
        free(test_file(directories[OVERRIDE_RUNTIME], ".hidden.slice.conf", "[Slice]\nCachePolicy=lfu\n"));
        free(test_file(directories[OVERRIDE_RUNTIME], "w.service.conf", "[Slice]\nCachePolicy=lfu\n"));
        free(test_file(directories[OVERRIDE_RUNTIME], "m.service.conf", ""));
        free(test_file(directories[OVERRIDE_RUNTIME], FILE_UPDATE_PREFIX "Ab3dE9", "[Slice]\nCachePol"));
        restart();
        assert_int_equal(count_files(directories[OVERRIDE_RUNTIME]), 5); /* what was left over is gone */

        assert_int_equal(g_hash_table_size(fixture->manager->overrides.units[OVERRIDE_RUNTIME]), 1);
        assert_non_null(unit_overrides_get(&fixture->manager->overrides, OVERRIDE_RUNTIME,
                                           "odd\\x2dname.slice"));
        assert_non_null(unit_overrides_get(&fixture->manager->overrides, OVERRIDE_PERSISTENT, "-.slice"));

        /* One that was edited by hand meanwhile is not written over with what was known of it. */
        free(test_file(directories[OVERRIDE_RUNTIME], "odd\\x2dname.slice.conf",
                       "[Slice]\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=99\n"));
        add_unit("odd\\x2dname.slice", NULL, 1);
        run();
        do_set("odd\\x2dname.slice", 0, "CacheAdmission=yes", NULL);
        check_file(OVERRIDE_RUNTIME, "odd\\x2dname.slice",
                   "CachePolicy=lfu\nCachePolicyOptions=nr_scan=99\nCacheAdmission=yes\n");
}

static void test_units(void **state) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {}, reset = {};

        /* Not loaded: what is set waits. */
        do_set("later.slice", 0, "CachePolicy=mru", NULL);
        assert_lines("later.slice", true, "CachePolicy=mru runtime");
        assert_string_equal((add_unit("later.slice", "lfu", 1), run(),
                             manager_find_unit(fixture->manager, "later.slice")->effective), "mru");

        config_show(fixture->manager, "nothing.slice", /* exists= */ true, &o);
        assert_int_equal(o.error, -ESRCH);
        /* Whether there is such a unit is known to who asks. */
        change("nothing.slice", 0, NULL, NULL, &reset);
        assert_int_equal(reset.error, 0);
        assert_null(reset.files);
}

static void test_names(void **state) {
        static const char *const good[] = { "a.slice", "-.slice", "a-b.slice", "a@b.service",
                                            "a@b\\x2dc.service", "x:1.scope" };
        static const char *const bad[] = { "", ".slice", "a", "a.mount", "../a.slice", "a/b.slice",
                                           ".a.slice", "a b.slice",
                                           "a\n.slice", "@a.service", "a.slice/", "a.slice.d",
                                           "\xc3\xa4.slice" };
        char longest[300];

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                if (!unit_name_is_valid(good[i]))
                        fail_msg("%s is valid", good[i]);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (unit_name_is_valid(bad[i]))
                        fail_msg("%s is not valid", bad[i]);

        (void) snprintf(longest, sizeof(longest), "%0244d.slice", 0);
        assert_true(unit_name_is_valid(longest));
        (void) snprintf(longest, sizeof(longest), "%0245d.slice", 0);
        assert_false(unit_name_is_valid(longest));
}

static void test_implied(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        add_policy("noop", NULL);
        run();
        do_set("a.slice", 0, "CacheAdmission=yes", NULL);
        assert_string_equal(u->effective, "noop");
        /* which is no line of the configuration */
        assert_lines("a.slice", true, "CacheAdmission=yes runtime");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_stronger_than_files),
                TEST(test_merging),
                TEST(test_other_keys_stay),
                TEST(test_persistent),
                TEST(test_dry_run),
                TEST(test_refused),
                TEST(test_auto),
                TEST(test_cannot_write),
                TEST(test_loading),
                TEST(test_units),
                TEST(test_names),
                TEST(test_implied),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
