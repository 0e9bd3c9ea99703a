/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files with recordings: what is written is read again; damage is noticed, and nothing beyond the bounds
 * taken. */

#include "test-util.h"

#include <fcntl.h>

#include "daemon/replay/replay-file.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"

#define NAME "a.service"
#define SIZE_MAX_OF_A_FILE (32U << 20)

typedef struct Directory {
        char *path;
        int fd;
} Directory;

static int setup(void **state) {
        Directory *d = calloc(1, sizeof(*d));

        d->path = test_dir_make();
        d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *state = d;
        return 0;
}

static int teardown(void **state) {
        Directory *d = *state;

        safe_close(d->fd);
        test_dir_remove(d->path);
        free(d);
        return 0;
}

static RecordedFile *add(Recording *r, const char *path, uint64_t n_pages) {
        RecordedFile *f = recorded_file_new();

        if (!r->files)
                r->files = g_ptr_array_new_with_free_func(recorded_file_free);
        f->path = strdup(path);
        f->size = n_pages * (uint64_t) sysconf(_SC_PAGESIZE);
        g_ptr_array_add(r->files, f);
        return f;
}

static void make(Recording *r) {
        RecordedFile *f = add(r, "/srv/line\nbreak \xff", 100);

        f->ino = 0x123456789abcdef;
        f->mtime_sec = -5;
        f->mtime_nsec = 999999999;
        recorded_file_add(f, 0, 3, 0);
        recorded_file_add(f, 90, 10, 0);
        recorded_file_add(add(r, "/b", 1), 0, 1, 0);
        r->recorded_at = 77;
}

static int load(Directory *d, Recording *ret) {
        return replay_file_load(d->fd, NAME, ret);
}

/* Saves it as it is; what comes of reading that. */
static int pass(Directory *d, const Recording *r) {
        _cleanup_recording_ Recording read = {};

        assert_int_equal(replay_file_save(d->fd, NAME, r), 0);
        return load(d, &read);
}

static void test_round(void **state) {
        _cleanup_recording_ Recording r = {}, read = {};
        const RecordedFile *f;

        make(&r);
        assert_int_equal(load(*state, &read), -ENOENT);
        assert_int_equal(replay_file_save(((Directory *) *state)->fd, NAME, &r), 0);
        assert_int_equal(load(*state, &read), 0);
        assert_int_equal(read.recorded_at, 77);
        assert_int_equal(read.files->len, 2);
        assert_int_equal(recording_summarize(&read).n_pages, 14);
        f = read.files->pdata[0];
        assert_string_equal(f->path, "/srv/line\nbreak \xff");
        assert_int_equal(f->ino, 0x123456789abcdef);
        assert_int_equal(f->size, 100 * sysconf(_SC_PAGESIZE));
        assert_int_equal(f->mtime_sec, -5);
        assert_int_equal(f->mtime_nsec, 999999999);
        assert_int_equal(f->ranges->len, 2);
        assert_int_equal(g_array_index(f->ranges, RecordedRange, 1).first, 90);
        assert_int_equal(g_array_index(f->ranges, RecordedRange, 1).n, 10);
        assert_string_equal(((const RecordedFile *) read.files->pdata[1])->path, "/b");
}

/* Each byte, and each length. */
static void test_damaged(void **state) {
        _cleanup_recording_ Recording r = {};
        _cleanup_free_ char *data = NULL;
        Directory *d = *state;
        size_t size;

        make(&r);
        assert_int_equal(pass(d, &r), 0);
        assert_int_equal(read_full_file_at(d->fd, NAME, SIZE_MAX_OF_A_FILE, &data, &size), 0);

        for (size_t i = 0; i < size; i++) {
                _cleanup_recording_ Recording read = {};
                int error;

                data[i] ^= 0x10;
                error = replay_file_parse(data, size, &read);
                data[i] ^= 0x10;
                assert_int_equal(error, i >= 8 && i < 16 ? -EPROTONOSUPPORT : -EBADMSG);
                assert_int_equal(replay_file_parse(data, i, &read), -EBADMSG);
                assert_null(read.files);
        }
}

/* The checksum is right, and what is in there is not. */
static void test_nonsense(void **state) {
        static const struct {
                const char *path;
                uint64_t first, n, first2, n2;
        } cases[] = {
                { "relative", 0, 1, 3, 1 },
                { "", 0, 1, 3, 1 },
                { "/no-pages", 0, 1, 3, 0 },
                { "/behind-the-end", 0, 1, 100, 1 },
                { "/too-many", 0, 1, 3, 98 },
                { "/overflow", 0, 1, 3, UINT64_MAX },
                { "/backwards", 5, 1, 3, 1 },
                { "/overlap", 0, 4, 3, 1 },
                { "/touch", 0, 3, 3, 1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_recording_ Recording r = {};
                RecordedFile *f = add(&r, cases[i].path, 100);

                g_array_append_val(f->ranges, ((RecordedRange) { cases[i].first, cases[i].n }));
                g_array_append_val(f->ranges, ((RecordedRange) { cases[i].first2, cases[i].n2 }));
                assert_int_equal(pass(*state, &r), -EBADMSG);
        }
}

static void test_bounds(void **state) {
        g_autofree char *path = g_strnfill(4096, 'a');
        _cleanup_recording_ Recording many = {}, large = {}, empty = {}, deep = {};

        for (unsigned i = 0; i < RECORDING_FILES_MAX; i++)
                recorded_file_add(add(&many, "/a", 1), 0, 1, 0);
        assert_int_equal(pass(*state, &many), 0);
        recorded_file_add(add(&many, "/a", 1), 0, 1, 0);
        assert_int_equal(pass(*state, &many), -EBADMSG);

        recorded_file_add(add(&large, "/a", UINT32_MAX), 0, RECORDING_PAGES_MAX, 0);
        assert_int_equal(pass(*state, &large), 0);
        recorded_file_add(add(&large, "/b", 1), 0, 1, 0);
        assert_int_equal(pass(*state, &large), -EBADMSG);

        (void) add(&empty, "/a", 1);
        assert_int_equal(pass(*state, &empty), -EBADMSG);

        path[0] = '/';
        recorded_file_add(add(&deep, path, 1), 0, 1, 0);
        assert_int_equal(pass(*state, &deep), -EBADMSG);
        ((RecordedFile *) deep.files->pdata[0])->path[4095] = 0;
        assert_int_equal(pass(*state, &deep), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_round, setup, teardown),
                cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
