// SPDX-License-Identifier: GPL-2.0-only
/*
 * MLCache: a multi-armed bandit, UCB1; its arms are the cached pages, and to play one is
 * to evict it.  The page j is evicted that has the greatest
 *
 *	- x_j - isqrt(2 * S^2 * ilog(S^2 * t) / n_j)
 * where x_j is its score, n_j how often it was played, t the time in plays, and S what
 * all is scaled by.  A use rewards the page with S, and punishes the other cached pages
 * of its file, which lose a part of that together.  Score and plays of a page that is gone
 * are remembered, even for the next run.  A new one has the score 0, and was played once.
 * One that comes back soon was played wrongly: that rewards it more than a use does.
 *
 * Pages are on a ladder, lib/ladder.bpf.h, by what the formula said when they were looked
 * at last.  Those of the lowest rung go that belong there still.  The newest 128th of the
 * cache is not played: what was read ahead has to have a chance to be read.  What reclaim
 * keeps counts as used: mostly it is, by a mapping.
 *
 * Source: Costa and Pazos, "MLCache: a multi-armed bandit policy for an operating system
 * page cache", section 2.
 */
#include "lib/files.bpf.h"
#include "lib/integer.bpf.h"
#include "lib/ladder.bpf.h"
#include "lib/scores.bpf.h"

CACHEBPF_TUNABLE(__u32, punishment, "0..100", "% of a reward",
		 "that the other cached pages of its file lose together") = 25;
CACHEBPF_TUNABLE(__u8, inverted, "0..1", "boolean",
		 "evicts what has least of it instead, to see what scores are worth; section 4") = 0;

#define S		100ULL
#define FRACTION	20	/* bits of a score that tell what a page loses at a time */
#define REWARD		(S << FRACTION)
#define LOSS		(REWARD / 100 * punishment)
#define MAX_PLAYS	63U	/* that are told apart */
#define RETURNED	2	/* rewards more, for a page that was evicted and comes back */
#define NR_LOOKED	8	/* at, of the best and of one rung, in each request */
#define MAX_NEW		512	/* that come on the ladder in one request */

/* in the bytes of a folio */
struct arm {
	__s64 score;	/* and what each page of its file had lost when it came */
	__u32 key;	/* the upper half */
	__u16 file;
	__u8 n;
	bool proposed;	/* and if it is still there, kept */
};

static __u32 newcomers;
static __u64 t = 1, log_t, bonus[MAX_PLAYS + 1];

__s32 CACHEBPF_SLEEPABLE_OP(mlcache_init, struct cachebpf_policy *policy)
{
	scores_begin();
	return list_create(policy, &newcomers, CACHEBPF_LIST_NEW_TAIL) ?:
	       ladder_create(policy) ?:
	       bpf_cachebpf_buckets_create(policy, PLAYS_BYTES);
}

/* x_j, of which the kernel has counted uses; a large folio has those of all its pages. */
static __always_inline __s64 score(struct cachebpf_folio *folio, struct arm *arm)
{
	struct file *file = file_of(arm->file);
	__u64 uses = uses_since(folio);

	if (uses) {
		/* and its own part of what its file loses */
		arm->score += uses * (REWARD + file_part(file, LOSS)) >> (folio->order & 31);
		set_uses(folio, 0);
	}
	return (arm->score - file_lost(file, LOSS)) >> FRACTION;
}

void CACHEBPF_OP(mlcache_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u32 key = bpf_cachebpf_key(folio) >> 32;
	struct plays plays = plays_recall(policy, key);
	struct arm *arm = folio_data(folio, struct arm);
	struct file *file;

	if (!arm)
		return;
	if (plays.number)
		plays.score += RETURNED * S;
	else
		plays = scores_before(key);
	arm->key = key;
	arm->file = file_number(folio);
	arm->n = min(plays.number + 1, 255);
	file = file_of(arm->file);
	file->uses++; /* somebody wants it */
	arm->score = file_lost(file, LOSS) + REWARD + plays.score * (1LL << FRACTION);
	file_has(file, folio_pages(folio));
}

void CACHEBPF_OP(mlcache_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	struct arm *arm = folio_data(folio, struct arm);

	if (arm)
		file_of(arm->file)->uses++;
}

void CACHEBPF_OP(mlcache_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	struct arm *arm = folio_data(folio, struct arm);
	struct plays plays;

	if (!arm)
		return;
	plays = (struct plays) { .score = score(folio, arm), .number = arm->n };
	file_has(file_of(arm->file), -(__s64)folio_pages(folio));
	/* what was read ahead and not used is not missed */
	if (why != CACHEBPF_REMOVED_RECLAIM || !was_used(folio))
		return;
	plays_remember(policy, arm->key, plays);
	scores_note(arm->key, plays);
	t++;
}

/* What UCB1 adds to a score, by n_j. */
static void compute_bonus(void)
{
	__u64 log = ilog(S * S * t);
	__u32 n;

	if (log == log_t)
		return;
	log_t = log;
	bpf_for(n, 0, MAX_PLAYS)
		bonus[n + 1] = isqrt(2 * S * S * log / (n + 1));
}

/* The negative of the formula: what is worth least goes. */
static __always_inline __s64 worth(struct cachebpf_folio *folio, struct arm *arm)
{
	return score(folio, arm) + bonus[min(arm->n, MAX_PLAYS) & MAX_PLAYS];
}

/* Returns whether @folio is on its rung of the ladder; else it is from now on. */
__verified_once int put(struct cachebpf_policy *policy __arg_trusted,
			struct cachebpf_folio *folio __arg_trusted)
{
	struct arm *arm = folio_data(folio, struct arm);

	if (!arm)
		return false;
	if (arm->proposed) {
		arm->proposed = false;
		arm->score += inverted ? -REWARD : REWARD;
	}
	return ladder_put(policy, folio, worth(folio, arm), file_of(arm->file)->pace);
}

static __noinline void look_at(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
			       __u32 list, __u32 nr)
{
	struct cachebpf_folio *folio;
	struct arm *arm;

	for_each_folio(folio, evict, list, nr, CACHEBPF_ITER_ROTATE) {
		put(policy, folio);
		arm = folio_data(folio, struct arm);
		if (arm && (list != newcomers || arm->n > 1))
			scores_note(arm->key, (struct plays) { score(folio, arm), arm->n });
	}
}

/* Propose what belongs to the rung @list.  Returns whether the request is full. */
static __noinline bool propose(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
			       __u32 list)
{
	struct cachebpf_folio *folio;
	struct arm *arm;

	for_each_folio(folio, evict, list, 0, CACHEBPF_ITER_ROTATE) {
		arm = folio_data(folio, struct arm);
		if (!arm || !put(policy, folio))
			continue;
		arm->proposed = true;
		if (bpf_cachebpf_evict(evict, folio))
			return true;
	}
	return false;
}

/* From the lowest rung to the highest one, or the other way. */
static __noinline void propose_worst(struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u32 i, list;

	bpf_for(i, inverted ? 0 : ladder_find_lowest(policy), NR_RUNGS + 1) {
		list = ladder_rung(inverted ? NR_RUNGS - i : i);
		if (bpf_cachebpf_list_len(policy, list) && propose(policy, evict, list))
			break;
	}
}

void CACHEBPF_OP(mlcache_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 nr_new = bpf_cachebpf_list_len(policy, newcomers);
	__u64 max_new = bl_positive(any_file.nr_pages) / 128;

	compute_bonus();
	ladder_fallen = any_file.lost >> FRACTION;
	if (nr_new > max_new)
		look_at(policy, evict, newcomers, min(nr_new - max_new, MAX_NEW));
	look_at(policy, evict, ladder_above, NR_LOOKED);
	look_at(policy, evict, ladder_next(), NR_LOOKED);
	ladder_rise(policy);
	propose_worst(policy, evict);
	/* all may be on higher rungs now */
	if (!evict->nr_proposed)
		propose_worst(policy, evict);
}

CACHEBPF_POLICY(mlcache, "Learns what each page is worth, evicts the one worth least",
		"MLCache, section 2; UCB1",
		.policy_init	= (void *)mlcache_init,
		.evict_folios	= (void *)mlcache_evict,
		.folio_added	= (void *)mlcache_added,
		.folio_accessed	= (void *)mlcache_accessed,
		.folio_removed	= (void *)mlcache_removed);
