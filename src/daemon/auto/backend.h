/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "meter.h"
#include "shadows.h"

/* What the choice is made from: shadows.h and meter.h are the real ones, the unit tests have others. */
typedef struct AutoBackend {
        int (*host_new)(sd_event *event, const KernelPaths *paths, ShadowHost **ret);
        ShadowHost *(*host_free)(ShadowHost *h);
        int (*shadows_new)(ShadowHost *h, const char *unit, const char *cgroup, uint64_t cgroup_id,
                           uint64_t n_pages, const ShadowCandidate *candidates, size_t n_candidates,
                           const ShadowsHandlers *handlers, void *userdata, Shadows **ret);
        Shadows *(*shadows_free)(Shadows *s);
        int (*shadows_resize)(Shadows *s, uint64_t n_pages, unsigned *ret_wait);
        int (*shadows_policy_replaced)(Shadows *s);
        int (*shadows_end_window)(Shadows *s);
        int (*read)(const Unit *u, Meter *ret);
        uint64_t (*read_capacity)(const Unit *u, const Meter *m);
} AutoBackend;

extern const AutoBackend auto_backend;
