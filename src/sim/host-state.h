/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What stands for the kernel while a policy runs: its folios, lists and memory. There is one per process, as
 * kfuncs do not tell for whom they are called; the cache (cache.h) drives it. */

#include <stdint.h>

/* no policy, and nothing that all policies have */
#define CACHEBPF_OWN_ADMISSION
#define CACHEBPF_OWN_READAHEAD
#include "cachebpf.bpf.h"
#include "shared/learned-file.h"
#include "shared/macro.h"
#include "trace.h"

#define MAX_LISTS 1023
/* Folios that one search looks at, at most. */
#define SEARCH_MAX 128
/* What the policy did not put anywhere. */
#define UNLISTED 0
/* cachebpf_folio.list while folio_added() runs: on no list at all. */
#define NO_LIST 0xffff

/* Which callback runs: not every kfunc may be called in each. */
typedef enum Callback {
        CALLBACK_NONE,
        CALLBACK_INIT,
        CALLBACK_EXIT,
        CALLBACK_EVICT,
        CALLBACK_ADDED,
        CALLBACK_ACCESSED,
        CALLBACK_REMOVED,
        CALLBACK_ADMIT,
        CALLBACK_ADVISE,
        CALLBACK_RECONFIGURE,
        _CALLBACK_MAX,
} Callback;

/* A walk in progress, in the bytes of struct bpf_iter_cachebpf_list; see host-walk.c. */
typedef struct Walk Walk;

typedef struct List {
        uint32_t head, tail; /* page frame numbers, 0: empty */
        uint32_t flags;      /* CACHEBPF_LIST_*, and in the upper half where folios go that are used */
        uint32_t n_folios;
        uint32_t sorted;     /* the folio that was sorted in last, 0: none ever was */
        Walk *walks;         /* whose cursors must not dangle */
} List;

typedef struct Buckets {
        uint8_t (*array)[64]; /* NULL: none */
        uint32_t n;
        uint32_t bytes_per_page;
        uint32_t grow_at; /* with so many pages in the cache */
        bool used;        /* before, there need not be more */
} Buckets;

typedef struct Host {
        const SimPolicy *policy;
        struct cachebpf_policy instance;
        Callback callback;

        /* folios by page frame number, which is that of the object in the trace plus 1 */
        struct cachebpf_folio *folios;
        uint32_t n_objects;
        const uint64_t *keys;
        const Trace *trace;

        uint32_t capacity; /* pages */
        uint32_t n_cached;

        List lists[MAX_LISTS];
        uint32_t n_lists;
        uint16_t new_list; /* where folios go that are added */
        bool new_at_tail;

        Buckets buckets;
        const Learned *learned; /* for the policy's map of that, when it is made; NULL: nothing */
        uint64_t random;
        uint64_t clock;      /* of the stamps of folios */
        uint32_t task_class; /* of the current request */
        bool events;         /* there is something in a ring buffer */
        bool gone[TRACE_MAX_MANAGERS + 1]; /* control groups of managers */
} Host;

extern Host host;

/* Begins the life of a policy, without calling it.
 * Terminates the process when it has to be told anything. */
int host_start(const SimPolicy *policy, const Trace *trace, uint32_t capacity);
/* Another policy begins: nothing is left of the one before but the folios, which are on no list now. */
void host_restart(const SimPolicy *policy);
void host_stop(void);

/* What a policy must not do, or cannot have: reported through the handler, which does not return. */
_printf_(1, 2) __attribute__((__noreturn__)) void host_fail(const char *format, ...);
typedef void (*host_fail_t)(const char *message);
void host_set_fail_handler(host_fail_t handler);

const char *callback_to_string(Callback callback);

/* Fails unless the callback that runs is one of the mask's (1 << CALLBACK_…). */
void host_check_callback(unsigned allowed, const char *function);

static inline uint32_t pfn_of(const struct cachebpf_folio *f) {
        return (uint32_t) (f - host.folios);
}

/* What policies know managers and files of the trace by, which have numbers there. */
static inline uint64_t host_manager_id(uint8_t number) {
        return (uint64_t) number + 1;
}

static inline uint64_t host_file_ino(uint64_t number) {
        return number + 1;
}

/* ---- unread.c of the kernel: what came in for a policy that plans readahead, and was not used yet */

#define UNREAD_NO_MORE 1
#define UNREAD_NEW (UNREAD_NO_MORE + 3)

/* Whether a walk is to pass over it this time: so many requests do, each however often it walks over it. */
static inline bool spare_unread(struct cachebpf_evict *evict, struct cachebpf_folio *f) {
        if (f->unread == 0)
                return false;
        for (uint32_t i = 0; i < evict->n_spared; i++)
                if (evict->spared[i] == f)
                        return true;
        if (f->unread == UNREAD_NO_MORE || evict->unread_left == 0)
                return false;
        evict->unread_left--;
        evict->spared[evict->n_spared++] = f;
        f->unread--;
        return true;
}

/* ---- host-lists.c */

void list_link(List *l, struct cachebpf_folio *f, bool tail);
void list_unlink(List *l, struct cachebpf_folio *f);
/* To an end of the list that it is on. */
void list_move_to_end(List *l, struct cachebpf_folio *f, bool tail);

/* Puts a folio that is on no list on one, or takes it off. */
void host_enlist(struct cachebpf_folio *f, uint16_t list, bool tail);
/* The same for one that was added just now. */
void host_enlist_new(struct cachebpf_folio *f, uint16_t list, bool tail);
void host_delist(struct cachebpf_folio *f);
/* What a list in the order of use does with a folio on it that was used. */
void host_use(struct cachebpf_folio *f);

/* ---- host-walk.c: a walk that was to visit f next goes on behind it */
void walks_advance(List *l, const struct cachebpf_folio *f);

/* ---- host-buckets.c */

void buckets_grow(void);

/* A folio came in: are there buckets enough? */
static inline void buckets_check(void) {
        if (host.buckets.array && host.n_cached >= host.buckets.grow_at)
                buckets_grow();
}

void buckets_done(void);

/* ---- host-maps.c */

/* Forgets all maps and what is in them. */
void maps_done(void);
/* What a map called cachebpf_learned begins with; and what is in it, in place of that. -ENOENT: the policy
 * has none, or did not use it. */
void maps_know(const Learned *l);
int maps_learned(Learned *l);
/* Empties the ring buffers; returns whether one called cachebpf_events had something. */
bool maps_consume_events(void);
