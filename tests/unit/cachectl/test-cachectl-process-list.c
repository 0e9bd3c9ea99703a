/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-json.h>

#include "cachectl/process-list.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

/* How processes are sorted and shown. */

static ProcessCounts rows[] = {
        { .pid = 30, .name = (char *) "db",      .accesses = 1000, .misses = 250, .bytes = 5 << 20 },
        { .pid = 4,  .name = (char *) "backup",  .accesses = 900,  .misses = 900, .bytes = 4 << 20 },
        { .pid = 17, .name = (char *) "ahead",   .bytes = 8 << 20 }, /* read ahead, and used nothing yet */
        { .pid = 5,  .name = (char *) "a\xff\n", .accesses = 7000, .misses = 250, .bytes = 1 << 20 },
};

static GHashTable *table_of_rows(void) {
        GHashTable *t = g_hash_table_new(NULL, NULL);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                g_hash_table_insert(t, GUINT_TO_POINTER((guint) rows[i].pid), rows + i);

        return t;
}

static char *printed(const Table *t) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        table_print(t, f, /* header= */ true, 80);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_order(void **state) {
        static const struct {
                const char *key;
                pid_t pids[ELEMENTSOF(rows)];
        } cases[] = {
                { "pid",    { 4, 5, 17, 30 } },
                { "name",   { 17, 5, 4, 30 } },
                { "hits",   { 5, 30, 4, 17 } },
                { "misses", { 4, 5, 30, 17 } }, /* of as many misses, the more hits first */
                { "ratio",  { 4, 30, 5, 17 } },
                { "bytes",  { 17, 30, 4, 5 } },
        };
        _cleanup_hash_table_ GHashTable *t = table_of_rows();

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                ProcessOrder order = process_order_from_string(cases[i].key);
                _cleanup_ptr_array_ GPtrArray *list = process_list_new(t, order);

                assert_int_equal(process_order_from_key(*cases[i].key), order);
                assert_int_equal(list->len, ELEMENTSOF(rows));
                for (guint j = 0; j < list->len; j++)
                        assert_int_equal(((ProcessCounts *) list->pdata[j])->pid, cases[i].pids[j]);
        }

        assert_int_equal(process_order_from_string("unit"), _PROCESS_ORDER_INVALID);
        assert_int_equal(process_order_from_key('q'), _PROCESS_ORDER_INVALID);
}

/* An access may be counted in one look, and its miss in the next one. */
static void test_hits(void **state) {
        assert_int_equal(process_hits(&(ProcessCounts) { .accesses = 5, .misses = 2 }), 3);
        assert_int_equal(process_hits(&(ProcessCounts) { .accesses = 5, .misses = 6 }), 0);
}

static void test_tables(void **state) {
        _cleanup_hash_table_ GHashTable *t = table_of_rows();
        _cleanup_ptr_array_ GPtrArray *list = process_list_new(t, PROCESSES_BY_MISSES);
        _cleanup_(table_freep) Table *totals = process_list_table(list, 0);
        _cleanup_(table_freep) Table *rates = process_list_table(list, 10);
        _cleanup_free_ char *a = printed(totals), *b = printed(rates);

        assert_string_equal(a,
                            "PID NAME      HITS MISSES  HIT% READ IN\n"
                            "  4 backup       0    900  0.0%    4.0M\n"
                            "  5 a\\xff\\x0a 6750    250 96.4%    1.0M\n"
                            " 30 db         750    250 75.0%    5.0M\n"
                            " 17 ahead        0      0     -    8.0M\n");
        assert_string_equal(b,
                            "    PID NAME             HITS/s MISSES/s   HIT% READ IN/s\n"
                            "      4 backup                0       90   0.0%      410K\n"
                            "      5 a\\xff\\x0a           675       25  96.4%      102K\n"
                            "     30 db                   75       25  75.0%      512K\n"
                            "     17 ahead                 0        0      -      819K\n");
}

static void test_json(void **state) {
        _cleanup_hash_table_ GHashTable *t = table_of_rows();
        _cleanup_ptr_array_ GPtrArray *list = process_list_new(t, PROCESSES_BY_PID);
        _cleanup_ptr_array_ GPtrArray *none = g_ptr_array_new();
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL, *empty = NULL;
        _cleanup_free_ char *first = NULL;

        assert_int_equal(process_list_json(list, &v), 0);
        assert_int_equal(sd_json_variant_elements(v), ELEMENTSOF(rows));
        assert_true(sd_json_variant_format(sd_json_variant_by_index(v, 0), 0, &first) >= 0);
        assert_string_equal(first, "{\"pid\":4,\"name\":\"backup\",\"hits\":0,\"misses\":900,"
                                   "\"bytes\":4194304}");

        assert_int_equal(process_list_json(none, &empty), 0);
        assert_true(sd_json_variant_is_array(empty));
        assert_int_equal(sd_json_variant_elements(empty), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_hits),
                cmocka_unit_test(test_tables),
                cmocka_unit_test(test_json),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
