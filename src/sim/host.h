/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What bpf/cachebpf.bpf.h includes in place of the BPF headers when a policy is compiled for the simulator
 * (-DCACHEBPF_SIM): the same policy source, with ordinary functions for kfuncs and helpers.
 *
 * One process runs one policy, with the state in host-state.h. Callbacks run one at a time, time stands
 * still in them, there is one NUMA node, and pages are as in a cache that has only clean folios of one
 * page. */

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "host-helpers.h"
#include "host-maps.h"

/* ---- what the kernel's types are here; see kernel/overlay/include/linux/cachebpf.h */

#define CACHEBPF_DATA_SIZE 16
#define CACHEBPF_BATCH 32
#define CACHEBPF_MAX_VISITS 65536

struct cachebpf_policy {
        __u64 cgroup_id;
};

/* 32 bytes: a run touches one of these per request. */
struct cachebpf_folio {
        __u32 prev, next; /* page frame numbers of the neighbours, 0 at the ends */
        __u16 accesses;
        __u16 list;
        __u8 order;
        __u8 cached : 1;  /* boolean; the kernel's "owner" */
        __u8 unread : 3;  /* until it is used; see spare_unread() */
        __u8 seen : 4;    /* SEEN_*, see cache.c */
        __u8 lru;         /* LRU_*, see stock.h */
        __u8 manager;     /* who brought it in */
        __u64 data[CACHEBPF_DATA_SIZE / sizeof(__u64)];
};

/* pages that walks of one request pass over at most, since nobody has used them yet */
#define UNREAD_SPARED 64

struct cachebpf_evict {
        __u32 nr_wanted;
        __u32 nr_proposed;
        __u32 nr_folios;
        int nid;
        __u32 visits_left;
        __u32 unread_left; /* that walks may pass over */
        __u32 n_spared;    /* that they have passed over */
        struct cachebpf_folio *spared[UNREAD_SPARED];
        struct cachebpf_candidate {
                __s64 score;
                struct cachebpf_folio *folio;
        } candidates[CACHEBPF_BATCH + 1]; /* one is sorted in before the last is dropped */
};

struct cachebpf_file {
        __u64 ino;
        __u64 index;
        __u32 dev;
        __u32 generation;
};

/* What is said of a whole file, before anything of it is cached: there are no folios to go through. */
struct cachebpf_advice {
        __u64 manager;
        struct cachebpf_file file;
        __u64 first;
        __u64 last;
        __s32 advice;
        bool begins;
};

struct task_struct {
        __s32 pid;
        __s32 tgid;
        char comm[16];
        __u64 flags; /* policies read the name by words */
};

#define __kernel_type
#define __unrolled
#define __ksym SIM_API
#define __newer

/* Maps, programs and some settings cannot be static in BPF. Here all policies are linked together, and names
 * such as cachebpf_events are in several; since one of them runs, they may share what is there. */
#define SEC(name) __attribute__((__weak__))

/* ---- how a policy makes itself known */

typedef struct SimTunable {
        const char *name;
        const char *type;
        volatile void *value;
        size_t size; /* 1, 2, 4, or 8 */
        bool is_signed;
        const char *range; /* MIN..MAX */
        const char *unit;
        const char *doc;
        struct SimTunable *next;
} SimTunable;

typedef struct SimCounter {
        const char *name;
        const __u64 *value;
        const char *unit;
        const char *doc;
        struct SimCounter *next;
} SimCounter;

typedef struct SimPolicy {
        const char *name; /* that of the file, NAME.bpf.c, if it is in one: what CachePolicy= is set to */
        const char *file;
        const char *description;
        const char *source;
        const struct cachebpf_ops *ops;
        SimTunable **tunables;
        SimCounter **counters;
        int (*reconfigure)(void *ctx); /* NULL: it has no such program */
        char name_of_file[16];
        void *library; /* that it was loaded from; NULL: it is a part of this program */
        struct SimPolicy *next;
} SimPolicy;

SIM_API void sim_policy_register(SimPolicy *policy);
SIM_API void sim_tunable_register(SimTunable **list, SimTunable *tunable);
SIM_API void sim_counter_register(SimCounter **list, SimCounter *counter);

/* Of the policy that is being compiled. */
__attribute__((__unused__)) static SimTunable *sim_tunables;
__attribute__((__unused__)) static SimCounter *sim_own_counters;

/* Each policy has its own. */
#define __verified_once static __attribute__((__noinline__, __unused__))

/* Comes after the type: "void CACHEBPF_OP(…)". */
#define CACHEBPF_OP(name, args...) static __attribute__((__unused__)) name(args)
#define CACHEBPF_SLEEPABLE_OP(name, args...) CACHEBPF_OP(name, args)

#define CACHEBPF_TUNABLE(type_, name_, range_, unit_, doc_)                             \
        static volatile type_ name_;                                                    \
        __attribute__((__constructor__)) static void sim_register_tunable_##name_(void) \
        {                                                                               \
                static SimTunable t = {                                                 \
                        .name = #name_,                                                 \
                        .type = #type_,                                                 \
                        .value = &name_,                                                \
                        .size = sizeof(name_),                                          \
                        .is_signed = (type_) -1 < (type_) 1,                            \
                        .range = range_,                                                \
                        .unit = unit_,                                                  \
                        .doc = doc_,                                                    \
                };                                                                      \
                sim_tunable_register(&sim_tunables, &t);                                \
        }                                                                               \
        static volatile type_ name_

#define CACHEBPF_COUNTER(name_, unit_, doc_)                                            \
        static __u64 name_;                                                             \
        __attribute__((__constructor__)) static void sim_register_counter_##name_(void) \
        {                                                                               \
                static SimCounter c = {                                                 \
                        .name = #name_,                                                 \
                        .value = &name_,                                                \
                        .unit = unit_,                                                  \
                        .doc = doc_,                                                    \
                };                                                                      \
                sim_counter_register(&sim_own_counters, &c);                            \
        }                                                                               \
        static __u64 name_

#define CACHEBPF_POLICY(id, description_, source_, callbacks...)                        \
        int id##_reconfigure(void *ctx) __attribute__((__weak__));                      \
        static const struct cachebpf_ops id##_ops = {                                   \
                .name = #id,                                                            \
                __cachebpf_admission                                                    \
                __cachebpf_readahead                                                    \
                callbacks                                                               \
        };                                                                              \
        __attribute__((__constructor__)) static void sim_register_policy_##id(void)     \
        {                                                                               \
                static SimPolicy p = {                                                  \
                        .name = #id,                                                    \
                        .file = __FILE__,                                               \
                        .description = description_,                                    \
                        .source = source_,                                              \
                        .ops = &id##_ops,                                               \
                        .tunables = &sim_tunables,                                      \
                        .counters = &sim_own_counters,                                  \
                        .reconfigure = id##_reconfigure,                                \
                };                                                                      \
                sim_policy_register(&p);                                                \
        }                                                                               \
        struct sim_policy_needs_a_semicolon
