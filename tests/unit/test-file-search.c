/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= and CacheLevel=: what they may say, and which files that means. */

#include "test-util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/cache-files.h"
#include "daemon/files/search.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "some-files.h"

static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

/* ---- settings */

static void check(const char *key, const char *value, const char *expected) {
        _cleanup_free_ char *problem = NULL;
        int r = cache_files_check(key, value, &problem);

        assert_int_equal(r, expected ? -EINVAL : 0);
        if (expected && !strstr(problem, expected))
                fail_msg("%s=%s: no \"%s\" in \"%s\"", key, value, expected, problem);
}

static void test_values(void **state) {
        check("CacheFiles", "-1 /a /b/*.c 3 /[x]", NULL);
        check("X-CacheFiles", " ", NULL);
        check("CacheFiles", "/a", "'/a' is no priority, which is a number from -1 to 3");
        check("CacheFiles", "-2 /a", "'-2' is no priority");
        check("CacheFiles", "4 /a", "'4' is no priority");
        check("CacheFiles", "0", "a priority has no pattern behind it");
        check("CacheFiles", "0 1 /a", "a priority has no pattern behind it");
        check("CacheFiles", "0 /a 1", "a priority has no pattern behind it");
        check("CacheFiles", "0 a", "'a' is neither a priority nor an absolute path");
        check("CacheFiles", "0 /a/", "'/a/' is no plain path");
        check("CacheFiles", "0 /a//b", "is no plain path");
        check("CacheFiles", "0 /a/../b", "is no plain path");
        check("CacheFiles", "0 /.", "is no plain path");
        check("CacheLevel", "0 mru -1 lru", NULL);
        check("CacheLevel", "5 mru", "'5' is no level");
        check("CacheLevel", "0", "level 0 is to be 'lru' or 'mru'");
        check("CacheLevel", "0 fifo", "level 0 is to be 'lru' or 'mru', not 'fifo'");
        check("CachePolicy", "anything", NULL);
}

static void test_inherited(void **state) {
        _cleanup_policy_setting_ PolicySetting mine = {}, above = {};
        _cleanup_cache_files_ CacheFiles f = {}, copy = {};

        assert_int_equal(policy_setting_assign(&mine, "CacheFiles", "1 /a /b", "/x", 1), 0);
        assert_int_equal(policy_setting_assign(&mine, "CacheFiles", "2 /c", "/x", 2), 0);
        assert_int_equal(policy_setting_assign(&above, "CacheFiles", "3 /d", "/y", 1), 0);
        assert_int_equal(policy_setting_assign(&above, "CacheLevel", "1 mru 1 lru 3 mru", "/y", 2), 0);
        cache_files_make(&mine, &above, &f);
        assert_int_equal(f.patterns->len, 3);
        assert_string_equal(g_array_index(f.patterns, FilePattern, 1).pattern, "/b");
        assert_int_equal(g_array_index(f.patterns, FilePattern, 1).level, 1);
        assert_int_equal(g_array_index(f.patterns, FilePattern, 2).level, 2);
        assert_memory_equal(f.mru, ((int8_t[]) { -1, -1, 0, -1, 1 }), sizeof(f.mru));
        assert_false(cache_files_is_empty(&f));

        cache_files_copy(&f, &copy);
        assert_true(cache_files_equal(&f, &copy));
        copy.mru[0] = 0;
        assert_false(cache_files_equal(&f, &copy));

        /* Nothing is something, too. */
        assert_int_equal(policy_setting_assign(&mine, "CacheFiles", "", "/x", 3), 0);
        assert_int_equal(policy_setting_assign(&mine, "CacheLevel", "", "/x", 4), 0);
        cache_files_done(&f);
        cache_files_make(&mine, &above, &f);
        assert_true(cache_files_is_empty(&f));
}

/* ---- files */

/* "PRIORITY NAME, …" of what the patterns find, which are below the directory of the test. */
static char *found_in(uint64_t usec, const char *patterns, FileSearch *ret) {
        _cleanup_policy_setting_ PolicySetting s = {};
        _cleanup_cache_files_ CacheFiles f = {};
        g_autofree char *replaced = NULL;
        g_auto(GStrv) parts = g_strsplit(patterns, "@", -1);
        g_autoptr(GPtrArray) names = g_ptr_array_new_null_terminated(0, g_free, TRUE);
        FileSearch search = {};
        GHashTableIter it;
        gpointer p;
        char *text;

        replaced = g_strjoinv(dir, parts);
        assert_int_equal(policy_setting_assign(&s, "CacheFiles", replaced, "/x", 1), 0);
        cache_files_make(&s, NULL, &f);
        file_search(&f, &(const SearchLimits) { .usec = usec, .inotify_fd = -EBADF }, &search);

        g_hash_table_iter_init(&it, search.files);
        while (g_hash_table_iter_next(&it, NULL, &p))
                g_ptr_array_add(names, g_strdup_printf("%d %s", ((FoundFile *) p)->level,
                                                       startswith(((FoundFile *) p)->path, dir)));
        g_ptr_array_sort_values(names, (GCompareFunc) strcmp);
        text = names->len > 0 ? g_strjoinv(", ", (char **) names->pdata) : g_strdup("");

        if (ret)
                *ret = search;
        else
                file_search_done(&search);
        return text;
}

#define found(patterns, ret) found_in(3600 * USEC_PER_SEC, patterns, ret)
#define assert_found(patterns, expected)                                \
        do {                                                            \
                g_autofree char *_text = found(patterns, NULL);         \
                assert_string_equal(_text, expected);                   \
        } while (false)

static void test_search(void **state) {
        _cleanup_file_search_ FileSearch s = {};
        const SearchedDirectory *d;
        g_autofree char *text = NULL, *path = g_build_filename(dir, "f", NULL);

        make_files(dir);
        assert_found("1 @/f/a", "1 /f/a");
        assert_found("1 @/f/*", "1 /f/a, 1 /f/b, 1 /f/d e"); /* none that is hidden, none but files */
        assert_found("1 @/f/.*", "1 /f/.c");
        assert_found("1 @/*/a", "1 /f/a, 1 /g/a");
        assert_found("1 @/f/d?e", "1 /f/d e");
        assert_found("1 @/f/* 2 @/f/a 3 @/g/*", "1 /f/b, 1 /f/d e, 2 /f/a, 3 /g/a");
        assert_found("2 @/f/a 1 @/f/*", "1 /f/a, 1 /f/b, 1 /f/d e");
        assert_found("1 @/f/link 1 @/f/fifo 1 @/f/sub", "");
        assert_found("1 @/away/sub/a", "1 /away/sub/a");
        assert_found("1 @/nowhere/*/a", "");

        /* It is the administrator who says where it goes, not who may create links. */
        assert_found("1 @/away/s*/a", "1 /away/sub/a");
        assert_found("1 @/awa*/a 1 @/awa*/sub/a", "");
        assert_found("1 @/f*/dots/a 1 @/f/sub/.*/a 1 @/f/sub/.*/.*/g/a", "");

        text = found("1 @/f/[ab] 1 @/f/new/a 1 @/f/z", &s);
        d = g_hash_table_lookup(s.directories, path);
        assert_non_null(d);
        assert_true(searched_directory_has(d, "a") && searched_directory_has(d, "new") &&
                    searched_directory_has(d, "z"));
        assert_false(searched_directory_has(d, "c"));
        assert_false(searched_directory_has(g_hash_table_lookup(s.directories, "/"), "x"));
        assert_false(s.full);
}

static bool may_lack(const FileSearch *s, int level, const char *name) {
        g_autofree char *path = g_strconcat(dir, name, NULL);

        return file_search_may_lack(s, &(const FoundFile) { .level = level, .path = path });
}

static void test_many(void **state) {
        _cleanup_file_search_ FileSearch s = {}, late = {};
        g_autofree char *text = NULL, *with_others = NULL, *some = NULL;

        make_many(dir, 0, MANAGER_FILES_MAX + 1);
        text = found("1 @/many/*", &s);
        assert_true(s.full);
        assert_int_equal(s.error, 0);
        assert_int_equal(g_hash_table_size(s.files), MANAGER_FILES_MAX);
        assert_true(may_lack(&s, 1, "/many/x"));
        assert_false(may_lack(&s, 2, "/many/x"));
        assert_false(may_lack(&s, 1, "/many/x/y"));
        assert_false(may_lack(&s, 1, "/f/a"));

        /* They are not all there is. */
        make_files(dir);
        with_others = found("1 @/many/* 2 @/f/* 3 @/g/a", NULL);
        assert_non_null(strstr(with_others, "2 /f/a, 2 /f/b, 2 /f/d e, 3 /g/a"));

        some = found_in(0, "1 @/many/*", &late);
        assert_true(late.full);
        assert_in_range(g_hash_table_size(late.files), 1, 100);
}

/* What the last pattern means has its level, even if not all of it is found. */
static void test_last_counts(void **state) {
        g_autofree char *text = NULL;

        make_files(dir);
        make_many(dir, 0, MANAGER_FILES_MAX + 76);
        text = found("1 @/many/1* 1 @/f/a 3 @/many/*", NULL);
        assert_non_null(strstr(text, "1 /f/a, 3 /many/"));
        assert_null(strstr(text, "1 /many/"));
}

/* What is not found because something failed may be there; what is not there is not. */
static void test_error(void **state) {
        _cleanup_file_search_ FileSearch s = {}, none = {};
        g_autofree char *text = NULL, *nothing = NULL;
        struct rlimit before, few;
        int fd = open("/", O_PATH | O_CLOEXEC);

        make_files(dir);
        assert_true(fd >= 0);
        assert_int_equal(close(fd), 0);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = (struct rlimit) { (rlim_t) fd + 2, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        text = found("2 @/f/*", &s);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_string_equal(text, "");
        assert_int_equal(s.error, -EMFILE);
        assert_false(s.full);
        assert_true(may_lack(&s, 2, "/f/a"));

        nothing = found("2 @/none/* 2 @/f/a/b 2 @/f/z", &none);
        assert_int_equal(none.error, 0);
        assert_int_equal(none.partial->len, 0);
}

/* Others need some, too. */
static void test_watches(void **state) {
        _cleanup_policy_setting_ PolicySetting s = {};
        _cleanup_cache_files_ CacheFiles f = {};
        _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
        SearchLimits limits = { .usec = 3600 * USEC_PER_SEC, .inotify_fd = fd, .n_watches = 3 };
        g_autofree char *value = g_strdup_printf("1 %s/f/a", dir);
        FileSearch search;

        make_files(dir);
        assert_int_equal(policy_setting_assign(&s, "CacheFiles", value, "/x", 1), 0);
        cache_files_make(&s, NULL, &f);

        for (unsigned i = 0; i < 2; i++) { /* the root, /tmp, what is in that, and f */
                file_search(&f, &limits, &search);
                assert_int_equal(g_hash_table_size(search.files), 1);
                assert_true(search.unwatched == (i == 0));
                assert_false(search.full);
                file_search_done(&search);
                limits.n_watches = 10;
        }
}

/* The kernel's other word for a generation, where the file system has it. */
static void test_identify(void **state) {
        _cleanup_free_ char *path = test_file(dir, "a", "x");
        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC), readable = open(path, O_RDONLY | O_CLOEXEC),
                            directory = open(dir, O_PATH | O_CLOEXEC);
        FileMount mount = FILE_MOUNT_NONE;
        PolicyFile file, again;
        struct stat st;
        long generation = 0;

        assert_int_equal(file_identify(fd, &mount, &file), 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(file.ino, st.st_ino);
        if (ioctl(readable, FS_IOC_GETVERSION, &generation) >= 0)
                assert_int_equal(file.generation, (uint32_t) generation);
        assert_int_equal(file_identify(readable, &mount, &again), 0);
        assert_memory_equal(&file, &again, sizeof(file));
        assert_int_equal(file_identify(directory, &mount, &again), -EBADF);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_inherited),
                cmocka_unit_test_setup_teardown(test_search, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_last_counts, setup, teardown),
                cmocka_unit_test_setup_teardown(test_error, setup, teardown),
                cmocka_unit_test_setup_teardown(test_watches, setup, teardown),
                cmocka_unit_test_setup_teardown(test_identify, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
