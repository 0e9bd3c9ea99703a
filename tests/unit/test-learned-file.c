/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files with what policies have learned: taken as a whole or not at all, whatever happens to writer or
 * disk. */

#include <fcntl.h>
#include <glib.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/kept-file.h"
#include "shared/learned-file.h"
#include "test-util.h"

#define LABEL "lfu@1"
#define NAME "a.service"
#define N_KILLS 200U
/* of the entries below, behind what says what they are */
#define FILE_SIZE (104 + 4096 * 64)

static const LearnedShape shape = {
        .type = BPF_MAP_TYPE_ARRAY,
        .key_size = 4,
        .value_size = 60,
        .max_entries = 4096,
};

/* All values of one file are the same: nothing is of two files. */
static void fill(Learned *l, uint8_t value) {
        assert_int_equal(learned_init(l, LABEL, &shape), 0);
        for (; l->n_entries < shape.max_entries; l->n_entries++) {
                uint8_t *e = l->entries + l->n_entries * learned_entry_size(&shape);

                memcpy(e, &l->n_entries, sizeof(l->n_entries));
                memset(e + shape.key_size, value, shape.value_size);
        }
}

static int save(int dir, uint8_t value) {
        _cleanup_learned_ Learned l = {};

        fill(&l, value);
        return learned_save(dir, NAME, &l);
}

/* Returns the value of a whole file, or an error. */
static int load(int dir) {
        _cleanup_learned_ Learned l = {};
        int r, value;

        r = learned_load(dir, NAME, LABEL, &l);
        if (r < 0)
                return r;

        assert_int_equal(l.n_entries, shape.max_entries);
        assert_true(learned_shape_fits(&l.shape, &shape));
        value = l.entries[shape.key_size];
        for (uint32_t i = 0; i < l.n_entries; i++) {
                const uint8_t *e = l.entries + i * learned_entry_size(&shape);

                assert_memory_equal(e, &i, sizeof(i));
                assert_int_equal(e[shape.key_size], value);
                assert_int_equal(e[learned_entry_size(&shape) - 1], value);
        }
        return value;
}

typedef struct Directory {
        char *path;
        int fd;
} Directory;

static int setup(void **state) {
        Directory *d = calloc(1, sizeof(*d));

        d->path = test_dir_make();
        d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(d->fd >= 0);
        *state = d;
        return 0;
}

static int teardown(void **state) {
        Directory *d = *state;

        close(d->fd);
        test_dir_remove(d->path);
        free(d);
        return 0;
}

static unsigned count_files(const Directory *d) {
        GDir *g = g_dir_open(d->path, 0, NULL);
        unsigned n = 0;

        assert_non_null(g);
        while (g_dir_read_name(g))
                n++;
        g_dir_close(g);
        return n;
}

static char *read_all(const Directory *d, gsize *ret_size) {
        g_autofree char *path = g_build_filename(d->path, NAME, NULL);
        char *data;

        assert_true(g_file_get_contents(path, &data, ret_size, NULL));
        return data;
}

static void test_round(void **state) {
        Directory *d = *state;
        uint8_t a[LEARNED_SUM_SIZE], b[LEARNED_SUM_SIZE];
        _cleanup_learned_ Learned x = {}, y = {};
        struct stat st;

        assert_int_equal(load(d->fd), -ENOENT);
        assert_int_equal(save(d->fd, 7), 0);
        assert_int_equal(load(d->fd), 7);
        assert_int_equal(save(d->fd, 8), 0);
        assert_int_equal(load(d->fd), 8);
        assert_int_equal(count_files(d), 1);
        assert_int_equal(fstatat(d->fd, NAME, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);

        fill(&x, 1);
        fill(&y, 1);
        learned_sum(&x, a);
        learned_sum(&y, b);
        assert_memory_equal(a, b, sizeof(a));
        y.entries[9]++;
        learned_sum(&y, b);
        assert_memory_not_equal(a, b, sizeof(a));

        assert_int_equal(kept_remove(d->fd, NAME), 0);
        assert_int_equal(kept_remove(d->fd, NAME), 0);
        assert_int_equal(count_files(d), 0);
}

/* Each byte counts, and so does each missing one, and each one too many. */
static void test_damaged(void **state) {
        Directory *d = *state;
        g_autofree char *data = NULL;
        _cleanup_learned_ Learned l = {};
        gsize size;

        assert_int_equal(save(d->fd, 7), 0);
        data = read_all(d, &size);
        assert_int_equal(learned_parse(data, size, LABEL, &l), 0);
        learned_done(&l);

        for (gsize i = 0; i < size; i += i < 128 ? 1 : 4093) {
                data[i] ^= 0x10;
                assert_true(learned_parse(data, size, LABEL, &l) < 0);
                data[i] ^= 0x10;
        }
        for (gsize n = 0; n < size; n += n < 128 ? 1 : 4093)
                assert_int_equal(learned_parse(data, n, LABEL, &l), -EBADMSG);

        data = g_realloc(data, size + 1);
        assert_int_equal(learned_parse(data, size + 1, LABEL, &l), -EBADMSG);
        assert_int_equal(learned_parse(data, size, LABEL, &l), 0);

        /* not a file at all */
        assert_int_equal(kept_remove(d->fd, NAME), 0);
        assert_int_equal(symlinkat("/etc/passwd", d->fd, NAME), 0);
        assert_int_equal(load(d->fd), -EBADMSG);
        assert_int_equal(kept_remove(d->fd, NAME), 0);
        assert_int_equal(mkfifoat(d->fd, NAME, 0600), 0);
        assert_int_equal(load(d->fd), -EBADMSG);
}

/* Correct, but not what was asked for. */
static void test_foreign(void **state) {
        Directory *d = *state;
        g_autofree char *data = NULL;
        _cleanup_learned_ Learned l = {};
        gsize size;

        assert_int_equal(save(d->fd, 7), 0);
        data = read_all(d, &size);
        assert_int_equal(learned_parse(data, size, "lfu@2", &l), -EMEDIUMTYPE);
        assert_int_equal(learned_parse(data, size, "", &l), -EMEDIUMTYPE);

        data[12]++; /* the version */
        learned_seal(data, size);
        assert_int_equal(learned_parse(data, size, LABEL, &l), -EPROTONOSUPPORT);
        data[12] -= 2;
        learned_seal(data, size);
        assert_int_equal(learned_parse(data, size, LABEL, &l), -EPROTONOSUPPORT);
        data[12]++;

        data[64]++; /* of more entries than there are */
        learned_seal(data, size);
        assert_int_equal(learned_parse(data, size, LABEL, &l), -EBADMSG);
        assert_string_equal(learned_strerror(-EBADMSG), "is damaged");
}

static void test_bounds(void **state) {
        _cleanup_learned_ Learned l = {};
        LearnedShape s = shape, other = shape;

        s.value_size = 1020;
        s.max_entries = 16384;
        assert_int_equal(learned_init(&l, LABEL, &s), 0);
        learned_done(&l);
        s.max_entries++;
        assert_int_equal(learned_init(&l, LABEL, &s), -E2BIG);
        s.max_entries = 1;
        s.value_size = UINT32_MAX;
        assert_int_equal(learned_init(&l, LABEL, &s), -E2BIG);
        assert_int_equal(learned_init(&l, "a label that is longer than 31 bytes", &shape), -ENAMETOOLONG);

        other.max_entries /= 2;
        assert_false(learned_shape_fits(&shape, &other));
        other.type = BPF_MAP_TYPE_LRU_HASH;
        assert_false(learned_shape_fits(&shape, &other));
        s = other;
        s.max_entries *= 4;
        assert_true(learned_shape_fits(&s, &other));
}

static void test_names(void **state) {
        g_autofree char *longest = g_strnfill(255, 'x'), *longer = g_strnfill(256, 'x');
        static const struct {
                const char *unit, *file;
        } names[] = {
                { "a.slice", "a.slice" },
                { "a-b_c@d:1.service", "a-b_c@d:1.service" },
                { "dev-\\x2d.service", "dev-\\x2d.service" },
                { "../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd" },
                { "..", "%2E." },
                { ".new-a.slice", "%2Enew-a.slice" },
                { "a b%\n", "a%20b%25%0A" },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                g_autofree char *name = kept_file_name(names[i].unit);

                assert_string_equal(name, names[i].file);
        }

        for (const char *unit = longest; unit; unit = unit == longest ? longer : NULL) {
                g_autofree char *name = kept_file_name(unit);

                assert_int_equal(strlen(name), 64);
        }
}

/* ---- what happens to writers */

/* The disk is full at each size: the old file stays, and nothing else. */
static void test_full_disk(void **state) {
        Directory *d = *state;

        assert_int_equal(save(d->fd, 7), 0);
        for (rlim_t size = 0; size < 300000; size += 16384 - 100) {
                pid_t pid = fork();
                int status;

                if (pid == 0) {
                        signal(SIGXFSZ, SIG_IGN);
                        if (setrlimit(RLIMIT_FSIZE, &(struct rlimit) { size, size }) < 0)
                                _exit(2);
                        _exit(save(d->fd, 8) == -EFBIG ? 0 : 1);
                }
                assert_true(pid > 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, size < FILE_SIZE ? 0 : 1 << 8);
                assert_int_equal(load(d->fd), size < FILE_SIZE ? 7 : 8);
                assert_int_equal(count_files(d), 1);
        }
}

/* A writer is killed at any moment: there is a whole file, the old one or a new one, and the next writer
 * gets on. */
static void test_kills(void **state) {
        Directory *d = *state;
        unsigned n_left = 0;
        int last = 0;

        assert_int_equal(save(d->fd, 0), 0);
        for (unsigned i = 0; i < N_KILLS; i++) {
                pid_t pid = fork();
                int value;

                if (pid == 0)
                        for (uint8_t n = (uint8_t) last;;)
                                if (save(d->fd, ++n) < 0)
                                        _exit(1);
                assert_true(pid > 0);
                assert_int_equal(usleep(500 + i * 97 % 20000), 0);
                assert_int_equal(kill(pid, SIGKILL), 0);
                assert_int_equal(waitpid(pid, NULL, 0), pid);

                value = load(d->fd);
                if (value < 0)
                        fail_msg("kill %u: %s", i, learned_strerror(value));
                last = value;
                n_left += count_files(d) > 1;
        }
        print_message("# %u of %u kills left half of a new file\n", n_left, N_KILLS);

        assert_int_equal(save(d->fd, 9), 0);
        assert_int_equal(kept_clean(d->fd), 0);
        assert_int_equal(count_files(d), 1);
        assert_int_equal(load(d->fd), 9);
}

/* Files of units that are gone make room: those that were not written for the longest time. */
static void test_limit(void **state) {
        Directory *d = *state;
        g_autofree char *path = g_build_filename(d->path, NAME, NULL);
        struct stat st;

        for (unsigned i = 0; i < 4; i++) {
                g_autofree char *name = g_strdup_printf("gone-%u", i);
                const struct timespec times[] = { { .tv_sec = 1000 + i }, { .tv_sec = 1000 + i } };

                assert_int_equal(save(d->fd, 1), 0);
                assert_int_equal(renameat(d->fd, NAME, d->fd, name), 0);
                assert_int_equal(utimensat(d->fd, name, times, 0), 0);
        }
        assert_int_equal(save(d->fd, 5), 0);
        assert_int_equal(stat(path, &st), 0);

        /* by what they take of the disk */
        assert_true(st.st_blocks > 0);
        assert_int_equal(kept_limit(d->fd, 5, (uint64_t) st.st_blocks * 512 * 5), 0);
        assert_int_equal(count_files(d), 5);
        assert_int_equal(kept_limit(d->fd, 4, UINT64_MAX), 0);
        assert_int_equal(count_files(d), 4);
        assert_int_equal(kept_limit(d->fd, 5, (uint64_t) st.st_blocks * 512 * 3 - 1), 0);
        assert_int_equal(count_files(d), 2);
        assert_int_equal(load(d->fd), 5);
        assert_int_equal(faccessat(d->fd, "gone-3", F_OK, 0), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
                cmocka_unit_test_setup_teardown(test_round, setup, teardown),
                cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
                cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_names),
                cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
                cmocka_unit_test_setup_teardown(test_kills, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
