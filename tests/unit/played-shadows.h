/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shadows that miss what the test says, and units that ask for what it says. */

#include "daemon/auto/backend.h"

/* Of control groups 1, 2, … as in fake-backend.h. */
#define PLAYED_UNITS 8

typedef struct PlayedShadows {
        uint64_t cgroup_id;
        uint64_t n_pages;
        char *candidates;          /* "stock, lru nr_scan=64" */
        const ShadowsHandlers *handlers;
        void *userdata;
        unsigned n_ended, n_answered; /* windows */
        unsigned n_replaced;
} PlayedShadows;

typedef struct PlayedHost {
        int host_error;            /* what the next calls fail with */
        int shadows_error;
        int read_error;
        int replaced_error;
        int resize_error;
        unsigned room;             /* for so many units; 0: for all */
        unsigned n_new, n_read;
        PlayedShadows *shadows[PLAYED_UNITS]; /* NULL: none */
        Meter meters[PLAYED_UNITS];
        uint64_t capacity;
        bool patient;              /* what was begun for another capacity goes on */
        uint64_t lost;             /* events, in each window */
        unsigned silent;           /* candidates that do not answer, as bits */
} PlayedHost;

extern PlayedHost played;
extern const AutoBackend played_auto;
