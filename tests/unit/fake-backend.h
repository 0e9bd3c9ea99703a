/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/kernel/backend.h"

#define FAKE_CGROUPS 8

/* A kernel for the reconciler's tests: a few control groups with ids 1, 2, ... and paths "/1", "/2", ... */
typedef struct FakeCgroup {
        bool exists;
        uint64_t inode;      /* another id of it, of a directory that stands for it; 0: none */
        const char *path;    /* instead of its number; NULL: that */
        bool pinned;
        bool restored;       /* the mark of what was learned before */
        bool updating;       /* the mark of an interrupted update */
        char policy[16];     /* empty: none */
        char config[POLICY_FINGERPRINT_LENGTH + 1];
        uint64_t policy_id;
        uint64_t updates;
        uint64_t ejected_id;
        const char *ejected; /* what the kernel says about that one */
        int pipe[2];         /* [0]: the link; it hangs up when [1] is closed */
} FakeCgroup;

typedef struct FakeKernel {
        PolicyBackend backend;
        FakeCgroup cgroups[FAKE_CGROUPS];
        uint64_t last_policy_id;
        int open_error;      /* what the next calls fail with */
        int read_error;
        int attach_error;
        int update_error;
        const char *attach_refuses; /* for good, the policy of this name; NULL: none */
        bool attach_lies;    /* attaching succeeds, and nothing runs */
        bool update_lies;    /* the next update does, and nothing runs after it */
        const char *update_ejects; /* while the next one is made the kernel ends what runs, and says this */
        bool attach_unwatchable; /* and the link cannot be watched */
        unsigned long attach_usec; /* how long it takes */
        unsigned n_attach, n_update, n_detach, n_open;
        int set_class_error;
        unsigned n_set_class;
        ThreadClass last_class; /* that of all threads, once one was given */

        int learned_fd;      /* what stands for the map of the policy "lfu", which learns; -EBADF: nothing */

        /* What is said to the policy "acfs", which listens. */
        GArray *managers;    /* of PolicyManager: those who have said something */
        GArray *levels;      /* of PolicyFileLevel: of all files of which something was said */
        unsigned n_said;
        int say_error;
        int read_levels_error;
        int mark_error;
} FakeKernel;

void fake_kernel_init(FakeKernel *k);
void fake_kernel_done(FakeKernel *k);

FakeCgroup *fake_cgroup_make(FakeKernel *k, uint64_t id);
/* What the policy knows of a manager and of a file, from now on at least. */
PolicyManager *fake_manager(FakeKernel *k, uint64_t id);
int *fake_level(FakeKernel *k, uint64_t manager, const PolicyFile *file);
/* The directory goes; the kernel detaches what was attached. */
void fake_cgroup_remove(FakeKernel *k, uint64_t id);
/* The kernel detaches the policy, the control group stays. */
void fake_cgroup_eject(FakeKernel *k, uint64_t id);
/* What an earlier daemon left behind (pinned), or another program (not pinned). */
void fake_cgroup_attach(FakeKernel *k, uint64_t id, const char *policy, bool pinned);
