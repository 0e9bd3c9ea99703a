/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "files-fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/files/identify.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

char *files_dir, *files_cgroups;

uint64_t make_directory(const char *name) {
        g_autofree char *path = g_build_filename(files_cgroups, name, NULL);
        struct stat st;

        assert_int_equal(g_mkdir_with_parents(path, 0700), 0);
        assert_int_equal(stat(path, &st), 0);
        return st.st_ino;
}

void remove_directory(uint64_t id) {
        g_autofree char *path = g_build_filename(files_cgroups, "1", NULL);
        _cleanup_closedir_ DIR *d = opendir(path);
        struct dirent *de;

        assert_non_null(d);
        while ((de = readdir(d)))
                if (de->d_ino == id) {
                        assert_int_equal(unlinkat(dirfd(d), de->d_name, AT_REMOVEDIR), 0);
                        return;
                }
        fail();
}

void use_directories(void) {
        fixture->manager->paths.kernel.cgroup = files_cgroups;
}

int files_setup(void **state) {
        files_dir = test_dir_make();
        files_cgroups = g_build_filename(files_dir, "cgroup", NULL);
        (void) fixture_setup(state);
        use_directories();
        return 0;
}

int files_teardown(void **state) {
        (void) fixture_teardown(state);
        test_dir_remove(files_dir);
        g_free(files_cgroups);
        return 0;
}

PolicyFile file_of(const char *name) {
        g_autofree char *path = g_build_filename(files_dir, name, NULL);
        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
        FileMount mount = FILE_MOUNT_NONE;
        PolicyFile file;

        assert_int_equal(file_identify(fd, &mount, &file), 0);
        return file;
}

int level_of(uint64_t manager, const char *name) {
        PolicyFile file = file_of(name);

        return *fake_level(&fixture->kernel, manager, &file);
}

void set_files(Unit *u, const char *priority, const char *name) {
        g_autofree char *value = g_strdup_printf("%s %s/%s", priority, files_dir, name);

        set(u, "CacheFiles", value, 3);
}

Unit *add_child(const char *name) {
        g_autofree char *directory = g_build_filename("1", name, NULL);
        Unit *u = add_unit(name, NULL, 0);

        u->cgroup_id = make_directory(directory);
        u->cgroup = g_strdup_printf("/%s", directory);
        return u;
}

char *listed(Unit *u, bool files) {
        g_autoptr(GPtrArray) managers = files_list(u, files);
        GString *s = g_string_new(NULL);

        for (guint i = 0; i < managers->len; i++) {
                const ListedManager *m = managers->pdata[i];

                g_string_append_printf(s, "[%s", strna(m->name));
                for (guint j = 0; j < m->files->len; j++) {
                        const ListedFile *f = &g_array_index(m->files, ListedFile, j);

                        g_string_append_printf(s, " %d %s", f->level,
                                               f->path ? startswith(f->path, files_dir) : "?");
                }
                g_string_append(s, "]");
        }
        return g_string_free(s, FALSE);
}

void wait_for(bool (*condition)(void)) {
        for (unsigned i = 0; i < 1000 && !condition(); i++)
                assert_true(sd_event_run(fixture->event, 10 * USEC_PER_MSEC) >= 0);
        assert_true(condition());
}
