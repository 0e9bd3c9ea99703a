/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "learning-fixture.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/kept-file.h"
#include "shared/learned-file.h"
#include "shared/log.h"

char *learning_dir;
Learning *learning;
unsigned n_warnings;
GString *warning;
PlayedMap *played;

/* ---- the map */


int bpf_map_get_info_by_fd(int fd, struct bpf_map_info *info, uint32_t *len) {
        *info = (struct bpf_map_info) {
                .type = BPF_MAP_TYPE_ARRAY,
                .key_size = sizeof(uint32_t),
                .value_size = played->value_size,
                .max_entries = N_ENTRIES,
        };
        return 0;
}

int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, uint32_t *count,
                         const struct bpf_map_batch_opts *opts) {
        uint32_t first = 0, n;

        if (played->error < 0)
                return played->error;
        if (played->n_hangs > 0) {
                played->n_hangs--;
                for (;;)
                        (void) pause();
        }

        if (in)
                memcpy(&first, in, sizeof(first));
        n = MIN(*count, N_ENTRIES - first);
        for (uint32_t i = 0; i < n; i++)
                ((uint32_t *) keys)[i] = first + i;
        assert_int_equal(pread(fd, values, (size_t) n * 8, (off_t) first * 8), (size_t) n * 8);
        *count = n;
        first += n;
        memcpy(out, &first, sizeof(first));
        return first == N_ENTRIES ? -ENOENT : 0;
}

int bpf_map_update_batch(int fd, const void *keys, const void *values, uint32_t *count,
                         const struct bpf_map_batch_opts *opts) {
        if (played->write_error < 0)
                return played->write_error;
        while (played->holds_writes)
                (void) usleep(1000);

        for (uint32_t i = 0; i < *count; i++) {
                uint32_t key = ((const uint32_t *) keys)[i];

                assert_int_equal(pwrite(fd, (const uint64_t *) values + i, 8, (off_t) key * 8), 8);
        }
        return 0;
}

/* The first and the last one. */
void learn(uint64_t value) {
        int fd = fixture->kernel.learned_fd;

        assert_int_equal(pwrite(fd, &value, sizeof(value), 0), sizeof(value));
        assert_int_equal(pwrite(fd, &value, sizeof(value), (N_ENTRIES - 1) * 8), sizeof(value));
}

uint64_t learned(void) {
        uint64_t first, last;

        assert_int_equal(pread(fixture->kernel.learned_fd, &first, sizeof(first), 0), sizeof(first));
        assert_int_equal(pread(fixture->kernel.learned_fd, &last, sizeof(last), (N_ENTRIES - 1) * 8),
                         sizeof(last));
        assert_int_equal(first, last);
        return first;
}

/* As the map of a policy that was just loaded. */
void new_map(void) {
        safe_close(fixture->kernel.learned_fd);
        fixture->kernel.learned_fd = memfd_create("map", MFD_CLOEXEC);
        assert_true(fixture->kernel.learned_fd >= 0);
        assert_int_equal(ftruncate(fixture->kernel.learned_fd, N_ENTRIES * 8), 0);
}

/* ---- the daemon */

static void on_log(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level > LOG_WARNING)
                return;
        n_warnings++;
        g_string_assign(warning, message);
}

static void start_learning(void) {
        fixture->manager->paths.learned = learning_dir;
        assert_int_equal(learning_new(fixture->manager, &learning), 0);
        fixture->control->learning = learning;
}

static void stop(void) {
        fixture->control->learning = NULL;
        learning = learning_free(learning);
        stop_daemon();
}

void restart(void) {
        stop();
        start_daemon();
        start_learning();
}

int learning_setup(void **state) {
        fixture_setup(state);
        log_set_target(LOG_TARGET_NULL);
        learning_dir = test_dir_make();
        played = mmap(NULL, sizeof(*played), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(played != MAP_FAILED);
        played->value_size = 8;
        n_warnings = 0;
        warning = g_string_new(NULL);
        log_set_hook(on_log, NULL);
        new_map();
        start_learning();
        return 0;
}

int learning_teardown(void **state) {
        log_set_hook(NULL, NULL);
        learning = learning_free(learning);
        fixture->control->learning = NULL;
        safe_close(fixture->kernel.learned_fd);
        fixture_teardown(state);
        munmap(played, sizeof(*played));
        g_string_free(warning, TRUE);
        test_dir_remove(learning_dir);
        return 0;
}

/* Until no child has anything to do. */
void settle(void) {
        run();
        while (learning_is_busy(learning))
                assert_true(sd_event_run(fixture->event, USEC_PER_SEC) >= 0);
        run();
}

void save_now(void) {
        learning_minute(learning);
        settle();
}

char *path_of(const char *unit) {
        g_autofree char *name = kept_file_name(unit);

        return g_build_filename(learning_dir, name, NULL);
}

/* When the file was written; 0: there is none. */
uint64_t written(const char *unit) {
        g_autofree char *path = path_of(unit);
        struct stat st;

        return stat(path, &st) < 0 ? 0 : st.st_ino;
}

Unit *start_unit(uint64_t cgroup_id) {
        Unit *u = add_unit("a.slice", "lfu", cgroup_id);

        settle();
        assert_state(u, UNIT_ATTACHED);
        return u;
}
