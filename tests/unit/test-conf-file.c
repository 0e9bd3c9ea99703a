/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test-util.h"

#include <glib.h>

#include "config/conf-file.h"
#include "shared/log.h"

static int collect(const ConfAssignment *a, void *userdata) {
        g_string_append_printf(userdata, "%u [%s] %s=%s\n", a->line, a->section, a->key, a->value);
        return 0;
}

static void check_n(const char *text, size_t size, const char *expected) {
        GString *out = g_string_new(NULL);
        char *copy = malloc(size + 1);

        memcpy(copy, text, size);
        copy[size] = 0;
        assert_int_equal(conf_parse_text("test.conf", copy, size, LOG_DEBUG, collect, out), 0);
        assert_string_equal(out->str, expected);

        free(copy);
        g_string_free(out, TRUE);
}

static void check(const char *text, const char *expected) {
        check_n(text, strlen(text), expected);
}

static void test_plain(void **state) {
        check("", "");
        check("[Slice]\nCachePolicy=lfu\n", "2 [Slice] CachePolicy=lfu\n");
        check("[Slice]\n  CachePolicy = lfu \t\n", "2 [Slice] CachePolicy=lfu\n");
        check("[Slice]\nA=b=c", "2 [Slice] A=b=c\n");
        check("[Slice]\nA=\n", "2 [Slice] A=\n");
        check("[A]\nx=1\n[B]\nx=2\n[A]\nx=3\n", "2 [A] x=1\n4 [B] x=2\n6 [A] x=3\n");
}

static void test_comments(void **state) {
        check("# x\n[S]\n ; y\n#CachePolicy=a\n\t# b=c\nk=v # not a comment\n",
              "6 [S] k=v # not a comment\n");
}

static void test_continuation(void **state) {
        check("[S]\nk=a\\\nb\n", "2 [S] k=a b\n");
        check("[S]\nk=a\\\n# comment\n; another\n  b\nj=c\n", "2 [S] k=a   b\n6 [S] j=c\n");
        /* Two backslashes are one that does not continue. */
        check("[S]\nk=a\\\\\nj=b\n", "2 [S] k=a\\\\\n3 [S] j=b\n");
        check("[S]\nk=a \\ \nj=b\n", "2 [S] k=a \\\n3 [S] j=b\n");
        check("[S]\nk=a\\", "2 [S] k=a\n");
        check("[S]\nk=\\\n\\\n\\\nx\n", "2 [S] k=x\n");
}

static void test_line_ends(void **state) {
        static const char nul[] = "[S]\nk=v\0j=w\n";

        check("[S]\r\nk=v\r\nj=w\r\n", "2 [S] k=v\n3 [S] j=w\n");
        check("[S]\rk=v\r", "2 [S] k=v\n");
        check_n(nul, sizeof(nul) - 1, "2 [S] k=v\n3 [S] j=w\n");
}

static void test_bom(void **state) {
        check("\xef\xbb\xbf[S]\nk=v\n", "2 [S] k=v\n");
}

static void test_garbage(void **state) {
        /* Lines that cannot be understood do not disturb those that can. */
        check("[S]\nno assignment\nk=v\n", "3 [S] k=v\n");
        check("[S]\nk=\xff\xfe\nj=v\n", "3 [S] j=v\n");
        check("k=v\n[S]\nj=w\n", "3 [S] j=w\n");
        check("[S]\nk=v\n[broken\nj=w\n[]\nl=x\n[T]\nm=y\n", "2 [S] k=v\n8 [T] m=y\n");
        check("[S]\n =v\n", "");
        check("\\\n\\\n\\", "");
        check("[", "");
        check("]\n=\n", "");
}

static void test_long_line(void **state) {
        GString *s = g_string_new("[S]\na=1\nk=");

        for (size_t i = 0; i <= CONF_LINE_MAX; i++)
                g_string_append_c(s, 'x');
        g_string_append(s, "\nb=2\n");
        check(s->str, "2 [S] a=1\n");

        /* Continuations do not get around the limit. */
        g_string_assign(s, "[S]\na=1\nk=");
        for (size_t i = 0; i <= CONF_LINE_MAX / 1024; i++) {
                for (size_t j = 0; j < 1024; j++)
                        g_string_append_c(s, 'x');
                g_string_append(s, "\\\n");
        }
        g_string_append(s, "\nb=2\n");
        check(s->str, "2 [S] a=1\n");

        g_string_free(s, TRUE);
}

static int refuse(const ConfAssignment *a, void *userdata) {
        return -ENOMEM;
}

static void test_callback_error(void **state) {
        char text[] = "[S]\nk=v\n";

        assert_int_equal(conf_parse_text("x", text, strlen(text), LOG_DEBUG, refuse, NULL), -ENOMEM);
}

/* No input may make it read or write out of bounds; run under a sanitizer this says more. */
static void test_random(void **state) {
        static const char alphabet[] = "[]=\\#; \t\r\n\0ab\xef\xbb\xbf\xff";
        GString *out = g_string_new(NULL);
        GRand *rand = g_rand_new_with_seed(4711);

        for (unsigned i = 0; i < 20000; i++) {
                size_t n = g_rand_int_range(rand, 0, 48);
                char *text = malloc(n + 1);

                for (size_t j = 0; j < n; j++)
                        text[j] = alphabet[g_rand_int_range(rand, 0, sizeof(alphabet) - 1)];
                text[n] = 0;

                assert_int_equal(conf_parse_text("x", text, n, LOG_DEBUG, collect, out), 0);
                free(text);
        }

        g_rand_free(rand);
        g_string_free(out, TRUE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain),          cmocka_unit_test(test_comments),
                cmocka_unit_test(test_continuation),   cmocka_unit_test(test_line_ends),
                cmocka_unit_test(test_bom),            cmocka_unit_test(test_garbage),
                cmocka_unit_test(test_long_line),      cmocka_unit_test(test_callback_error),
                cmocka_unit_test(test_random),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
