// SPDX-License-Identifier: GPL-2.0-only
/*
 * W-TinyLFU: a small window for what is new, and a main part that a folio from
 * the window has to earn its place in.
 *
 * A folio that leaves the window, the candidate, is compared with the next
 * victim of the main part: the one that was used less often is evicted.  A
 * sketch knows how often, even of folios that were evicted in the meantime.
 * The main part is segmented: what is used while it is on probation becomes
 * protected, and what is protected and was not used comes back on probation.
 *
 * Three things are different here.  The candidate has to have been used more
 * often by more than a margin: in a loop it was used once more than its victim,
 * just now, and the paper's policy gives up in turn all that it keeps.  And
 * there is nothing to do on a hit: the kernel counts uses, and they are added
 * to the sketch, and move the folio on, when its turn comes in one of the
 * three queues.  And what is known from runs before, by lib/learned.bpf.h, is
 * added to what the sketch knows; what was used often then is protected at once,
 * or a cache that fills would keep whatever comes first.
 *
 * Source: Einziger et al., "TinyLFU", ACM ToS 13(4), 2017; Caffeine, whose
 * names are used here.
 */
#include "lib/learned.bpf.h"
#include "lib/sketch.bpf.h"

CACHEBPF_TUNABLE(__u32, window_percent, "1..90", "% of the cached pages",
		 "for what is new; Caffeine begins with 1, 3 is better for a page cache") = 3;
CACHEBPF_TUNABLE(__u32, protected_percent, "1..99", "% of the main part",
		 "for what is used again; Caffeine: 80") = 80;
CACHEBPF_TUNABLE(__u32, margin, "0..14", "uses",
		 "by which a candidate's have to exceed its victim's by more; ToS 2017: 0") = 1;

CACHEBPF_COUNTER(admitted, "pages", "that left the window and took their victim's place");
CACHEBPF_COUNTER(refused, "pages", "that left the window, as their victim is used no less");

/* folios that may change queues in one request, besides those it looks at for eviction */
#define MAX_MOVES	512
/* folios known from runs before, of which one is the next victim */
#define MAX_LOOKS	4

struct history {
	__u64 key;
	/* of its accesses, those that the sketch knows of */
	__u32 known;
};

static __u32 window, probation, protected;
static __u64 nr_cached;

__s32 CACHEBPF_SLEEPABLE_OP(wtinylfu_init, struct cachebpf_policy *policy)
{
	learned_begin();
	return list_create(policy, &window, CACHEBPF_LIST_NEW_TAIL) ?:
	       list_create(policy, &probation, 0) ?:
	       list_create(policy, &protected, 0) ?:
	       bpf_cachebpf_buckets_create(policy, SKETCH_BYTES_PER_PAGE);
}

void CACHEBPF_OP(wtinylfu_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	struct history *h = folio_data(folio, struct history);

	if (h)
		h->key = bpf_cachebpf_key(folio);
}

/*
 * Tell the sketch of the uses of @folio it does not know yet; returns how many it knows
 * then, with those of runs before, which are in @before as well.
 */
__verified_once int count_all_uses(struct cachebpf_policy *policy __arg_trusted,
				   struct cachebpf_folio *folio __arg_trusted,
				   __u32 *before __arg_nonnull)
{
	struct history *h = folio_data(folio, struct history);
	__u16 accesses = folio->accesses;
	struct learned_slot *learned;
	__u32 nr, uses;

	*before = 0;
	if (!h)
		return 0;
	/* another request may know of more by now */
	uses = bl_positive((__s32)(accesses - h->known));
	nr = sketch_count(policy, h->key, uses, nr_cached);
	learned = learned_find(h->key);
	if (learned) {
		*before = learned_before(learned, h->key);
		learned_note(learned, h->key, uses, nr_cached);
		nr += *before;
	}
	if (accesses > 1)
		set_uses(folio, 0);
	h->known = accesses > 0;
	return nr;
}

static __u32 count_uses(struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u32 before;

	return count_all_uses(policy, folio, &before);
}

/* Where what leaves the window for the main part goes. */
static __always_inline __u32 queue_for(__u32 before)
{
	return before < LEARNED_OFTEN ? probation : protected;
}

static void move(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 queue)
{
	count_uses(policy, folio);
	bpf_cachebpf_list_move(policy, folio, queue, TAIL);
}

/* Have no more than @target pages protected: those not used since they were looked at last. */
static void demote_from_main_protected(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
				       __u64 target)
{
	__u64 nr = bpf_cachebpf_list_len(policy, protected);
	struct cachebpf_folio *folio;

	if (nr <= target)
		return;
	for_each_folio(folio, evict, protected, MAX_MOVES, CACHEBPF_ITER_ROTATE) {
		if (uses_since(folio)) {
			count_uses(policy, folio);
			continue;
		}
		move(policy, folio, probation);
		nr -= folio_pages(folio);
		if (nr <= target)
			break;
	}
}

/* The main part has room for @nr pages. */
static void fill_main(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __s64 nr)
{
	struct cachebpf_folio *folio;
	__u32 before;

	for_each_folio(folio, evict, window, MAX_MOVES, 0) {
		if (nr <= 0)
			break;
		nr -= folio_pages(folio);
		count_all_uses(policy, folio, &before);
		bpf_cachebpf_list_move(policy, folio, queue_for(before), TAIL);
	}
}

/*
 * The next on probation that was not used; what was is protected now.  What was used in
 * runs before lets others go first: it is the least used of MAX_LOOKS, or of those up to
 * one that is not known.
 */
static __always_inline struct cachebpf_folio *next_victim(struct cachebpf_policy *policy,
							  struct bpf_iter_cachebpf_list *it)
{
	struct cachebpf_folio *folio, *victim = NULL;
	__u32 uses, before, fewest = ~0U, nr = 0;

	while ((folio = bpf_iter_cachebpf_list_next(it))) {
		if (uses_since(folio)) {
			move(policy, folio, protected);
			continue;
		}
		uses = count_all_uses(policy, folio, &before);
		if (uses < fewest) {
			fewest = uses;
			victim = folio;
		}
		if (!before || ++nr == MAX_LOOKS)
			break;
	}
	return victim;
}

/* Evict @nr pages of the window, or their victims; then, victims. */
static bool evict_from_main(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __s64 nr)
{
	struct cachebpf_folio *candidate, *victim = NULL, *loser;
	struct bpf_iter_cachebpf_list victims;
	bool full = false;
	__u32 uses, before;

	bpf_iter_cachebpf_list_new(&victims, evict, probation, 0, CACHEBPF_ITER_ROTATE);
	if (nr > 0) {
		for_each_folio(candidate, evict, window, 0, CACHEBPF_ITER_ROTATE) {
			if (!victim)
				victim = next_victim(policy, &victims);
			uses = count_all_uses(policy, candidate, &before);
			if (victim && uses > count_uses(policy, victim) + margin) {
				bpf_cachebpf_list_move(policy, candidate, queue_for(before), TAIL);
				counter_add(&admitted, folio_pages(candidate));
				loser = victim;
				victim = NULL;
			} else {
				if (victim)
					counter_add(&refused, folio_pages(candidate));
				loser = candidate;
			}
			full = bpf_cachebpf_evict(evict, loser);
			nr -= folio_pages(candidate);
			if (full || nr <= 0)
				break;
		}
	}
	while (!full) {
		if (!victim)
			victim = next_victim(policy, &victims);
		if (!victim)
			break;
		full = bpf_cachebpf_evict(evict, victim);
		victim = NULL;
	}
	bpf_iter_cachebpf_list_destroy(&victims);
	return full;
}

void CACHEBPF_OP(wtinylfu_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 nr_window = bpf_cachebpf_list_len(policy, window), max_window, max_main;
	__u64 nr_main = bpf_cachebpf_list_len(policy, probation) +
			bpf_cachebpf_list_len(policy, protected);
	struct cachebpf_folio *folio;

	nr_cached = nr_window + nr_main;
	max_window = max(nr_cached * window_percent / 100, evict->nr_wanted);
	max_main = nr_cached - min(nr_cached, max_window);

	demote_from_main_protected(policy, evict, max_main * protected_percent / 100);
	fill_main(policy, evict, max_main - nr_main);
	/* what comes next is to find room in the window */
	if (evict_from_main(policy, evict, nr_window + evict->nr_wanted - max_window) ||
	    evict->nr_proposed)
		return;
	for_each_folio(folio, evict, protected, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

CACHEBPF_POLICY(wtinylfu, "Keeps what is used often; what is new has to earn its place",
		"TinyLFU, ACM ToS 13(4), 2017; Caffeine",
		.policy_init	= (void *)wtinylfu_init,
		.evict_folios	= (void *)wtinylfu_evict,
		.folio_added	= (void *)wtinylfu_added);
