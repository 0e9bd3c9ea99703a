/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>

#include "daemon/kernel/learned-map.h"
#include "job.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/kept-file.h"
#include "shared/string-util.h"

/* Of all units: the files of those that are long gone make room. */
#define TOTAL_SIZE_MAX (256ULL << 20)

LearningJob *learning_job_new(LearningJobKind kind, const char *unit, const char *dir, const char *label,
                              int map_fd) {
        LearningJob *j = g_new0(LearningJob, 1);

        job_init(&j->job, kind, /* patient= */ kind == LEARNING_SAVE, unit, dir);
        j->label = g_strdup(label);
        j->map_fd = map_fd < 0 ? -EBADF : fcntl(map_fd, F_DUPFD_CLOEXEC, 3);
        return j;
}

void learning_job_free(Job *job) {
        LearningJob *j = (LearningJob *) job;

        job_done(job);
        safe_close(j->map_fd);
        free(j->label);
        free(j);
}

/* ---- in the child */

static int save(const LearningJob *j, LearningResult *ret) {
        g_autofree char *name = kept_file_name(j->job.unit);
        _cleanup_learned_ Learned l = {};
        _cleanup_close_ int dir = -EBADF;
        int r;

        r = learned_map_read(j->map_fd, j->label, &l);
        if (r < 0)
                return r;

        learned_sum(&l, ret->sum);
        ret->has_sum = true;
        if (g_mkdir_with_parents(j->job.dir, 0700) < 0)
                return -errno;
        dir = kept_open(j->job.dir);
        if (dir < 0)
                return dir;
        if (j->has_sum && memcmp(j->sum, ret->sum, sizeof(j->sum)) == 0 &&
            faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) >= 0)
                return 0;

        r = learned_save(dir, name, &l);
        if (r < 0)
                return r;
        ret->written = true;
        return kept_limit(dir, G_MAXUINT, TOTAL_SIZE_MAX);
}

static int restore(const LearningJob *j, LearningResult *ret) {
        g_autofree char *name = kept_file_name(j->job.unit);
        _cleanup_learned_ Learned l = {};
        _cleanup_close_ int dir = kept_open(j->job.dir);
        int r;

        r = dir < 0 ? dir : learned_load(dir, name, j->label, &l);
        if (r < 0)
                return r;

        learned_sum(&l, ret->sum);
        ret->has_sum = true;
        return learned_map_write(j->map_fd, &l);
}

static int forget(const LearningJob *j, LearningResult *ret) {
        g_autofree char *name = kept_file_name(j->job.unit);
        _cleanup_close_ int dir = kept_open(j->job.dir);
        int r;

        if (dir < 0 && dir != -ENOENT)
                return dir;

        r = dir < 0 ? 0 : kept_forget(dir, name, &ret->written);
        return r >= 0 && j->map_fd >= 0 ? learned_map_empty(j->map_fd) : r;
}

static void run(int fd, void *userdata) {
        const LearningJob *j = userdata;
        LearningResult result = {};

        switch (j->job.kind) {
        case LEARNING_SAVE:
                result.error = save(j, &result);
                break;
        case LEARNING_RESTORE:
                result.error = restore(j, &result);
                break;
        case LEARNING_FORGET:
                result.error = forget(j, &result);
                break;
        }

        (void) write_all(fd, &result, sizeof(result));
}

/* ---- in the daemon */

int learning_job_start(LearningJob *j) {
        if (j->map_fd < 0 && j->job.kind != LEARNING_FORGET)
                return -EBADF;

        return helper_start("cachebpfd-learn", run, j, j->map_fd, &j->job.helper);
}
