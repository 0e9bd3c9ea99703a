/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "replay-fixture.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/log.h"

#define DEVICE (8U << 20 | 17U)

char *dir, *replay_dir, *mounts;
Replay *replay;
GString *log_lines;
Played played;

static char *data;

static int prepare(void *userdata, char **ret_problem) {
        played.n_prepare++;
        if (played.prepare_error < 0)
                *ret_problem = g_strdup("the kernel has no time");
        return played.prepare_error;
}

static int begin(void *userdata, uint64_t cgroup_id, unsigned level, uint64_t pages_max) {
        if (played.begin_error < 0)
                return played.begin_error;
        assert_true(played.n_prepare > 0);
        played.n_begin++;
        played.cgroup_id = cgroup_id;
        played.level = level;
        played.pages_max = pages_max;
        return 0;
}

static int end(void *userdata, uint64_t cgroup_id, Uses *ret) {
        UsedFile f = { .value = { .size = sizeof("file\0data"), .whole = true } };
        UsedChunk c = { .value = { .pages = played.pages, .nsec = 1 } };
        struct stat st;

        assert_int_equal(cgroup_id, played.cgroup_id);
        played.n_end++;
        assert_int_equal(stat(data, &st), 0);
        f.key.ino = c.key.ino = st.st_ino;
        f.key.dev = c.key.dev = DEVICE;
        memcpy(f.value.names, "file\0data", sizeof("file\0data"));

        *ret = (Uses) {
                .files = g_array_new(FALSE, FALSE, sizeof(UsedFile)),
                .chunks = g_array_new(FALSE, FALSE, sizeof(UsedChunk)),
        };
        if (played.used) {
                g_array_append_val(ret->files, f);
                g_array_append_val(ret->chunks, c);
        }
        return 0;
}

static void done(void *userdata) {
}

static const ReplayBackend backend = { .prepare = prepare, .begin = begin, .end = end, .done = done };

static void on_log(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_INFO)
                g_string_append_printf(log_lines, "%s\n", message);
}

void assert_said(const char *part) {
        if (!strstr(log_lines->str, part))
                fail_msg("no \"%s\" in \"%s\"", part, log_lines->str);
        g_string_truncate(log_lines, 0);
}

static void start_replay(void) {
        fixture->manager->paths.replay = replay_dir;
        fixture->manager->paths.mounts = mounts;
        fixture->manager->paths.kernel.cgroup = dir;
        replay = replay_new(fixture->manager, &backend);
        fixture->control->replay = replay;
}

int replay_setup(void **state) {
        static char content[5 * 65536];
        g_autofree char *line = NULL;

        fixture_setup(state);
        dir = test_dir_make();
        replay_dir = g_build_filename(dir, "replay", NULL);
        data = test_file_write(dir, "fs/data/file", content, sizeof(content));
        line = g_strdup_printf("21 20 8:17 / %s/fs rw - ext4 x rw\n", dir);
        mounts = test_file(dir, "mountinfo", line);
        log_lines = g_string_new(NULL);
        log_set_hook(on_log, NULL);
        memset(&played, 0, sizeof(played));
        played.used = true;
        played.pages = 0x7;
        start_replay();
        return 0;
}

int replay_teardown(void **state) {
        log_set_hook(NULL, NULL);
        fixture->control->replay = NULL;
        replay = replay_free(replay);
        fixture_teardown(state);
        g_string_free(log_lines, TRUE);
        free(data);
        free(mounts);
        free(replay_dir);
        test_dir_remove(dir);
        return 0;
}

void settle(void) {
        run();
        while (replay_is_busy(replay))
                assert_true(sd_event_run(fixture->event, USEC_PER_SEC) >= 0);
        run();
}

char *path_of_recording(void) {
        return g_build_filename(replay_dir, UNIT, NULL);
}

bool is_kept(void) {
        g_autofree char *path = path_of_recording();

        return access(path, F_OK) >= 0;
}

void make_cgroup(const char *name) {
        g_autofree char *procs = g_strconcat("system.slice/", name, "/cgroup.procs", NULL);

        free(test_file(dir, procs, "12\n34\n"));
}

char *procs_of(const char *name) {
        return g_build_filename(dir, "system.slice", name, "cgroup.procs", NULL);
}

void enter_cgroup(Unit *u, const char *name) {
        g_autofree char *cgroup = g_strconcat("/system.slice/", name, NULL),
                        *path = g_strconcat(dir, cgroup, NULL);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        g_set_str(&u->cgroup, cgroup);
        u->cgroup_id = st.st_ino;
        u->active = true;
        u->started_at = (uint64_t) g_get_monotonic_time();
        manager_mark_dirty(fixture->manager, u);
}

Unit *make_unit(const char *name) {
        Unit *u = add_unit(name, NULL, 0);

        set(u, "CacheReplay", "yes", 3);
        return u;
}

void start_unit(Unit *u, const char *cgroup) {
        make_cgroup(cgroup);
        enter_cgroup(u, cgroup);
        settle();
}

void stop_unit(Unit *u) {
        u->cgroup = mfree(u->cgroup);
        u->cgroup_id = 0;
        u->active = false;
        manager_mark_dirty(fixture->manager, u);
        settle();
}

bool has_joined(const char *cgroup) {
        g_autofree char *path = procs_of(cgroup), *text = NULL;

        assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return text[0] == '0';
}
