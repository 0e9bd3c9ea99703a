/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "host.h"
#include "shared/learned-file.h"
#include "trace.h"

/* What happened in a run, in pages; as the kernel counts it in memory.cachebpf.stat where it does. */
typedef struct SimStats {
        uint64_t requests;      /* reads and writes */
        uint64_t misses;        /* of those, that found nothing, or what was only read ahead */
        uint64_t cold_misses;   /* of those, that were the first ones for their page */
        uint64_t readahead;     /* requests for readahead, not in "requests" */
        uint64_t reads;         /* of readahead.c only: requests to the disk, */
        uint64_t read_pages;    /* and what they read */
        uint64_t added;         /* that came into the cache */
        uint64_t refaults;      /* of those, that came back soon after they were evicted */
        uint64_t evicted;       /* that reclaim took, by the policy's choice or without */
        uint64_t truncated;     /* that the trace removes */
        uint64_t evict_calls;   /* requests for pages to evict */
        uint64_t evict_asked;   /* how much was wanted */
        uint64_t evict_proposed;
        uint64_t evict_fallback; /* what was left to stock reclaim: policies without say have none */
        uint64_t rejected;      /* proposals that were nonsense: gone, or twice in one request */
        uint64_t admit_asked;
        uint64_t admit_rejected;
        uint64_t reconfigurations;
        struct {
                uint64_t requests, misses;
        } managers[TRACE_MAX_MANAGERS + 1]; /* by the numbers of the trace */
} SimStats;

/* What a manager of the trace says, by advice of bpf/lib/advice.bpf.h, before it begins. */
typedef struct SimAdvice {
        uint8_t manager;
        int32_t advice;
        uint32_t file; /* its number; where none is meant, any */
} SimAdvice;

typedef struct CacheSettings {
        uint32_t capacity; /* pages, at least 1 */
        uint32_t batch;    /* pages per eviction request, 1 to CACHEBPF_BATCH */
        bool admission;    /* ask the policy's admit_folio, if it has one */
        bool ahead_hits;   /* what was only read ahead is no miss */
        bool plans;        /* the policy has plan_readahead() */
        Learned *learned;  /* what it knows of an earlier run, and then of this one; NULL: forget it */
        const SimAdvice *advice;
        size_t n_advice;
        size_t warm_up;    /* so many requests come before it counts: they only fill the cache */
        uint32_t scale;    /* the cache is a sample of one so many times as large; 0: is none */
        bool *missed;      /* for each request of the trace, set if it missed; NULL: nobody asks */
        /* An object left the cache, by reclaim, or because it was removed; NULL: nobody asks. */
        void (*left)(uint32_t object, bool reclaimed);
} CacheSettings;

/* Runs a policy over a whole trace, in this process, from an empty cache. Returns a negative errno; what the
 * policy itself refused is policy_init()'s. */
int cache_run(const SimPolicy *policy, const Trace *trace, const CacheSettings *settings, SimStats *ret);

/* The same for who has the requests one by one, and for ever. There is one run at a time in a process.
 *
 * Begins it. Of the trace, which has to stay, only the objects count; their keys and ids may change while
 * they are not cached. Errors are those of cache_run(); cache_clear() is due after them as well. */
int cache_begin(const SimPolicy *policy, const Trace *trace, const CacheSettings *settings);

/* A request with its flags, for an object less than n_objects of the trace. Returns whether it missed. */
bool cache_request(uint32_t object, uint8_t flags, uint8_t manager);

/* Another policy goes on, with what is cached: list after list of the one before, from the head. It is told
 * as of pages that it adopts. Its static variables are as an earlier instance in this process has left them.
 * -ENOMEM, or what policy_init() returns. */
int cache_replace(const SimPolicy *policy);

/* Is the object cached? */
bool cache_has(uint32_t object);

/* The number will stand for another page. The present one is not cached; nobody knows any more that it
 * was. */
void cache_forget(uint32_t object);

/* What happened up to now. */
const SimStats *cache_stats(void);

/* Says good-bye to the policy, and takes what it has learned: -ENOENT if that is asked for and nothing. */
int cache_end(void);

/* Gives all memory back. */
void cache_clear(void);
