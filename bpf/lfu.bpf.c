// SPDX-License-Identifier: GPL-2.0-only
/*
 * LFU, approximated: of the folios next in line, evict those used least often.
 *
 * One list, which new folios join at the tail; the kernel counts their uses.
 * Of each N folios from its head the C with the lowest counts are evicted,
 * exactly; all of them go to the tail, so that the next request looks at
 * others.  A folio that was read ahead and not read yet counts as used once,
 * like any new one.
 *
 * What was used often once is never evicted that way, even if it is not used any
 * more.  With ageing, counts are halved each time so many accesses for each
 * page of the cache have passed.  A folio catches up when it is looked at; its
 * uses are taken note of then as well, and by that it is known how many
 * accesses there were.
 *
 * Sources: cachebpf, sections 4.2.5 and 5.1.2; ageing as in Robinson and
 * Devarakonda, "Data cache management using frequency-based replacement",
 * SIGMETRICS 1990.
 */
#include "cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "8..65536", "folios",
		 "N: of so many, the nr_evict used least are evicted; cachebpf: 512") = 512;
CACHEBPF_TUNABLE(__u32, nr_evict, "1..32", "folios",
		 "C: evicted of nr_scan; a request for less looks at less; cachebpf: 32") = 32;
CACHEBPF_TUNABLE(__u32, ageing, "0..1024", "accesses a cached page",
		 "after which counts are halved; 0: never, as in cachebpf; 16 forgets well") = 0;

/* what a use is worth: a new folio is above one whose only use is an age ago */
#define USE	2

struct history {
	__u32 frequency;
	/* ages that passed until it was brought up to date; 0: this is its first time */
	__u32 age;
};

static __u32 queue;
static __u32 age = 1;
/* accesses that are known of, and at which of them the next age begins */
static __u64 now, next_age;

__s32 CACHEBPF_SLEEPABLE_OP(lfu_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

static __u32 aged_frequency(struct cachebpf_folio *folio)
{
	struct history *h = folio_data(folio, struct history);
	__u32 uses, ages;

	if (!h)
		return 0;
	ages = age - h->age;
	h->frequency = !h->age ? USE : ages < 32 ? h->frequency >> ages : 0;
	h->age = age;
	uses = uses_since(folio);
	if (uses) {
		h->frequency += USE * uses;
		now += uses;
		set_uses(folio, 0);
	}
	return h->frequency;
}

void CACHEBPF_OP(lfu_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u32 nr = nr_scan * evict->nr_wanted / nr_evict;
	struct cachebpf_folio *folio;

	if (!ageing) {
		bpf_cachebpf_rank_list(evict, queue, nr, CACHEBPF_BY_ACCESSES);
		return;
	}

	/* these are for folios that were read in */
	now += evict->nr_wanted;
	if (now >= next_age) {
		age++;
		next_age = now + ageing * bpf_cachebpf_list_len(policy, queue);
	}
	for_each_folio(folio, evict, queue, nr, CACHEBPF_ITER_ROTATE)
		bpf_cachebpf_rank(evict, folio, aged_frequency(folio));
}

CACHEBPF_POLICY(lfu, "Evicts the least often used of those next in line",
		"cachebpf, section 5.1.2; ageing: SIGMETRICS 1990",
		.policy_init	= (void *)lfu_init,
		.evict_folios	= (void *)lfu_evict);
