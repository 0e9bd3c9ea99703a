// SPDX-License-Identifier: GPL-2.0-only
/* A policy that writes down what programs say, and does with their folios as a test says. */
#include "cachebpf.bpf.h"
#include "states.h"
#include "time.bpf.h"

struct advice_state state SEC(".bss.state");

struct data {
	__s64 key;
	/* the kernel's, on a list that is stamped */
	__u64 stamp;
};

/* of the request, private to the kernel */
struct cachebpf_evict___visits {
	__u32 visits_left;
} __attribute__((preserve_access_index));

__s32 CACHEBPF_SLEEPABLE_OP(advice_init, struct cachebpf_policy *policy)
{
	__u32 i;

	bpf_for(i, 0, state.want_lists) {
		int nr = bpf_cachebpf_list_create(policy, i < ADVICE_NR_FLAGS ?
							  state.list_flags[i] : 0);

		if (nr < 0) {
			state.create_error = nr;
			break;
		}
		state.nr_lists++;
	}
	return 0;
}

/* Note @folio in @to, the number @n of ADVICE_MAX_FOLIOS. */
static __always_inline void note(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
				 struct advice_folio *to, __u32 n)
{
	struct data *data = folio_data(folio, struct data);

	if (n >= ADVICE_MAX_FOLIOS || !data)
		return;
	to[n].number = bpf_cachebpf_number(folio);
	to[n].list = folio->list;
	to[n].owner = bpf_cachebpf_owner(policy, folio);
	to[n].key = data->key;
	to[n].stamp = data->stamp;
}

void CACHEBPF_OP(advice_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u32 n = __sync_fetch_and_add(&state.nr_added, 1);
	struct data *data = folio_data(folio, struct data);
	struct cachebpf_file file = {};

	if (data && state.number_as_key)
		data->key = n;
	note(policy, folio, state.added, n);
	if (n < ADVICE_MAX_FOLIOS && !bpf_cachebpf_file(folio, &file))
		state.added[n].index = file.index;
}

static __always_inline int act(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			       __u32 n)
{
	struct data *data = folio_data(folio, struct data);

	switch (state.action) {
	case ADVICE_MOVE:
		return bpf_cachebpf_list_move(policy, folio, state.to, TAIL);
	case ADVICE_INSERT:
		if (data)
			data->key = state.keys[n % ADVICE_MAX_FOLIOS];
		return bpf_cachebpf_list_insert(policy, folio, state.to, state.nr_max);
	default:
		return 0;
	}
}

static __always_inline void act_next(struct cachebpf_advice *advice)
{
	int nr = 0;

	if (state.action == ADVICE_MOVE_NEXT)
		nr = bpf_cachebpf_advice_move(advice, state.from, state.to, state.keys[0]);
	else if (state.action == ADVICE_INSERT_NEXT)
		nr = bpf_cachebpf_advice_insert(advice, state.from, state.to);
	if (nr < 0)
		state.action_error = nr;
	else
		__sync_fetch_and_add(&state.nr_moved, nr);
}

__s32 CACHEBPF_OP(advice_advise, struct cachebpf_policy *policy, struct cachebpf_advice *advice)
{
	struct cachebpf_folio *folio;
	struct cachebpf_file file = {};
	__u32 n;
	int err;

	if (advice->begins) {
		__sync_fetch_and_add(&state.nr_said, 1);
		state.said.manager = advice->manager;
		state.said.ino = advice->file.ino;
		state.said.index = advice->file.index;
		state.said.dev = advice->file.dev;
		state.said.generation = advice->file.generation;
		state.said.first = advice->first;
		state.said.last = advice->last;
		state.said.advice = advice->advice;
		act_next(advice);
		return state.answer;
	}

	__sync_fetch_and_add(&state.nr_calls, 1);
	for_each_advised_folio(folio, advice) {
		n = __sync_fetch_and_add(&state.nr_seen, 1);
		note(policy, folio, state.seen, n);
		if (n < ADVICE_MAX_FOLIOS && !bpf_cachebpf_file(folio, &file))
			state.seen[n].index = file.index;
		err = act(policy, folio, n);
		if (err)
			state.action_error = err;
	}
	act_next(advice);
	if (state.wait_us)
		spend_us(state.wait_us);
	return state.walk_answer;
}

static __always_inline __u32 visits_left(struct cachebpf_evict *evict)
{
	struct cachebpf_evict___visits *v = (void *)evict;

	return v->visits_left;
}

static __noinline int look(struct cachebpf_evict *evict __arg_trusted, __u32 i)
{
	struct cachebpf_seen seen = {};
	__u32 before = visits_left(evict);

	if (i >= ADVICE_NR_LOOKS)
		return 0;
	state.looks[i].error = bpf_cachebpf_first(evict, state.looks[i].list,
						  state.looks[i].flags, &seen);
	state.looks[i].number = seen.number;
	state.looks[i].order = seen.order;
	state.looks[i].visits = before - visits_left(evict);
	return 0;
}

static __noinline int dump(struct cachebpf_policy *policy __arg_trusted,
			   struct cachebpf_evict *evict __arg_trusted, __u32 i)
{
	struct cachebpf_folio *folio;
	__u32 n;

	if (i >= ADVICE_NR_DUMPS)
		return 0;
	state.nr_dumped[i] = 0;
	for_each_folio(folio, evict, state.dump[i], 0, 0) {
		n = state.nr_dumped[i]++;
		note(policy, folio, state.dumps[i], n);
	}
	return 0;
}

void CACHEBPF_OP(advice_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	__u32 i;

	if (state.armed) {
		state.armed = 0;
		bpf_for(i, 0, ADVICE_NR_LOOKS) {
			__u32 l = i;

			look(evict, l);
			if (l < ADVICE_NR_LOOKS)
				for_folio(folio, policy, state.looks[l].number)
					state.looks[l].own_order = folio->order;
		}
		for_folio(folio, policy, state.number_wanted)
			state.nr_found++;
		bpf_for(i, 0, ADVICE_NR_DUMPS)
			dump(policy, evict, i);
	}
	bpf_for(i, 1, state.propose + 1) {
		__u32 list = i;

		for_each_folio(folio, evict, list, 0, CACHEBPF_ITER_ROTATE)
			if (bpf_cachebpf_evict(evict, folio))
				return;
	}
}

CACHEBPF_POLICY(advice, "Writes down what programs say", "kernel/selftests",
		.policy_init	= (void *)advice_init,
		.folio_added	= (void *)advice_added,
		.advise		= (void *)advice_advise,
		.evict_folios	= (void *)advice_evict);
