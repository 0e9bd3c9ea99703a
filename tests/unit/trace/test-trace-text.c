/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace-test.h"

#include <stdio.h>

#include "sim/trace-text.h"

static void test_lines(void **state) {
        /* pages of the file without name */
        check_trace(good("text", "5\n6\n5\n0x6\n"), OBJECTS(0, 1, 0, 1), NULL);
        check_trace(good("text", "10+3\n12+2"), OBJECTS(0, 1, 2, 2, 3), NULL);

        /* bytes: the pages they touch */
        check_trace(good("text", "@0\n@4095+1\n@4095+2\n@8191\n"), OBJECTS(0, 0, 0, 1, 1), NULL);

        /* files, which differ from the one without name */
        check_trace(good("text", "x 1\ny 1\nx 1\n1\ny 1\n"), OBJECTS(0, 1, 0, 2, 1), NULL);
        check_trace(good("text", "8:1/77 1\n8:2/77 1\n8:1/77 1\n"), OBJECTS(0, 1, 0), NULL);

        /* one letter in front is an operation, and a file only if there is another operation */
        check_trace(good("text", "r 1\nw 1\na 1\nd 1\n"), OBJECTS(0, 0, 0, 0),
                    FLAGS(0, TRACE_WRITE, TRACE_READAHEAD, TRACE_REMOVE));
        /* what was not asked for cannot leave */
        check_trace(good("text", "d 1\nr 2\nd 1+2\nr 1\n"), OBJECTS(0, 0, 1), FLAGS(0, TRACE_REMOVE, 0));
        check_trace(good("text", "w w 1\nr w 1\nw 1\n"), OBJECTS(0, 0, 1),
                    FLAGS(TRACE_WRITE, 0, TRACE_WRITE));

        /* white space, comments, the ends of lines */
        check_trace(good("text", "# cachebpf trace\n\n  # x\n\t1 \r\n r\tx  1\t\n\r\n"), OBJECTS(0, 1),
                    NULL);
}

static void test_threads(void **state) {
        static const char text[] =
                "1 thread=rocksdb:low0\n"
                "1 thread=rocksdb:high0\n"
                "1 thread=report\\x201 class=none\n"
                "1 thread=report\\x201 class=background\n"
                "1 class=scan\n"
                "w f 1 class=scan thread=x\n";

        check_trace(good("text", text), OBJECTS(0, 0, 0, 0, 0, 1),
                    FLAGS(0, 0, 0, 2 << 4, 1 << 4, 1 << 4 | TRACE_WRITE));

        /* patterns give a class to those that have none */
        check_trace(good("text:scan-threads=nobody report?1,background-threads=rocksdb:low*", text),
                    OBJECTS(0, 0, 0, 0, 0, 1),
                    FLAGS(2 << 4, 0, 1 << 4, 2 << 4, 1 << 4, 1 << 4 | TRACE_WRITE));
}

static void test_escapes(void **state) {
        check_trace(good("text", "a\\x20b 1\na\\x20c 1\na\\x20b 1\n"), OBJECTS(0, 1, 0), NULL);
        check_trace(good("text", "\\\\ 1\n\\x5c 1\n"), OBJECTS(0, 0), NULL);

        bad("text", "1\na\\q 1\n", EBADMSG, ":2: the name of the file is not escaped correctly");
        bad("text", "a\\x 1\n", EBADMSG, ":1: the name of the file is not escaped correctly");
        bad("text", "a\\x00b 1\n", EBADMSG, ":1: the name of the file is not escaped correctly");
        bad("text", "1 thread=\\\n", EBADMSG, ":1: the name of the thread is not escaped correctly");
}

static void test_malformed(void **state) {
        bad("text", "1\n\nx\n", EBADMSG,
            ":3: the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH");
        bad("text", "f -1\n", EBADMSG,
            ":1: the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH");
        bad("text", "1.5\n", EBADMSG,
            ":1: the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH");
        bad("text", "0x\n", EBADMSG,
            ":1: the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH");
        bad("text", "1+x\n", EBADMSG, ":1: the length behind + is no number");
        bad("text", "1+\n", EBADMSG, ":1: the length behind + is no number");
        bad("text", "r f\n", EBADMSG,
            ":1: the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH");
        bad("text", "x f 1\n", EBADMSG, ":1: the operation is none of r, w, a and d");
        bad("text", "r f 1 2\n", EBADMSG,
            ":1: too many words; a line is [OP] [FILE] WHERE [thread=NAME] [class=CLASS] "
            "[manager=NAME]");
        bad("text", "thread=x\n", EBADMSG, ":1: the place in the file is missing");
        bad("text", "f thread=x 1\n", EBADMSG,
            ":1: only thread=, class= and manager= can come behind those");
        bad("text", "1 manager=\\x0\n", EBADMSG, ":1: the name of the manager is not escaped correctly");
        bad("text", "1 class=SCAN\n", EBADMSG, ":1: the class is none of none, scan and background");
        read_bad("text", "1\n2\0\n", 5, EBADMSG, ":2: the line contains a NUL byte: this is no text");
}

static void test_sizes(void **state) {
        char *line;
        Trace *t;

        bad("text", "7+0\n", EBADMSG, ":1: the length is 0");
        bad("text", "@7+0\n", EBADMSG, ":1: the length is 0");
        bad("text", "7+18446744073709551616\n", EBADMSG, ":1: the length has more than 64 bits");
        bad("text", "0x10000000000000000\n", EBADMSG, ":1: the place has more than 64 bits");
        bad("text", "0+1048577\n", EBADMSG,
            ":1: one access of 1048577 pages; at most 1048576 (4 GiB) make sense");
        bad("text", "7+18446744073709551615\n", EBADMSG,
            ":1: one access of 18446744073709551615 pages; at most 1048576 (4 GiB) make sense");
        bad("text", "1099511627776\n", EBADMSG,
            ":1: page 1099511627776 is too far into the file; no file has more than 2^40 pages");
        bad("text", "0xffffffffffffffff+2\n", EBADMSG,
            ":1: page 18446744073709551615 is too far into the file; no file has more than 2^40 pages");
        bad("text", "@18446744073709551615\n", EBADMSG,
            ":1: offset 18446744073709551615 and length 1 together are more than 64 bits");

        check_trace(good("text", "1099511627775\n"), OBJECTS(0), NULL);
        t = good("text", "0+1048576\n");
        assert_int_equal(t->n_requests, 1048576);
        assert_int_equal(t->n_objects, 1048576);
        trace_free(t);

        /* A line may be as long as the limit and no longer. */
        assert_true(asprintf(&line, "%65536s\n", "1") > 0);
        check_trace(good("text", line), OBJECTS(0), NULL);
        free(line);
        assert_true(asprintf(&line, "1\n%65537s\n", "1") > 0);
        bad("text", line, EBADMSG, ":2: the line has more than 65536 bytes: this is no trace in text form");
        free(line);
}

static void test_empty(void **state) {
        bad("text", "", ENODATA, ": there is no request in the trace");
        bad("text", "# only a comment\n\n", ENODATA, ": there is no request in the trace");
}

/* What is written reads back as it was. */
static void test_write(void **state) {
        static const TraceTextAccess accesses[] = {
                { .page = 5, .n = 1 },
                { .page = 4095, .n = 2, .in_bytes = true, .flags = TRACE_WRITE },
                { .file = "a file\\ name\n", .page = 1, .n = 7, .flags = TRACE_READAHEAD },
                { .file = "r", .page = 1, .n = 1, .flags = TRACE_REMOVE, .thread = "rocksdb:low 1" },
                { .file = "r", .page = 1, .n = 1, .flags = TRACE_CLASS_BACKGROUND << TRACE_CLASS_SHIFT,
                  .thread = "" },
        };
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        assert_non_null(f);
        for (size_t i = 0; i < ELEMENTSOF(accesses); i++)
                assert_int_equal(trace_text_write(f, accesses + i), 0);
        assert_int_equal(fclose(f), 0);

        for (size_t i = 0; i < ELEMENTSOF(accesses); i++) {
                const TraceTextAccess *a = accesses + i;
                char *line = i == 0 ? strtok(text, "\n") : strtok(NULL, "\n");
                _cleanup_free_ char *copy = strdup(line);
                TraceTextAccess b;

                assert_null(trace_text_parse(copy, &b));
                assert_true(a->file ? b.file && streq(a->file, b.file) : !b.file);
                assert_true(a->thread ? b.thread && streq(a->thread, b.thread) : !b.thread);
                assert_int_equal(a->page, b.page);
                assert_int_equal(a->n, b.n);
                assert_int_equal(a->flags, b.flags);
                assert_int_equal(a->in_bytes, b.in_bytes);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_escapes),
                cmocka_unit_test(test_malformed),
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_write),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
