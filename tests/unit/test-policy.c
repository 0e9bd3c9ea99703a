/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The registry, on real objects: the first argument is the directory of the ones built for the test. */

#include "test-util.h"

#include <stdio.h>

#include "bpf-log.h"
#include "file-util.h"
#include "policy-object.h"
#include "policy.h"

static const char *objects;
static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        bpf_log_setup();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

/* Puts an object of the test under another name into a directory. */
static void install(const char *object, const char *name) {
        char path[512];
        char *content;
        size_t size;

        (void) snprintf(path, sizeof(path), "%s/%s", objects, object);
        assert_int_equal(read_full_file(path, 1 << 20, &content, &size), 0);
        free(test_file_write(dir, name, content, size));
        free(content);
}

static void test_registry(void **state) {
        _cleanup_ptr_array_ GPtrArray *policies = NULL;
        char high[256], low[256];
        const char *dirs[] = { high, low, "/nonexistent", NULL };
        const Policy *p;
        const PolicyTunable *t;

        (void) snprintf(high, sizeof(high), "%s/high", dir);
        (void) snprintf(low, sizeof(low), "%s/low", dir);
        install("sample.bpf.o", "low/sample.bpf.o");
        install("sample.bpf.o", "low/twice.bpf.o");
        install("sample.bpf.o", "low/much-too-long-a-name.bpf.o");
        install("sample.bpf.o", "low/README");
        free(test_file(dir, "high/twice.bpf.o", "this is not ELF"));
        free(test_file(dir, "low/empty.bpf.o", ""));
        install("no-policy.bpf.o", "low/none.bpf.o");

        assert_int_equal(policies_load(dirs, &policies), 0);
        assert_int_equal(policies->len, 4);
        assert_null(policies_find(policies, "README"));

        p = policies_find(policies, "sample");
        assert_non_null(p);
        assert_null(p->problem);
        assert_string_equal(p->description, "A policy for a test");
        assert_string_equal(p->source, "nowhere");
        assert_true(p->filters);
        assert_true(p->knows_threads);
        assert_false(p->reconfigures);
        assert_int_equal(p->n_globs, 8);
        assert_int_equal(p->glob_size, 16);
        assert_int_equal(p->tunables->len, 2);
        for (guint i = 0; i < 2; i++) {
                t = &g_array_index(p->tunables, PolicyTunable, i);
                if (streq(t->name, "nr_scan")) {
                        assert_string_equal(t->type, "__u32");
                        assert_int_equal(t->default_value, 512);
                        assert_true(t->has_range);
                        assert_int_equal(t->min, 1);
                        assert_int_equal(t->max, 4096);
                        assert_string_equal(t->unit, "folios");
                        assert_string_equal(t->doc, "looked at");
                } else {
                        assert_string_equal(t->name, "bias");
                        assert_int_equal(t->default_value, -3);
                        assert_int_equal(t->min, -10);
                }
        }

        p = policies_find(policies, "twice");
        assert_non_null(strstr(p->path, "/high/"));
        assert_non_null(strstr(p->problem, "not a BPF object file"));
        assert_non_null(policies_find(policies, "empty")->problem);
        assert_non_null(strstr(policies_find(policies, "none")->problem, "0 variables"));
}

static void test_members(void **state) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        struct bpf_map *ops;
        char path[512], *problem = NULL;
        void *id, *name;

        (void) snprintf(path, sizeof(path), "%s/sample.bpf.o", objects);
        assert_int_equal(policy_object_open(path, &obj, &ops, &problem), 0);
        assert_int_equal(policy_object_find_member(obj, ops, "cgroup_id", 8, &id), 0);
        assert_int_equal(policy_object_find_member(obj, ops, "name", 16, &name), 0);
        assert_string_equal(name, "sample");
        assert_int_equal((char *) name - (char *) id, 16);
        assert_int_equal(policy_object_find_member(obj, ops, "cgroup_id", 4, &id), -EINVAL);
        assert_int_equal(policy_object_find_member(obj, ops, "nothing", 8, &id), -ENOENT);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_registry),
                cmocka_unit_test(test_members),
        };

        assert(argc > 1);
        objects = argv[1];
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
