/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= and CacheLevel=: what they may say, which files that means, and what policies are told of it,
 * on a fake kernel, see reconcile-fixture.h. */

#include "reconcile-fixture.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/files/search.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

static char *dir, *cgroups;

/* The control groups are directories; "1/a.service" is below that of the unit with the id 1. */
static uint64_t make_directory(const char *name) {
        g_autofree char *path = g_build_filename(cgroups, name, NULL);
        struct stat st;

        assert_int_equal(g_mkdir_with_parents(path, 0700), 0);
        assert_int_equal(stat(path, &st), 0);
        return st.st_ino;
}

static void use_directories(void) {
        fixture->manager->paths.kernel.cgroup = cgroups;
}

static int setup(void **state) {
        dir = test_dir_make();
        cgroups = g_build_filename(dir, "cgroup", NULL);
        (void) fixture_setup(state);
        use_directories();
        return 0;
}

static int teardown(void **state) {
        (void) fixture_teardown(state);
        test_dir_remove(dir);
        g_free(cgroups);
        return 0;
}

#define FILES_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
static char *found(const char *patterns, FileSearch *ret) {
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
        file_search(&f, &search);

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

#define assert_found(patterns, expected)                                \
        do {                                                            \
                g_autofree char *_text = found(patterns, NULL);         \
                assert_string_equal(_text, expected);                   \
        } while (false)

static void make_files(void) {
        static const char *const names[] = { "f/a", "f/b", "f/.c", "f/d e", "f/sub/a", "g/a" };
        g_autofree char *link = g_build_filename(dir, "f/link", NULL),
                        *fifo = g_build_filename(dir, "f/fifo", NULL),
                        *away = g_build_filename(dir, "away", NULL);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                free(test_file(dir, names[i], "x"));
        assert_int_equal(symlink("a", link), 0);
        assert_int_equal(symlink("f", away), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
}

static void test_search(void **state) {
        _cleanup_file_search_ FileSearch s = {};
        const SearchedDirectory *d;
        g_autofree char *text = NULL, *path = g_build_filename(dir, "f", NULL);

        make_files();
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

        text = found("1 @/f/[ab] 1 @/f/new/a 1 @/f/z", &s);
        d = g_hash_table_lookup(s.directories, path);
        assert_non_null(d);
        assert_true(searched_directory_has(d, "a") && searched_directory_has(d, "new") &&
                    searched_directory_has(d, "z"));
        assert_false(searched_directory_has(d, "c"));
        assert_int_equal(g_hash_table_size(s.directories), 1);
        assert_false(s.full);
}

static void test_many(void **state) {
        _cleanup_file_search_ FileSearch s = {};
        g_autofree char *text = NULL;

        for (unsigned i = 0; i < MANAGER_FILES_MAX + 1; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "many/%u", i);
                free(test_file(dir, name, ""));
        }
        text = found("1 @/many/*", &s);
        assert_true(s.full);
        assert_int_equal(g_hash_table_size(s.files), MANAGER_FILES_MAX);
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

/* ---- what policies are told */

static PolicyFile file_of(const char *name) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
        FileMount mount = FILE_MOUNT_NONE;
        PolicyFile file;

        assert_int_equal(file_identify(fd, &mount, &file), 0);
        return file;
}

static int level_of(uint64_t manager, const char *name) {
        PolicyFile file = file_of(name);

        return *fake_level(&fixture->kernel, manager, &file);
}

#define mru_of(manager) (fake_manager(&fixture->kernel, manager)->mru)

/* KEY=PRIORITY DIR/NAME of a unit. */
static void set_files(Unit *u, const char *priority, const char *name) {
        g_autofree char *value = g_strdup_printf("%s %s/%s", priority, dir, name);

        set(u, "CacheFiles", value, 3);
}

/* Managers are not looked at all the time. */
static void wait_for(bool (*condition)(void)) {
        for (unsigned i = 0; i < 1000 && !condition(); i++)
                assert_true(sd_event_run(fixture->event, 10 * USEC_PER_MSEC) >= 0);
        assert_true(condition());
}

static uint64_t a_service;

static void test_said(void **state) {
        uint64_t other, container;
        Unit *slice, *a;

        make_files();
        a_service = make_directory("1/a.service");
        other = make_directory("1/b.service");
        container = make_directory("1/container");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", NULL, 0);
        (void) add_unit("b.service", NULL, 0);
        run();
        assert_state(slice, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_said, 0);

        set_files(a, "2", "f/*");
        set(a, "CacheLevel", "2 mru", 4);
        assert_int_equal(level_of(a_service, "f/a"), 2);
        assert_int_equal(level_of(a_service, "f/b"), 2);
        assert_int_equal(level_of(a_service, "g/a"), 0);
        assert_int_equal(level_of(other, "f/a"), 0);
        assert_int_equal(mru_of(a_service), 1 << 3);

        /* What the slice says is for those who say nothing of it. */
        set_files(slice, "1", "f/a");
        set(slice, "CacheLevel", "0 mru", 5);
        assert_int_equal(level_of(a_service, "f/a"), 2);
        assert_int_equal(level_of(other, "f/a"), 1);
        assert_int_equal(level_of(container, "f/a"), 1);
        assert_int_equal(mru_of(a_service), 1 << 3);
        assert_int_equal(mru_of(other), 1 << 1);
        assert_int_equal(level_of(slice->cgroup_id, "f/a"), 0);

        /* Once is enough. */
        fixture->kernel.n_said = 0;
        manager_mark_dirty(fixture->manager, slice);
        manager_mark_dirty(fixture->manager, a);
        run();
        assert_int_equal(fixture->kernel.n_said, 0);
}

static void test_taken_back(void **state) {
        Unit *slice, *a;
        PolicyFile f;

        make_files();
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", NULL, 0);
        set_files(a, "2", "f/*");
        set(a, "CacheLevel", "2 mru", 4);
        assert_int_equal(level_of(a_service, "f/a"), 2);

        /* What a program said since then stays. */
        f = file_of("f/d e");
        *fake_level(&fixture->kernel, a_service, &f) = 1;
        policy_setting_done(&a->file_setting);
        set_files(a, "3", "f/b");
        assert_int_equal(level_of(a_service, "f/a"), 0);
        assert_int_equal(level_of(a_service, "f/d e"), 1);
        assert_int_equal(level_of(a_service, "f/b"), 3);
        assert_int_equal(mru_of(a_service), 0);

        /* Other policies do not listen. */
        fixture->kernel.n_said = 0;
        configure(slice, "lfu");
        run();
        assert_null(slice->files);
        assert_int_equal(fixture->kernel.n_said, 0);
        set_files(slice, "1", "f/a");
        assert_state(slice, UNIT_FAILED);
        assert_reason(slice,
                      "policy 'lfu' has no levels for files, which CacheFiles= (/etc/x.slice:3) is about");
}

/* What has a policy of its own is no manager. */
static void test_own_policy(void **state) {
        Unit *slice, *a;

        make_files();
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", "mru", 2);
        set_files(slice, "2", "f/a");
        assert_state(a, UNIT_ATTACHED);
        assert_int_equal(level_of(a_service, "f/a"), 0);
        configure(a, NULL);
        run();
        assert_int_equal(level_of(a_service, "f/a"), 2);
}

/* A unit without control groups below is its own manager. */
static void test_alone(void **state) {
        Unit *u;

        make_files();
        (void) make_directory("1");
        u = add_unit("a.service", "acfs", 1);
        set_files(u, "-1", "f/a");
        assert_int_equal(level_of(u->cgroup_id, "f/a"), -1);
}

static bool is_b_said(void) {
        return level_of(a_service, "f/b") == 3;
}

static bool is_new_said(void) {
        return level_of(a_service, "f/new/x") == 3;
}

static bool is_b_taken_back(void) {
        return level_of(a_service, "g/b") == 0;
}

static void test_later(void **state) {
        g_autofree char *from = g_build_filename(dir, "f/b", NULL), *to = g_build_filename(dir, "g/b", NULL);
        Unit *a;

        make_files();
        assert_int_equal(rename(from, to), 0);
        a_service = make_directory("1/a.service");
        (void) add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", NULL, 0);
        set_files(a, "3", "f/b");
        set_files(a, "3", "f/new/*");

        assert_int_equal(rename(to, from), 0);
        wait_for(is_b_said);
        free(test_file(dir, "f/new/x", ""));
        wait_for(is_new_said);
        assert_int_equal(rename(from, to), 0);
        wait_for(is_b_taken_back);
        assert_true(is_new_said());
}

static bool is_late_manager_said(void) {
        return level_of(a_service, "f/a") == 2;
}

static void test_late_manager(void **state) {
        Unit *slice;

        make_files();
        (void) make_directory("1/other");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        a_service = make_directory("1/a.service");
        wait_for(is_late_manager_said);
}

static void test_again(void **state) {
        Unit *slice;

        make_files();
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        set(slice, "CacheLevel", "1 mru", 4);
        assert_true(is_late_manager_said());

        /* Other options, another instance, which may know nothing of it. */
        g_array_set_size(fixture->kernel.levels, 0);
        g_array_set_size(fixture->kernel.managers, 0);
        set(slice, "CachePolicyOptions", "nr_scan=64", 5);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_true(is_late_manager_said());
        assert_int_equal(mru_of(a_service), 1 << 2);

        /* Another daemon. */
        g_array_set_size(fixture->kernel.levels, 0);
        stop_daemon();
        start_daemon();
        use_directories();
        slice = add_unit("x.slice", "acfs", 1);
        set(slice, "CachePolicyOptions", "nr_scan=64", 5);
        assert_true(slice->adopted);
        set_files(slice, "2", "f/a");
        assert_true(is_late_manager_said());
}

/* What the policy does not take is tried again the next time that something happens. */
static void test_refused(void **state) {
        Unit *slice;

        make_files();
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        fixture->kernel.say_error = -ENOSPC;
        set_files(slice, "2", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 0);
        fixture->kernel.say_error = 0;
        set_files(slice, "2", "f/b");
        assert_true(is_late_manager_said());
}

/* ---- what is shown */

static void test_revoked(void **state) {
        Unit *slice;
        unsigned n;

        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        run();
        fake_manager(&fixture->kernel, a_service)->n_decisions = 300;
        files_sample(fixture->files);
        assert_null(slice->revoked);

        n = fixture->n_changed;
        fake_manager(&fixture->kernel, a_service)->revoked = true;
        files_sample(fixture->files);
        assert_string_equal(slice->revoked->pdata[0], "a.service");
        assert_int_equal(fixture->n_changed, n + 1);

        /* It has a say again and again, and is wrong again and again. */
        for (unsigned i = 0; i < 40; i++) {
                fake_manager(&fixture->kernel, a_service)->revoked = i % 14 == 13;
                files_sample(fixture->files);
        }
        assert_non_null(slice->revoked);
        assert_int_equal(fixture->n_changed, n + 1);

        fake_manager(&fixture->kernel, a_service)->revoked = false;
        for (unsigned i = 0; i < 15; i++)
                files_sample(fixture->files);
        assert_null(slice->revoked);
        assert_int_equal(fixture->n_changed, n + 2);

        /* Who is gone is not revoked. */
        fake_manager(&fixture->kernel, a_service)->revoked = true;
        files_sample(fixture->files);
        assert_non_null(slice->revoked);
        g_array_set_size(fixture->kernel.managers, 0);
        files_sample(fixture->files);
        assert_null(slice->revoked);
}

static char *listed(Unit *u, bool files) {
        g_autoptr(GPtrArray) managers = files_list(u, files);
        GString *s = g_string_new(NULL);

        for (guint i = 0; i < managers->len; i++) {
                const ListedManager *m = managers->pdata[i];

                g_string_append_printf(s, "[%s", strna(m->name));
                for (guint j = 0; j < m->files->len; j++) {
                        const ListedFile *f = &g_array_index(m->files, ListedFile, j);

                        g_string_append_printf(s, " %d %s", f->level,
                                               f->path ? startswith(f->path, dir) : "?");
                }
                g_string_append(s, "]");
        }
        return g_string_free(s, FALSE);
}

#define assert_listed(u, files, expected)                               \
        do {                                                            \
                g_autofree char *_text = listed(u, files);              \
                assert_string_equal(_text, expected);                   \
        } while (false)

static void test_list(void **state) {
        Unit *slice, *a;
        uint64_t b;
        PolicyFile f;

        make_files();
        a_service = make_directory("1/a.service");
        b = make_directory("1/b.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", NULL, 0);
        run();
        assert_listed(slice, true, "");
        set_files(a, "2", "f/a");
        set_files(a, "0", "f/b");
        f = file_of("g/a");
        *fake_level(&fixture->kernel, a_service, &f) = -1;
        (void) fake_manager(&fixture->kernel, b);
        assert_listed(slice, true, "[a.service -1 ? 0 /f/b 2 /f/a][b.service]");
        assert_listed(a, true, "[a.service -1 ? 0 /f/b 2 /f/a]");

        /* A program said something else. */
        f = file_of("f/b");
        *fake_level(&fixture->kernel, a_service, &f) = 3;
        assert_listed(a, true, "[a.service -1 ? 2 /f/a 3 /f/b]");
        assert_listed(a, false, "[a.service]");

        (void) fake_manager(&fixture->kernel, 1234567);
        assert_listed(slice, false, "[n/a][a.service][b.service]");
}

/* Names are any bytes; what is shown of them is UTF-8. */
static void test_names(void **state) {
        Unit *slice;
        uint64_t odd;

        free(test_file(dir, "f/\xff" "a", "x"));
        odd = make_directory("1/\xe4.service");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/*");
        fake_manager(&fixture->kernel, odd)->revoked = true;
        assert_listed(slice, true, "[\xef\xbf\xbd.service 2 /f/\xef\xbf\xbd" "a]");
        files_sample(fixture->files);
        assert_string_equal(slice->revoked->pdata[0], "\xef\xbf\xbd.service");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_inherited),
                FILES_TEST(test_search),
                FILES_TEST(test_many),
                FILES_TEST(test_identify),
                FILES_TEST(test_said),
                FILES_TEST(test_taken_back),
                FILES_TEST(test_own_policy),
                FILES_TEST(test_alone),
                FILES_TEST(test_later),
                FILES_TEST(test_late_manager),
                FILES_TEST(test_again),
                FILES_TEST(test_refused),
                FILES_TEST(test_revoked),
                FILES_TEST(test_list),
                FILES_TEST(test_names),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
