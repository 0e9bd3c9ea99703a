/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachectl/text.h"
#include "shared/cleanup.h"

static void test_width(void **state) {
        assert_int_equal(text_width(""), 0);
        assert_int_equal(text_width("batch.slice"), 11);
        assert_int_equal(text_width("größe"), 5);
        assert_int_equal(text_width("缓存"), 4);          /* wide */
        assert_int_equal(text_width("e\xcc\x81"), 1);     /* e and a combining acute */
        assert_int_equal(text_width("\xff\xfe"), 2);      /* not UTF-8: a column a byte */
        assert_int_equal(text_width("\xe7\xbc"), 2);      /* a character cut in the middle */
}

static void check_escape(const char *in, const char *out) {
        _cleanup_free_ char *s = text_escape(in);

        assert_non_null(s);
        assert_string_equal(s, out);
}

static void test_escape(void **state) {
        check_escape("", "");
        check_escape("größe 缓存", "größe 缓存");
        check_escape("system-foo\\x2dbar.slice", "system-foo\\x2dbar.slice");
        check_escape("a\nb\tc", "a\\x0ab\\x09c");
        check_escape("\x1b[31mred", "\\x1b[31mred");
        check_escape("\xc2\x9b" "31m", "\\xc2\\x9b31m");            /* the one-byte CSI of C1 */
        check_escape("a\xe2\x80\xae" "b", "a\\xe2\\x80\\xaeb");     /* right-to-left override */
        check_escape("a\xe2\x80\xa8" "b", "a\\xe2\\x80\\xa8b");     /* line separator */
        check_escape("\xff", "\\xff");
        check_escape("\xc0\xaf", "\\xc0\\xaf");                     /* overlong "/" */
        check_escape("\x7f", "\\x7f");
}

static void check_ellipsize(const char *in, size_t width, unsigned percent, const char *out) {
        _cleanup_free_ char *s = text_ellipsize(in, width, percent);

        assert_non_null(s);
        assert_string_equal(s, out);
        assert_true(text_width(s) <= width);
}

static void test_ellipsize(void **state) {
        check_ellipsize("batch.slice", 11, 100, "batch.slice");
        check_ellipsize("batch.slice", 10, 100, "batch.sli…");
        check_ellipsize("batch.slice", 10, 50, "batc…slice");
        check_ellipsize("batch.slice", 1, 100, "…");
        check_ellipsize("batch.slice", 0, 100, "");
        /* A wide character is kept whole or not at all. */
        check_ellipsize("缓存策略", 6, 100, "缓存…");
        check_ellipsize("缓存策略", 5, 100, "缓存…");
        check_ellipsize("缓存策略", 4, 100, "缓…");
        check_ellipsize("缓存策略", 6, 50, "缓…略");
        /* A combining mark does not end up on the ellipsis. */
        check_ellipsize("abcde\xcc\x81", 3, 0, "…de\xcc\x81");
        check_ellipsize("abe\xcc\x81xy", 3, 0, "…xy");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_width),
                cmocka_unit_test(test_escape),
                cmocka_unit_test(test_ellipsize),
        };

        return cmocka_run_group_tests_name("cachectl-text", tests, NULL, NULL);
}
