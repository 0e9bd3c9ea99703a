/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all policies have and nobody asked for is left out of what is loaded. The kernel is played; the first
 * argument is the directory of the policies as built. */

#include "test-util.h"

#include "daemon/kernel/load.h"
#include "played-kernel.h"
#include "shared/readahead-setting.h"

static const char *objects;
static GPtrArray *policies;

static int setup(void **state) {
        const char *dirs[] = { objects, NULL };

        policies = policies_load(dirs);
        assert_true(policies->len >= 14);
        return 0;
}

static int teardown(void **state) {
        g_ptr_array_unref(policies);
        return 0;
}

static struct bpf_object *load(const Policy *p, const PolicyConfig *c, struct bpf_map **ret_ops) {
        _cleanup_free_ char *reason = NULL;
        struct bpf_object *obj = NULL;

        played_kernel_reset();
        assert_int_equal(policy_load(p, c, 42, -EBADF, &obj, ret_ops, &reason), 0);
        assert_null(reason);
        return obj;
}

static bool is_loaded(struct bpf_object *obj, const char *program) {
        return bpf_program__autoload(bpf_object__find_program_by_name(obj, program));
}

static uint32_t constant_of(struct bpf_object *obj, const char *name) {
        const struct btf_type *t;
        uint32_t value;
        size_t size;
        void *p;

        assert_int_equal(policy_object_find_constant(obj, name, &t, &p, &size), 0);
        assert_int_equal(size, sizeof(value));
        memcpy(&value, p, sizeof(value));
        return value;
}

static void test_filter(void **state) {
        for (guint i = 0; i < policies->len; i++)
                for (unsigned filter = 0; filter < 2; filter++) {
                        const PolicyConfig c = { .filter = filter };
                        struct bpf_object *obj;
                        struct bpf_map *ops;

                        obj = load(policies->pdata[i], &c, &ops);
                        assert_int_equal(!!policy_object_find_filter(obj, ops, NULL), filter);
                        assert_int_equal(is_loaded(obj, POLICY_FILTER_PROGRAM), filter);
                        bpf_object__close(obj);
                }
}

/* What the program notes is there only if it is to adapt. */
static void test_readahead(void **state) {
        static const PolicyConfig configs[] = {
                {},
                { .plans = true, .readahead = READAHEAD_SETTING_ADAPTIVE },
                { .plans = true, .readahead = 0 },
                { .plans = true, .readahead = 32 },
        };

        for (guint i = 0; i < policies->len; i++)
                for (size_t j = 0; j < ELEMENTSOF(configs); j++) {
                        const PolicyConfig *c = configs + j;
                        struct bpf_object *obj;
                        struct bpf_map *ops;

                        obj = load(policies->pdata[i], c, &ops);
                        assert_int_equal(!!policy_object_find_plan(obj, ops, NULL), c->plans);
                        assert_int_equal(is_loaded(obj, POLICY_PLAN_PROGRAM), c->plans);
                        assert_int_equal(bpf_map__autocreate(
                                                 bpf_object__find_map_by_name(obj, POLICY_STREAMS_MAP)),
                                         c->readahead == READAHEAD_SETTING_ADAPTIVE);
                        assert_int_equal(constant_of(obj, POLICY_READAHEAD),
                                         c->plans ? c->readahead : READAHEAD_SETTING_STOCK);
                        bpf_object__close(obj);
                }
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_filter),
                cmocka_unit_test(test_readahead),
        };

        assert_true(argc == 2);
        objects = argv[1];
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
