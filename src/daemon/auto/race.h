/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The race of policies for a unit with CachePolicy=auto: which of them should run. Each candidate has a
 * shadow, a small cache that does with a sample of the unit's requests what the policy would do with all
 * of them. Time is divided into windows. At the end of each, race_step() is told what shadows and the
 * unit itself missed, and says whether to stay, to switch, or to take a switch back. It does neither, and
 * knows no clock.
 *
 * All ratios are misses per request, from 0 to 1. Shadows are compared by averages over windows, of which
 * the last one counts RACE_ALPHA. Sampling by pages, and that what is missing of the expected sample
 * counts as hits: Waldspurger and others, "Efficient MRC construction with SHARDS", FAST 2015. What
 * decides on a switch was tried on recorded traces, the numbers of the guard were not. */

#define RACE_CANDIDATES_MAX 16
/* The candidate that is the kernel's own policy: where each race begins. */
#define RACE_STOCK 0

/* A window is over when the unit has asked for so many times its cached pages, but not sooner or later than
 * that. */
#define RACE_WINDOW_TURNS 4
#define RACE_WINDOW_USEC_MIN (UINT64_C(2) * 1000000)
#define RACE_WINDOW_USEC_MAX (UINT64_C(60) * 1000000)
/* A window with fewer requests in the sample says nothing. */
#define RACE_SAMPLE_MIN 512

#define RACE_ALPHA 0.3
/* What a switch has to gain: the greatest of this (or what the caller says), this part of the present ratio,
 * and so many times the noise of the sample. */
#define RACE_GAIN_MIN 0.01
#define RACE_GAIN_PART 0.02
#define RACE_GAIN_NOISE 2.0
/* And in time: this part of it would not be spent on misses. */
#define RACE_TIME_PART 0.005
/* Windows in a row that have the same winner before a switch, and windows from one switch to the next. */
#define RACE_CONFIRM 2
#define RACE_DWELL 2

/* After a switch, for so many windows: if so many in a row miss so much more than the policy before would
 * have, the switch is taken back, and its policy is banned for a window; the next time for two, four, and
 * so on, until it was not banned for RACE_BAN_FORGET windows. */
#define RACE_GUARD_WINDOWS 8
#define RACE_GUARD_CONFIRM 2
#define RACE_GUARD_LOSS 0.01
#define RACE_BAN_FORGET 64
#define RACE_BAN_MOST 10 /* powers of two */

/* What happened in a window. */
typedef struct RaceWindow {
        size_t present;     /* the candidate that runs */
        uint64_t requests;  /* of the unit, in pages, and what of that was missed */
        uint64_t misses;
        uint64_t usec;      /* how long it was */
        uint64_t expected;  /* requests in the sample if it had its share of all */
        uint64_t sampled;   /* requests in the sample */
        uint64_t n_pages;   /* different pages in the sample */
        uint64_t shadow_misses[RACE_CANDIDATES_MAX];
        bool silent[RACE_CANDIDATES_MAX]; /* nothing is known of what its shadow missed */
        uint64_t miss_usec; /* what a miss takes on average; 0: not known, and not asked for */
} RaceWindow;

typedef enum RaceAction {
        RACE_STAY,
        RACE_SWITCH,
        RACE_ROLL_BACK,
} RaceAction;

/* Why it stays. */
typedef enum RaceReason {
        RACE_BECAUSE_OF_FIGURES, /* it does not stay */
        RACE_NO_SAMPLE,          /* there were too few requests */
        RACE_NO_SHADOW,          /* the shadow of the present one is silent */
        RACE_BEST,               /* none is better */
        RACE_SMALL_GAIN,         /* one is, by less than the margin */
        RACE_IDLE,               /* by so few misses that nobody would notice */
        RACE_UNCONFIRMED,        /* not in enough windows */
        RACE_TOO_SOON,           /* after the last switch */
        _RACE_REASON_MAX,
} RaceReason;

/* What to do, and the figures that say so. */
typedef struct RaceStep {
        RaceAction action;
        RaceReason reason;
        size_t from, to;         /* "to" is the best one if it stays */
        double from_ratio;       /* of the present one's shadow; ROLL_BACK: what the unit missed */
        double to_ratio;         /* of the other's; ROLL_BACK: what the unit would have missed with it */
        double margin;           /* how much less it has to be */
        unsigned banned;         /* ROLL_BACK: for so many windows */
} RaceStep;

typedef struct RaceCandidate {
        double ratio;            /* average of its shadow, … */
        bool begun;              /* … which there is */
        bool out;                /* for good */
        unsigned banned;         /* windows that it may not win, with the present one */
        unsigned n_bans;         /* since they were forgotten */
        unsigned since_ban;      /* windows */
} RaceCandidate;

/* Private but for the candidates, which are to be shown, and gain_min, which may be set after the
 * beginning. */
typedef struct Race {
        RaceCandidate candidates[RACE_CANDIDATES_MAX];
        size_t n_candidates;
        double gain_min;         /* RACE_GAIN_MIN */
        bool begun;              /* there is an average of the bias */
        size_t present;
        size_t winner;           /* of the last window, and of how many in a row */
        unsigned n_wins;
        unsigned since_switch;   /* windows */
        double bias;             /* average of how much more than its shadow the unit missed */
        size_t before;           /* the guard: who ran before the last switch */
        double before_bias;
        unsigned guarded;        /* windows that it still lasts */
        unsigned n_losses;       /* windows in a row */
} Race;

/* Begins with the kernel's own policy; 1 to RACE_CANDIDATES_MAX candidates. */
void race_init(Race *race, size_t n_candidates);

/* The shadows have begun anew, as the size of the cache or the sample has changed: forgets what they
 * missed. Bans stay. */
void race_reseed(Race *race);

/* Whether a window is over, with so many requests in so much time, in a cache of n_cached pages. */
bool race_window_over(uint64_t n_cached, uint64_t requests, uint64_t usec);

/* Takes the result of a window. If it says RACE_SWITCH or RACE_ROLL_BACK the caller has ret->to run, and
 * says with the next window whether it does: if it is another than was told, the race goes on from there. */
void race_step(Race *race, const RaceWindow *window, RaceStep *ret);

/* The kernel did not take the policy of a candidate, or ended it: bans it, as a switch that is taken back
 * does. Returns for how many windows. */
unsigned race_ban(Race *race, size_t candidate);
/* The same for good, as another try would come to the same; … */
void race_exclude(Race *race, size_t candidate);
/* … until something is different. */
void race_readmit(Race *race);

/* A sentence for status and journal, with the names of the candidates; to be freed. */
char *race_step_to_string(const RaceStep *step, const char *const *names);
