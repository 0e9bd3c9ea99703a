/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachectl/format-time.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define NOW (UINT64_C(1795262401) * USEC_PER_SEC)

static void test_timestamp(void **state) {
        _cleanup_free_ char *now = format_timestamp(NOW), *epoch = format_timestamp(0);

        assert_string_equal(now, "Sat 2026-11-21 12:00:01 UTC");
        assert_string_equal(epoch, "Thu 1970-01-01 00:00:00 UTC");
}

static void test_relative(void **state) {
        static const struct {
                int64_t ago_sec;
                const char *text;
        } cases[] = {
                { 0,                      "just now" },
                { 1,                      "1s ago" },
                { 59,                     "59s ago" },
                { 60,                     "1min ago" },
                { 182,                    "3min 2s ago" },
                { 3600,                   "1h ago" },
                { 3605,                   "1h ago" }, /* the second unit is the next one, or none */
                { 2 * 3600 + 5 * 60,      "2h 5min ago" },
                { 86400 + 4 * 3600,       "1 day 4h ago" },
                { 3 * 86400,              "3 days ago" },
                { 366 * 86400,            "1 year 1 day ago" },
                { 365 * 86400 * INT64_C(2), "2 years ago" },
                { -5,                     "in 5s" }, /* the clock was set back */
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *s = NULL;

                s = format_relative(NOW - (uint64_t) (cases[i].ago_sec * (int64_t) USEC_PER_SEC), NOW);
                assert_string_equal(s, cases[i].text);
        }
}

static void test_parse(void **state) {
        static const struct {
                const char *text;
                int error;
                uint64_t usec;
        } cases[] = {
                { "0",                    0,       0 },
                { "30",                   0,       30 * USEC_PER_SEC },
                { "30s",                  0,       30 * USEC_PER_SEC },
                { "500ms",                0,       500 * USEC_PER_MSEC },
                { "10min",                0,       600 * USEC_PER_SEC },
                { "10m",                  0,       600 * USEC_PER_SEC },
                { "2h",                   0,       7200 * USEC_PER_SEC },
                { "",                     -EINVAL, 0 },
                { "s",                    -EINVAL, 0 },
                { "-1",                   -EINVAL, 0 },
                { "1.5s",                 -EINVAL, 0 },
                { "1 s",                  -EINVAL, 0 },
                { "1d",                   -EINVAL, 0 },
                { "18446744073710",       -ERANGE, 0 },
                { "18446744073709551616", -ERANGE, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint64_t usec = 0;

                assert_int_equal(parse_time_span(cases[i].text, &usec), cases[i].error);
                if (cases[i].error == 0)
                        assert_int_equal(usec, cases[i].usec);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_timestamp),
                cmocka_unit_test(test_relative),
                cmocka_unit_test(test_parse),
        };

        return cmocka_run_group_tests_name("cachectl-format-time", tests, NULL, NULL);
}
