/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace-test.h"

#include <stdio.h>
#include <unistd.h>

#include "shared/file-util.h"
#include "sim/trace-record.h"

#define HEADER RECORD_MAGIC "\1\0\0\0" "\0\x10\0\0" "\0\0\0\0\0\0\0\0"
#define FILE_ITEM "\1" "\x81\x80\x80\x04" "\x4d" "\0" /* 8:1, inode 77 */
#define THREAD_ITEM "\2" "\x07" "\3low"
#define BEGIN HEADER FILE_ITEM THREAD_ITEM
#define ACCESS "\x90" "\0" "\0" "\x0a" "\0" /* a read of page 5 by file 0, thread 0 */
#define END "\4" "\1" "\0"

/* Without the NUL that C adds. */
#define bytes_good(options, s) read_good((options), (s), sizeof(s) - 1)
#define bytes_bad(s, message) read_bad("record", (s), sizeof(s) - 1, EBADMSG, (message))

static const RecordAccess accesses[] = {
        { .device = 8 << 20 | 1, .inode = 77, .page = 5, .n_pages = 1, .tid = 7, .thread = "low",
          .time = 1000 },
        { .device = 8 << 20 | 1, .inode = 77, .page = 6, .n_pages = 2, .tid = 7, .thread = "low",
          .time = 2000 },
        { .device = 8 << 20 | 1, .inode = 77, .page = 0, .n_pages = 1, .tid = 8, .thread = "a b",
          .time = 1500,
          .flags = TRACE_WRITE },
        { .device = 8 << 20 | 1, .inode = 77, .generation = 1, .page = 5, .n_pages = 1, .tid = 8,
          .thread = "a b",
          .time = UINT64_MAX, .flags = TRACE_READAHEAD },
        { .device = 8 << 20 | 2, .inode = UINT64_MAX, .generation = UINT32_MAX,
          .page = (UINT64_C(1) << 40) - 1,
          .n_pages = 1, .tid = UINT32_MAX, .thread = "fifteen letters", .time = 0 },
        { .device = 8 << 20 | 2, .inode = UINT64_MAX, .generation = UINT32_MAX,
          .page = (UINT64_C(1) << 40) - 1,
          .n_pages = 1, .tid = UINT32_MAX, .thread = "fifteen letters", .time = 0, .flags = TRACE_REMOVE },
        { .device = 8 << 20 | 1, .inode = 77, .page = 5, .n_pages = 1, .tid = 7, .thread = "high",
          .time = 3000 },
};

/* Writes the accesses, and returns what was written. */
static void write_record(bool zstd, unsigned repeat, char **ret, size_t *ret_size) {
        _cleanup_(record_writer_freep) RecordWriter *w = NULL;
        char path[] = "/tmp/cachebpf-test-XXXXXX";
        int fd;

        fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(record_writer_new(fd, zstd, 1, &w), 0);
        for (unsigned i = 0; i < repeat; i++)
                for (size_t j = 0; j < ELEMENTSOF(accesses); j++)
                        assert_int_equal(record_writer_access(w, accesses + j), 0);
        assert_int_equal(record_writer_lost(w, 300), 0);
        assert_int_equal(record_writer_finish(w), 0);
        close(fd);

        assert_int_equal(read_full_file(path, 1 << 26, ret, ret_size), 0);
        unlink(path);
}

static void test_round_trip(void **state) {
        for (int zstd = 0; zstd < 2; zstd++) {
                _cleanup_free_ char *data = NULL;
                size_t size;

                write_record(zstd, 1, &data, &size);
                check_trace(read_good("record", data, size), OBJECTS(0, 1, 2, 3, 4, 5, 5, 0),
                            FLAGS(0, 0, 0, TRACE_WRITE, TRACE_READAHEAD, 0, TRACE_REMOVE, 0));

                check_trace(read_good("record:scan-threads=low,background-threads=h* fif*", data, size),
                            OBJECTS(0, 1, 2, 3, 4, 5, 5, 0),
                            FLAGS(1 << 4, 1 << 4, 1 << 4, TRACE_WRITE, TRACE_READAHEAD,
                                  2 << 4, 2 << 4 | TRACE_REMOVE, 2 << 4));
        }
}

/* More than the writer's buffer holds; compact. */
static void test_large(void **state) {
        _cleanup_free_ char *data = NULL, *compressed = NULL;
        static const uint32_t objects[] = { 0, 1, 2, 3, 4, 5, 5, 0 };
        size_t size, compressed_size, n = 100000;
        Trace *t;

        write_record(/* zstd= */ false, n, &data, &size);
        write_record(/* zstd= */ true, n, &compressed, &compressed_size);
        assert_in_range(size, n, n * ELEMENTSOF(accesses) * 20);
        assert_in_range(compressed_size, 1, size / 10);

        t = read_good("auto", compressed, compressed_size);
        assert_int_equal(t->n_requests, n * ELEMENTSOF(objects));
        assert_int_equal(t->n_objects, 6);
        for (size_t i = 0; i < t->n_requests; i++)
                assert_int_equal(t->objects[i], objects[i % ELEMENTSOF(objects)]);
        trace_free(t);
}

static void test_golden(void **state) {
        check_trace(bytes_good("record", BEGIN ACCESS END), OBJECTS(0), FLAGS(0));
        check_trace(bytes_good("record", BEGIN ACCESS "\x8d" "\0" "\2" "\0" "\4\2\0"), OBJECTS(0, 1, 2),
                    FLAGS(0, TRACE_WRITE, TRACE_WRITE));
        check_trace(bytes_good("record", BEGIN ACCESS "\3\5" "\3\1" "\4\1\6"), OBJECTS(0), NULL);
}

static void test_managers(void **state) {
        static const char text[] = BEGIN ACCESS "\5\1b" "\5\1a" "\xb0\0\0\2\0\0" ACCESS
                "\xb0\0\0\1\0\0" "\xb0\0\0\0\0\0" "\4\5\0";
        Trace *t = bytes_good("record", text);

        assert_memory_equal(t->managers, ((uint8_t[]) { 0, 1, 1, 2, 0 }), 5);
        assert_string_equal(t->manager_names[1], "a");
        assert_string_equal(t->manager_names[2], "b");
        assert_int_equal(t->n_files, 1);
        assert_string_equal(t->files[0], "8:1/77.0");
        trace_free(t);
}

/* What the writer writes, the reader reads: names of all lengths, and each but once. */
static void test_managers_written(void **state) {
        char longest[RECORD_MANAGER_MAX + 1] = {}, path[] = "/tmp/cachebpf-test-XXXXXX";
        const char *names[] = { NULL, "a.service", longest, "a.service", "a.service", NULL, longest };
        _cleanup_(record_writer_freep) RecordWriter *w = NULL;
        _cleanup_free_ char *data = NULL;
        RecordAccess a = accesses[0];
        size_t size;
        Trace *t;
        int fd;

        memset(longest, 'x', RECORD_MANAGER_MAX);
        fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(record_writer_new(fd, /* zstd= */ false, 1, &w), 0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                a.manager = names[i];
                assert_int_equal(record_writer_access(w, &a), 0);
        }
        assert_int_equal(record_writer_finish(w), 0);
        close(fd);
        assert_int_equal(read_full_file(path, 1 << 20, &data, &size), 0);
        unlink(path);
        assert_in_range(size, RECORD_MANAGER_MAX, RECORD_MANAGER_MAX + 150);

        t = read_good("record", data, size);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (names[i])
                        assert_string_equal(t->manager_names[t->managers[i]], names[i]);
                else
                        assert_int_equal(t->managers[i], 0);
        trace_free(t);
}

/* Byte for byte. Of time there is the distance from the access before. */
static void test_written(void **state) {
        static const char expected[] = RECORD_MAGIC "\1\0\0\0" "\0\x10\0\0" "\1\0\0\0\0\0\0\0"
                FILE_ITEM THREAD_ITEM
                "\x90" "\0" "\0" "\x0a" "\0"
                "\x8c" "\0" "\2" "\xd0\x0f"; /* 2 pages, after 1000 ns */
        _cleanup_free_ char *data = NULL;
        size_t size;

        write_record(/* zstd= */ false, 1, &data, &size);
        assert_true(size > sizeof(expected) - 1);
        assert_memory_equal(data, expected, sizeof(expected) - 1);
}

/* Wherever it is cut off, that is noticed. */
static void test_truncated(void **state) {
        _cleanup_free_ char *data = NULL, *compressed = NULL;
        size_t size;

        write_record(/* zstd= */ false, 1, &data, &size);
        for (size_t n = 0; n < size; n++) {
                TraceOptions o = TRACE_OPTIONS_DEFAULT;
                char *error = NULL;
                Trace *t;

                assert_int_equal(read_data(data, n, TRACE_FORMAT_RECORD, &o, &t, &error), -EBADMSG);
                assert_non_null(strstr(error, n == 0 ? "no recording" : "cut off"));
                free(error);
        }

        write_record(/* zstd= */ true, 1, &compressed, &size);
        read_bad("record", compressed, size - 1, EBADMSG,
                 ": the compressed file is cut off: it ends in the middle of a zstd frame");

        bytes_bad(BEGIN ACCESS, ": at byte 42: the recording was cut off after 1 accesses; "
                  "record:partial=yes reads those");
        check_trace(bytes_good("record:partial=yes", BEGIN ACCESS), OBJECTS(0), NULL);
        check_trace(bytes_good("record:partial=yes", BEGIN ACCESS "\x90"), OBJECTS(0), NULL);
        read_bad("record:partial=yes", HEADER, sizeof(HEADER) - 1, EBADMSG,
                 ": at byte 24: the recording was cut off after 0 accesses; record:partial=yes reads those");
}

static void test_malformed(void **state) {
        bytes_bad("1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n1\n2\n",
                  ": at byte 0: this is no recording of \"cachectl record\"");
        bytes_bad(RECORD_MAGIC "\2\0\0\0" "\0\x10\0\0" "\0\0\0\0\0\0\0\0",
                  ": at byte 0: the recording has version 2, only version 1 can be read");
        bytes_bad(RECORD_MAGIC "\1\0\0\0" "\0\x40\0\0" "\0\0\0\0\0\0\0\0",
                  ": at byte 0: the recording has pages of 16384 bytes, only 4096 can be simulated");
        bytes_bad(HEADER "\6", ": at byte 24: an item of the unknown kind 6");
        bytes_bad(BEGIN "\xc0", ": at byte 37: an access has the unknown bits 0x40");
        bytes_bad(BEGIN "\xb0\0\0\1", ": at byte 40: an access names a manager that was not introduced");
        bytes_bad(HEADER "\5\x80\2", ": at byte 26: the name of a manager has 256 bytes, more than 255");
        bytes_bad(HEADER THREAD_ITEM ACCESS, ": at byte 31: an access names a file that was not introduced");
        bytes_bad(HEADER FILE_ITEM ACCESS, ": at byte 33: an access names a thread that was not introduced");
        bytes_bad(BEGIN "\x9c" "\0\0", ": at byte 37: an access names a file that was not introduced");
        bytes_bad(HEADER "\2\7\x10" "0123456789abcdef",
                  ": at byte 26: the name of a thread has 16 bytes, more than 15");
        bytes_bad(BEGIN "\x90\0\0" "\xff\xff\xff\xff\xff\xff\xff\xff\xff\2" "\0",
                  ": at byte 49: the page of an access has more than 64 bits");
        bytes_bad(BEGIN "\x90\0\0" "\1" "\0",
                  ": at byte 41: page 18446744073709551615 is too far into the file; "
                  "no file has more than 2^40 pages");
        bytes_bad(BEGIN "\x80\0\0\0" "\0" "\0", ": at byte 42: an access of no page");
        bytes_bad(BEGIN "\x80\0\0\0" "\x81\x80\x40" "\0",
                  ": at byte 44: one access of 1048577 pages; at most 1048576 (4 GiB) make sense");
        bytes_bad(BEGIN ACCESS "\4\2\0", ": at byte 44: the recording says it has 2 accesses and lost 0, "
                  "but 1 and 0 were found");
        bytes_bad(BEGIN ACCESS "\4\1\1", ": at byte 44: the recording says it has 1 accesses and lost 1, "
                  "but 1 and 0 were found");
        bytes_bad(BEGIN ACCESS END "x", ": at byte 45: something follows the end of the recording");
        read_bad("record", HEADER "\4\0\0", sizeof(HEADER "\4\0\0") - 1, ENODATA,
                 ": there is no request in the trace");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_large),
                cmocka_unit_test(test_golden),
                cmocka_unit_test(test_managers),
                cmocka_unit_test(test_managers_written),
                cmocka_unit_test(test_written),
                cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_malformed),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
