/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a service used becomes a recording: order, bounds, where the files are; and how one is read ahead. */

#include "test-util.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/replay/locate.h"
#include "daemon/replay/read.h"
#include "shared/cleanup.h"

#define DEVICE (8U << 20 | 17U)

static void uses_init(Uses *u) {
        *u = (Uses) {
                .files = g_array_new(FALSE, FALSE, sizeof(UsedFile)),
                .chunks = g_array_new(FALSE, FALSE, sizeof(UsedChunk)),
        };
}

/* names: as the kernel part has them, the last NUL left out; NULL: the path is not whole */
static void add_file(Uses *u, uint32_t dev, uint64_t ino, const char *names, size_t size) {
        UsedFile f = { .key = { .unit = 1, .dev = dev, .ino = ino } };

        if (names) {
                memcpy(f.value.names, names, size + 1);
                f.value.size = (uint32_t) size + 1;
                f.value.whole = true;
        }
        g_array_append_val(u->files, f);
}

#define ADD_FILE(u, dev, ino, names) add_file(u, dev, ino, names, STRLEN(names))

static void add_chunk(Uses *u, uint32_t dev, uint64_t ino, uint32_t chunk, uint64_t pages, uint64_t nsec) {
        UsedChunk c = {
                .key = { .unit = 1, .dev = dev, .ino = ino, .chunk = chunk },
                .value = { .pages = pages, .nsec = nsec },
        };

        g_array_append_val(u->chunks, c);
}

static RecordedFile *get(const Recording *r, guint i) {
        assert_true(i < r->files->len);
        return r->files->pdata[i];
}

static void assert_ranges(const RecordedFile *f, const char *expected) {
        g_autoptr(GString) s = g_string_new(NULL);

        for (guint i = 0; i < f->ranges->len; i++) {
                const RecordedRange *r = &g_array_index(f->ranges, RecordedRange, i);

                g_string_append_printf(s, "%s%u+%u", i > 0 ? " " : "", (unsigned) r->first, (unsigned) r->n);
        }
        assert_string_equal(s->str, expected);
}

/* ---- names */

static void test_names(void **state) {
        static const struct {
                const char *names;
                size_t size;
                const char *path;
        } cases[] = {
                { "a\0", 2, "/a" },
                { "c\0b\0a\0", 6, "/a/b/c" },
                { "line\nbreak\0a\0", 13, "/a/line\nbreak" },
                { "", 0, NULL },
                { "a", 1, NULL },
                { "a\0\0", 3, NULL },
                { "a/b\0", 4, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *path = recording_join_names(cases[i].names, cases[i].size);

                if (cases[i].path)
                        assert_string_equal(path, cases[i].path);
                else
                        assert_null(path);
        }
}

/* ---- from what was used */

static void test_make(void **state) {
        _cleanup_recording_ Recording r = {};
        _cleanup_uses_ Uses u;

        uses_init(&u);
        ADD_FILE(&u, DEVICE, 7, "late\0lib");
        ADD_FILE(&u, DEVICE, 5, "early\0bin");
        ADD_FILE(&u, DEVICE + 1, 5, "other");
        add_file(&u, DEVICE, 9, NULL, 0);
        add_chunk(&u, DEVICE, 7, 0, 1, 300);
        add_chunk(&u, DEVICE, 9, 0, 1, 1);          /* its path is not known */
        add_chunk(&u, DEVICE, 11, 0, 1, 1);         /* nor is anything of this one */
        add_chunk(&u, DEVICE, 5, 2, 0x3, 900);
        add_chunk(&u, DEVICE, 5, 0, 0xf0000000000000f1, 100);
        add_chunk(&u, DEVICE, 5, 1, 1ULL << 63, 200);
        add_chunk(&u, DEVICE + 1, 5, 0, 0x11, 200); /* the same number of another file system; a small gap */

        recording_make(&u, &r);
        assert_int_equal(r.files->len, 3);
        assert_string_equal(get(&r, 0)->path, "/bin/early");
        assert_int_equal(get(&r, 0)->ino, 5);
        assert_int_equal(get(&r, 0)->device, DEVICE);
        assert_ranges(get(&r, 0), "0+8 60+4 127+3");
        assert_string_equal(get(&r, 1)->path, "/other");
        assert_ranges(get(&r, 1), "0+5");
        assert_string_equal(get(&r, 2)->path, "/lib/late");
        assert_int_equal(recording_summarize(&r).n_pages, 15 + 5 + 1);
        assert_true(r.recorded_at > 0);
}

/* Files of two subvolumes, which have the same number. */
static void test_subvolumes(void **state) {
        _cleanup_recording_ Recording r = {};
        _cleanup_uses_ Uses u;

        uses_init(&u);
        ADD_FILE(&u, DEVICE, 257, "tool\0@");
        ADD_FILE(&u, DEVICE, 257, "data\0@home");
        g_array_index(u.files, UsedFile, 1).key.generation = 9;
        add_chunk(&u, DEVICE, 257, 0, 0x1, 1);
        add_chunk(&u, DEVICE, 257, 0, 0xf0, 2);
        g_array_index(u.chunks, UsedChunk, 1).key.generation = 9;

        recording_make(&u, &r);
        assert_int_equal(r.files->len, 2);
        assert_string_equal(get(&r, 0)->path, "/@/tool");
        assert_ranges(get(&r, 0), "0+1");
        assert_string_equal(get(&r, 1)->path, "/@home/data");
        assert_ranges(get(&r, 1), "4+4");
}

static void test_gaps(void **state) {
        RecordedFile *f = recorded_file_new();

        recorded_file_add(f, 10, 2, 3);
        recorded_file_add(f, 15, 1, 3); /* three pages between */
        recorded_file_add(f, 20, 1, 3); /* four */
        assert_ranges(f, "10+6 20+1");
        recorded_file_free(f);
}

/* The last ones are left out. */
static void test_bounds(void **state) {
        const uint32_t n_chunks = RECORDING_PAGES_MAX / USES_CHUNK_PAGES;
        _cleanup_recording_ Recording r = {};
        _cleanup_uses_ Uses u;

        uses_init(&u);
        ADD_FILE(&u, DEVICE, 1, "large");
        ADD_FILE(&u, DEVICE, 2, "more");
        for (uint32_t i = 0; i < n_chunks; i++)
                add_chunk(&u, DEVICE, 1, i, UINT64_MAX, i + 1);
        add_chunk(&u, DEVICE, 2, 0, 1, n_chunks + 1);
        recording_make(&u, &r);
        assert_int_equal(r.files->len, 1);
        assert_string_equal(get(&r, 0)->path, "/large");
        assert_int_equal(recording_summarize(&r).n_pages, RECORDING_PAGES_MAX);
}

/* With what lies between, pages may be more than were counted: a file is cut, not left out. */
static void test_cut(void **state) {
        const uint32_t n_chunks = RECORDING_PAGES_MAX / USES_CHUNK_PAGES;
        _cleanup_recording_ Recording r = {};
        _cleanup_uses_ Uses u;

        uses_init(&u);
        ADD_FILE(&u, DEVICE, 1, "small");
        ADD_FILE(&u, DEVICE, 2, "large");
        ADD_FILE(&u, DEVICE, 3, "last");
        add_chunk(&u, DEVICE, 1, 0, 0x7, 1);
        for (uint32_t i = 0; i <= n_chunks; i++)
                add_chunk(&u, DEVICE, 2, i, 0x1111111111111111, i + 2);
        add_chunk(&u, DEVICE, 3, 0, 1, n_chunks + 3);
        recording_make(&u, &r);
        assert_int_equal(r.files->len, 2);
        assert_string_equal(get(&r, 1)->path, "/large");
        assert_int_equal(recording_summarize(&r).n_pages, RECORDING_PAGES_MAX);
}

/* ---- where files are */

static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

#define DIR_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Writes a file of so many pages. */
static char *make_file(const char *name, size_t n_pages) {
        size_t size = n_pages * (size_t) sysconf(_SC_PAGESIZE);
        g_autofree char *content = g_malloc(size);

        memset(content, 'x', size);
        return test_file_write(dir, name, content, size);
}

/* A file as it was used: a path in its file system. */
static RecordedFile *used_file(Recording *r, const char *path_in_fs, const char *path, uint32_t device,
                               uint64_t first, uint64_t n) {
        RecordedFile *f = recorded_file_new();
        struct stat st;

        if (!r->files)
                r->files = g_ptr_array_new_with_free_func(recorded_file_free);
        assert_int_equal(lstat(path, &st), 0);
        f->path = strdup(path_in_fs);
        f->ino = st.st_ino;
        f->device = device;
        recorded_file_add(f, first, n, 0);
        g_ptr_array_add(r->files, f);
        return f;
}

/* What is mounted where the files are; returns the file that says so. */
static char *mount_as(const char *type, const char *root) {
        g_autofree char *text = g_strdup_printf("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                                "21 20 8:17 %s %s rw - %s x rw\n", root, dir, type);

        return test_file(dir, "mountinfo", text);
}

static void locate(Recording *r, const char *type, const char *root) {
        _cleanup_free_ char *mounts = mount_as(type, root);

        assert_int_equal(recording_locate(r, mounts), 0);
}

static void test_locate(void **state) {
        _cleanup_free_ char *a = make_file("data/a", 4), *b = make_file("data/line\nbreak", 1),
                            *moved = make_file("data/moved", 1);
        g_autofree char *fifo = g_build_filename(dir, "data/fifo", NULL),
                        *link = g_build_filename(dir, "link", NULL);
        _cleanup_recording_ Recording r = {};
        struct stat st;

        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(symlink("data", link), 0);
        used_file(&r, "/vol/data/a", a, DEVICE, 2, 9);               /* it is shorter now */
        used_file(&r, "/vol/data/line\nbreak", b, DEVICE, 0, 1);
        used_file(&r, "/vol/link/a", a, DEVICE, 0, 1);               /* by a symbolic link */
        used_file(&r, "/vol/data/fifo", fifo, DEVICE, 0, 1);
        used_file(&r, "/vol/data/moved", moved, DEVICE, 0, 1)->ino++; /* another file by now */
        used_file(&r, "/vol/data/gone", moved, DEVICE, 0, 1);
        used_file(&r, "/elsewhere/a", a, DEVICE, 0, 1);              /* not in what is mounted */
        used_file(&r, "/volume/a", a, DEVICE, 0, 1);                 /* only the name begins so */
        used_file(&r, "/vol/data/a", a, DEVICE + 1, 0, 1);           /* of another file system */
        used_file(&r, "/vol/data/a", a, DEVICE, 4, 1);               /* no longer there */

        locate(&r, "ext4", "/vol");
        assert_int_equal(r.files->len, 2);
        assert_string_equal(get(&r, 0)->path, a);
        assert_ranges(get(&r, 0), "2+2");
        assert_int_equal(stat(a, &st), 0);
        assert_int_equal(get(&r, 0)->size, st.st_size);
        assert_int_equal(get(&r, 0)->mtime_sec, st.st_mtim.tv_sec);
        assert_int_equal(get(&r, 0)->mtime_nsec, st.st_mtim.tv_nsec);
        assert_string_equal(get(&r, 1)->path, b);
}

/* The number of the device is that of the whole file system: files of a subvolume have another one. */
static void test_locate_subvolume(void **state) {
        _cleanup_free_ char *a = make_file("a", 1), *mounts = NULL;
        g_autofree char *text = g_strdup_printf("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                                "21 20 0:38 /@data %s rw - btrfs /dev/sdb rw\n", dir);
        _cleanup_recording_ Recording r = {};

        used_file(&r, "/@data/a", a, /* device= */ 38, 0, 1);
        mounts = test_file(dir, "mountinfo", text);
        assert_int_equal(recording_locate(&r, mounts), 0);
        assert_int_equal(r.files->len, 1);
        assert_string_equal(get(&r, 0)->path, a);
        assert_int_equal(recording_count_current(&r, mounts), 1);
}

/* ---- reading ahead */

/* At the first look, and at all others. */
static uint64_t n_looks, rooms[2];

static uint64_t look(void *userdata) {
        return rooms[n_looks++ > 0];
}

static void set_rooms(uint64_t first, uint64_t then) {
        n_looks = 0;
        rooms[0] = first;
        rooms[1] = then;
}

/* A server that does not answer would hang who looks at it. */
static void test_may_hang(void **state) {
        static const char *const types[] = { "nfs4", "cifs", "fuse", "fuse.sshfs", "fuseblk", "autofs" };

        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                _cleanup_free_ char *a = make_file("a", 1), *mounts = NULL;
                _cleanup_recording_ Recording r = {}, before = {};
                ReplayCounts n;

                used_file(&r, "/a", a, DEVICE, 0, 1);
                locate(&r, types[i], "/");
                assert_int_equal(r.files->len, 0);

                /* since it was recorded */
                used_file(&before, "/a", a, DEVICE, 0, 1);
                locate(&before, "ext4", "/");
                assert_int_equal(before.files->len, 1);
                mounts = mount_as(types[i], "/");
                set_rooms(UINT64_MAX, UINT64_MAX);
                assert_int_equal(recording_read(&before, mounts, look, NULL, &n), 0);
                assert_int_equal(n.n_passed_over, 1);
                assert_int_equal(recording_count_current(&before, mounts), 0);
        }
}

/* A directory of the path has become a link to what may hang: nobody is to look there. */
static void test_link_to_hang(void **state) {
        _cleanup_free_ char *a = make_file("fuse/a", 1), *mountinfo = NULL;
        g_autofree char *text = g_strdup_printf("21 20 8:17 / / rw - ext4 x rw\n"
                                                "22 21 0:99 / %s/fuse rw - fuse.sshfs x rw\n", dir),
                        *link = g_build_filename(dir, "app", NULL),
                        *path = g_build_filename(link, "a", NULL);
        struct libmnt_table *table;
        struct stat st = {};

        mountinfo = test_file(dir, "mountinfo2", text);
        assert_int_equal(symlink("fuse", link), 0);
        assert_int_equal(mounts_read(mountinfo, &table), 0);
        assert_int_equal(recorded_path_open(table, a, &st), -EXDEV);
        assert_int_equal(st.st_ino, 0);
        assert_int_equal(recorded_path_open(table, path, &st), -ENOTDIR);
        assert_int_equal(st.st_ino, 0); /* it was not looked at */
        mnt_unref_table(table);
}

static void test_read(void **state) {
        _cleanup_free_ char *a = make_file("a", 40), *b = make_file("b", 2), *c = make_file("c", 1),
                            *d = make_file("d", 1), *mounts = mount_as("ext4", "/");
        g_autofree char *sub = g_build_filename(dir, "sub", NULL);
        _cleanup_recording_ Recording r = {};
        struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1 } };
        ReplayCounts n;

        recorded_file_add(used_file(&r, "/a", a, DEVICE, 0, 3), 4, 34, 0);
        used_file(&r, "/b", b, DEVICE, 1, 1);
        used_file(&r, "/c", c, DEVICE, 0, 1);
        used_file(&r, "/d", d, DEVICE, 0, 1);
        locate(&r, "ext4", "/");
        assert_int_equal(r.files->len, 4);

        set_rooms(UINT64_MAX, UINT64_MAX);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_int_equal(n.n_files, 4);
        assert_int_equal(n.n_pages, 37 + 3);
        assert_int_equal(n.n_passed_over, 0);
        assert_false(n.full);

        /* written, replaced by a FIFO, gone */
        assert_int_equal(utimensat(AT_FDCWD, b, times, 0), 0);
        assert_int_equal(unlink(c), 0);
        assert_int_equal(mkfifo(c, 0600), 0);
        assert_int_equal(unlink(d), 0);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_int_equal(n.n_files, 1);
        assert_int_equal(n.n_passed_over, 3);

        /* the same file, but its directory is a symbolic link now */
        free(get(&r, 0)->path);
        get(&r, 0)->path = g_build_filename(sub, "a", NULL);
        assert_int_equal(symlink(".", sub), 0);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_int_equal(n.n_files, 0);
        assert_int_equal(n.n_passed_over, 4);
}

/* Others have half of the room. */
static void test_room(void **state) {
        const uint64_t n_pages = (8U << 20) / (uint64_t) sysconf(_SC_PAGESIZE);
        _cleanup_free_ char *a = make_file("a", n_pages), *mounts = mount_as("ext4", "/");
        _cleanup_recording_ Recording r = {};
        ReplayCounts n;

        used_file(&r, "/a", a, DEVICE, 0, n_pages);
        locate(&r, "ext4", "/");

        set_rooms(0, 0);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_true(n.full);
        assert_int_equal(n.n_pages, 0);

        set_rooms(32U << 20, 32U << 20);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_int_equal(n.n_pages, n_pages);
        assert_false(n.full);

        /* there was no more to begin with */
        set_rooms(8U << 20, 8U << 20);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_true(n.full);
        assert_int_equal(n.n_pages, n_pages / 2);
        assert_int_equal(n.n_files, 1);

        /* others have the rest */
        set_rooms(32U << 20, 17U << 20);
        assert_int_equal(recording_read(&r, mounts, look, NULL, &n), 0);
        assert_true(n.full);
        assert_int_equal(n.n_pages, n_pages / 8);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_make),
                cmocka_unit_test(test_subvolumes),
                cmocka_unit_test(test_gaps),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_cut),
                DIR_TEST(test_locate),
                DIR_TEST(test_locate_subvolume),
                DIR_TEST(test_may_hang),
                DIR_TEST(test_read),
                DIR_TEST(test_room),
                DIR_TEST(test_link_to_hang),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
