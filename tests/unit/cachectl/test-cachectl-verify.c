/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* verify: what the daemon would complain about, without a daemon, in a system of its own. */

#include "harness.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <unistd.h>

#define POLICIES "/usr/lib/cachebpf/policies"
#define SYSTEM "/etc/systemd/system"

static char *root, *root_option;

static int setup(void **state) {
        g_autofree char *objects = NULL, *object = NULL, *installed = NULL, *build = NULL, *program = NULL;

        root = g_dir_make_tmp("cachebpf-verify-XXXXXX", NULL);
        assert_non_null(root);
        root_option = g_strdup_printf("--root=%s", root);

        /* The policies that were built beside the program. */
        program = g_canonicalize_filename(cachectl_path, NULL);
        build = g_path_get_dirname(program);
        object = g_canonicalize_filename("../../bpf/lfu.bpf.o", build);
        objects = g_strdup_printf("%s" POLICIES, root);
        installed = g_strdup_printf("%s/lfu.bpf.o", objects);
        assert_int_equal(g_mkdir_with_parents(objects, 0755), 0);
        assert_int_equal(symlink(object, installed), 0);
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
        return remove(path);
}

static int teardown(void **state) {
        (void) nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        g_free(root);
        g_free(root_option);
        return 0;
}

static char *add_file(const char *path, const char *content) {
        char *full = g_strdup_printf("%s%s", root, path);
        g_autofree char *dir = g_path_get_dirname(full);

        assert_int_equal(g_mkdir_with_parents(dir, 0755), 0);
        assert_true(g_file_set_contents(full, content, -1, NULL));
        return full;
}

/* One line of complaint about a file, with its path in place of FILE; NULL: none. */
static void check_file(const char *path, const char *content, const char *expected) {
        g_autofree char *full = add_file(path, content);
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "verify", root_option, full);
        if (!expected) {
                assert_string_equal(o.err, "");
                assert_int_equal(o.status, EXIT_SUCCESS);
        } else {
                assert_int_equal(o.status, EXIT_NOT_IN_EFFECT);
                assert_contains(o.err, full);
                assert_contains(o.err, expected);
                assert_one_line(o.err);
        }
        assert_int_equal(g_unlink(full), 0);
}

static void test_files(void **state) {
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=64\n", NULL);
        check_file(SYSTEM "/a.slice", "[Slice]\nMemoryMax=1G\nnonsense of no interest\n", NULL);
        check_file(SYSTEM "/a.service", "[Service]\nCacheReplay=yes\n", NULL);
        check_file(SYSTEM "/a.service", "[Service]\nX-CacheReplay=ture\n", ":2) is neither yes nor no");
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=lfo\n", ":2): no lfo.bpf.o in ");
        check_file(SYSTEM "/a.slice", "[Unit]\nCachePolicy=lfu\n",
                   ":2: CachePolicy= belongs into section [Slice]");
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolcy=lfu\n",
                   ":2: Unknown key CachePolcy= in section [Slice], ignoring.");
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=lfu\nX-CacheAdmision=yes\n",
                   ":3: Unknown key X-CacheAdmision= in section [Slice], ignoring.");
        check_file(SYSTEM "/a.service", "[Service]\nCacheDirectory=a\nCachePolicy=lfu\nX-Other=x\n", NULL);
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=lfu\nnonsense\n",
                   ":3: Missing '=', ignoring line.");
        check_file(SYSTEM "/a.service.d/50.conf",
                   "[Service]\nCachePolicy=lfu\nCachePolicyOptions=nr_scan=1\n",
                   ":3): tunable 'nr_scan' of policy 'lfu' takes a number from 8 to 65536");
        check_file(SYSTEM "/a.service", "[Service]\nCacheFiles=0 /a 1 /b/*\nCacheLevel=0 mru\n", NULL);
        check_file(SYSTEM "/a.service", "[Service]\nCacheFiles=0 /a\nCacheFiles=/b\n",
                   ":3: CacheFiles=: '/b' is no priority, which is a number from -1 to 3, ignoring the "
                   "line.");
        check_file(SYSTEM "/a.service", "[Service]\nCachePolicy=lfu\nCacheFiles=0 /a\n",
                   "policy 'lfu' has no levels for files, which CacheFiles= (");
        check_file(SYSTEM "/service.d/50.conf", "[Slice]\nCachePolicy=lfu\n",
                   ":2: CachePolicy= belongs into section [Service]");
        check_file("/etc/cachebpf/units.d/a.slice.conf", "[Slice]\nCachePolicy=lfu\nCacheAdmission=maybe\n",
                   ":3) is neither yes nor no nor a class");
        check_file("/etc/cachebpf/units.d/a.slice.conf", "[Slice]\nCachePolicy=lfu\nCacheReadahead=6K\n",
                   ":3) is neither stock, adaptive nor off nor a multiple");
        check_file("/etc/cachebpf/policies.d/10.conf", "[Match]\nUnit=*\n[Policy]\nCachePolicy=lfu\n", NULL);
        check_file("/etc/cachebpf/policies.d/10.conf",
                   "[Match]\nUnit=*\nX-Other=x\n[Policy]\nCachePolicy=lfu\nX-CacheAdmision=yes\n",
                   ":6: Unknown key X-CacheAdmision= in section [Policy], ignoring.");
        check_file("/etc/cachebpf/policies.d/10.conf", "[Policy]\nCachePolicy=lfu\n",
                   ":1: Neither Unit= nor Cgroup=");
        check_file("/etc/cachebpf/policies.d/10.conf", "[Match]\nUnit=*\n[Policy]\nCachePolicy=nosuch\n",
                   ":4): no nosuch.bpf.o in ");
        check_file("/etc/cachebpf/policies.d/10.conf",
                   "[Match]\nUnit=*\n[Policy]\nCachePolicy=lfu\nCacheLevel=0 fifo\n",
                   ":5: CacheLevel=: level 0 is to be 'lru' or 'mru', not 'fifo', ignoring the line.");
        check_file(POLICIES "/text.bpf.o", "no object", ": it is not a BPF object file");
        check_file("/etc/fstab", "", ": this is none of our files");
}

static void link_policy(const char *name) {
        g_autofree char *lfu = g_strdup_printf("%s" POLICIES "/lfu.bpf.o", root),
                        *object = g_file_read_link(lfu, NULL), *dir = g_path_get_dirname(object),
                        *target = g_strdup_printf("%s/%s.bpf.o", dir, name),
                        *path = g_strdup_printf("%s" POLICIES "/%s.bpf.o", root, name);

        assert_int_equal(symlink(target, path), 0);
}

static void test_auto(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=auto\n", ":2): no noop.bpf.o in ");
        link_policy("noop");
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=auto\n", NULL);
        check_file(SYSTEM "/a.slice",
                   "[Slice]\nCachePolicy=auto\nCacheCandidates=lfu:nr_scan=64\nCacheAutoMargin=2\n", NULL);
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=auto\nCacheCandidates=lfu:nr_scan=1\n",
                   ":3): tunable 'nr_scan' of policy 'lfu' takes a number from 8 to 65536");
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=auto\nCacheAutoMargin=-1\n",
                   ":3): CacheAutoMargin= takes a number");
        check_file(SYSTEM "/a.slice", "[Slice]\nCachePolicy=auto\nCacheCandidates=auto\n",
                   ":3) cannot be a candidate of itself");

        /* Whose object that would be. */
        free(add_file(POLICIES "/auto.bpf.o", "anything"));
        run(&o, "verify", root_option);
        assert_contains(o.err, "/auto.bpf.o': with 'auto' the daemon chooses a policy, it is no name of "
                               "one.");
}

static void test_units(void **state) {
        g_autofree char *a = add_file("/usr/lib/systemd/system/a-b@.service",
                                      "[Service]\nCachePolicy=lfu\n");
        g_autofree char *b = add_file("/etc/systemd/system/a-.service.d/20.conf",
                                      "[Service]\nCachePolicyOptions=nr_scan=1\n");
        g_autofree char *c = add_file("/usr/lib/systemd/system/a-b@x.service.d/20.conf",
                                      "[Service]\nCachePolicyOptions=nr_scan=99\n");
        _cleanup_(outcome_done) Outcome good = {}, bad = {}, overridden = {}, slice = {}, unknown = {},
                        wrong = {};

        /* The drop-in of the instance hides that of its prefix, which has the same name. */
        run(&good, "verify", root_option, "a-b@x.service");
        assert_string_equal(good.err, "");
        assert_int_equal(good.status, EXIT_SUCCESS);
        assert_string_equal(good.out, "1 checked, nothing is wrong.\n");

        run(&bad, "verify", "-q", root_option, "a-b@y.service");
        assert_int_equal(bad.status, EXIT_NOT_IN_EFFECT);
        assert_contains(bad.err, "'nr_scan=1' (");
        assert_contains(bad.err, "/etc/systemd/system/a-.service.d/20.conf:2): tunable 'nr_scan'");

        free(add_file("/run/cachebpf/units.d/a-b@y.service.conf",
                      "[Service]\nCachePolicyOptions=nr_scan=64\n"));
        run(&overridden, "verify", root_option, "a-b@y.service");
        assert_int_equal(overridden.status, EXIT_SUCCESS);

        /* A slice needs no file. */
        run(&slice, "verify", root_option, "what-ever.slice");
        assert_int_equal(slice.status, EXIT_SUCCESS);

        run(&unknown, "verify", root_option, "what-ever.service");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.err, "There are no files of a unit \"what-ever.service\".\n");

        run(&wrong, "verify", root_option, "/no/such/file");
        assert_int_equal(wrong.status, EXIT_UNKNOWN);
        assert_string_equal(wrong.err, "Cannot read \"/no/such/file\": No such file or directory\n");
}

static void test_everything(void **state) {
        _cleanup_(outcome_done) Outcome good = {}, bad = {};

        free(add_file("/usr/lib/systemd/system/a.slice", "[Slice]\nCachePolicy=lfu\n"));
        free(add_file("/usr/lib/systemd/system/other.service", "[Service]\nExecStart=x\nbroken\n"));
        free(add_file("/usr/lib/cachebpf/policies.d/10.conf", "[Match]\nUnit=*\n[Policy]\nCachePolicy=\n"));
        run(&good, "verify", root_option);
        assert_string_equal(good.err, "");
        /* the policy, the rule, the slice */
        assert_string_equal(good.out, "3 checked, nothing is wrong.\n");

        free(add_file("/etc/cachebpf/policies.d/20.conf", "[Match]\nUnit=*\n[Policy]\nCachePolcy=lfu\n"));
        free(add_file("/etc/cachebpf/units.d/b.slice.conf", "[Slice]\nCachePolicy=nosuch\n"));
        /* Of units that nothing else mentions. */
        free(add_file("/run/systemd/system/scope.d/30.conf", "[Scope]\nX-CachePolicy=neither\n"));
        free(add_file(SYSTEM "/c.service.d/40.conf", "[Service]\nCachePolicy=nor\n"));
        free(add_file(POLICIES "/text.bpf.o", "no object"));
        run(&bad, "verify", root_option);
        assert_int_equal(bad.status, EXIT_NOT_IN_EFFECT);
        assert_string_equal(bad.out, "");
        assert_contains(bad.err, "20.conf:4: Unknown key CachePolcy= in section [Policy]");
        assert_contains(bad.err, "unknown policy 'nosuch' (");
        assert_contains(bad.err, "unknown policy 'neither' (");
        assert_contains(bad.err, "unknown policy 'nor' (");
        assert_contains(bad.err, "Policy 'text' cannot be used");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_files, setup, teardown),
                cmocka_unit_test_setup_teardown(test_auto, setup, teardown),
                cmocka_unit_test_setup_teardown(test_units, setup, teardown),
                cmocka_unit_test_setup_teardown(test_everything, setup, teardown),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-verify", tests, harness_setup, harness_teardown);
}
