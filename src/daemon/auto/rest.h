/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "race.h"

/* When a race rests. It has no shadows then, and nothing is sampled, as that costs something with each
 * request. Windows pass as before, and what the unit misses in them says when the race goes on. */

/* It is idle: in so many windows in a row the unit missed less than half of the margin, so none can be
 * better by all of it. It rests until a window in which the unit misses as much as the margin. */
#define REST_IDLE_WINDOWS 8U

/* It is settled: so many windows in a row changed nothing, in so many of them none was better, and the last
 * one is one of these. … */
#define REST_CALM_WINDOWS 32U
#define REST_SETTLED_WINDOWS 16U
/* … It rests until a ban ends, or two windows in a row in which the unit misses more than it did in those,
 * or less: by so many margins, or that part of it if this is more, and so many standard deviations of those
 * beyond that. */
#define REST_MARGINS 2
#define REST_PART 0.1
#define REST_DEVIATIONS 3
/* Or until so many windows have passed: twice as many after each rest that ended so and led to no switch, up
 * to that power of two times as many. */
#define REST_FIRST 256U
#define REST_DOUBLED_MOST 4U

typedef enum RestReason {
        REST_NOT,
        REST_IDLE,
        REST_SETTLED,
} RestReason;

/* Begins as zeroes. */
typedef struct Rest {
        RestReason reason;   /* why it rests, or is to */
        unsigned n_idle;     /* windows in a row in which next to nothing was missed */
        unsigned n_same;     /* windows since another policy was chosen */
        unsigned n_calm;     /* windows in a row that changed nothing; … */
        unsigned n_settled;  /* … those of them in which none was better; … */
        double ratio;        /* … what the unit missed in those, an average, … */
        double variance;     /* … and how much that varied */
        unsigned n_passed;   /* windows that it has rested, as it is settled */
        int direction;       /* in the last one the unit missed more (1), less (-1), or neither */
        unsigned n_doubled;  /* how often the length of a rest was */
} Rest;

/* A window of a race is over: what the unit missed. */
void rest_count(Rest *r, const RaceWindow *w, double margin);
/* And what that came to. */
void rest_take_step(Rest *r, const RaceWindow *w, const RaceStep *step);
/* It has to settle again. */
void rest_unsettle(Rest *r);
/* The same, as another candidate runs: the next rest is a short one. */
void rest_switched(Rest *r);

/* A window is over while it rests. Returns whether the race goes on; then there is no reason any more. */
bool rest_ends(Rest *r, const RaceWindow *w, double margin);

/* For a sentence that begins with what runs; without a reason it waits for its turn. To be freed. */
char *rest_to_string(const Rest *r);
