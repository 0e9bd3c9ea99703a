/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What "record --readahead" makes of pages that come in and accesses to them. */

#include "test-util.h"

#include <stdio.h>

#include "record/readahead.h"
#include "sim/trace.h"

static char log_text[1024];

static int on_access(const RecordAccess *a, void *userdata) {
        size_t n = strlen(log_text);

        (void) snprintf(log_text + n, sizeof(log_text) - n, "%s%u:%s%u/%u+%u", n > 0 ? " " : "", a->tid,
                        a->flags & TRACE_READAHEAD ? "a" :
                        a->flags & TRACE_WRITE     ? "w" :
                        a->flags & TRACE_REMOVE    ? "d" : "r",
                        (unsigned) a->inode, (unsigned) a->page, (unsigned) a->n_pages);
        return *(int *) userdata;
}

static int tell(Readahead *r, char what, RecordAccess *a) {
        switch (what) {
        case '+':
                return readahead_added(r, a);
        case 'd':
                a->flags = TRACE_REMOVE;
                return readahead_gone(r, a);
        case 'w':
                a->flags = TRACE_WRITE;
                return readahead_access(r, a);
        default:
                return readahead_access(r, a);
        }
}

/* Runs a script: "+" came in, "r" and "w" accesses, "d" gone; thread, file, page, pages. */
static void check(const char *script, const char *expected) {
        _cleanup_free_ char *copy = strdup(script);
        int result = 0;
        _cleanup_(readahead_freep) Readahead *r = readahead_new(on_access, &result);

        *log_text = 0;
        for (char *s = strtok(copy, " "); s; s = strtok(NULL, " ")) {
                unsigned tid, inode, page, n;
                RecordAccess a;

                assert_int_equal(sscanf(s + 1, "%u:%u/%u+%u", &tid, &inode, &page, &n), 4);
                a = (RecordAccess) { .tid = tid, .inode = inode, .page = page, .n_pages = n, .thread = "x" };
                assert_int_equal(tell(r, *s, &a), 0);
        }
        assert_int_equal(readahead_flush(r), 0);
        assert_string_equal(log_text, expected);
}

static void test_split(void **state) {
        /* what the access wanted was not read ahead */
        check("+1:9/5+1 r1:9/5+1", "1:r9/5+1");
        check("+1:9/5+1 +1:9/6+1 +1:9/7+1 r1:9/5+1", "1:r9/5+1 1:a9/6+2");
        check("+1:9/3+8 r1:9/5+2", "1:r9/5+2 1:a9/3+2 1:a9/7+4");
        check("+1:9/5+2 w1:9/4+9", "1:w9/4+9");

        /* without an access after it, all was */
        check("+1:9/5+2", "1:a9/5+2");
        check("r1:9/5+1 +1:9/6+4", "1:r9/5+1 1:a9/6+4");
        check("r1:9/5+1 r1:9/6+1", "1:r9/5+1 1:r9/6+1");
}

/* A long read is one access, and more of it comes in after that was seen. */
static void test_long_read(void **state) {
        check("+1:9/0+4 r1:9/0+16 +1:9/4+8 +1:9/12+8 r1:9/16+1", "1:r9/0+16 1:r9/16+1 1:a9/17+3");
        check("r1:9/4+4 +1:9/0+16", "1:r9/4+4 1:a9/0+4 1:a9/8+8");
        check("r1:9/4+4 +1:8/4+4", "1:r9/4+4 1:a8/4+4");
}

/* Threads and files are told apart. */
static void test_threads(void **state) {
        check("+1:9/5+2 r2:9/5+1 r1:9/5+1", "2:r9/5+1 1:r9/5+1 1:a9/6+1");
        check("+1:9/5+2 r1:8/5+2", "1:r8/5+2 1:a9/5+2");
}

/* What was read ahead came before it left. */
static void test_gone(void **state) {
        check("+1:9/5+2 d2:9/5+1 d2:9/6+1", "1:a9/5+2 2:d9/5+1 2:d9/6+1");
        check("+1:9/5+2 r1:9/5+1 d1:9/5+2 r1:9/5+1", "1:r9/5+1 1:a9/6+1 1:d9/5+2 1:r9/5+1");
}

/* Many ranges do not wait for ever. */
static void test_many(void **state) {
        RecordAccess a = { .tid = 1, .inode = 9, .n_pages = 1, .thread = "x" };
        int result = 0;
        _cleanup_(readahead_freep) Readahead *r = readahead_new(on_access, &result);

        *log_text = 0;
        for (unsigned i = 0; i < 1000; i++) {
                a.page = i * 2;
                assert_int_equal(readahead_added(r, &a), 0);
        }
        assert_int_not_equal(*log_text, 0);

        result = -ENOSPC;
        assert_int_equal(readahead_flush(r), -ENOSPC);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_split),
                cmocka_unit_test(test_long_read),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_gone),
                cmocka_unit_test(test_many),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
