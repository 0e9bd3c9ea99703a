/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachectl/table.h"
#include "shared/cleanup.h"

static const TableColumn columns[] = {
        { .header = "UNIT", .flags = COLUMN_SHRINK_MID },
        { .header = "HITS", .flags = COLUMN_RIGHT },
        { .header = "REASON", .flags = COLUMN_SHRINK },
};

/* A table with the cells given, three a row, ended by NULL; "" stands for a cell without text. */
static Table *make_table(const char *const *cells) {
        Table *t = table_new(columns, ELEMENTSOF(columns));

        for (; *cells; cells++)
                table_add(t, **cells ? *cells : NULL);

        return t;
}

static char *print(const Table *t, bool header, size_t width) {
        char *text = NULL;
        size_t size = 0;
        FILE *f;

        f = open_memstream(&text, &size);
        assert_non_null(f);
        table_print(t, f, header, width);
        assert_int_equal(fclose(f), 0);

        return text;
}

static void check(const char *const *cells, bool header, size_t width, const char *expected) {
        _cleanup_(table_freep) Table *t = make_table(cells);
        _cleanup_free_ char *text = print(t, header, width);

        assert_string_equal(text, expected);
}

static void test_alignment(void **state) {
        static const char *const cells[] = {
                "batch.slice", "7", "short",
                "a.slice", "12345", "",
                NULL,
        };

        check(cells, true, SIZE_MAX,
              "UNIT         HITS REASON\n"
              "batch.slice     7 short\n"
              "a.slice     12345 -\n");
        check(cells, false, SIZE_MAX,
              "batch.slice     7 short\n"
              "a.slice     12345 -\n");
}

static void test_unicode(void **state) {
        static const char *const cells[] = {
                "缓存.slice", "1", "x",
                "größe.slice", "2", "y",
                NULL,
        };

        check(cells, false, SIZE_MAX,
              "缓存.slice  1 x\n"
              "größe.slice 2 y\n");
}

static void test_escaped(void **state) {
        static const char *const cells[] = { "a.slice", "1", "two\nlines \x1b[2J", NULL };

        check(cells, false, SIZE_MAX, "a.slice 1 two\\x0alines \\x1b[2J\n");
}

static void test_shrinks(void **state) {
        static const char *const cells[] = {
                "system-something-long.slice", "12345", "no policy of that name is installed",
                NULL,
        };

        /* Everything fits. */
        check(cells, false, 69,
              "system-something-long.slice 12345 no policy of that name is installed\n");
        /* The widest column gives first, */
        check(cells, false, 64,
              "system-something-long.slice 12345 no policy of that name is ins…\n");
        /* then both, in their own ways; numbers are never cut. */
        check(cells, false, 40,
              "system-…ng.slice 12345 no policy of tha…\n");
}

static void test_shrink_floor(void **state) {
        static const char *const cells[] = {
                "system-something-long.slice", "12345", "no such policy",
                NULL,
        };

        /* No room at all: columns stay readable, the line is longer than asked for. */
        check(cells, true, 5,
              "UNIT      HITS REASON\n"
              "sys…lice 12345 no such…\n");
}

static void test_empty(void **state) {
        static const char *const cells[] = { NULL };

        check(cells, true, SIZE_MAX, "UNIT HITS REASON\n");
        check(cells, false, SIZE_MAX, "");
}

static void test_colors(void **state) {
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));
        _cleanup_free_ char *text = NULL;

        table_add_colored(t, COLOR_BAD, "a.slice");
        table_addf(t, "%d", 1);
        table_add(t, "x");
        assert_int_equal(table_rows(t), 1);

        text = print(t, false, SIZE_MAX);
        assert_string_equal(text, "a.slice 1 x\n"); /* the test's output is no terminal */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_alignment),
                cmocka_unit_test(test_unicode),
                cmocka_unit_test(test_escaped),
                cmocka_unit_test(test_shrinks),
                cmocka_unit_test(test_shrink_floor),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_colors),
        };

        return cmocka_run_group_tests_name("cachectl-table", tests, NULL, NULL);
}
