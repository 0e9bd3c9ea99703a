/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace-test.h"

#include <endian.h>

#define RECORD 24

/* Appends a record at p[n]. */
static size_t put(uint8_t *p, size_t n, uint32_t time, uint64_t id, uint32_t size, int64_t next) {
        uint64_t v = (uint64_t) next;

        time = htole32(time);
        id = htole64(id);
        size = htole32(size);
        v = htole64(v);
        memcpy(p + n, &time, 4);
        memcpy(p + n + 4, &id, 8);
        memcpy(p + n + 12, &size, 4);
        memcpy(p + n + 16, &v, 8);
        return n + RECORD;
}

static void test_good(void **state) {
        uint8_t data[RECORD * 4];
        size_t n = 0;
        Trace *t;

        n = put(data, n, 0, 7, 4096, 3);
        n = put(data, n, 0, UINT64_MAX, 1, -1);
        n = put(data, n, 5, 7, 4096, INT64_MAX);
        n = put(data, n, 5, 0, 4096, -1);

        check_trace(read_good("oracleGeneral", data, n), OBJECTS(0, 1, 0, 2), NULL);
        check_trace(read_good("auto", data, n), OBJECTS(0, 1, 0, 2), NULL);

        /* Identities are kept: the same object has the same key wherever it comes. */
        t = read_good("oracleGeneral", data, n);
        assert_int_not_equal(t->keys[0], t->keys[1]);
        assert_int_not_equal(t->keys[0], t->keys[2]);
        trace_free(t);
}

static void test_sizes(void **state) {
        uint8_t data[RECORD * 5];
        size_t n = 0;

        n = put(data, n, 0, 1, 8192, 3);
        n = put(data, n, 0, 2, 0, -1);
        n = put(data, n, 0, 1, 8193, -1);
        n = put(data, n, 0, 3, 1, -1);

        /* as many pages as the size needs; none for size 0 */
        check_trace(read_good("oracleGeneral", data, n), OBJECTS(0, 1, 0, 1, 2, 3), NULL);
        check_trace(read_good("oracleGeneral:ignore-obj-size=yes", data, n), OBJECTS(0, 0, 1), NULL);

        /* The largest size there is makes 2^20 pages. */
        n = put(data, 0, 0, 1, UINT32_MAX, -1);
        trace_free(read_good("oracleGeneral", data, n));

        n = put(data, 0, 0, 1, 0, -1);
        read_bad("oracleGeneral", data, n, ENODATA, ": there is no request in the trace");
}

static void test_truncated(void **state) {
        uint8_t data[RECORD * 2];
        size_t n = 0;

        n = put(data, n, 0, 1, 4096, -1);
        n = put(data, n, 0, 2, 4096, -1);

        read_bad("oracleGeneral", data, n - 1, EBADMSG,
                 ": at byte 24: the file is cut off: 23 of the 24 bytes of a record");
        read_bad("auto", data, RECORD + 1, EBADMSG,
                 ": at byte 24: the file is cut off: 1 of the 24 bytes of a record");
        read_bad("oracleGeneral", data, 23, EBADMSG,
                 ": at byte 0: the file is cut off: 23 of the 24 bytes of a record");
        read_bad("oracleGeneral", data, 0, ENODATA, ": there is no request in the trace");
}

/* Other binary data is not taken for this form. */
static void test_detection(void **state) {
        static const char problem[] = ": cannot tell what form of trace this is: neither text, "
                                      "oracleGeneral, csv, blkparse nor record; name it if it is one";
        uint8_t data[RECORD * 2];
        size_t n;

        n = put(data, 0, 9, 1, 4096, -1);
        n = put(data, n, 8, 2, 4096, -1);
        read_bad("auto", data, n, EBADMSG, problem); /* time runs backwards */

        n = put(data, 0, 9, 1, 4096, 2);
        n = put(data, n, 9, 1, 4096, 1);
        read_bad("auto", data, n, EBADMSG, problem); /* the next access comes earlier */

        n = put(data, 0, 9, 1, 4096, -2);
        read_bad("auto", data, n, EBADMSG, problem);
        read_bad("auto", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0\1\0\0\0\360\1", 26, EBADMSG, problem);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_good),
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_detection),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
