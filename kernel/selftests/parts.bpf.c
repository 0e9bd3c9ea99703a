// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy built from parts: its state says what each callback does, well- or
 * ill-behaved.  Whoever loads it clears the callbacks it is not to have.
 */
#include "cachebpf.bpf.h"
#include "states.h"
#include "time.bpf.h"

struct parts_state state SEC(".bss.state");

/* shared by all objects, so that a thread is the same for all policies */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} classes SEC(".maps");

__s32 CACHEBPF_SLEEPABLE_OP(parts_init, struct cachebpf_policy *policy)
{
	__u32 i;

	for (i = 0; i < PARTS_MAX_LISTS && i < state.nr_lists; i++) {
		int nr = bpf_cachebpf_list_create(policy, state.list_flags[i]);

		if (nr < 0)
			return nr;
	}
	return state.bucket_bytes ? bpf_cachebpf_buckets_create(policy, state.bucket_bytes) : 0;
}

void CACHEBPF_SLEEPABLE_OP(parts_exit, struct cachebpf_policy *policy)
{
	__sync_fetch_and_add(&state.exits, 1);
}

/* Do with @folio as @how says. */
static __always_inline void put(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
				const struct parts_put *how)
{
	struct cachebpf_file file = {};
	__u64 *data;

	if (how->writes & PARTS_WRITE_ACCESSES)
		folio->accesses = bpf_get_prandom_u32() & 7;
	if (how->writes & PARTS_WRITE_DATA) {
		data = (__u64 *)bpf_cachebpf_data(folio, 16);
		if (data)
			data[0] = bpf_get_prandom_u32();
	}
	if (how->writes & PARTS_WRITE_FILE && !bpf_cachebpf_file(folio, &file)) {
		data = (__u64 *)bpf_cachebpf_data(folio, 16);
		if (data)
			data[0] = file.ino << 32 | file.index;
	}
	if (how->writes & PARTS_WRITE_BUCKET) {
		data = (__u64 *)bpf_cachebpf_bucket(policy, bpf_cachebpf_key(folio), 64);
		if (data)
			data[bpf_get_prandom_u32() & 7]++;
	}

	switch (how->how) {
	case PUT_ADD:
		bpf_cachebpf_list_add(policy, folio, how->list, how->tail);
		break;
	case PUT_MOVE:
		bpf_cachebpf_list_move(policy, folio, how->list, how->tail);
		break;
	case PUT_SPREAD:
		bpf_cachebpf_list_move(policy, folio,
				       bpf_get_prandom_u32() % (state.nr_lists + 1), how->tail);
		break;
	case PUT_DEL:
		bpf_cachebpf_list_del(policy, folio);
		break;
	case PUT_SORTED:
		bpf_cachebpf_list_insert(policy, folio, how->list, bpf_get_prandom_u32() & 255);
		break;
	}
}

/*
 * The second half of a folio's bytes is written here and nowhere else, unless it
 * is a stamp: it has to be empty when a folio comes, and as it was left, or empty,
 * when it goes.
 * (Empty if it goes while it is being handed over, and before this was called.)
 */
void CACHEBPF_OP(parts_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 *data = (__u64 *)bpf_cachebpf_data(folio, 16);

	__sync_fetch_and_add(&state.added, 1);
	if (data && !state.stamped) {
		if (data[1])
			__sync_fetch_and_add(&state.not_empty, 1);
		data[1] = PARTS_MARK;
	}
	put(policy, folio, &state.when_added);
}

void CACHEBPF_OP(parts_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__sync_fetch_and_add(&state.accessed, 1);
	put(policy, folio, &state.when_accessed);
}

void CACHEBPF_OP(parts_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 *data = (__u64 *)bpf_cachebpf_data(folio, 16);

	__sync_fetch_and_add(&state.removed, 1);
	if (data && !state.stamped && data[1] && data[1] != PARTS_MARK)
		__sync_fetch_and_add(&state.not_intact, 1);
	put(policy, folio, &state.when_removed);
}

/* The numbers of policies alone say what is to be answered; 0: by a walk. */
__s32 CACHEBPF_OP(parts_advise, struct cachebpf_policy *policy, struct cachebpf_advice *advice)
{
	struct cachebpf_folio *folio;
	__u32 from;

	if (advice->begins) {
		__sync_fetch_and_add(&state.advised, 1);
		return advice->advice & 15 ?: CACHEBPF_ADVICE_WALK;
	}
	for_each_advised_folio(folio, advice)
		put(policy, folio, &state.when_advised);
	/* of what comes next some may be on that list */
	from = bpf_get_prandom_u32() % (state.nr_lists + 1);
	if (state.when_advised.how == PUT_MOVE)
		bpf_cachebpf_advice_move(advice, from, state.when_advised.list, from);
	else if (state.when_advised.how == PUT_SORTED)
		bpf_cachebpf_advice_insert(advice, from, state.when_advised.list);
	return CACHEBPF_ADVICE_WALK;
}

bool CACHEBPF_OP(parts_admit, struct cachebpf_policy *policy,
		 struct cachebpf_admission *admission)
{
	__u32 *class;

	__sync_fetch_and_add(&state.asked, 1);
	switch (state.admit) {
	case PARTS_ADMIT_NONE:
		return false;
	case PARTS_ADMIT_REUSED:
		return admission->flags & CACHEBPF_ADMISSION_REUSE;
	case PARTS_ADMIT_SOME:
		return bpf_get_prandom_u32() & 1;
	case PARTS_ADMIT_CLASS:
		class = bpf_task_storage_get(&classes, bpf_get_current_task_btf(), 0, 0);
		return !class || !*class;
	default:
		return true;
	}
}

static __always_inline __u64 any_number(void)
{
	/* not rarely a small one */
	return (__u64)bpf_get_prandom_u32() << (bpf_get_prandom_u32() & 31) >>
	       (bpf_get_prandom_u32() & 31);
}

bool CACHEBPF_OP(parts_plan, struct cachebpf_policy *policy, struct cachebpf_readahead *ra)
{
	int i;

	__sync_fetch_and_add(&state.planned, 1);
	switch (state.plan) {
	case PARTS_PLAN_DECLINES:
		return false;
	case PARTS_PLAN_NEAR:
		ra->start = ra->index - (bpf_get_prandom_u32() & 15);
		ra->size = bpf_get_prandom_u32() & 63;
		ra->async_size = bpf_get_prandom_u32() & 63;
		break;
	case PARTS_PLAN_ANY:
		ra->start = bpf_get_prandom_u32() & 1 ? any_number() : -any_number();
		ra->size = any_number();
		ra->async_size = any_number();
		bpf_for(i, 0, 5)
			bpf_cachebpf_prefetch(ra, any_number(), any_number());
		break;
	}
	return true;
}

static __always_inline __s64 score(struct cachebpf_folio *folio, __u32 key)
{
	__u64 *data = (__u64 *)bpf_cachebpf_data(folio, 16);

	if (key == PARTS_BY_ACCESSES || !data)
		return folio->accesses;
	return key == PARTS_BY_DATA ? (__s64)data[0] : (__s64)bpf_get_prandom_u32();
}

/* Walks in walks, each of which takes the folios of the others away. */
static __noinline int walk_nested(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
				  struct parts_step *step)
{
	struct cachebpf_folio *outer, *inner;

	for_each_folio(outer, evict, step->list, 32, step->flags) {
		bpf_cachebpf_list_move(policy, outer, step->to, HEAD);
		for_each_folio(inner, evict, step->list, 3, CACHEBPF_ITER_REVERSE)
			bpf_cachebpf_list_move(policy, inner, step->to, TAIL);
		for_each_folio(inner, evict, step->list, 3, CACHEBPF_ITER_ROTATE)
			bpf_cachebpf_list_del(policy, inner);
		for_each_folio(inner, evict, step->to, 2, 0)
			bpf_cachebpf_list_move(policy, inner, step->list, HEAD);
		bpf_cachebpf_evict(evict, outer);
	}
	return 0;
}

/* Proposes everything there is, each folio once, until there are enough. */
static __noinline int sweep(struct cachebpf_evict *evict, struct parts_step *step)
{
	struct cachebpf_folio *folio;
	__u32 i;

	bpf_for(i, 0, PARTS_MAX_LISTS + 1) {
		__u32 list = i;

		if (list > state.nr_lists)
			break;
		for_each_folio(folio, evict, list, 0, step->flags | CACHEBPF_ITER_ROTATE)
			if (bpf_cachebpf_evict(evict, folio))
				return 0;
	}
	return 0;
}

/* Proposes what is first on a list, until it has been there before. */
static __noinline int firsts(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
			     struct parts_step *step)
{
	__u32 flags = step->flags & CACHEBPF_ITER_REVERSE, number = 0;
	struct cachebpf_seen seen = {};
	struct cachebpf_folio *folio;

	bpf_repeat(32) {
		if (bpf_cachebpf_first(evict, step->list, flags, &seen) || seen.number == number)
			break;
		number = number ?: seen.number;
		for_folio(folio, policy, seen.number) {
			bpf_cachebpf_list_move(policy, folio, step->to, TAIL);
			if (bpf_cachebpf_evict(evict, folio))
				return 0;
		}
	}
	return 0;
}

/* Proposes or ranks the same folio over and over. */
static __noinline int repeat(struct cachebpf_evict *evict, struct parts_step *step)
{
	struct cachebpf_folio *folio;
	int i;

	for_each_folio(folio, evict, step->list, 2, step->flags) {
		for (i = 0; i < 40; i++) {
			if (step->key)
				bpf_cachebpf_rank(evict, folio, -i);
			else
				bpf_cachebpf_evict(evict, folio);
		}
	}
	return 0;
}

static __noinline int do_step(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
			      struct parts_step *step)
{
	struct cachebpf_folio *folio;

	switch (step->how) {
	case STEP_EVICT:
		for_each_folio(folio, evict, step->list, step->nr_max, step->flags)
			if (bpf_cachebpf_evict(evict, folio))
				break;
		break;
	case STEP_RANK:
		for_each_folio(folio, evict, step->list, step->nr_max, step->flags)
			bpf_cachebpf_rank(evict, folio, score(folio, step->key));
		break;
	case STEP_RANK_LIST:
		bpf_cachebpf_rank_list(evict, step->list, step->nr_max, step->key);
		break;
	case STEP_FIRST:
		firsts(policy, evict, step);
		break;
	case STEP_MOVE:
		for_each_folio(folio, evict, step->list, step->nr_max, step->flags)
			bpf_cachebpf_list_move(policy, folio, step->to, step->tail);
		break;
	case STEP_SWEEP:
		sweep(evict, step);
		break;
	case STEP_TOO_MANY:
		for_each_folio(folio, evict, step->list, step->nr_max, step->flags)
			bpf_cachebpf_evict(evict, folio);
		break;
	case STEP_REPEAT:
		repeat(evict, step);
		break;
	case STEP_NESTED:
		walk_nested(policy, evict, step);
		break;
	case STEP_GONE:
		for_each_folio(folio, evict, step->list, step->nr_max, step->flags)
			if (bpf_cachebpf_evict(evict, folio))
				break;
		/* long enough for others to remove what is proposed already */
		spend_us(PARTS_WAIT_US);
		break;
	}
	return 0;
}

void CACHEBPF_OP(parts_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__sync_fetch_and_add(&state.requests, 1);
	do_step(policy, evict, &state.steps[0]);
	do_step(policy, evict, &state.steps[1]);
	do_step(policy, evict, &state.steps[2]);
}

char LICENSE[] SEC("license") = "GPL";

/* A policy can be attached once at a time: PARTS_COPIES of them for each cgroup there is. */
#define PARTS(nr)							\
	SEC(".struct_ops.link") struct cachebpf_ops parts_##nr = {	\
		.name		= "parts",				\
		.policy_init	= (void *)parts_init,			\
		.policy_exit	= (void *)parts_exit,			\
		.admit_folio	= (void *)parts_admit,			\
		.plan_readahead	= (void *)parts_plan,			\
		.advise		= (void *)parts_advise,			\
		.folio_added	= (void *)parts_added,			\
		.folio_accessed	= (void *)parts_accessed,		\
		.folio_removed	= (void *)parts_removed,		\
		.evict_folios	= (void *)parts_evict,			\
	}

PARTS(0);
PARTS(1);
PARTS(2);
PARTS(3);
PARTS(4);
PARTS(5);
PARTS(6);
PARTS(7);
PARTS(8);
PARTS(9);
PARTS(10);
PARTS(11);
PARTS(12);
PARTS(13);
PARTS(14);
PARTS(15);
