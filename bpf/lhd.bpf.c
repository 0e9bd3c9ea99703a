// SPDX-License-Identifier: GPL-2.0-only
/*
 * LHD: evict what promises the fewest hits for the time that it would stay.
 *
 * Age is the number of accesses since the last use, and the ages at its last
 * two hits give a folio's class.  For each class and age it is counted how many
 * folios were hit at that age, and evicted.  From this follows the hit density:
 * the share of those which come to an age that is hit later, by the time for
 * which they stay on the average.  A request scores some folios, and those that
 * came last, and evicts the lowest; of equal ones any, or loops would never be
 * found out.  To the same end a few new folios, the explorers, are kept until
 * they are hit or as old as can be.
 *
 * Every so many accesses the densities are computed anew, counts losing a tenth
 * of their weight, and the unit of ages is fitted to the size of the cache: the
 * policy asks for it through cachebpf_events, and else goes on as it is.
 *
 * Source: Beckmann, Chen, Cidon: LHD, NSDI'18; cachebpf, section 5.1.4.
 */
#include "cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "32..65536", "folios", "scored per request") = 128;
CACHEBPF_TUNABLE(__u32, nr_recent, "1..4096", "folios", "that came last, scored as well") = 16;
CACHEBPF_TUNABLE(__u32, explore, "1..4294967295", "folios", "new ones, of which one explores") = 400;
CACHEBPF_TUNABLE(__u32, reconfigure_every, "0..4294967295", "accesses",
		 "densities are computed anew; 0: 8 per cached page, at most 2^20") = 0;

#define NR_CLASSES	16U
#define NR_AGES		256U	/* the last is no age but all beyond */
#define MAX_UNIT	22
#define HORIZON		16	/* ages are told apart up to so many times the size of the cache */
#define NEVER		(1U << 30)
#define LATE		(1U << 16) /* accesses that the time may go back by */
#define EVENT		256U	/* so that what decay leaves of few events is not nothing */
#define DENSITY		(1U << 20) /* one hit per unit of age */

/* in the bytes of a folio */
struct usage {
	__u32 last;	/* use: the time, in accesses */
	__u32 age[2];	/* at the last hit, and at the one before */
};

static struct class {
	__u32 hits[NR_AGES], evictions[NR_AGES], density[NR_AGES];
} classes[NR_CLASSES];

static __u32 all, now, asked, computed;
static __u64 nr_pages, usual_pages;	/* in the cache; 0 until something is evicted */
static __u32 salt;
static __u32 unit;			/* of ages: 1 << unit accesses */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} cachebpf_events SEC(".maps");

/* Accesses since the last use.  A processor that counts late has the time go back a little. */
static __always_inline __u32 since(const struct usage *usage)
{
	__u32 age = now - usage->last;

	return -age <= LATE ? 0 : age;
}

static __always_inline __u32 age_of(const struct usage *usage)
{
	/* 64 bits: of a shift of 32 the verifier does not know that the upper half stays 0 */
	__u64 age = since(usage);

	return min(age >> unit, NR_AGES - 1);
}

/* 0 for what was hit at great ages or never, and one more for each half of that */
static __always_inline struct class *class_of(const struct usage *usage)
{
	__u32 class = 0, ages = usage->age[0] + usage->age[1];

	while (class < NR_CLASSES - 1 && ages < NR_AGES << unit) {
		ages <<= 1;
		class++;
	}
	return &classes[class % NR_CLASSES];
}

static __always_inline void count(__u32 *events)
{
	if (usual_pages && *events < -EVENT)
		*events += EVENT;
}

void CACHEBPF_OP(lhd_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 why)
{
	struct usage *usage = folio_data(folio, struct usage);

	if (usage) {
		usage->last = now++;
		usage->age[1] = NEVER;
	}
}

void CACHEBPF_OP(lhd_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	struct usage *usage = folio_data(folio, struct usage);

	if (usage) {
		count(&class_of(usage)->hits[age_of(usage)]);
		usage->age[1] = usage->age[0];
		usage->age[0] = since(usage) % NEVER;
		usage->last = now++;
	}
}

void CACHEBPF_OP(lhd_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	struct usage *usage = folio_data(folio, struct usage);

	if (usage && why == CACHEBPF_REMOVED_RECLAIM)
		count(&class_of(usage)->evictions[age_of(usage)]);
}

static __always_inline void rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio)
{
	struct usage *usage = folio_data(folio, struct usage);
	__s64 score = 1LL << 60;
	__u32 age;

	if (!usage)
		return;
	age = age_of(usage);
	/* unless it explores; of folios with the same density any */
	if (usage->age[1] != NEVER || age == NR_AGES - 1 || usage->last % explore)
		score = (__s64)(class_of(usage)->density[age] >> (folio->order & 31)) << 16 |
			((usage->last ^ salt) * 0x9e3779b1U) >> 16;
	bpf_cachebpf_rank(evict, folio, score);
}

void CACHEBPF_OP(lhd_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 every = reconfigure_every;
	struct cachebpf_folio *folio;

	salt = bpf_get_prandom_u32();
	nr_pages = bpf_cachebpf_list_len(policy, all);
	if (!every)
		every = min(nr_pages * 8, 1 << 20);
	if (!usual_pages) {
		usual_pages = nr_pages;
		/* events are counted from here on: wait for some before the first time */
		if (now > every / 8 * 7)
			computed = asked = now - every / 8 * 7;
		while (NR_AGES << unit < nr_pages * HORIZON && unit < MAX_UNIT)
			unit++;
	}
	if (nr_pages > nr_scan + nr_recent)
		for_each_folio(folio, evict, all, nr_recent, CACHEBPF_ITER_REVERSE)
			rank(evict, folio);
	for_each_folio(folio, evict, all, nr_scan, CACHEBPF_ITER_ROTATE)
		rank(evict, folio);

	if (now - asked >= every) {
		asked = now;
		bpf_ringbuf_output(&cachebpf_events, &asked, sizeof(asked), 0);
	}
}

/* Have the counts of ages in units twice as great, or half. */
static __always_inline void rescale(__u32 *events, bool coarser)
{
	__u32 i, age;

	bpf_for(i, 0, NR_AGES) {
		age = (coarser ? i : NR_AGES - 1 - i) % NR_AGES;
		if (!coarser)
			events[age] = events[age / 2] / 2;
		else
			events[age] = age < NR_AGES / 2 ? events[age * 2] + events[age * 2 + 1] : 0;
	}
}

/* From the last age to the first: how many are still to be hit, and how long all stay. */
static __always_inline void compute_density(struct class *class)
{
	__u64 hits = 0, events = 0, stay = 0;
	__u32 i, age;

	bpf_for(i, 0, NR_AGES) {
		age = (NR_AGES - 1 - i) % NR_AGES;
		class->hits[age] -= class->hits[age] / 10;
		class->evictions[age] -= class->evictions[age] / 10;
		hits += class->hits[age];
		events += class->hits[age] + class->evictions[age];
		stay += events;
		class->density[age] = i && stay ? hits * DENSITY / stay : 0;
	}
}

SEC("syscall")
int lhd_reconfigure(void *ctx)
{
	__u64 horizon = (__u64)NR_AGES << unit;
	bool coarser, finer;
	__u32 i;

	if (computed == asked)
		return 0;
	computed = asked;
	usual_pages = (usual_pages + nr_pages) / 2;
	coarser = horizon < usual_pages * HORIZON && unit < MAX_UNIT;
	finer = horizon > usual_pages * HORIZON * 4 && unit > 0;
	unit += coarser - finer;
	bpf_for(i, 0, NR_CLASSES) {
		struct class *class = &classes[i % NR_CLASSES];

		if (coarser || finer) {
			rescale(class->hits, coarser);
			rescale(class->evictions, coarser);
		}
		compute_density(class);
	}
	return 0;
}

__s32 CACHEBPF_SLEEPABLE_OP(lhd_init, struct cachebpf_policy *policy)
{
	__u32 i;

	/* to begin with: the older the worse, the sooner hit the better */
	bpf_for(i, 0, NR_CLASSES * NR_AGES)
		classes[i / NR_AGES % NR_CLASSES].density[i % NR_AGES] =
			(i / NR_AGES + 1) * DENSITY / (i % NR_AGES + 1);
	return list_create(policy, &all, CACHEBPF_LIST_NEW_TAIL);
}

CACHEBPF_POLICY(lhd, "Evicts what promises the fewest hits for the time it would stay",
		"Beckmann, Chen, Cidon: LHD, NSDI'18; cachebpf, section 5.1.4",
		.policy_init	= (void *)lhd_init,
		.evict_folios	= (void *)lhd_evict,
		.folio_added	= (void *)lhd_added,
		.folio_accessed	= (void *)lhd_accessed,
		.folio_removed	= (void *)lhd_removed);
