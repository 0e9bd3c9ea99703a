/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cgroup.h"
#include "config/cache-files.h"
#include "config/catalog.h"
#include "config/policy-config.h"
#include "shared/thread-class.h"

/* What a policy that listens to programs has room for: managers, and files that each can name. */
#define MANAGERS_MAX 64U
#define MANAGER_FILES_MAX 1024U

/* A file as policies know it. */
typedef struct PolicyFile {
        uint64_t ino;
        uint32_t dev;        /* of the file system, as the kernel has it */
        uint32_t generation; /* tells it from earlier files with that number */
} PolicyFile;

/* Who says which pages go first: a control group below the policy's, or that itself. */
typedef struct PolicyManager {
        uint64_t id;
        uint32_t mru;        /* levels that are MRU, a bit each, from the lowest */
        uint32_t n_files;
        bool revoked;        /* too many of its decisions were wrong: it has no say now */
        uint64_t n_decisions;
        uint64_t n_wrong;
        uint64_t pages[CACHE_LEVELS];
} PolicyManager;

/* Levels are numbered from the lowest here. Has it pages in one, or said something of it? */
static inline bool policy_manager_has_level(const PolicyManager *m, unsigned i) {
        return m->pages[i] > 0 || m->mru >> i & 1;
}

static inline const char *policy_manager_replacement(const PolicyManager *m, unsigned i) {
        return m->mru >> i & 1 ? "mru" : "lru";
}

typedef struct PolicyFileLevel {
        uint64_t manager;
        PolicyFile file;
        int level;
} PolicyFileLevel;

/* The daemon's hold on an attached policy. Closing it detaches nothing: the pin keeps the policy running. */
typedef struct PolicyLink {
        uint64_t cgroup_id;
        int fd;             /* EPOLLHUP when the kernel detached the policy */
        bool incomplete;    /* an update was interrupted: bring it to its end before relying on the pins */
        char *config;       /* the fingerprint of the object and the configuration it runs with */

        /* What events.h needs; -EBADF for a policy that asks for nothing. */
        int events_fd;      /* ring buffer */
        int program_fd;
        int counts_fd;

        int counters_fd;    /* the map with what it counts; -EBADF: it counts nothing */
        GArray *counters;   /* of PolicyCounter: what is in it; NULL: not known */

        int say_fd;         /* by which the daemon speaks for managers; -EBADF: the policy does not listen */

        /* What the policy learns (learned-map.h); -EBADF: nothing that is to be kept. */
        int learned_fd;
        char *learned;      /* the label of that; NULL only if there is nothing */
        bool restored;      /* what an earlier instance learned is in there, if there was any */
} PolicyLink;

PolicyLink *policy_link_new(uint64_t cgroup_id, int fd);

/* To what managers say. */
static inline bool policy_link_listens(const PolicyLink *link) {
        return link && link->say_fd >= 0;
}

/* Of the policy whose object runs: a newer one may count other things in other places. */
void policy_link_set_counters(PolicyLink *link, GArray *counters);

PolicyLink *policy_link_free(PolicyLink *link);
DEFINE_TRIVIAL_CLEANUP_FUNC(PolicyLink *, policy_link_free);

/* The kernel as the reconciler sees it: bpf.c is the real one, the unit tests have another. Where
 * there is a ret_reason, a failure also gives the sentence for the user. */
typedef struct PolicyBackend {
        /* Puts half-written pins in order and gives the
         * ids of the control groups with a pinned live link. */
        int (*enumerate)(void *userdata, GArray *ret_ids /* of uint64_t */);
        /* Opens the pinned link of a control group; -ENOENT if there is none. */
        int (*open)(void *userdata, uint64_t cgroup_id, PolicyLink **ret);
        int (*attach)(void *userdata, const Policy *policy, const PolicyConfig *config, uint64_t cgroup_id,
                      PolicyLink **ret, char **ret_reason);
        /* Replaces the policy of a link in place, with no moment without a policy. */
        int (*update)(void *userdata, PolicyLink *link, const Policy *policy, const PolicyConfig *config,
                      char **ret_reason);
        /* Detaches and removes the pin; fine if the kernel detached already. */
        int (*detach)(void *userdata, PolicyLink *link);
        /* What the kernel says, see cgroup.h. */
        int (*read_policy)(void *userdata, const char *cgroup, uint64_t cgroup_id, KernelPolicy *ret);
        /* What the policy counts: one number for each of link->counters. */
        int (*read_counters)(void *userdata, const PolicyLink *link, uint64_t *ret);
        /* The class of a thread, given by a PIDFD_THREAD; -ESRCH when it has ended. No class: -ENOENT. */
        int (*set_class)(void *userdata, int pidfd, ThreadClass class);
        int (*get_class)(void *userdata, int pidfd, ThreadClass *ret);
        /* Speak for a manager. */
        int (*set_level)(void *userdata, PolicyLink *link, uint64_t manager, const PolicyFile *file,
                         int level);
        int (*set_replacement)(void *userdata, PolicyLink *link, uint64_t manager, int level, bool mru);
        /* What managers said, and what came of it. */
        int (*read_managers)(void *userdata, const PolicyLink *link, GArray *ret /* of PolicyManager */);
        int (*read_levels)(void *userdata, const PolicyLink *link, GArray *ret /* of PolicyFileLevel */);
        /* Notes for later instances of the daemon that the link is restored; the link stays as it is. */
        int (*mark_restored)(void *userdata, PolicyLink *link);
        void *userdata;
} PolicyBackend;

/* The name by which the kernel knows a policy: it allows no '-'. */
void policy_kernel_name(const char *name, char ret[static POLICY_NAME_MAX + 1]);
bool policy_kernel_name_equal(const char *name, const char *kernel_name);

static inline bool policy_file_equal(const PolicyFile *a, const PolicyFile *b) {
        return a->ino == b->ino && a->dev == b->dev && a->generation == b->generation;
}

/* "MAJOR:MINOR" */
char *policy_file_device(const PolicyFile *file);

/* Whether the kernel's type information (BTF) describes what policies need. It is made when the kernel is
 * built, by a pahole that may not fit; without it no policy can be loaded. Returns a sentence about what is
 * wrong, or NULL. */
char *kernel_btf_check(const char *path);

/* bpf.c: the pins are below pin_root, the control groups below cgroup_root; both are kept. */
PolicyBackend *policy_bpf_backend_new(const char *pin_root, const char *cgroup_root);
PolicyBackend *policy_bpf_backend_free(PolicyBackend *b);
