/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-json.h>

#include "cachectl/objects.h"
#include "cachectl/top-sample.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

/* What "top" makes of two looks at the counters. */

static TopSample sample;

static GPtrArray *parse_list(const char *text) {
        GPtrArray *list = objects_new();
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;

        assert_int_equal(sd_json_parse(text, 0, &v, NULL, NULL), 0);
        for (size_t i = 0; i < sd_json_variant_elements(v); i++)
                g_ptr_array_add(list, sd_json_variant_ref(sd_json_variant_by_index(v, i)));

        return list;
}

static void look(uint64_t seconds, const char *units, const char *stats) {
        _cleanup_ptr_array_ GPtrArray *u = parse_list(units), *s = parse_list(stats);

        assert_int_equal(top_sample_add(&sample, u, s, seconds * USEC_PER_SEC), 0);
}

static const TopUnit *unit(const char *name) {
        for (guint i = 0; i < sample.units->len; i++) {
                const TopUnit *u = sample.units->pdata[i];

                if (streq(u->name, name))
                        return u;
        }

        return NULL;
}

static int done(void **state) {
        top_sample_done(&sample);
        return 0;
}

#define A "{\"unit\":\"a.slice\",\"state\":\"attached\",\"effective\":\"lfu\"}"
#define B "{\"unit\":\"b.slice\",\"state\":\"failed\",\"configured\":\"mru\"}"
#define COUNTERS(unit, policy, hits, misses, evicted)                     \
        "{\"unit\":\"" unit "\",\"policy\":\"" policy "\",\"counters\":{" \
        "\"managed_pages\":256,\"hits\":" #hits ",\"misses\":" #misses ",\"evict_reclaimed\":" #evicted "}}"

static void test_rates(void **state) {
        const TopUnit *a, *b;

        look(10, "[" A "," B "]", "[" COUNTERS("a.slice", "lfu", 100, 100, 7) "]");
        a = unit("a.slice");
        assert_true(a->counted);
        assert_false(a->compared);
        assert_int_equal(a->permille, 500); /* of all accesses */
        assert_int_equal(a->n_curve, 0);
        assert_int_equal(a->cached, 256 * sysconf(_SC_PAGESIZE));
        b = unit("b.slice");
        assert_false(b->counted);
        assert_string_equal(b->policy, "mru");
        assert_string_equal(b->state, "failed");

        look(12, "[" A "," B "]", "[" COUNTERS("a.slice", "lfu", 190, 110, 27) "]");
        a = unit("a.slice");
        assert_true(a->compared);
        assert_true(a->hit_rate == 45 && a->miss_rate == 5 && a->eviction_rate == 10);
        assert_int_equal(a->permille, 900); /* of those since then */
        assert_int_equal(a->n_curve, 1);

        /* nothing happens */
        look(13, "[" A "," B "]", "[" COUNTERS("a.slice", "lfu", 190, 110, 27) "]");
        assert_int_equal(unit("a.slice")->permille, -ENODATA);
        assert_int_equal(unit("a.slice")->n_curve, 2);

        /* another policy counts from zero, even if it is faster than we look */
        look(14, "[" A "," B "]", "[" COUNTERS("a.slice", "mru", 500, 500, 27) "]");
        a = unit("a.slice");
        assert_false(a->compared);
        assert_int_equal(a->permille, 500);
        assert_int_equal(a->n_curve, 0);
        look(15, "[" A "]", "[" COUNTERS("a.slice", "mru", 5, 5, 0) "]");
        assert_false(unit("a.slice")->compared);

        /* gone */
        assert_null(unit("b.slice"));
        look(16, "[" A "]", "[]");
        assert_false(unit("a.slice")->counted);
        assert_string_equal(unit("a.slice")->policy, "lfu");
        look(17, "[]", "[]");
        assert_int_equal(sample.units->len, 0);
}

static void assert_order(TopOrder order, const char *names) {
        char got[64] = "";

        top_sample_sort(&sample, order);
        for (guint i = 0; i < sample.units->len; i++)
                (void) strncat(got, ((TopUnit *) sample.units->pdata[i])->name, 1);
        assert_string_equal(got, names);
}

static void test_order(void **state) {
        static const char units[] = "[{\"unit\":\"b\",\"state\":\"attached\"},"
                                    "{\"unit\":\"a\",\"state\":\"attached\"},"
                                    "{\"unit\":\"d\",\"state\":\"lost\"},"
                                    "{\"unit\":\"c\",\"state\":\"attached\"}]";

        look(1, units, "[" COUNTERS("a", "x", 0, 0, 0) "," COUNTERS("b", "w", 0, 0, 0) ","
                           COUNTERS("c", "y", 0, 0, 0) "]");
        look(2, units, "[" COUNTERS("a", "x", 10, 90, 3) "," COUNTERS("b", "w", 80, 20, 2) ","
                           COUNTERS("c", "y", 40, 40, 9) "]");

        assert_order(TOP_BY_UNIT, "abcd");
        assert_order(TOP_BY_POLICY, "dbac");
        assert_order(TOP_BY_HITS, "bcad");
        assert_order(TOP_BY_MISSES, "acbd");
        assert_order(TOP_BY_RATIO, "acbd");
        assert_order(TOP_BY_EVICTIONS, "cabd");
        assert_order(TOP_BY_CACHED, "abcd");

        for (TopOrder o = 0; o < _TOP_ORDER_MAX; o++) {
                assert_int_equal(top_order_from_string(top_order_to_string(o)), o);
                assert_int_equal(top_order_from_key(*top_order_to_string(o)), o);
        }
        assert_int_equal(top_order_from_string("color"), _TOP_ORDER_INVALID);
        assert_int_equal(top_order_from_key('z'), _TOP_ORDER_INVALID);
}

static void test_curve(void **state) {
        TopUnit u = { .curve = { 0, 12, 13, 50, 99, 100, -1 }, .n_curve = 7 };
        _cleanup_free_ char *wide = top_curve(&u, 9, true), *narrow = top_curve(&u, 3, true),
                            *ascii = top_curve(&u, 7, false), *empty = top_curve(&(TopUnit) {}, 2, true);

        assert_string_equal(wide, "  ▁▁▂▅██ ");
        assert_string_equal(narrow, "██ ");
        assert_string_equal(ascii, "__.=## ");
        assert_string_equal(empty, "  ");
}

/* As many points as there is room for, the newest. */
static void test_curve_is_bounded(void **state) {
        look(1, "[" A "]", "[" COUNTERS("a.slice", "lfu", 0, 0, 0) "]");
        for (unsigned i = 1; i <= TOP_CURVE_MAX + 10; i++) {
                char stats[256];

                (void) snprintf(stats, sizeof(stats),
                                "[{\"unit\":\"a.slice\",\"policy\":\"lfu\",\"counters\":"
                                "{\"hits\":%u,\"misses\":0}}]", i);
                look(1 + i, "[" A "]", stats);
        }
        assert_int_equal(unit("a.slice")->n_curve, TOP_CURVE_MAX);
        assert_int_equal(unit("a.slice")->curve[0], 100);
        assert_int_equal(unit("a.slice")->curve[TOP_CURVE_MAX - 1], 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(test_rates, done),
                cmocka_unit_test_teardown(test_order, done),
                cmocka_unit_test(test_curve),
                cmocka_unit_test_teardown(test_curve_is_bounded, done),
        };

        return cmocka_run_group_tests_name("cachectl-top-sample", tests, NULL, NULL);
}
