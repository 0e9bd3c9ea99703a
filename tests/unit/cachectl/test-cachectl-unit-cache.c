/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How large the cache of a control group is, by files as the kernel has them. */

#include "../test-util.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>

#include "cachectl/unit-cache.h"
#include "shared/cleanup.h"
#include "shared/meminfo.h"

#define MIB (UINT64_C(1) << 20)

static char *root, *slice, *unit;

static void set(const char *dir, const char *file, const char *text) {
        free(test_file(dir, file, text));
}

/* 100 MiB in all, of which 60 are of files. */
static int setup(void **state) {
        root = test_dir_make();
        slice = g_build_filename(root, "a.slice", NULL);
        unit = g_build_filename(slice, "b.service", NULL);
        set(unit, "memory.stat", "anon 20971520\nfile 67108864\nshmem 4194304\n");
        set(unit, "memory.current", "104857600\n");
        set(unit, "memory.high", "max\n");
        set(unit, "memory.max", "max\n");
        set(slice, "memory.current", "209715200\n");
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(root);
        g_free(slice);
        g_free(unit);
        return 0;
}

static UnitCache look(uint64_t available) {
        UnitCache c;

        assert_int_equal(unit_cache_read(unit, 2, available, &c), 0);
        assert_int_equal(c.other, 40 * MIB);
        return c;
}

static void test_without_limit(void **state) {
        UnitCache c = look(1000 * MIB);

        assert_int_equal(c.bytes, 60 * MIB);
        assert_false(c.limited);
}

static void test_limits(void **state) {
        UnitCache c;

        set(unit, "memory.max", "157286400\n"); /* 150 MiB */
        c = look(1000 * MIB);
        assert_int_equal(c.bytes, 110 * MIB);
        assert_true(c.limited);

        set(unit, "memory.high", "125829120\n"); /* 120 */
        assert_int_equal(look(1000 * MIB).bytes, 80 * MIB);

        /* the group above it has less room */
        set(slice, "memory.max", "220200960\n"); /* 210 */
        assert_int_equal(look(1000 * MIB).bytes, 70 * MIB);

        /* at the limit, or over that */
        set(slice, "memory.current", "220200960\n");
        assert_int_equal(look(1000 * MIB).bytes, 60 * MIB);
        set(slice, "memory.current", "230686720\n");
        assert_int_equal(look(1000 * MIB).bytes, 60 * MIB);
}

/* The machine is full before the limit is reached. */
static void test_far_limit(void **state) {
        UnitCache c;

        set(unit, "memory.max", "1073741824\n");
        c = look(100 * MIB);
        assert_int_equal(c.bytes, 60 * MIB);
        assert_false(c.limited);

        /* what it has cached is a part of what is available */
        set(unit, "memory.max", "157286400\n"); /* 50 MiB more */
        assert_false(look(109 * MIB).limited);
        assert_true(look(110 * MIB).limited);
}

/* What caches hold can be had. */
static void test_available(void **state) {
        _cleanup_free_ char *file = test_file(root, "meminfo",
                                              "MemTotal:        2097152 kB\n"
                                              "MemFree:           10240 kB\n"
                                              "MemAvailable:    1048576 kB\n"
                                              "Cached:          1024000 kB\n");

        assert_int_equal(meminfo_read_available(file), 1024 * MIB);
        assert_int_equal(meminfo_read_available("/nowhere"), UINT64_MAX);
}

static void test_gone(void **state) {
        UnitCache c;

        assert_int_equal(unit_cache_read("/nowhere", 1, 0, &c), -ENOENT);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_without_limit, setup, teardown),
                cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
                cmocka_unit_test_setup_teardown(test_far_limit, setup, teardown),
                cmocka_unit_test_setup_teardown(test_available, setup, teardown),
                cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
