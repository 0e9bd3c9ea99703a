/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What holds for all forms: files, compression, recognising a form. */

#include "trace-test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

/* One zstd frame. */
static size_t compress(const char *text, char *ret, size_t size) {
        size_t n = ZSTD_compress(ret, size, text, strlen(text), 1);

        assert_false(ZSTD_isError(n));
        return n;
}

static void test_compressed(void **state) {
        char data[256];
        size_t n, first;

        n = first = compress("5\n6\n", data, sizeof(data));
        check_trace(read_good("text", data, n), OBJECTS(0, 1), NULL);
        check_trace(read_good("auto", data, n), OBJECTS(0, 1), NULL);

        /* frames one after the other, as "cat" makes of several files, and what pzstd puts in front */
        n += compress("5\n7", data + n, sizeof(data) - n);
        check_trace(read_good("auto", data, n), OBJECTS(0, 1, 0, 2), NULL);
        memmove(data + 12, data, n);
        for (char skippable = 0x50; skippable <= 0x5f; skippable++) {
                memcpy(data, "?\x2a\x4d\x18\4\0\0\0skip", 12);
                data[0] = skippable;
                check_trace(read_good("auto", data, n + 12), OBJECTS(0, 1, 0, 2), NULL);
        }
        memmove(data, data + 12, n);

        for (size_t i = 4; i < n; i++)
                if (i != first)
                        read_bad("text", data, i, EBADMSG,
                                 ": the compressed file is cut off: it ends in the middle of a zstd frame");

        n = compress("", data, sizeof(data));
        read_bad("auto", data, n, ENODATA, ": the file is empty");

        n = compress("5\nx\n", data, sizeof(data));
        read_bad("text", data, n, EBADMSG,
                 ":2: the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH");

        data[4] |= 8; /* a bit that is reserved */
        read_bad("text", data, n, EBADMSG, ": cannot be decompressed: Unsupported frame parameter");
}

static void test_large(void **state) {
        size_t n = 300000, size = 0, compressed_size;
        _cleanup_free_ char *text = malloc(n * 8), *compressed = malloc(ZSTD_compressBound(n * 8));
        Trace *t;

        for (size_t i = 0; i < n; i++)
                size += (size_t) sprintf(text + size, "%zu\n", i % 1000);
        compressed_size = compress(text, compressed, ZSTD_compressBound(n * 8));

        for (int i = 0; i < 2; i++) {
                t = read_good("auto", i ? compressed : text, i ? compressed_size : size);
                assert_int_equal(t->n_requests, n);
                assert_int_equal(t->n_objects, 1000);
                for (size_t j = 0; j < n; j++)
                        assert_int_equal(t->objects[j], j % 1000);
                trace_free(t);
        }
}

static void test_detection(void **state) {
        static const char unknown[] = ": cannot tell what form of trace this is: neither text, "
                                      "oracleGeneral, csv, blkparse nor record; name it if it is one";

        check_trace(good("auto", "# anything\n\n17\n"), OBJECTS(0), NULL);
        check_trace(good("auto", "r a,b 17 thread=x\n"), OBJECTS(0), NULL);
        check_trace(good("auto", "1,7,1\n"), OBJECTS(0), NULL);
        check_trace(good("auto", "time,obj_id,obj_size\n1,7,1\n"), OBJECTS(0), NULL);
        check_trace(good("auto", "8,0 3 1 0.000000000 697 Q R 0 + 8 [x]\n"), OBJECTS(0), NULL);

        bad("auto", "", ENODATA, ": the file is empty");
        bad("auto", "# nothing else\n", ENODATA, ": there is no request in the trace");
        bad("auto", "{ \"a\": 1, \"b\": 2 }\n", EBADMSG, unknown);
        bad("auto", "<html>,\n", EBADMSG, unknown);
        bad("auto", "once upon a time there was a page\n", EBADMSG, unknown);
        bad("auto", "\1\2\3", EBADMSG, unknown);
}

static void check_file_error(const char *path, int error, const char *message) {
        char *got = NULL, *expected;
        Trace *t;

        assert_int_equal(trace_read(path, TRACE_FORMAT_AUTO, NULL, &t, &got), -error);
        assert_true(asprintf(&expected, "%s%s", path, message) > 0);
        assert_string_equal(got, expected);
        free(got);
        free(expected);
}

/* The lowest descriptor that is free. */
static int free_fd(void) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        (void) close(fd);
        return fd;
}

/* A file that was opened is closed; standard input is somebody else's. */
static void test_descriptors(void **state) {
        _cleanup_free_ char *path = test_file(dir, "good", "5\n6\n");
        int next = free_fd(), fd;
        char *error = NULL;
        Trace *t;

        assert_int_equal(trace_read(path, TRACE_FORMAT_AUTO, NULL, &t, &error), 0);
        check_trace(t, OBJECTS(0, 1), NULL);
        assert_int_equal(free_fd(), next);

        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
        (void) close(fd);
        assert_int_equal(trace_read("-", TRACE_FORMAT_AUTO, NULL, &t, &error), 0);
        check_trace(t, OBJECTS(0, 1), NULL);
        assert_int_equal(free_fd(), next);
}

static void test_files(void **state) {
        _cleanup_free_ char *path = test_file(dir, "good", "5\n6\n"), *empty = test_file(dir, "empty", ""),
                        *pipe;
        char *error = NULL;
        Trace *t;
        pid_t pid;

        assert_int_equal(trace_read(path, TRACE_FORMAT_AUTO, NULL, &t, &error), 0);
        check_trace(t, OBJECTS(0, 1), NULL);

        check_file_error(empty, ENODATA, ": the file is empty");
        check_file_error("/nonexistent/trace", ENOENT, ": cannot be opened: No such file or directory");
        check_file_error(dir, EISDIR, ": cannot be read: Is a directory");

        /* what comes in pieces */
        assert_true(asprintf(&pipe, "%s/pipe", dir) > 0);
        assert_int_equal(mkfifo(pipe, 0600), 0);
        pid = fork();
        if (pid == 0) {
                FILE *f = fopen(pipe, "we");

                for (const char *s = "17\n4+2\n5"; f && *s; s++) {
                        fputc(*s, f);
                        fflush(f);
                        usleep(1000);
                }
                _exit(0);
        }
        assert_true(pid > 0);
        assert_int_equal(trace_read(pipe, TRACE_FORMAT_AUTO, NULL, &t, &error), 0);
        check_trace(t, OBJECTS(0, 1, 2, 2), NULL);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_compressed),
                cmocka_unit_test(test_large),
                cmocka_unit_test(test_detection),
                cmocka_unit_test(test_descriptors),
                cmocka_unit_test(test_files),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
