/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace-test.h"

static void test_columns(void **state) {
        /* time, object, size without header */
        check_trace(good("csv", "1,7,4096\n2,8,4096\n3,7,4096\n"), OBJECTS(0, 1, 0), NULL);
        check_trace(good("csv", "7\n8\n7\n"), OBJECTS(0, 1, 0), NULL);
        check_trace(good("csv:obj-id-col=1", "7,1\n8,1\n7,1\n"), OBJECTS(0, 1, 0), NULL);
        check_trace(good("csv:obj-id-col=2,obj-size-col=1", "8192,7\n1,7\n"), OBJECTS(0, 1, 0), NULL);
        check_trace(good("csv:obj-id-col=2,obj-size-col=1,ignore-obj-size=yes", "8192,7\n1,7\n"),
                    OBJECTS(0, 0), NULL);

        /* what the header says */
        check_trace(good("csv", "Size,OBJ_ID,op\n1,7,get\n4097,8,set\n1,7,DELETE\n"), OBJECTS(0, 1, 2, 0),
                    FLAGS(0, TRACE_WRITE, TRACE_WRITE, TRACE_REMOVE));
        check_trace(good("csv:has-header=yes", "a,b,c\n1,7,1\n2,7,1\n"), OBJECTS(0, 0), NULL);
        check_trace(good("csv:has-header=no,obj-id-col=1", "id\n7\nid\n"), OBJECTS(0, 1, 0), NULL);
}

static void test_delimiters(void **state) {
        check_trace(good("csv", "1;7;1\n1;8;1\n"), OBJECTS(0, 1), NULL);
        check_trace(good("csv", "1\t7\t1\n1\t7\t1\n"), OBJECTS(0, 0), NULL);
        check_trace(good("csv:delimiter=space", "1 7 1\n1 7 1\n"), OBJECTS(0, 0), NULL);
        check_trace(good("csv:delimiter=|", "1|7|1\n1|7|1\n"), OBJECTS(0, 0), NULL);
        check_trace(good("csv:delimiter=comma", "1, 7 ,1\n1,7,1\n"), OBJECTS(0, 0), NULL);
        check_trace(good("csv", "1,\"a,b\",1\r\n1,\"a\"\"b\",1\r\n\r\n# x\n1,\"a,b\",1"), OBJECTS(0, 1, 0),
                    NULL);
}

static void test_objects(void **state) {
        /* names as well as numbers, of 64 bits */
        check_trace(good("csv",
                         "1,photo-7,1\n1,photo-8,1\n1,photo-7,1\n"
                         "1,0,1\n1,18446744073709551615,1\n1,0x0,1\n"),
                    OBJECTS(0, 1, 0, 2, 0, 2) /* the largest number stands for the first name */, NULL);

        /* size 0 is skipped */
        check_trace(good("csv", "1,7,0\n1,8,1\n"), OBJECTS(0), NULL);
        bad("csv", "1,7,0\n", ENODATA, ": there is no request in the trace");
}

/* A block trace: file, offset and length in bytes. */
static void test_offsets(void **state) {
        static const char text[] =
                "128166372003061629,hm,0,Read,4096,8192,1331\n"
                "128166372016382155,hm,0,Write,8192,512,2326\n"
                "128166372026382245,hm,1,Read,8192,4096,1286\n";

        check_trace(good("csv:obj-id-col=3,offset-col=5,obj-size-col=6,op-col=4", text), OBJECTS(0, 1, 1, 2),
                    FLAGS(0, 0, TRACE_WRITE, 0));
        check_trace(good("csv", "offset,size\n0,1\n4095,2\n"), OBJECTS(0, 0, 1), NULL);

        bad("csv:offset-col=1", "0,1\n", EBADMSG,
            ":1: there is a column for the offset, but none for the length: "
            "csv:obj-size-col= says which it is");
        bad("csv", "offset,size\n0,0\n", EBADMSG, ":2: an access of no byte");
        bad("csv", "offset,size\n18446744073709551615,2\n", EBADMSG,
            ":2: offset 18446744073709551615 and length 2 together are more than 64 bits");
}

static void test_managers(void **state) {
        Trace *t = good("csv", "id,size,manager\n1,1,a\n2,1,\n1,1,\"b c\"\n3,1,a\n");

        assert_string_equal(t->manager_names[1], "a");
        assert_string_equal(t->manager_names[2], "b c");
        assert_null(t->manager_names[3]);
        assert_memory_equal(t->managers, ((uint8_t[]) { 1, 0, 2, 1 }), 4);
        check_trace(t, OBJECTS(0, 1, 0, 2), NULL);

        t = good("csv:obj-id-col=1,manager-col=2", "1,x\n2,x\n");
        assert_string_equal(t->manager_names[1], "x");
        check_trace(t, OBJECTS(0, 1), NULL);
        bad("csv:obj-id-col=1,manager-col=3", "1,x\n", EBADMSG,
            ":1: there are 2 columns, but column 3 is needed");
}

static void test_malformed(void **state) {
        bad("csv", "1,2\n", EBADMSG, ":1: there are two columns, and nothing says which one is the object: "
            "csv:obj-id-col=2 would");
        bad("csv", "1,7,1\n1,7\n", EBADMSG, ":2: there are 2 columns, but column 3 is needed");
        bad("csv:obj-id-col=2", "1\n", EBADMSG, ":1: there is 1 column, but column 2 is needed");
        bad("csv", "1,7,x\n", EBADMSG, ":1: the size in column 3 is no number: \"x\"");
        bad("csv", "1,7,-1\n", EBADMSG, ":1: the size in column 3 is no number: \"-1\"");
        bad("csv", "1,7,18446744073709551616\n", EBADMSG,
            ":1: the size in column 3 is larger than 64 bits: \"18446744073709551616\"");
        bad("csv", "1,7,4294967297\n", EBADMSG,
            ":1: one access of 1048577 pages; at most 1048576 (4 GiB) make sense");
        bad("csv", "1,,1\n", EBADMSG, ":1: the object in column 2 is empty");
        bad("csv:op-col=1", "fly,1,1\n", EBADMSG, ":1: the operation in column 1 is unknown: \"fly\"");
        bad("csv:op-col=1", ",1,1\n", EBADMSG, ":1: the operation in column 1 is unknown: \"\"");
        bad("csv", "1,\"7,1\n", EBADMSG, ":1: the quote in column 2 does not end");
        bad("csv", "1,\"7\"x,1\n", EBADMSG, ":1: something follows the quote in column 2");
        bad("csv", "id,size\n", ENODATA, ": there is no request in the trace");
}

static void bad_option(const char *s, const char *message) {
        TraceOptions o = TRACE_OPTIONS_DEFAULT;
        char *error = NULL;
        TraceFormat f;

        assert_int_equal(trace_format_parse(s, &f, &o, &error), -EINVAL);
        assert_string_equal(error, message);
        free(error);
}

static void test_options(void **state) {
        bad_option("tsv", "\"tsv\" is no form of traces; "
                   "there are auto, text, oracleGeneral, csv, blkparse and record");
        bad_option("csv:", "csv: there is no setting \"\" of the form KEY=VALUE");
        bad_option("csv:obj-id-col", "csv: there is no setting \"obj-id-col\" of the form KEY=VALUE");
        bad_option("csv:action=Q", "csv: there is no setting \"action\" of the form KEY=VALUE");
        bad_option("csv:obj-id-col=0",
                   "csv: \"obj-id-col\" takes the number of a column, from 1, not \"0\"");
        bad_option("csv:obj-id-col=9999999",
                   "csv: \"obj-id-col\" takes the number of a column, from 1, not \"9999999\"");
        bad_option("csv:has-header=maybe", "csv: \"has-header\" takes yes or no, not \"maybe\"");
        bad_option("csv:delimiter=ab",
                   "csv: \"delimiter\" takes one character, comma, tab or space, not \"ab\"");
        bad_option("blkparse:action=", "blkparse: \"action\" takes one of Q, G, I, D, C, not \"\"");
        bad_option("text:ignore-obj-size=yes",
                   "text: there is no setting \"ignore-obj-size\" of the form KEY=VALUE");

        for (TraceFormat f = 0; f < _TRACE_FORMAT_MAX; f++)
                assert_int_equal(trace_format_from_string(trace_format_to_string(f)), f);
        assert_null(trace_format_to_string(_TRACE_FORMAT_MAX));
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_columns),
                cmocka_unit_test(test_delimiters),
                cmocka_unit_test(test_objects),
                cmocka_unit_test(test_offsets),
                cmocka_unit_test(test_managers),
                cmocka_unit_test(test_malformed),
                cmocka_unit_test(test_options),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
