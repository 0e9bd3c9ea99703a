/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A page cache of a fixed size: does with each request of a trace what mm/filemap.c, reclaim, and cachebpf's
 * folio.c and reclaim.c would do, and calls the policy where they do.
 *
 * Unlike in the kernel, lists in the order of use (CACHEBPF_LIST_USED_*) are in order after each use, not
 * after 32 of them. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "host-state.h"
#include "stock.h"

/* Requests of one round that bring nothing, after which reclaim goes on without the policy:
 * shrink_cachebpf(). */
#define MAX_VAIN_PROPOSALS 3

/* How far ahead of a request its folio is fetched into the processor's cache. */
#define PREFETCH_DISTANCE 16

/* cachebpf_folio.seen: was it used, ever and since it
 * was added? A policy may overwrite its count of accesses. */
enum {
        SEEN_EVER        = 1 << 0,
        SEEN_SINCE_ADDED = 1 << 1,
};

static const struct cachebpf_ops *ops;
static CacheSettings settings;
static SimStats stats;

/* Calls the policy, and then what the daemon would call if the policy asked for it. */
#define CALL(name, member, args...)                                                     \
        ({                                                                              \
                host.callback = (name);                                                 \
                ops->member(&host.instance, ##args);                                    \
                host.callback = CALLBACK_NONE;                                          \
                if (__builtin_expect(host.events, false))                               \
                        reconfigure();                                                  \
        })

static void reconfigure(void) {
        if (!maps_consume_events() || !host.policy->reconfigure)
                return;

        stats.reconfigurations++;
        host.callback = CALLBACK_RECONFIGURE;
        if (host.policy->reconfigure(NULL) != 0)
                host_fail("%s_reconfigure() has failed", host.policy->ops->name);
        host.callback = CALLBACK_NONE;
}

/* ---- what happens to one folio */

/* __cachebpf_folio_accessed() */
static void use(struct cachebpf_folio *f) {
        stock_use(f);
        f->unread = 0;
        if ((int16_t) f->accesses > 0)
                f->accesses++;
        else if (f->accesses == 0) {
                /* the first one is the miss that brought the folio in */
                f->accesses = 1;
                return;
        }

        if (ops->folio_accessed)
                CALL(CALLBACK_ACCESSED, folio_accessed, f);
        host_use(f);
}

static void leave(struct cachebpf_folio *f, uint32_t why) {
        if (ops->folio_removed)
                CALL(CALLBACK_REMOVED, folio_removed, f, why);

        host_delist(f);
        f->cached = false;
        f->seen &= ~SEEN_SINCE_ADDED;
        host.n_cached--;
        stock_remove(f, why == CACHEBPF_REMOVED_RECLAIM);
        if (why == CACHEBPF_REMOVED_RECLAIM)
                stats.evicted++;
        else
                stats.truncated++;
        if (settings.left)
                settings.left(pfn_of(f) - 1, why == CACHEBPF_REMOVED_RECLAIM);
}

static bool admit(uint32_t object, uint8_t flags) {
        struct cachebpf_admission admission = {
                .pos = (uint64_t) object * TRACE_PAGE_SIZE,
                .nr_pages = 1,
                .flags = flags & TRACE_WRITE ? CACHEBPF_ADMISSION_WRITE :
                         flags & TRACE_READAHEAD ? CACHEBPF_ADMISSION_READ | CACHEBPF_ADMISSION_READAHEAD :
                                                   CACHEBPF_ADMISSION_READ,
        };
        bool admitted;

        host.callback = CALLBACK_ADMIT;
        admitted = ops->admit_folio(&host.instance, &admission);
        host.callback = CALLBACK_NONE;
        stats.admit_asked++;
        stats.admit_rejected += !admitted;
        return admitted;
}

/* cachebpf_introduce() */
static void introduce(struct cachebpf_folio *f, uint32_t why) {
        f->list = NO_LIST;
        f->data[0] = f->data[1] = 0;
        host.n_cached++;
        buckets_check();

        /* a policy that is told puts it on a list itself, or wants to find it there */
        if (!ops->folio_added || host.new_list != UNLISTED)
                host_enlist_new(f, host.new_list, host.new_at_tail);
        if (ops->folio_added)
                CALL(CALLBACK_ADDED, folio_added, f, why);
        if (f->list == NO_LIST)
                host_enlist_new(f, UNLISTED, true);
}

static void enter(struct cachebpf_folio *f, uint8_t flags) {
        static const uint32_t why_by_refault[] = {
                [REFAULT_NONE]       = 0,
                [REFAULT_OLD]        = CACHEBPF_ADDED_REFAULT,
                [REFAULT_WORKINGSET] = CACHEBPF_ADDED_REFAULT | CACHEBPF_ADDED_WORKINGSET,
        };
        Refault refault = stock_add(f);
        uint32_t why = why_by_refault[refault] | (flags & TRACE_WRITE ? CACHEBPF_ADDED_WRITTEN : 0);

        f->cached = true;
        f->accesses = 0;
        f->unread = settings.plans && !(flags & TRACE_WRITE) ? UNREAD_NEW : 0;
        stats.added++;
        stats.refaults += refault != REFAULT_NONE;
        introduce(f, why);
}

/* ---- reclaim */

/* Evicts what the policy proposes, at most n pages; returns how many, or -ENOENT if it has proposed none. */
static int ask_policy(uint32_t n) {
        struct cachebpf_evict evict = {
                .nr_wanted = n,
                .visits_left = CACHEBPF_MAX_VISITS,
                .unread_left = UNREAD_SPARED,
        };
        int taken = 0;

        stats.evict_calls++;
        CALL(CALLBACK_EVICT, evict_folios, &evict);
        if (evict.nr_folios == 0 && evict.n_spared > 0) {
                evict.unread_left = evict.n_spared = 0;
                stats.evict_calls++;
                CALL(CALLBACK_EVICT, evict_folios, &evict);
        }
        stats.evict_proposed += evict.nr_proposed;

        for (uint32_t i = 0; i < evict.nr_folios; i++) {
                struct cachebpf_folio *f = evict.candidates[i].folio;

                if (!f->cached) {
                        stats.rejected++;
                        continue;
                }
                leave(f, CACHEBPF_REMOVED_RECLAIM);
                taken++;
        }
        return evict.nr_folios > 0 ? taken : -ENOENT;
}

static void make_room(uint32_t batch) {
        uint32_t wanted = MIN(batch, host.n_cached), done = 0;
        unsigned vain = 0;

        if (!(ops->flags & CACHEBPF_F_STOCK_RECLAIM)) {
                stats.evict_asked += wanted;
                while (done < wanted) {
                        int n = ask_policy(wanted - done);

                        if (n < 0 || (n == 0 && ++vain == MAX_VAIN_PROPOSALS))
                                break;
                        done += n;
                }
                stats.evict_fallback += wanted - done;
        }

        for (; done < wanted; done++)
                leave(stock_victim(), CACHEBPF_REMOVED_RECLAIM);
}

/* ---- requests */

static void advise(void) {
        for (size_t i = 0; ops->advise && i < settings.n_advice; i++) {
                const SimAdvice *said = settings.advice + i;
                struct cachebpf_advice a = {
                        .manager = host_manager_id(said->manager),
                        .file = { .ino = host_file_ino(said->file), .dev = 1 },
                        .last = UINT64_MAX,
                        .advice = said->advice,
                        .begins = true,
                };
                int r;

                host.callback = CALLBACK_ADVISE;
                r = ops->advise(&host.instance, &a);
                host.callback = CALLBACK_NONE;
                if (r < 0)
                        host_fail("it refuses what a manager says: %s", strerror(-r));
        }
}

bool cache_request(uint32_t object, uint8_t flags, uint8_t manager) {
        struct cachebpf_folio *f = host.folios + object + 1;
        bool missed = !(flags & TRACE_READAHEAD) &&
                      !(settings.ahead_hits ? f->cached : f->seen & SEEN_SINCE_ADDED);

        if (flags & TRACE_REMOVE) {
                if (f->cached)
                        leave(f, CACHEBPF_REMOVED_TRUNCATE);
                return false;
        }

        host.task_class = (flags & TRACE_CLASS_MASK) >> TRACE_CLASS_SHIFT;
        if (flags & TRACE_READAHEAD)
                stats.readahead++;
        else {
                stats.requests++;
                stats.managers[manager].requests++;
                stats.misses += missed;
                stats.managers[manager].misses += missed;
                stats.cold_misses += missed && !(f->seen & SEEN_EVER);
                f->seen |= SEEN_EVER;
        }

        if (!f->cached) {
                if (host.n_cached >= host.capacity)
                        make_room(settings.batch);
                if (settings.admission && ops->admit_folio && !admit(object, flags))
                        return missed;
                f->manager = manager;
                enter(f, flags);
        }
        if (!(flags & TRACE_READAHEAD)) {
                f->seen |= SEEN_SINCE_ADDED;
                use(f);
        }
        return missed;
}

/* ---- a run */

static int begin(const SimPolicy *policy) {
        int r = 0;

        ops = policy->ops;
        if (!ops->evict_folios && !(ops->flags & CACHEBPF_F_STOCK_RECLAIM))
                host_fail("it has no evict_folios, and does not leave reclaim to the kernel either");

        if (ops->policy_init) {
                host.callback = CALLBACK_INIT;
                r = ops->policy_init(&host.instance);
                host.callback = CALLBACK_NONE;
        }
        return r;
}

int cache_begin(const SimPolicy *policy, const Trace *trace, const CacheSettings *with) {
        int r;

        assert(policy);
        assert(trace);
        assert(with);
        assert(with->capacity > 0);
        assert(with->batch > 0 && with->batch <= CACHEBPF_BATCH);

        settings = *with;
        stats = (SimStats) {};
        r = host_start(policy, trace, settings.capacity);
        if (r >= 0)
                r = stock_start(trace, settings.capacity, MAX(settings.scale, 1U));
        if (r < 0)
                return r;
        maps_know(settings.learned);

        r = begin(policy);
        if (r >= 0)
                advise();
        return r;
}

int cache_replace(const SimPolicy *policy) {
        uint32_t *pfns, n = 0;
        int r;

        assert(policy);

        pfns = calloc(host.n_cached + 1, sizeof(*pfns));
        if (!pfns)
                return -ENOMEM;
        for (uint32_t i = 0; i < host.n_lists; i++)
                for (uint32_t pfn = host.lists[i].head; pfn; pfn = host.folios[pfn].next)
                        pfns[n++] = pfn;

        if (ops->policy_exit)
                CALL(CALLBACK_EXIT, policy_exit);
        host_restart(policy);
        r = begin(policy);
        for (uint32_t i = 0; r >= 0 && i < n; i++)
                introduce(host.folios + pfns[i], CACHEBPF_ADDED_ADOPTED);
        free(pfns);
        return r;
}

bool cache_has(uint32_t object) {
        return host.folios[object + 1].cached;
}

void cache_forget(uint32_t object) {
        struct cachebpf_folio *f = host.folios + object + 1;

        assert(!f->cached);

        f->seen = 0;
        stock_forget(f);
}

const SimStats *cache_stats(void) {
        return &stats;
}

int cache_end(void) {
        if (ops->policy_exit)
                CALL(CALLBACK_EXIT, policy_exit);
        return settings.learned ? maps_learned(settings.learned) : 0;
}

void cache_clear(void) {
        stock_stop();
        host_stop();
}

static int run(const Trace *trace) {
        for (size_t i = 0; i < trace->n_requests; i++) {
                bool missed;

                if (i == settings.warm_up)
                        stats = (SimStats) {};
                if (i + PREFETCH_DISTANCE < trace->n_requests)
                        __builtin_prefetch(host.folios + trace->objects[i + PREFETCH_DISTANCE] + 1, 1);
                missed = cache_request(trace->objects[i], trace_flags(trace, i),
                                       trace->managers ? trace->managers[i] : 0);
                if (settings.missed)
                        settings.missed[i] = missed;
        }
        return cache_end();
}

int cache_run(const SimPolicy *policy, const Trace *trace, const CacheSettings *with, SimStats *ret) {
        int r;

        assert(ret);

        r = cache_begin(policy, trace, with);
        if (r >= 0)
                r = run(trace);
        *ret = stats;
        cache_clear();
        return r;
}
