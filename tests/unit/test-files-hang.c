/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= where others say how long it takes: on file systems that do not answer (FUSE, with nobody at
 * the other end) or come later, and with any number of control groups. Needs root for most of it, and mounts
 * in a name space of its own. */

#include "reconcile-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/files/internal.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

static char *dir, *cgroups, *hanging;
static int fuse = -EBADF;
static unsigned n_requests;

/* ---- the file system */

/* It says that it is there, takes all other requests, and answers none. */
static int on_request(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        static char request[FUSE_MIN_READ_BUFFER + 65536];
        const struct fuse_in_header *in = (const struct fuse_in_header *) request;
        struct {
                struct fuse_out_header header;
                struct fuse_init_out init;
        } answer = {
                .header = { .len = sizeof(answer) },
                .init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
                          .max_write = 4096 },
        };

        if (read(fd, request, sizeof(request)) < 0)
                return 0;
        if (in->opcode != FUSE_INIT) {
                n_requests++;
                return 0;
        }
        answer.header.unique = in->unique;
        assert_int_equal(write(fd, &answer, sizeof(answer)), sizeof(answer));
        return 0;
}

static bool have_mounts;

/* Before the daemon looks. */
static int enter_name_space(void **state) {
        have_mounts = unshare(CLONE_NEWNS) >= 0 &&
                (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) >= 0 || errno == EINVAL); /* chroot(2) */
        return 0;
}

static bool mount_hanging(void) {
        g_autofree char *options = NULL;

        fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (fuse < 0 || !have_mounts)
                return false;

        options = g_strdup_printf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
        return mount("hanging", hanging, "fuse", 0, options) >= 0;
}

/* Another process answers, with that error to all that need not be understood. No error: there is a file of
 * generation 7, whatever its name is, and no handle leads back to it. */
static pid_t serve(int error) {
        pid_t pid = fork();

        if (pid == 0)
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (pid == 0) {
                static char request[FUSE_MIN_READ_BUFFER + 65536];
                const struct fuse_in_header *in = (const struct fuse_in_header *) request;
                struct {
                        struct fuse_out_header header;
                        union {
                                struct fuse_init_out init;
                                struct fuse_statfs_out statfs;
                                struct fuse_entry_out entry;
                        };
                } answer = {};
                struct pollfd p = { .fd = fuse, .events = POLLIN };

                if (poll(&p, 1, -1) < 0 || read(fuse, request, sizeof(request)) < 0)
                        continue;

                answer.header.unique = in->unique;
                answer.header.len = sizeof(answer.header);
                if (in->opcode == FUSE_INIT) {
                        answer.init.major = FUSE_KERNEL_VERSION;
                        answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
                        answer.init.max_write = 4096;
                        answer.init.flags = FUSE_INIT_EXT;
                        answer.init.flags2 = FUSE_NO_EXPORT_SUPPORT >> 32;
                        answer.header.len += sizeof(answer.init);
                } else if (in->opcode == FUSE_STATFS)
                        answer.header.len += sizeof(answer.statfs);
                else if (in->opcode == FUSE_LOOKUP && error == 0) {
                        answer.entry.nodeid = answer.entry.attr.ino = 2;
                        answer.entry.generation = 7;
                        answer.entry.attr_valid = answer.entry.entry_valid = 1000;
                        answer.entry.attr.mode = S_IFREG | 0600;
                        answer.entry.attr.nlink = 1;
                        answer.header.len += sizeof(answer.entry);
                } else
                        answer.header.error = error;
                (void) !write(fuse, &answer, answer.header.len);
        }
        return pid;
}

/* ---- the daemon */

static int setup(void **state) {
        dir = test_dir_make();
        cgroups = g_build_filename(dir, "cgroup", NULL);
        hanging = g_build_filename(dir, "hanging", NULL);
        (void) fixture_setup(state);
        fixture->manager->paths.kernel.cgroup = cgroups;
        return g_mkdir_with_parents(hanging, 0700);
}

static int teardown(void **state) {
        (void) umount2(hanging, MNT_DETACH);
        fuse = safe_close(fuse);
        (void) fixture_teardown(state);
        test_dir_remove(dir);
        g_free(cgroups);
        g_free(hanging);
        return 0;
}

static uint64_t add_manager(const char *name, const char *pattern) {
        g_autofree char *cgroup = g_strdup_printf("/1/%s", name),
                        *path = g_build_filename(cgroups, cgroup, NULL),
                        *value = g_strdup_printf("2 %s/%s", dir, pattern);
        Unit *u = add_unit(name, NULL, 0);
        struct stat st;

        assert_int_equal(g_mkdir_with_parents(path, 0700), 0);
        assert_int_equal(stat(path, &st), 0);
        u->cgroup_id = st.st_ino;
        u->cgroup = g_steal_pointer(&cgroup);
        assert_int_equal(policy_setting_assign(&u->file_setting, "CacheFiles", value, "/etc/x", 3), 0);
        return u->cgroup_id;
}

static bool is_said(uint64_t manager) {
        for (guint i = 0; i < fixture->kernel.levels->len; i++)
                if (g_array_index(fixture->kernel.levels, PolicyFileLevel, i).manager == manager)
                        return true;

        return false;
}

static uint64_t manager;

static bool is_asked(void) {
        return n_requests > 0;
}

static bool is_manager_said(void) {
        return is_said(manager);
}

static void wait_for(bool (*condition)(void)) {
        for (int64_t end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC; !condition();) {
                assert_true(g_get_monotonic_time() < end);
                assert_true(sd_event_run(fixture->event, 50 * USEC_PER_MSEC) >= 0);
        }
}

/* Others have their files found, and the daemon goes on. */
static void test_hanging(void **state) {
        sd_event_source *source;
        Unit *slice;

        if (!mount_hanging())
                skip();

        assert_int_equal(sd_event_add_io(fixture->event, &source, fuse, EPOLLIN, on_request, NULL), 0);
        free(test_file(dir, "f/a", "x"));
        slice = add_unit("x.slice", "acfs", 1);
        (void) add_manager("bad.service", "hanging/*");
        wait_for(is_asked);

        manager = add_manager("good.service", "f/*");
        manager_mark_dirty(fixture->manager, slice);
        wait_for(is_manager_said);
        run(); /* not again as long as that one is there */
        configure(slice, "lfu");
        run();
        assert_null(slice->files);

        sd_event_source_disable_unref(source);
        assert_int_equal(umount2(hanging, MNT_DETACH), 0);
        fuse = safe_close(fuse); /* has the kernel end what waits */
        run();
}

static FileManager *search_for(Unit *slice, const char *name, const char *pattern) {
        uint64_t id = add_manager(name, pattern);

        manager_mark_dirty(fixture->manager, slice);
        run();
        return g_hash_table_lookup(slice->files->managers, &id);
}

static FileManager *search_served(int error) {
        Unit *slice = add_unit("x.slice", "acfs", 1);
        pid_t server = serve(error);
        FileManager *m;

        assert_true(server > 0);
        m = search_for(slice, "a.service", "hanging/a");
        assert_non_null(m);
        assert_int_equal(kill(server, SIGKILL), 0);
        assert_int_equal(waitpid(server, NULL, 0), server);
        return m;
}

/* Nobody tells what others do on the other side. */
static void test_remote(void **state) {
        FileManager *m;

        if (!mount_hanging())
                skip();

        m = search_served(-ENOENT);
        assert_int_equal(m->found.error, 0);
        assert_false(m->failed);
        assert_true(m->retry_at < UINT64_MAX);
}

/* One that fails is not one without files. */
static void test_failing(void **state) {
        FileManager *m;

        if (!mount_hanging())
                skip();

        m = search_served(-EIO);
        assert_int_equal(m->found.error, -EIO);
        assert_int_equal(m->found.partial->len, 1);
        assert_true(m->retry_at < UINT64_MAX);
}

/* The kernel knows it by the generation, whether a handle could lead back to it or not. */
static void test_generation(void **state) {
        const PolicyFileLevel *l;

        if (!mount_hanging())
                skip();

        (void) search_served(0);
        assert_int_equal(fixture->kernel.levels->len, 1);
        l = &g_array_index(fixture->kernel.levels, PolicyFileLevel, 0);
        assert_int_equal(l->file.ino, 2);
        assert_int_equal(l->file.generation, 7);
}

/* Policies see the files below. */
static void test_overlay(void **state) {
        g_autofree char *options = g_strdup_printf("lowerdir=%s/f:%s/g", dir, dir);
        FileManager *m;
        Unit *slice;

        free(test_file(dir, "f/a", "x"));
        free(test_file(dir, "g/b", "x"));
        if (!have_mounts || mount("overlay", hanging, "overlay", 0, options) < 0)
                skip();

        slice = add_unit("x.slice", "acfs", 1);
        m = search_for(slice, "hidden.service", "hanging/a");
        assert_true(m->found.overlay);
        assert_true(m->complained);
}

static void count_child(const char *name, uint64_t id, void *userdata) {
        (*(unsigned *) userdata)++;
}

/* To whom a unit is delegated may have any number of control groups. */
static void test_many_children(void **state) {
        unsigned n = 0;
        Unit *slice;

        assert_int_equal(mkdir(cgroups, 0700), 0);
        for (unsigned i = 0; i <= 4200; i++) {
                g_autofree char *path = i == 0 ? g_strdup_printf("%s/1", cgroups) :
                                                 g_strdup_printf("%s/1/%u", cgroups, i);

                assert_int_equal(mkdir(path, 0700), 0);
        }
        slice = add_unit("x.slice", "acfs", 1);
        run();
        assert_int_equal(unit_files_foreach_child(slice->files, count_child, &n), 0);
        assert_int_equal(n, 4096);
}

/* What is mounted later is looked into. */
static void test_mounted(void **state) {
        g_autofree char *name = g_build_filename(hanging, "a", NULL);
        _cleanup_close_ int fd = -EBADF;

        if (!have_mounts)
                skip();

        (void) add_unit("x.slice", "acfs", 1);
        manager = add_manager("good.service", "hanging/*");
        run();
        if (mount("tmpfs", hanging, "tmpfs", 0, NULL) < 0)
                skip();
        fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        wait_for(is_manager_said);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_hanging, setup, teardown),
                cmocka_unit_test_setup_teardown(test_remote, setup, teardown),
                cmocka_unit_test_setup_teardown(test_failing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_generation, setup, teardown),
                cmocka_unit_test_setup_teardown(test_overlay, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many_children, setup, teardown),
                cmocka_unit_test_setup_teardown(test_mounted, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, enter_name_space, NULL);
}
