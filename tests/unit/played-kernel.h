/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>

/* A kernel for src/daemon/kernel: what these files call of libbpf to reach it is played here. Objects are
 * opened by libbpf itself, and files take the place of pins. */
typedef struct PlayedKernel {
        /* What calls answer: 0, or -errno. */
        int load;
        int attach;
        int update;
        int detach;
        int open_pin;
        const char *unpinnable; /* a name that cannot be pinned */

        enum bpf_link_type link_type; /* of all links */
        bool hung_up;                 /* the kernel detached what is pinned */
        bool btf_broken;              /* the kernel's types do not say what a policy is */

        /* The policy that was loaded last, and those that came behind a link. */
        char name[32];
        uint64_t cgroup_id;
        unsigned n_updates;
        unsigned n_layouts; /* how often the kernel's types were read */
        struct PlayedValue {
                uint64_t refcount;
                uint64_t newer; /* a member that no object has */
                uint64_t evict_folios;
                uint64_t cgroup_id;
                uint64_t admit_folio;
        } value;

        /* Classes of threads. */
        int thread_error;
        uint32_t thread_class;
        unsigned n_thread_maps;

        /* What managers said, as maps of the policy have it, and what is said on their behalf. */
        struct PlayedManager {
                uint64_t id;
                uint32_t slot, lists, mru, nr_files, revoked, recent[2], inherits;
                uint64_t nr_decisions, nr_wrong, owes, missed_at;
        } managers[2];
        struct PlayedPriority {
                uint64_t ino;
                uint32_t dev, generation;
                uint64_t manager;
                uint32_t level;
        } priorities[2];
        unsigned n_managers, n_priorities;
        bool map_differs; /* has keys of another size */
        struct PlayedSpeech {
                uint64_t manager, ino;
                uint32_t dev, generation;
                int32_t advice;
                uint32_t unused;
        } said[16];
        unsigned n_said, n_said_before; /* the update */
        unsigned n_busy;                /* so often another thread is just the first to speak */
        int answer;

        /* A program that a policy asks for: events in the ring, and what comes out of a run. */
        unsigned long n_posted;
        unsigned long n_taken;
        unsigned n_runs;
        unsigned n_posted_in_run;
        int run;
        int32_t retval;
} PlayedKernel;

extern PlayedKernel kernel;

/* As it was in the beginning: all calls succeed. */
void played_kernel_reset(void);

/* The file descriptor of all programs that are loaded. */
#define PLAYED_PROGRAM_FD 1001

/* An event for those who watch the ring. */
void played_kernel_post(unsigned n);
