/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>

#include "daemon/kernel/cgroup.h"
#include "job.h"
#include "locate.h"
#include "replay-file.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/kept-file.h"
#include "shared/meminfo.h"

/* Of all units: the recordings of those that are long gone make room. */
#define TOTAL_SIZE_MAX (64ULL << 20)
#define FILES_MAX 1024U

/* Who reads has four tasks (read.c): a unit with less room would miss them. */
#define TASKS_ROOM_MIN 64U

/* So long nobody else is in the control group before the unit counts as dead: between two commands of a
 * start nobody is, either. */
#define ALONE_USEC (20 * USEC_PER_MSEC)
#define ALONE_LOOKS 100U

ReplayJob *replay_job_new(ReplayJobKind kind, const char *unit, const char *dir) {
        ReplayJob *j = g_new0(ReplayJob, 1);

        job_init(&j->job, kind, /* patient= */ kind != REPLAY_READ && kind != REPLAY_FORGET, unit, dir);
        return j;
}

void replay_job_free(Job *job) {
        ReplayJob *j = (ReplayJob *) job;

        job_done(job);
        uses_done(&j->uses);
        free(j->cgroup);
        free(j);
}

/* ---- in the child */

/* Whether a recording is there that is better than one of so many pages. */
static bool is_more_kept(const ReplayJob *j, int dir, const char *name, uint64_t n_pages) {
        _cleanup_recording_ Recording old = {};

        return replay_file_load(dir, name, &old) >= 0 && recording_count_current(&old, j->mounts) > n_pages;
}

static int save(const ReplayJob *j, const char *name, ReplayResult *ret) {
        _cleanup_recording_ Recording recording = {};
        _cleanup_close_ int dir = -EBADF;
        int r;

        recording_make(&j->uses, &recording);
        r = recording_locate(&recording, j->mounts);
        if (r < 0)
                return r;

        ret->kept = recording_summarize(&recording);
        if (ret->kept.n_files == 0)
                return -ENODATA;

        if (g_mkdir_with_parents(j->job.dir, 0700) < 0)
                return -errno;
        dir = kept_open(j->job.dir);
        if (dir < 0)
                return dir;
        if (j->job.kind == REPLAY_SAVE_BRIEF && is_more_kept(j, dir, name, ret->kept.n_pages))
                return -EALREADY;
        r = replay_file_save(dir, name, &recording);
        return r < 0 ? r : kept_limit(dir, FILES_MAX, TOTAL_SIZE_MAX);
}

static int forget(const ReplayJob *j, const char *name, ReplayResult *ret) {
        _cleanup_close_ int dir = kept_open(j->job.dir);

        if (dir == -ENOENT)
                return 0;
        return dir < 0 ? dir : kept_forget(dir, name, &ret->removed);
}

static void on_signal(int number) {
        _exit(EXIT_SUCCESS);
}

/* This one is to end with its unit, whatever KillSignal= is, and to dump no core. */
static int be_expendable(uint64_t deadline) {
        const struct sigaction action = { .sa_handler = on_signal };
        uint64_t now = (uint64_t) g_get_monotonic_time();
        sigset_t none;

        if (now >= deadline)
                return -ETIME;

        for (int i = 1; i <= SIGRTMAX; i++)
                (void) sigaction(i, &action, NULL); /* not all can be caught; those end it, or stop it */
        (void) alarm((unsigned) ((deadline - now) / USEC_PER_SEC) + 1);
        (void) sigemptyset(&none);
        return RET_NERRNO(sigprocmask(SIG_SETMASK, &none, NULL));
}

/* Files may be for the eyes of the unit's user only; the daemon may do nothing else that this could need. */
static int drop_capabilities(void) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
        int r;

        r = RET_NERRNO((int) syscall(SYS_capget, &header, data));
        if (r < 0)
                return r;

        data[0].effective = data[0].permitted = data[0].permitted & 1U << CAP_DAC_READ_SEARCH;
        data[1].effective = data[1].permitted = 0;
        data[0].inheritable = data[1].inheritable = 0;
        return RET_NERRNO((int) syscall(SYS_capset, &header, data));
}

/* In some units another process would do harm. */
static ReplayHarm find_harm(const ReplayJob *j) {
        if (cgroup_is_delegated(j->root, j->cgroup, j->cgroup_id)) /* it could make no others below */
                return REPLAY_HARM_DELEGATED;
        if (cgroup_limits_reads(j->root, j->cgroup)) /* its own reads would wait behind these */
                return REPLAY_HARM_READS;
        if (cgroup_read_tasks_room(j->root, j->cgroup) < TASKS_ROOM_MIN)
                return REPLAY_HARM_TASKS;
        return REPLAY_HARM_NONE;
}

/* Some units live as long as any process does: this one is not to be the last. */
static bool is_alone(const ReplayJob *j) {
        for (unsigned i = 0; i < ALONE_LOOKS; i++) {
                if (cgroup_has_others(j->root, j->cgroup, j->cgroup_id))
                        return false;
                g_usleep(ALONE_USEC);
        }

        return true;
}

static uint64_t room(void *userdata) {
        ReplayJob *j = userdata;

        j->alone = j->alone || is_alone(j);
        if (j->alone)
                return 0;
        return MIN(cgroup_read_cache_room(j->root, j->cgroup), meminfo_read_available("/proc/meminfo"));
}

static int load(const ReplayJob *j, const char *name, Recording *recording, ReplayResult *ret) {
        _cleanup_close_ int dir = kept_open(j->job.dir);
        int r = dir < 0 ? dir : replay_file_load(dir, name, recording);

        if (r >= 0)
                ret->kept = recording_summarize(recording);
        return r;
}

static int look(const ReplayJob *j, const char *name, ReplayResult *ret) {
        _cleanup_recording_ Recording recording = {};

        return load(j, name, &recording, ret);
}

static int read_ahead(ReplayJob *j, const char *name, ReplayResult *ret) {
        _cleanup_recording_ Recording recording = {};
        int r;

        r = load(j, name, &recording, ret);
        if (r < 0)
                return r;
        ret->harm = find_harm(j);
        if (ret->harm != REPLAY_HARM_NONE)
                return 0;

        r = be_expendable(j->deadline);
        if (r >= 0)
                r = drop_capabilities();
        if (r >= 0)
                r = cgroup_join(j->root, j->cgroup, j->cgroup_id);
        if (r < 0)
                return r;

        r = recording_read(&recording, j->mounts, room, j, &ret->counts);
        return j->alone ? -ECANCELED : r;
}

static void run(int fd, void *userdata) {
        ReplayJob *j = userdata;
        g_autofree char *name = kept_file_name(j->job.unit);
        ReplayResult result = {};

        switch ((ReplayJobKind) j->job.kind) {
        case REPLAY_READ:
                result.error = read_ahead(j, name, &result);
                break;
        case REPLAY_SAVE:
        case REPLAY_SAVE_BRIEF:
                result.error = save(j, name, &result);
                break;
        case REPLAY_FORGET:
                result.error = forget(j, name, &result);
                break;
        case REPLAY_LOOK:
                result.error = look(j, name, &result);
                break;
        }

        (void) write_all(fd, &result, sizeof(result));
}

/* ---- in the daemon */

int replay_job_start(Job *j, void *userdata) {
        return helper_start("cachebpfd-repl", run, j, -EBADF, &j->helper);
}
