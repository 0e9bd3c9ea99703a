/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is read from the kernel's files and written to the pins' directory, on ordinary files. */

#include "test-util.h"

#include <bpf/btf.h>
#include <glib.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "daemon/kernel/backend.h"
#include "daemon/kernel/cgroup.h"
#include "daemon/kernel/pin.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/kernel-features.h"
#include "shared/string-util.h"

static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

static uint64_t inode(const char *name) {
        char path[256];
        struct stat st;

        (void) snprintf(path, sizeof(path), "%s%s", dir, name);
        assert_int_equal(stat(path, &st), 0);
        return st.st_ino;
}

static void test_cgroup_sample(void **state) {
        _cleanup_free_ char *path = test_file(dir, "a.slice/memory.cachebpf.sample", "16\n"), *text = NULL;
        uint64_t one_in, id = inode("/a.slice");

        assert_int_equal(cgroup_read_sample(dir, "/a.slice", id, &one_in), 0);
        assert_int_equal(one_in, 16);
        assert_int_equal(cgroup_write_sample(dir, "/a.slice", id, 8), 0);
        assert_int_equal(cgroup_read_sample(dir, "/a.slice", id, &one_in), 0);
        assert_int_equal(one_in, 8);

        /* another one has its place */
        assert_int_equal(cgroup_read_sample(dir, "/a.slice", id + 1, &one_in), -ENOENT);
        assert_int_equal(cgroup_write_sample(dir, "/a.slice", id + 1, 4), -ENOENT);
        assert_int_equal(read_full_file(path, 64, &text, NULL), 0);
        assert_string_equal(text, "8");
        assert_int_equal(cgroup_write_sample(dir, "/b.slice", id, 4), -ENOENT);
}

static void test_cgroup_policy(void **state) {
        _cleanup_kernel_policy_ KernelPolicy p = {};

        free(test_file(dir, "a.slice/memory.cachebpf.policy",
                       "policy lfu\nid 3\ncgroup 2231\ninherited 0\nupdates 5\nfuture x y\n"));
        assert_int_equal(cgroup_read_policy(dir, "/a.slice", inode("/a.slice"), &p), 0);
        assert_string_equal(p.name, "lfu");
        assert_string_equal(kernel_policy_own(&p), "lfu");
        assert_int_equal(p.id, 3);
        assert_int_equal(p.cgroup_id, 2231);
        assert_int_equal(p.updates, 5);
        kernel_policy_done(&p);

        free(test_file(dir, "a.slice/memory.cachebpf.policy", "policy lfu\nid 3\ncgroup 1\ninherited 1\n"));
        assert_int_equal(cgroup_read_policy(dir, "/a.slice", 0, &p), 0);
        assert_true(p.inherited);
        assert_null(kernel_policy_own(&p));
        kernel_policy_done(&p);

        free(test_file(dir, "a.slice/memory.cachebpf.policy", "policy none\n"));
        assert_int_equal(cgroup_read_policy(dir, "/a.slice", 0, &p), 0);
        assert_null(p.name);
        assert_null(p.ejected);

        free(test_file(dir, "a.slice/memory.cachebpf.policy",
                       "policy none\nejected lfu id 17: useless: it chose 0 of the last 4096 pages\n"));
        assert_int_equal(cgroup_read_policy(dir, "/a.slice", 0, &p), 0);
        assert_null(p.name);
        assert_int_equal(p.ejected_id, 17);
        assert_string_equal(p.ejected, "useless: it chose 0 of the last 4096 pages");
        kernel_policy_done(&p);

        /* What cannot be understood is no reason. */
        free(test_file(dir, "a.slice/memory.cachebpf.policy",
                       "policy none\nejected lfu id x: y\nejected\nejected lfu 3\n"));
        assert_int_equal(cgroup_read_policy(dir, "/a.slice", 0, &p), 0);
        assert_null(p.ejected);
}

static void test_cgroup_missing(void **state) {
        KernelPolicy p;

        free(test_file(dir, "b.slice/cgroup.controllers", "cpu pids\n"));
        assert_int_equal(cgroup_read_policy(dir, "/b.slice", 0, &p), -EOPNOTSUPP);
        /* Half removed: first the files of the controllers are gone, then those of the control group. */
        free(test_file(dir, "b.slice/cgroup.controllers", "cpu memory pids\n"));
        assert_int_equal(cgroup_read_policy(dir, "/b.slice", 0, &p), -ENOENT);
        free(test_file(dir, "d.slice/other", ""));
        assert_int_equal(cgroup_read_policy(dir, "/d.slice", 0, &p), -ENOENT);
        assert_int_equal(cgroup_read_policy(dir, "/c.slice", 0, &p), -ENOENT);
        /* Another directory under the same path. */
        assert_int_equal(cgroup_read_policy(dir, "/b.slice", inode("/b.slice") + 1, &p), -ENOENT);
}

static int sum(const char *key, const char *value, void *userdata) {
        uint64_t n;

        if (safe_atou64(value, &n) >= 0)
                *(uint64_t *) userdata += n;
        return 0;
}

static void test_cgroup_stat(void **state) {
        uint64_t n = 0;

        free(test_file(dir, "a.slice/memory.cachebpf.stat", "hits 40\nmisses 2\nodd\nworse x\n"));
        assert_int_equal(cgroup_stat_foreach(dir, "/a.slice", 0, sum, &n), 0);
        assert_int_equal(n, 42);
}

static void test_cgroup_room(void **state) {
        assert_true(cgroup_read_room(dir, "/r.slice/s.service") == UINT64_MAX);

        free(test_file(dir, "r.slice/s.service/memory.max", "max\n"));
        free(test_file(dir, "r.slice/s.service/memory.high", "max\n"));
        free(test_file(dir, "r.slice/s.service/memory.current", "500\n"));
        assert_true(cgroup_read_room(dir, "/r.slice/s.service") == UINT64_MAX);

        free(test_file(dir, "r.slice/s.service/memory.max", "1000\n"));
        assert_int_equal(cgroup_read_room(dir, "/r.slice/s.service"), 500);
        free(test_file(dir, "r.slice/s.service/memory.high", "900\n"));
        assert_int_equal(cgroup_read_room(dir, "/r.slice/s.service"), 400);

        /* What is above counts, too. */
        free(test_file(dir, "r.slice/memory.max", "2000\n"));
        free(test_file(dir, "r.slice/memory.current", "1700\n"));
        assert_int_equal(cgroup_read_room(dir, "/r.slice/s.service"), 300);
        assert_int_equal(cgroup_read_cache_room(dir, "/r.slice/s.service"), 300);
        free(test_file(dir, "r.slice/memory.stat", "anon 1000\ninactive_file 50\nactive_file 600\n"));
        assert_int_equal(cgroup_read_room(dir, "/r.slice/s.service"), 300);
        assert_int_equal(cgroup_read_cache_room(dir, "/r.slice/s.service"), 350);
        free(test_file(dir, "r.slice/memory.current", "2100\n"));
        assert_int_equal(cgroup_read_room(dir, "/r.slice/s.service"), 0);
        assert_int_equal(cgroup_read_cache_room(dir, "/r.slice/s.service"), 50);
        free(test_file(dir, "r.slice/memory.stat", "inactive_file 5000\n"));
        assert_int_equal(cgroup_read_cache_room(dir, "/r.slice/s.service"), 400);
}

static void test_cgroup_limits(void **state) {
        assert_false(cgroup_limits_reads(dir, "/l.slice/s.service"));
        free(test_file(dir, "l.slice/s.service/io.max", "8:0 rbps=max wbps=9 riops=max wiops=max\n"));
        assert_false(cgroup_limits_reads(dir, "/l.slice/s.service"));
        free(test_file(dir, "l.slice/io.max", "8:0 rbps=max wbps=9 riops=max wiops=max\n"
                       "8:16 rbps=max wbps=max riops=7 wiops=max\n"));
        assert_true(cgroup_limits_reads(dir, "/l.slice/s.service"));

        free(test_file(dir, "l.slice/s.service/pids.max", "100\n"));
        free(test_file(dir, "l.slice/s.service/pids.current", "30\n"));
        free(test_file(dir, "l.slice/pids.max", "max\n"));
        free(test_file(dir, "l.slice/pids.current", "5000\n"));
        assert_int_equal(cgroup_read_tasks_room(dir, "/l.slice/s.service"), 70);

        assert_true(cgroup_has_others(dir, "/l.slice/s.service", 0)); /* not known */
        free(test_file(dir, "l.slice/s.service/cgroup.procs", "12\n"));
        assert_false(cgroup_has_others(dir, "/l.slice/s.service", 0));
        free(test_file(dir, "l.slice/s.service/cgroup.procs", "12\n13\n"));
        assert_true(cgroup_has_others(dir, "/l.slice/s.service", 0));
}

static void test_features(void **state) {
        KernelPaths paths = { .sysfs = dir, .cgroup = "/nonexistent" };
        _cleanup_(kernel_features_done) KernelFeatures f = {};
        _cleanup_free_ char *reason = NULL;
        struct utsname u;

        assert_true(uname(&u) >= 0);
        assert_true(asprintf(&reason, "kernel %s has no cachebpf", u.release) > 0);
        assert_int_equal(kernel_features_load(&paths, &f), 0);
        assert_false(f.supported);
        assert_true(startswith(f.reason, reason));
        kernel_features_done(&f);

        free(test_file(dir, "abi", "2\n"));
        free(test_file(dir, "features", "one\ntwo\n"));
        assert_int_equal(kernel_features_load(&paths, &f), 0);
        assert_false(f.supported);
        assert_non_null(strstr(f.reason, "version 2"));
        assert_string_equal(f.features[0], "one");
        assert_string_equal(f.features[1], "two");
        assert_null(f.features[2]);
        kernel_features_done(&f);

        free(test_file(dir, "abi", "1\n"));
        assert_int_equal(kernel_features_load(&paths, &f), 0);
        assert_false(f.supported);
        assert_non_null(strstr(f.reason, "cgroup v2"));
}

static void test_errors(void **state) {
        for (PolicyStep step = 0; step < _POLICY_STEP_MAX; step++)
                for (int e = 1; e < 600; e++)
                        assert_non_null(policy_step_error(step, -e));

        assert_string_equal(policy_step_error(POLICY_STEP_ATTACH, -EBUSY),
                            "the control group already has a policy of its own");
        assert_non_null(strstr(policy_step_error(POLICY_STEP_PIN, -EROFS), "systemd-tmpfiles"));
        assert_true(policy_error_is_transient(-EAGAIN));
        assert_false(policy_error_is_transient(-EINVAL));
}

static bool exists(const char *name) {
        char path[256];

        (void) snprintf(path, sizeof(path), "%s/%s", dir, name);
        return access(path, F_OK) >= 0;
}

static void test_pins(void **state) {
        _cleanup_free_ char *config = NULL, *none = NULL;

        assert_int_equal(pin_directory_make(dir, 42), 0);
        assert_true(exists("42"));

        free(test_file(dir, "42/link", "x"));
        free(test_file(dir, "42/map-a", "x"));
        free(test_file(dir, "42/map-b", "x"));
        assert_int_equal(pin_mark_updating(dir, 42, true), 0);
        assert_int_equal(pin_mark_updating(dir, 42, true), 0);
        assert_true(exists("42/updating"));

        free(test_file(dir, "42/reconfigure", "x"));
        assert_int_equal(pin_mark_config(dir, 42, ""), 0);
        assert_int_equal(pin_read_config(dir, 42, &none), 0);
        assert_string_equal(none, "");
        assert_int_equal(pin_mark_config(dir, 42, "0123456789abcdef"), 0);
        assert_int_equal(pin_read_config(dir, 42, &config), 0);
        assert_string_equal(config, "0123456789abcdef");

        assert_int_equal(pin_directory_clear(dir, 42), 0);
        assert_false(exists("42/map-a"));
        assert_false(exists("42/reconfigure"));
        assert_false(exists("42/config-0123456789abcdef"));
        assert_true(exists("42/updating"));
        assert_true(exists("42/link"));
        assert_int_equal(pin_mark_updating(dir, 42, false), 0);
        assert_int_equal(pin_mark_updating(dir, 42, false), 0);
        assert_false(exists("42/updating"));

        /* Making it anew empties it, removing it removes all, and once more is fine. */
        assert_int_equal(pin_mark_updating(dir, 42, true), 0);
        assert_int_equal(pin_directory_make(dir, 42), 0);
        assert_false(exists("42/link"));
        assert_false(exists("42/updating"));
        free(test_file(dir, "42/link", "x"));
        assert_int_equal(pin_directory_remove(dir, 42), 0);
        assert_false(exists("42"));
        assert_int_equal(pin_directory_remove(dir, 42), 0);

        /* What is none of its directories is not taken for an empty one. */
        free(test_file(dir, "43", ""));
        assert_int_equal(pin_directory_clear(dir, 43), -ENOTDIR);
}

static void write_btf(struct btf *btf, const char *path) {
        uint32_t size;
        const void *data = btf__raw_data(btf, &size);

        assert_non_null(data);
        assert_true(g_file_set_contents(path, data, size, NULL));
}

static void test_btf(void **state) {
        _cleanup_free_ char *path = g_build_filename(dir, "btf", NULL), *none = NULL, *old = NULL,
                            *half = NULL;
        struct btf *btf = btf__new_empty();
        int proto;

        none = kernel_btf_check(path);
        assert_non_null(none);
        assert_non_null(strstr(none, "CONFIG_DEBUG_INFO_BTF"));

        assert_true(btf__add_struct(btf, "something", 8) > 0);
        write_btf(btf, path);
        old = kernel_btf_check(path);
        assert_non_null(old);
        assert_non_null(strstr(old, "does not have 'cachebpf_ops'"));

        assert_true(btf__add_struct(btf, "cachebpf_ops", 8) > 0);
        assert_true(btf__add_struct(btf, "bpf_struct_ops_cachebpf_ops", 8) > 0);
        write_btf(btf, path);
        half = kernel_btf_check(path);
        assert_non_null(half);
        assert_non_null(strstr(half, "does not have 'bpf_cachebpf_list_create'"));

        proto = btf__add_func_proto(btf, 0);
        assert_true(btf__add_func(btf, "bpf_cachebpf_list_create", BTF_FUNC_GLOBAL, proto) > 0);
        write_btf(btf, path);
        assert_null(kernel_btf_check(path));

        btf__free(btf);
        assert_int_equal(unlink(path), 0);
}

/* Nobody waits for the other end. */
static void test_fifo(void **state) {
        _cleanup_free_ char *path = g_build_filename(dir, "fifo", NULL), *text = NULL;

        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(read_full_file(path, 100, &text, NULL), -ENOTSUP);
        assert_int_equal(read_full_file(dir, 100, &text, NULL), -EISDIR);
        assert_int_equal(unlink(path), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cgroup_policy), cmocka_unit_test(test_cgroup_missing),
                cmocka_unit_test(test_cgroup_stat),   cmocka_unit_test(test_features),
                cmocka_unit_test(test_errors),        cmocka_unit_test(test_pins),
                cmocka_unit_test(test_fifo),          cmocka_unit_test(test_btf),
                cmocka_unit_test(test_cgroup_room),   cmocka_unit_test(test_cgroup_sample),
                cmocka_unit_test(test_cgroup_limits),   cmocka_unit_test(test_cgroup_sample),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
