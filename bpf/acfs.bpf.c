// SPDX-License-Identifier: GPL-2.0-only
/*
 * ACFS: programs say which of their pages go first; LRU-SP says who gives one.
 *
 * Programs give their files levels, and say of each level whether it is LRU or
 * MRU; of the pages of a manager those of its lowest level go first.  What they say
 * is in lib/managers.bpf.h, and which page that is in lib/levels.bpf.h: the paper's
 * module ACM.  Here is its module BUF, LRU-SP: which manager gives a page; what it owes
 * is in lib/payers.bpf.h.  Programs that have said nothing are one more manager, whose
 * oldest page goes.
 *
 * Each page has a place in the order in which managers pay: its last use.  Who
 * has the oldest place gives a page, of the lowest level that has any.  If that
 * is not the page A of that place but B, then A gets B's place (swapping), and a
 * placeholder remembers A under the key of B.  Who misses B while A is cached has
 * A's manager pay next.  If A was not used either, and LRU would have had B, that was a
 * wrong decision.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, sections 2 to 4 and 6.2.
 */
#include "lib/payers.bpf.h"
#include "lib/placeholder.bpf.h"

CACHEBPF_TUNABLE(__u8, swapping, "0..1", "boolean",
		 "a page that stays gets the place of the one that goes; 0: ALLOC-LRU") = 1;
CACHEBPF_TUNABLE(__u8, placeholders, "0..1", "boolean",
		 "who decides wrong pays for it; 0: LRU-S") = 1;
CACHEBPF_TUNABLE(__u32, revoke_percent, "0..100", "% of 256 decisions or more",
		 "are wrong: for the next 1024 or more the manager has no say; 0: never") = 25;

CACHEBPF_COUNTER(overruled, "pages", "that stayed, the oldest, as their manager gave another");
CACHEBPF_COUNTER(placeholders_made, "placeholders", "for what went instead of the oldest page");

/* there are, or were, placeholders */
static bool remembers;
/* requests that are being answered, and those since one was the only one */
static __u32 under_way, nr_crowded;

/* requests in turn that find others under way */
#define MAX_CROWDED	64

/* How a run of pages has ended: the request is not full, it is, or there is nothing to begin with. */
enum { AGAIN, FULL, ANY };

__s32 CACHEBPF_SLEEPABLE_OP(acfs_init, struct cachebpf_policy *policy)
{
	/* they grow with what is cached, whether anybody speaks or not: here is the only chance */
	return bpf_cachebpf_buckets_create(policy, PLACEHOLDER_BYTES) ?: levels_create(policy);
}

void CACHEBPF_OP(acfs_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 why)
{
	struct note *note = folio_data(folio, struct note);
	__u32 level = LEVEL_DEFAULT, list;
	struct cachebpf_file file = {};
	struct manager *m = &others;
	__u64 owner, stayed;

	if (nr_managers) {
		owner = bpf_cachebpf_owner(policy, folio);
		m = manager_of(owner);
		if (m->nr_files && !bpf_cachebpf_file(folio, &file))
			level = level_of(m, owner, &file);
	}
	list = lists_of(m->slot, level) + USED;
	/* who writes uses it, and may want it to go first for that */
	if (why & CACHEBPF_ADDED_WRITTEN)
		folio->accesses = 1;
	bpf_cachebpf_list_move(policy, folio, list, TAIL);
	if (!nr_managers || !note)
		return;
	now = note->last_use;
	has_pages(m, level, USED);
	count(list, folio_pages(folio));
	if (!placeholders || !remembers)
		return;
	stayed = placeholder_take(policy, bpf_cachebpf_key(folio));
	/* of those who say nothing no page stayed: one of theirs has its number now */
	if (stayed && m->slot < OTHERS)
		charge(policy, m, stayed, true);
}

void CACHEBPF_OP(acfs_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	struct note *note = folio_data(folio, struct note);
	bool proposed = folio->list == leaving || folio->list == kept;

	if (!nr_managers || !note)
		return;
	count(proposed ? proposed_home(note->place) : home_of(folio->list, note), -(__s64)folio_pages(folio));
	if (why != CACHEBPF_REMOVED_RECLAIM || !proposed || !(__u32)note->place)
		return;
	remembers = true;
	counter_add(&placeholders_made, 1);
	placeholder_make(policy, folio, note->place, note->place >> 32);
}

/*
 * Propose the page B.  On "leaving" it knows where it belongs, see proposed_home(), and what
 * its placeholder is to say: @when, and in the lower half who @stays.  Advice may just be
 * putting it somewhere else, and take all this for its place: as one it is before all others.
 * Returns whether the request is full.
 */
static bool propose(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
		    struct cachebpf_folio *B, __u32 stays, __u16 when)
{
	struct note *note = folio_data(B, struct note);
	__u32 list = B->list;

	/* another request has it */
	if (!note || !is_of_level(list))
		return false;
	note->place = PROPOSED | (__u64)home_of(list, note) << 48 | (__u64)when << 32 | stays;
	bpf_cachebpf_list_move(policy, B, leaving, TAIL);
	return bpf_cachebpf_evict(evict, B);
}

/* It is the turn of the page A of @m, and B goes.  Returns whether the request is full. */
__verified_once int replace(struct cachebpf_policy *policy __arg_trusted,
			    struct cachebpf_evict *evict __arg_trusted,
			    struct manager *m __arg_nonnull, struct cachebpf_folio *A __arg_trusted,
			    struct cachebpf_folio *B __arg_trusted)
{
	struct note *note = folio_data(A, struct note);

	if (m->owes > 0) {
		m->owes--;
		/* what stayed was used, and has another place: none but that of B is given (revoked: its own) */
		if (note && !m->revoked && place_on(A->list, note) > PAYS)
			return propose(policy, evict, B, m->stayed, decisions_noted(m));
	}
	if (A == B || !swapping)
		return propose(policy, evict, B, 0, 0);
	/* a large one does not stay for a small one: it is its turn until as many pages went */
	if (pays_for(m, folio_pages(A), folio_pages(B))) {
		levels_swap(policy, m, A, B);
		counter_add(&overruled, folio_pages(A));
	}
	return propose(policy, evict, B, placeholders ? bpf_cachebpf_number(A) : 0, decisions_noted(m));
}

/* What else goes of an MRU level of which no page was used since it came or was swapped. */
__verified_once int acfs_pay_any(struct cachebpf_policy *policy __arg_trusted,
			    struct cachebpf_evict *evict __arg_trusted,
			    struct manager *m __arg_nonnull, struct places *places __arg_nonnull)
{
	__u32 number = newest_of(evict, &places->found.lowest);
	struct cachebpf_folio *A, *B;

	for_folio(A, policy, places->found.all.number)
		for_folio(B, policy, number)
			return replace(policy, evict, m, A, may_decide(m, revoke_percent) ? B : A);
	return false;
}

/*
 * The pages of @m on the list of its oldest place pay one after the other, as long as the place
 * is not after @limit.  What goes is on one list as well: of the lowest level that with the oldest
 * place, as long as no other has an older one; or those used last.
 */
__verified_once int acfs_pay_run(struct cachebpf_policy *policy __arg_trusted,
			    struct cachebpf_evict *evict __arg_trusted,
			    struct manager *m __arg_nonnull, struct places *places __arg_nonnull,
			    __s64 limit)
{
	__u32 from = places->found.all.list, to = places->found.lowest.list, done = AGAIN;
	bool is_shared = m->inherits || m->slot == OTHERS, mru = is_mru(m, to), owes;
	struct cachebpf_folio *A, *B = NULL, *goes;
	struct bpf_iter_cachebpf_list going;
	struct manager *its = m;
	struct note *note;
	__s64 place = 0;

	if (mru)
		to -= kind_of(to);
	bpf_iter_cachebpf_list_new(&going, evict, to, mru ? NR_UNREAD : 0,
				   mru ? CACHEBPF_ITER_REVERSE : 0);
	for_each_folio(A, evict, from, 0, 0) {
		note = folio_data(A, struct note);
		owes = m->owes > 0;
		if (!note || A->list != from || (!owes && place_on(from, note) > limit))
			break;
		if (is_shared)
			its = owner_of(policy, m, A);
		if (its->slot != m->slot && its->slot < OTHERS)
			continue;
		goes = A;
		if (its->slot < OTHERS && !m->revoked && (mru || to != from)) {
			if (!B)
				B = next_to_go(&going, to, mru, owes ? m->missed_at : NEVER);
			note = B ? folio_data(B, struct note) : NULL;
			if (!note) {
				places->found.all.number = bpf_cachebpf_number(A);
				done = mru ? ANY : AGAIN;
				break;
			}
			place = place_on(to, note);
			if (!mru && place > places->found.lowest.next)
				break;
		}
		if (its->slot < OTHERS && may_decide(m, revoke_percent) && B) {
			goes = B;
			B = NULL;
			/* A has this place now */
			if (place < limit)
				limit = place;
		}
		if (replace(policy, evict, m, A, goes)) {
			done = FULL;
			break;
		}
	}
	bpf_iter_cachebpf_list_destroy(&going);
	return done;
}

/* The manager @m gives pages as long as its oldest place is not after @limit.  Returns whether the request is full. */
__verified_once int acfs_pay(struct cachebpf_policy *policy __arg_trusted,
			struct cachebpf_evict *evict __arg_trusted,
			struct manager *m __arg_nonnull, struct places *places __arg_nonnull,
			__s64 limit)
{
	struct oldest *oldest = &places->found.all;
	int done;

	bpf_repeat(64) {
		managers_find_oldest(evict, m, &places->found);
		if (turn_of(m, oldest->place) > limit || oldest->place == NEVER)
			break;
		done = acfs_pay_run(policy, evict, m, places, oldest->next < limit ? oldest->next : limit);
		if (done == FULL || (done == ANY && acfs_pay_any(policy, evict, m, places)))
			return true;
	}
	m->owes = 0;
	return false;
}

/* Whoever has the oldest place pays, until the request is full. */
__verified_once int acfs_pay_all(struct cachebpf_policy *policy __arg_trusted,
			    struct cachebpf_evict *evict __arg_trusted,
			    struct places *places __arg_nonnull)
{
	/* slots above were never given; instead of the next one there are the others */
	__u32 i, payer, nr_slots = min(nr_managers, NR_MANAGERS);
	__s64 place, limit;
	struct manager *m;

	bpf_for(i, 0, nr_slots + 1) {
		m = manager_in(i < nr_slots ? i : OTHERS);
		if (m) {
			levels_forget_empty(policy, m);
			managers_find_oldest(evict, m, &places->found);
		}
		if (i <= OTHERS)
			places->of[i] = m ? turn_of(m, places->found.all.place) : NEVER;
	}
	bpf_repeat(2 * NR_MANAGERS) {
		place = limit = NEVER;
		payer = 0;
		bpf_for(i, 0, nr_slots + 1) {
			if (i > OTHERS)
				break;
			if (places->of[i] < place) {
				limit = place;
				place = places->of[i];
				payer = i;
			} else if (places->of[i] < limit) {
				limit = places->of[i];
			}
		}
		if (place == NEVER)
			break;
		m = manager_in(payer < nr_slots ? payer : OTHERS);
		places->found.all.place = NEVER;
		/* of a large request each gives some pages at a time */
		if (m && acfs_pay(policy, evict, m, places, limit + evict->nr_wanted / 2))
			break;
		/* clang knows, the verifier does not */
		barrier_var(payer);
		if (payer <= OTHERS)
			places->of[payer] = places->found.all.place;
	}
	return 0;
}

/*
 * Is this request the only one, beside @others?  What they propose is not to be taken back, or
 * nobody would pay for it.  But tasks may be stopped in the middle of one: that is not waited for
 * for ever.
 */
static bool is_alone(__u32 others)
{
	if (others && ++nr_crowded < MAX_CROWDED)
		return false;
	nr_crowded = 0;
	return true;
}

void CACHEBPF_OP(acfs_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct places *places = nr_managers ? take_places() : NULL;

	if (!places) {
		levels_evict_others(evict);
		return;
	}
	levels_take_back(policy, evict);
	if (is_alone(__sync_fetch_and_add(&under_way, 1)))
		take_back_proposed(policy, evict, leaving);
	take_back_proposed(policy, evict, kept);
	acfs_pay_all(policy, evict, places);
	__sync_fetch_and_add(&under_way, -1);
	places->taken = 0;
}

CACHEBPF_POLICY(acfs, "Evicts what programs say goes first; else the least recently used", "OSDI 1994",
		.policy_init	= (void *)acfs_init,
		.advise		= (void *)managers_advise,
		.evict_folios	= (void *)acfs_evict,
		.folio_added	= (void *)acfs_added,
		.folio_removed	= (void *)acfs_removed);
