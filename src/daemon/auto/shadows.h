/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "shared/kernel-features.h"

/* The shadows of a unit: each candidate's policy runs in a process of its own (cachebpf-shadow), on a
 * small cache that is fed with a sample of the unit's requests. The kernel tells of the sample at a
 * tracepoint, and a BPF program there passes it on.
 *
 * Sampling by pages, and caches in proportion: Waldspurger and others, "Efficient MRC construction with
 * SHARDS", FAST 2015; "Cache modeling and optimization using miniature simulations", USENIX ATC 2017. */

/* One for the daemon: the BPF program, its ring buffer, and the shadows of all units. */
typedef struct ShadowHost ShadowHost;
/* Of one unit. */
typedef struct Shadows Shadows;

#define SHADOWS_CANDIDATES_MAX 16

/* Processes of all units together. One takes up to a MiB, that of wtinylfu one and a half: with six
 * candidates ten units have shadows at a time, in less than 64 MiB, and others have to wait. */
#define SHADOWS_PROCESSES_MAX 64U

typedef struct ShadowCandidate {
        const char *policy;          /* one that the simulator has; "stock": the kernel's own */
        const char *const *options;  /* "NAME=VALUE", NULL at the end; NULL: none */
} ShadowCandidate;

/* What happened from one shadows_end_window() to the next. */
typedef struct ShadowsWindow {
        uint64_t sampled;            /* requests in the sample, without those that were lost on the way */
        uint64_t lost;               /* events that found no room in the unit's share of the ring buffer */
        uint32_t one_in;             /* the rate: one page in so many */
        struct {
                uint64_t misses;
                bool valid;          /* false: its process ended or began in this window, missed events,
                                      * or did not answer */
        } candidates[SHADOWS_CANDIDATES_MAX];
} ShadowsWindow;

/* They are called from the event loop, and may free the shadows. */
typedef struct ShadowsHandlers {
        /* A window is over: all processes answered, or some did not in time. */
        void (*window)(Shadows *s, const ShadowsWindow *w, void *userdata);
        /* They begin anew, with empty caches: the size or the rate changed. Windows that were asked for
         * before are not told any more. May be NULL. */
        void (*reseeded)(Shadows *s, void *userdata);
} ShadowsHandlers;

/* The paths are copied. -EOPNOTSUPP: the kernel has no such tracepoint. */
int shadow_host_new(sd_event *event, const KernelPaths *paths, ShadowHost **ret);
/* After the shadows of all units. */
ShadowHost *shadow_host_free(ShadowHost *h);
DEFINE_TRIVIAL_CLEANUP_FUNC(ShadowHost *, shadow_host_free);

/* For tests: another program than cachebpf-shadow. */
void shadow_host_set_program(ShadowHost *h, const char *program);

/* Begins, for a unit to whose control group a policy is attached, with the path ("/system.slice/x.service")
 * and the id of that. n_pages is how much it may cache, or caches now; at least 1. Processes that end are
 * started again, after a pause that grows. The unit's name is for messages.
 *
 * -EBUSY: the processes of other units are as many as there may be; another time there may be room.
 * -ENOENT: the control group is gone. -EEXIST: it has shadows. -EINVAL: no candidates, or too many. */
int shadows_new(ShadowHost *h, const char *unit, const char *cgroup, uint64_t cgroup_id, uint64_t n_pages,
                const ShadowCandidate *candidates, size_t n_candidates,
                const ShadowsHandlers *handlers, void *userdata, Shadows **ret);
/* The kernel's sample of the unit ends too. */
Shadows *shadows_free(Shadows *s);
DEFINE_TRIVIAL_CLEANUP_FUNC(Shadows *, shadows_free);

/* A window was told, and the unit may cache that many pages now. Returns whether what was told holds for
 * that, 1 or 0: it does not if it is more than a quarter more or less than when they began. If that lasts
 * (see patience.h), they begin anew, and the handler is called from here. Until then *ret_wait is in how
 * many more windows that has to be so, else 0. Negative errno: they cannot begin anew, and try again. */
int shadows_resize(Shadows *s, uint64_t n_pages, unsigned *ret_wait);

/* The unit has another policy: tells the kernel the rate, if it does not know it; without that no events
 * come. -ENOENT: the control group is gone. */
int shadows_policy_replaced(Shadows *s);

/* Ends the window; the handler is called later. -EALREADY: the one before is still to be told. */
int shadows_end_window(Shadows *s);
