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
 * A candidate wins when the one that runs has missed enough more than it: regret is summed over windows,
 * less the margin, and never below 0. It has to be a part of the cache, as a new policy has to learn that
 * much. This is the cumulative sum of Page, "Continuous inspection schemes", Biometrika 1954. The part is
 * small at first and twice as large after each switch.
 *
 * All ratios are misses per request, from 0 to 1; regret is in turns, of as many misses as pages are cached.
 * Sampling by pages, and that what is missing of the expected sample counts as hits: Waldspurger and
 * others, "Efficient MRC construction with SHARDS", FAST 2015. What decides on a switch was tried on
 * traces, see bench/README.md. */

#define RACE_CANDIDATES_MAX 16
/* The candidate that is the kernel's own policy. */
#define RACE_STOCK 0

/* A window is over when the unit has asked for that part of its cached pages, and for so many pages, but
 * not sooner or later than that. */
#define RACE_WINDOW_TURNS 0.25
#define RACE_WINDOW_REQUESTS 128
#define RACE_WINDOW_USEC_MIN (UINT64_C(2) * 1000000)
#define RACE_WINDOW_USEC_MAX (UINT64_C(60) * 1000000)
/* A window with fewer requests in the sample says nothing. */
#define RACE_SAMPLE_MIN 64

/* For so many turns a shadow that has begun says nothing, as it misses what the others have cached. */
#define RACE_WARM_TURNS 2.0

/* What is shown of a candidate is an average over windows, of which the last one counts so much. */
#define RACE_ALPHA 0.3

/* What does not count as regret: the greater of this (or what the caller says), and this part of the ratio
 * of the one that runs. */
#define RACE_MARGIN 0.005
#define RACE_MARGIN_PART 0.02
/* The regret that it takes. To go back to the kernel's own policy, so much of it is enough. */
#define RACE_REGRET_FIRST 0.15
#define RACE_REGRET_MOST 1.0
#define RACE_REGRET_STOCK 0.5

/* For so many turns after a switch: if the unit misses so much more than with the policy before, with a
 * margin of RACE_GUARD_LOSS, the switch is taken back, and its policy is banned for so many windows; the
 * next time for twice, four times as many, and so on, until it was not banned for RACE_BAN_FORGET
 * windows.
 *
 * Before the candidate that the race begins with there is none, so that one is compared with the best of
 * the others, unless it is the kernel's own. It is not known how far the unit is off shadows: that may be
 * much, as the unit counts uses of folios, and they those of pages. So the margin is greater, and nobody is
 * banned: if the unit misses no less with the other one, the first may win again. */
#define RACE_GUARD_TURNS 8.0
#define RACE_GUARD_REGRET 0.5
#define RACE_GUARD_LOSS 0.01
#define RACE_GUARD_LOSS_FIRST 0.05
#define RACE_BAN_FIRST 16
#define RACE_BAN_FORGET 1024
#define RACE_BAN_MOST 10 /* powers of two */

/* What happened in a window. */
typedef struct RaceWindow {
        size_t present;     /* the candidate that runs */
        uint64_t n_cached;  /* pages that the unit has in its cache */
        uint64_t requests;  /* of the unit, in pages, and what of that was missed */
        uint64_t misses;
        uint64_t expected;  /* requests in the sample if it had its share of all */
        uint64_t sampled;   /* requests in the sample */
        uint64_t shadow_misses[RACE_CANDIDATES_MAX];
        bool silent[RACE_CANDIDATES_MAX]; /* nothing is known of what its shadow missed */
} RaceWindow;

typedef enum RaceAction {
        RACE_STAY,
        RACE_SWITCH,
        RACE_ROLL_BACK,
        RACE_LEAVE, /* a switch from the candidate that the race began with, which its guard asks for */
} RaceAction;

/* Why it stays. */
typedef enum RaceReason {
        RACE_BECAUSE_OF_FIGURES, /* it does not stay */
        RACE_NO_SAMPLE,          /* there were too few requests */
        RACE_NO_SHADOW,          /* the shadow of the present one is silent, or not warm */
        RACE_BEST,               /* none is better by more than the margin */
        RACE_UNCONFIRMED,        /* one is, but not for long enough */
        _RACE_REASON_MAX,
} RaceReason;

/* What to do, and the figures that say so. */
typedef struct RaceStep {
        RaceAction action;
        RaceReason reason;
        size_t from, to;         /* "to" is the best one if it stays */
        double from_ratio;       /* of the present one's shadow, since there is regret; ROLL_BACK, LEAVE:
                                  * what the unit missed */
        double to_ratio;         /* of the other's; ROLL_BACK: what the unit would have missed with it */
        unsigned banned;         /* ROLL_BACK: for so many windows */
        bool settled;            /* BEST: all that are not out were heard, and no guard lasts */
} RaceStep;

typedef struct RaceCandidate {
        double ratio;            /* average of its shadow, … */
        bool begun;              /* … which there is */
        bool out;                /* for good */
        double warm;             /* turns since its shadow began, up to RACE_WARM_TURNS */
        double regret;           /* that another one runs; and since it is more than 0 … */
        double turns;            /* … how long that is, … */
        double missed;           /* … and what its shadow missed, … */
        double present_missed;   /* … and that of the one that runs: in turns */
        unsigned banned;         /* windows that it may not win, with the present one */
        unsigned n_bans;         /* since they were forgotten */
        unsigned since_ban;      /* windows */
} RaceCandidate;

/* Private but for the candidates, which are to be shown, and the margin, which may be set after the
 * beginning. */
typedef struct Race {
        RaceCandidate candidates[RACE_CANDIDATES_MAX];
        size_t n_candidates;
        double margin;           /* RACE_MARGIN */
        double needed;           /* regret that a switch takes */
        size_t present;
        bool switched;           /* in the last window, if that succeeds */
        bool begun;              /* there is an average of the bias */
        double bias;             /* average of how much more than its shadow the unit missed */
        bool first;              /* it began with the present one, which is not the kernel's own */
        size_t before;           /* the guard: who ran before the last switch */
        double before_bias;
        double guarded;          /* turns that it still lasts */
        double guard_regret;
} Race;

/* Begins with the candidate that runs, of 1 to RACE_CANDIDATES_MAX. */
void race_init(Race *race, size_t n_candidates, size_t present);

/* The shadows have begun anew, as the size of the cache or the sample has changed: forgets what they
 * missed. Bans stay. */
void race_reseed(Race *race);

/* How many requests make a window, in a cache of n_cached pages. */
uint64_t race_window_requests(uint64_t n_cached);
/* Whether a window is over, with so many requests in so much time. */
bool race_window_over(uint64_t n_cached, uint64_t requests, uint64_t usec);

/* Takes the result of a window. If it says anything but RACE_STAY the caller has ret->to run, and says with
 * the next window whether it does: if it is another than was told, the race goes on from there. */
void race_step(Race *race, const RaceWindow *window, RaceStep *ret);

/* The kernel did not take the policy of a candidate, or ended it: bans it, as a switch that is taken back
 * does. Returns for how many windows. */
unsigned race_ban(Race *race, size_t candidate);
/* The same for good, as another try would come to the same; … */
void race_exclude(Race *race, size_t candidate);
/* … until something is different. Returns whether there is such a one. */
bool race_readmit(Race *race);
/* A window has passed, of which nothing is known of shadows. Returns whether a ban has ended. */
bool race_pass_bans(Race *race);

/* A sentence for status and journal, with the names of the candidates; to be freed. */
char *race_step_to_string(const RaceStep *step, const char *const *names);
