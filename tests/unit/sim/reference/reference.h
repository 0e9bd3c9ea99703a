/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the policies are compared with: a model of each, written from its paper and from what the project
 * says about it, in the plainest way. A model is slow, knows one page after the other, and shares no code
 * with policies or the simulator. */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/trace.h"

/* A tunable that is not as it comes. */
typedef struct Option {
        const char *name; /* NULL: none */
        int64_t value;
} Option;

#define MAX_OPTIONS 5

/* When so many pages have gone the cache has another size. */
typedef struct Resize {
        uint32_t after; /* 0: never */
        uint32_t to;
} Resize;

#define MAX_RESIZES 2

/* The cache, as models see it. */
typedef struct Cache {
        uint32_t capacity, n_cached; /* pages */
        uint32_t n_pages;            /* that the trace knows */
        const uint64_t *keys;        /* hashes of the pages */
        const uint32_t *files;       /* by page: which file it is of, some number below n_pages */
        bool *cached;                /* by page */
        uint32_t *uses;              /* by page, since it came; 0: it was read ahead, and not read yet */
        unsigned class;              /* of the thread that the request is from */
        const Option *options;       /* MAX_OPTIONS of them */
        /* what the policy has evicted, from here on, for a model that may choose */
        const uint32_t *hints;
        uint32_t n_hints;
} Cache;

typedef struct Model {
        const char *policy;
        unsigned bytes_per_page; /* of the cache, in which it remembers pages */
        void *(*begin)(const Cache *c);
        void (*end)(void *state);
        /* A page came. What read it is its first use, after that, and is not told. */
        void (*added)(void *state, const Cache *c, uint32_t page);
        /* It was used once more. */
        void (*used)(void *state, const Cache *c, uint32_t page);
        /* Chooses pages to evict, some or all of those wanted; they are gone then. Returns how many. */
        uint32_t (*evict)(void *state, const Cache *c, uint32_t wanted, uint32_t *victims);
        /* A page was deleted. */
        void (*removed)(void *state, const Cache *c, uint32_t page);
} Model;

extern const Model model_fifo, model_lru, model_mru, model_sieve, model_lfu, model_get_scan, model_s3fifo,
                model_arc, model_wtinylfu, model_mglru, model_lhd, model_mlcache;

/* The value of a tunable: what it is by default, or what this run has it set to. */
int64_t option(const Cache *c, const char *name, int64_t by_default);

typedef struct Outcome {
        uint64_t misses, calls; /* for pages to evict */
        uint32_t n_victims;
        uint32_t *victims;  /* one after the other */
        uint32_t *requests; /* at which of them each was evicted */
} Outcome;

typedef struct Game {
        const Trace *trace;
        uint32_t capacity, batch;
        const Option *options; /* MAX_OPTIONS */
        const Resize *resizes; /* MAX_RESIZES */
        /* the victims that the policy has chosen */
        const uint32_t *hints;
        uint32_t n_hints;
} Game;

void play(const Model *model, const Game *g, Outcome *ret);
void outcome_done(Outcome *o);

/* ---- pages in a row, the first one is the first to go */

GArray *row_new(void);
uint32_t row_at(const GArray *row, uint32_t i);
/* Where the page is; -1: nowhere. */
int64_t row_find(const GArray *row, uint32_t page);
/* To the end. */
void row_add(GArray *row, uint32_t page);
/* Takes the first one, or that one; false: it is not there. */
uint32_t row_shift(GArray *row);
bool row_take(GArray *row, uint32_t page);
/* Takes so many from the beginning, or all that there are; and puts them, or others, at the end. */
GArray *row_cut(GArray *row, uint32_t n);
void row_append(GArray *row, const GArray *other);

/* ---- pages that are remembered after their eviction (ghosts.c) */

typedef struct Ghosts Ghosts;

Ghosts *ghosts_new(void);
void ghosts_free(Ghosts *g);
uint32_t ghosts_len(const Ghosts *g);
void ghosts_make(Ghosts *g, uint32_t page, uint32_t n_cached);
bool ghosts_take(Ghosts *g, uint32_t page);
/* Forgets the oldest, so that not more than "max" are left. */
void ghosts_limit(Ghosts *g, uint32_t max);

/* ---- traces (traces.c): the same in each run */

typedef enum TraceKind {
        TRACE_ZIPF,
        TRACE_LOOP,    /* of 310 pages, again and again */
        TRACE_ROUNDS,  /* 300 pages several times, and others in between */
        TRACE_SCANS,   /* Zipf, and scans of pages that are used once in a while */
        TRACE_PHASES,  /* Zipf, of other pages in each quarter */
        TRACE_FILES,   /* files that are read from the beginning, with readahead, written, and deleted */
        TRACE_THREADS, /* some threads look pages up, others scan */
        TRACE_LARGE,   /* for caches of some thousand pages */
        _TRACE_KIND_MAX,
} TraceKind;

const char *trace_kind_to_string(TraceKind kind);
/* NULL: there is no memory. */
Trace *trace_make(TraceKind kind);
