// SPDX-License-Identifier: GPL-2.0-only
/* Eviction lists, walks over them, and proposals. */
#include "selftest.h"
#include "states.h"

#define REVERSE	1
#define ROTATE	2
#define NR	100

#define LIST_NEW_HEAD	1
#define LIST_NEW_TAIL	2
#define LIST_USED_HEAD	4
#define LIST_USED_TAIL	8

enum { BY_ACCESSES, BY_DATA };

static const char *cg;
static struct lists_state *state;

/* The policy, loaded and not attached yet: @state is to be set. */
static struct policy *load(__u32 want_lists)
{
	struct policy *p;

	cg = cg_new(NULL, "a");
	p = policy_open("lists", NULL, cg);
	REQUIRE_EQ(policy_load(p), 0);
	state = policy_state(p);
	state->want_lists = want_lists;
	return p;
}

static struct file *attach_and_read(struct policy *p, size_t nr_pages)
{
	struct file *file = file_new(NULL, "f", nr_pages);

	policy_attach_loaded(p);
	cg_read_file(cg, file, 0, nr_pages);
	REQUIRE_EQ(state->nr_added, nr_pages);
	return file;
}

static struct file *set_up(__u32 want_lists, __u32 add_to, size_t nr_pages)
{
	struct policy *p = load(want_lists);

	state->add_to = add_to;
	return attach_and_read(p, nr_pages);
}

/* As set_up(), for lists with flags; folios are put there by the kernel. */
static struct file *set_up_flags(__u32 want_lists, const __u32 *flags, size_t nr_pages)
{
	struct policy *p = load(want_lists);

	memcpy(state->list_flags, flags, want_lists * sizeof(*flags));
	return attach_and_read(p, nr_pages);
}

/* Have one request for 32 pages served by walks, of which there are @nr. */
static void request(unsigned int nr, const struct walk *walks)
{
	memcpy(state->walks, walks, nr * sizeof(*walks));
	state->nr_walks = nr;
	state->armed = 1;
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	REQUIRE_EQ(state->armed, 0);
	EXPECT_EQ(state->nr_wanted, 32);
}

/* Was it folios @first, @first + @step, ..., @nr of them, from visit @from on? */
static bool visited(int walk, unsigned int from, unsigned int nr, int first, int step)
{
	const struct walk *w = &state->walks[walk];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (from + i >= w->nr_visited || w->visited[from + i] != (unsigned int)(first + (int)i * step)) {
			diag("walk %d, visit %u of %u: folio %d instead of %d", walk, from + i,
			     w->nr_visited, from + i < w->nr_visited ? (int)w->visited[from + i] : -1,
			     first + (int)i * step);
			return false;
		}
	}
	return true;
}

static void test_create(void)
{
	unsigned int i;

	set_up(100, 100, 250);
	REQUIRE_EQ(state->nr_lists, 100);
	EXPECT_EQ(state->create_error, 0);
	EXPECT_EQ(cg_stat(cg, "lists"), 100);
	for (i = 0; i < 100; i++)
		EXPECT_EQ(state->numbers[i], i + 1);
	request(2, (struct walk[]){ { .list = 1 }, { .list = 100 } });
	for (i = 0; i < 100; i++)
		EXPECT_EQ(state->len_before[i], i < 50 ? 3 : 2);
	EXPECT_EQ(state->walks[0].nr_visited, 3);
	EXPECT(visited(0, 0, 3, 0, 100));
	EXPECT_EQ(state->walks[1].nr_visited, 2);
	EXPECT(visited(1, 0, 2, 99, 100));
}

static void test_too_many(void)
{
	set_up(LISTS_MAX_LISTS, 64, 64);
	EXPECT_OP(state->nr_lists, >=, 64);
	EXPECT_EQ(state->create_error, -ENOSPC);
	EXPECT_EQ(cg_stat(cg, "lists"), state->nr_lists);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 64);
}

static void test_bad_numbers(void)
{
	set_up(2, 1, NR);
	EXPECT_EQ(state->error_add, -ENOENT);
	EXPECT_EQ(state->error_add_huge, -ENOENT);
	EXPECT_EQ(state->error_move, -ENOENT);
	EXPECT_EQ(state->len_of_none, 0);
	request(1, (struct walk[]){ { .list = 1, .nr_max = 1, .action = WALK_MOVE, .to = 3 } });
	EXPECT_EQ(state->error_iter, -ENOENT);
	EXPECT_EQ(state->error_iter_flags, -EINVAL);
	EXPECT_EQ(state->walks[0].last_error, -ENOENT);
	/* and the folios are where they were */
	EXPECT_EQ(state->len_after[0], NR);
}

static void test_order(void)
{
	set_up(1, 1, NR);
	request(3, (struct walk[]){
		{ .list = 1 },
		{ .list = 1, .nr_max = 10, .flags = REVERSE },
		{ .list = 1, .nr_max = 7 } });
	EXPECT_EQ(state->walks[0].nr_visited, NR);
	EXPECT(visited(0, 0, NR, 0, 1));
	EXPECT_EQ(state->walks[1].nr_visited, 10);
	EXPECT(visited(1, 0, 10, NR - 1, -1));
	EXPECT_EQ(state->walks[2].nr_visited, 7);
	EXPECT(visited(2, 0, 7, 0, 1));
	EXPECT_EQ(state->len_before[0], NR);
	EXPECT_EQ(state->nr_proposed, 0);
}

static void test_head(void)
{
	struct file *file = set_up(1, 1, 10);

	/* what comes now goes to the head */
	file = file_new(NULL, "g", NR);
	state->add_to_head = true;
	cg_read_file(cg, file, 0, NR);
	request(1, (struct walk[]){ { .list = 1 } });
	EXPECT_EQ(state->walks[0].nr_visited, NR + 10);
	EXPECT(visited(0, 0, NR, NR + 9, -1));
	EXPECT(visited(0, NR, 10, 0, 1));
}

static void test_rotate(void)
{
	set_up(1, 1, NR);
	request(3, (struct walk[]){
		{ .list = 1, .nr_max = 10, .flags = ROTATE },
		{ .list = 1, .flags = ROTATE },
		{ .list = 1 } });
	EXPECT_EQ(state->walks[0].nr_visited, 10);
	EXPECT(visited(0, 0, 10, 0, 1));
	/* a whole round meets each once and leaves the order as it is */
	EXPECT_EQ(state->walks[1].nr_visited, NR);
	EXPECT(visited(1, 0, NR - 10, 10, 1));
	EXPECT(visited(1, NR - 10, 10, 0, 1));
	EXPECT_EQ(state->walks[2].nr_visited, NR);
	EXPECT(visited(2, 0, NR - 10, 10, 1));
	EXPECT(visited(2, NR - 10, 10, 0, 1));
	EXPECT_EQ(state->len_after[0], NR);
}

static void test_rotate_reverse(void)
{
	set_up(1, 1, NR);
	request(3, (struct walk[]){
		{ .list = 1, .nr_max = 5, .flags = ROTATE | REVERSE },
		{ .list = 1, .flags = ROTATE | REVERSE },
		{ .list = 1 } });
	EXPECT_EQ(state->walks[0].nr_visited, 5);
	EXPECT(visited(0, 0, 5, NR - 1, -1));
	EXPECT_EQ(state->walks[1].nr_visited, NR);
	EXPECT(visited(1, 0, NR - 5, NR - 6, -1));
	EXPECT(visited(1, NR - 5, 5, NR - 1, -1));
	EXPECT(visited(2, 0, 5, NR - 5, 1));
	EXPECT(visited(2, 5, NR - 5, 0, 1));
	EXPECT_EQ(state->walks[2].nr_visited, NR);
}

static void test_move_within(void)
{
	set_up(1, 1, NR);
	request(3, (struct walk[]){
		/* behind the walk, which must not run after them for ever */
		{ .list = 1, .action = WALK_MOVE, .to = 1, .tail = true },
		/* in front of it */
		{ .list = 1, .action = WALK_MOVE, .to = 1 },
		{ .list = 1 } });
	EXPECT_EQ(state->walks[0].nr_visited, NR);
	EXPECT(visited(0, 0, NR, 0, 1));
	EXPECT_EQ(state->walks[1].nr_visited, NR);
	EXPECT(visited(1, 0, NR, 0, 1));
	EXPECT_EQ(state->walks[2].nr_visited, NR);
	EXPECT(visited(2, 0, NR, NR - 1, -1));
	EXPECT_EQ(state->walks[0].last_error, 0);
	EXPECT_EQ(state->len_after[0], NR);
}

static void test_move_to_other(void)
{
	set_up(2, 1, NR);
	request(3, (struct walk[]){
		{ .list = 1, .nr_max = 30, .action = WALK_MOVE, .to = 2, .tail = true },
		{ .list = 1, .nr_max = 20, .flags = REVERSE, .action = WALK_MOVE, .to = 2 },
		{ .list = 2 } });
	EXPECT(visited(0, 0, 30, 0, 1));
	EXPECT(visited(1, 0, 20, NR - 1, -1));
	EXPECT_EQ(state->len_after[0], NR - 50);
	EXPECT_EQ(state->len_after[1], 50);
	EXPECT_EQ(state->walks[2].nr_visited, 50);
	EXPECT(visited(2, 0, 20, NR - 20, 1));
	EXPECT(visited(2, 20, 30, 0, 1));
}

static void test_del(void)
{
	struct file *file = set_up(2, 1, NR);

	state->del_accessed = true;
	cg_read_file(cg, file, 0, 40);
	state->del_accessed = false;
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	/* back by way of list 0; then again, which must fail */
	request(3, (struct walk[]){
		{ .list = 1 },
		{ .list = 0, .action = WALK_ADD, .to = 2, .tail = true },
		{ .list = 2, .nr_max = 5, .action = WALK_ADD, .to = 1, .tail = true } });
	EXPECT_EQ(state->len_before[0], NR - 40);
	EXPECT_EQ(state->walks[0].nr_visited, NR - 40);
	EXPECT(visited(0, 0, NR - 40, 40, 1));
	EXPECT_EQ(state->walks[1].nr_visited, 40);
	EXPECT(visited(1, 0, 40, 0, 1));
	EXPECT_EQ(state->walks[1].last_error, 0);
	EXPECT_EQ(state->walks[2].last_error, -EEXIST);
	EXPECT_EQ(state->len_after[0], NR - 40);
	EXPECT_EQ(state->len_after[1], 40);
}

static void test_evict(void)
{
	bool cached[NR];
	struct file *file = set_up(1, 1, NR);
	unsigned int i;

	request(1, (struct walk[]){ { .list = 1, .flags = REVERSE, .action = WALK_EVICT } });
	/* the request is full with the 32nd: the walk is told to end */
	EXPECT_EQ(state->walks[0].nr_visited, 32);
	EXPECT_EQ(state->nr_proposed, 32);
	EXPECT_EQ(state->nr_reclaimed, 32);
	EXPECT_EQ(file_cached(file, cached), NR - 32);
	for (i = 0; i < NR; i++)
		EXPECT_EQ(cached[i], i < NR - 32);
	EXPECT_EQ(cg_stat(cg, "evict_calls"), 1);
	EXPECT_EQ(cg_stat(cg, "evict_asked"), 32);
	EXPECT_EQ(cg_stat(cg, "evict_isolated"), 32);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), 32);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR - 32);
}

/* Which @nr folios of those that are left have the lowest scores, the older first? */
static void choose(const bool *gone, unsigned int nr_folios, unsigned int nr, bool *chosen)
{
	unsigned int i, best;

	memset(chosen, 0, nr_folios * sizeof(*chosen));
	while (nr--) {
		best = nr_folios;
		for (i = 0; i < nr_folios; i++)
			if (!gone[i] && !chosen[i] &&
			    (best == nr_folios || state->scores[i] < state->scores[best]))
				best = i;
		if (best < nr_folios)
			chosen[best] = true;
	}
}

static void test_rank(void)
{
	enum { NR_FOLIOS = 500 };
	bool gone[NR_FOLIOS] = { }, chosen[NR_FOLIOS], taken[NR_FOLIOS];
	unsigned int i, round, before;
	uint32_t random = 12345;

	set_up(1, 1, NR_FOLIOS);
	for (i = 0; i < NR_FOLIOS; i++) {
		random = random * 1664525 + 1013904223;
		/* few values: many are equal */
		state->scores[i] = (int)(random >> 16) % 60 - 30;
	}
	/* a round with extremes */
	state->scores[77] = INT64_MIN;
	state->scores[78] = INT64_MAX;

	for (round = 0; round < 8; round++) {
		choose(gone, NR_FOLIOS, 32, chosen);
		before = state->nr_reclaimed;
		request(1, (struct walk[]){ { .list = 1, .action = WALK_RANK } });
		EXPECT_EQ(state->walks[0].nr_visited, NR_FOLIOS - before);
		EXPECT_EQ(state->nr_proposed, 32);
		REQUIRE_EQ(state->nr_reclaimed, before + 32);

		memset(taken, 0, sizeof(taken));
		for (i = before; i < state->nr_reclaimed; i++)
			taken[state->reclaimed[i]] = gone[state->reclaimed[i]] = true;
		for (i = 0; i < NR_FOLIOS; i++)
			if (!expect(taken[i] == chosen[i], __FILE__, __LINE__,
				    "round %u: folio %u with score %lld was %staken", round, i,
				    (long long)state->scores[i], taken[i] ? "" : "not "))
				break;
	}
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
}

static void test_rank_few(void)
{
	unsigned int i;

	set_up(2, 2, 40);
	for (i = 0; i < 40; i++)
		state->scores[i] = -(int)i;
	/* list 1 has the even ones */
	request(1, (struct walk[]){ { .list = 1, .action = WALK_RANK } });
	EXPECT_EQ(state->walks[0].nr_visited, 20);
	EXPECT_EQ(state->nr_proposed, 20);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), 20);
	for (i = 0; i < 20 && i < state->nr_reclaimed; i++)
		EXPECT_EQ(state->reclaimed[i] % 2, 0);
	/* the rest was not the policy's choice */
	EXPECT_OP(cg_stat(cg, "evict_fallback"), >=, 12);
	EXPECT_OP(state->nr_reclaimed, >=, 32);
}

static void test_rank_bound(void)
{
	unsigned int i;

	/* only what was offered counts: of the 50 oldest the 32 lowest */
	set_up(1, 1, NR);
	for (i = 0; i < NR; i++)
		state->scores[i] = -(int)i;
	request(1, (struct walk[]){ { .list = 1, .nr_max = 50, .action = WALK_RANK } });
	EXPECT_EQ(state->walks[0].nr_visited, 50);
	REQUIRE_EQ(state->nr_reclaimed, 32);
	for (i = 0; i < 32; i++)
		EXPECT(state->reclaimed[i] >= 18 && state->reclaimed[i] < 50);
}

static void test_new_list(void)
{
	set_up_flags(2, (__u32[]){ 0, LIST_NEW_TAIL }, NR);
	request(1, (struct walk[]){ { .list = 2 } });
	EXPECT_EQ(state->len_before[0], 0);
	EXPECT_EQ(state->walks[0].nr_visited, NR);
	EXPECT(visited(0, 0, NR, 0, 1));
}

static void test_new_list_head(void)
{
	set_up_flags(1, (__u32[]){ LIST_NEW_HEAD }, NR);
	request(1, (struct walk[]){ { .list = 1 } });
	EXPECT(visited(0, 0, NR, NR - 1, -1));
}

static void test_used_head(void)
{
	struct file *file = set_up_flags(1, (__u32[]){ LIST_NEW_HEAD | LIST_USED_HEAD }, NR);

	/* 20 to 39 again, and 30 once more: it is on top of them */
	cg_read_file(cg, file, 20, 20);
	cg_read_file(cg, file, 30, 1);
	request(1, (struct walk[]){ { .list = 1 } });
	EXPECT_EQ(state->walks[0].nr_visited, NR);
	EXPECT(visited(0, 0, 1, 30, 1));
	EXPECT(visited(0, 1, 9, 39, -1));
	EXPECT(visited(0, 10, 10, 29, -1));
	EXPECT(visited(0, 20, NR - 40, NR - 1, -1));
	EXPECT(visited(0, NR - 20, 20, 19, -1));
}

static void test_used_tail(void)
{
	struct file *file = set_up_flags(1, (__u32[]){ LIST_NEW_TAIL | LIST_USED_TAIL }, NR);

	cg_read_file(cg, file, 0, 10);
	request(1, (struct walk[]){ { .list = 1 } });
	EXPECT(visited(0, 0, NR - 10, 10, 1));
	EXPECT(visited(0, NR - 10, 10, 0, 1));
}

static void test_bad_list_flags(void)
{
	static const struct {
		__u32 flags[2];
		int nr_good;
		int error;
	} cases[] = {
		{ { LIST_NEW_HEAD | LIST_NEW_TAIL }, 0, -EINVAL },
		{ { LIST_USED_HEAD | LIST_USED_TAIL }, 0, -EINVAL },
		{ { 1U << 31 }, 0, -EINVAL },
		{ { LIST_NEW_HEAD, LIST_NEW_TAIL }, 1, -EEXIST },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *p;

		cg = cg_new(NULL, (char[]){ 'a' + i, 0 });
		p = policy_open("lists", NULL, cg);
		REQUIRE_EQ(policy_load(p), 0);
		state = policy_state(p);
		state->want_lists = 2;
		memcpy(state->list_flags, cases[i].flags, sizeof(cases[i].flags));
		policy_attach_loaded(p);
		EXPECT_EQ(state->nr_lists, cases[i].nr_good);
		EXPECT_EQ(state->create_error, cases[i].error);
	}
}

static void test_rank_list(void)
{
	enum { NR_FOLIOS = 300 };
	bool gone[NR_FOLIOS] = { }, chosen[NR_FOLIOS];
	unsigned int i, round, before;
	struct policy *p = load(1);
	uint32_t random = 4711;

	state->list_flags[0] = LIST_NEW_TAIL;
	state->data_is_score = true;
	for (i = 0; i < NR_FOLIOS; i++) {
		random = random * 1664525 + 1013904223;
		state->scores[i] = (int)(random >> 16) % 40 - 20;
	}
	attach_and_read(p, NR_FOLIOS);

	/* all of the list each time: ties depend on the order, which is a new one each time */
	for (round = 0; round < 4; round++) {
		long long worst = INT64_MIN;

		choose(gone, NR_FOLIOS, 32, chosen);
		for (i = 0; i < NR_FOLIOS; i++)
			if (chosen[i] && state->scores[i] > worst)
				worst = state->scores[i];
		before = state->nr_reclaimed;
		request(1, (struct walk[]){ { .list = 1, .nr_max = NR_FOLIOS, .to = BY_DATA,
					      .action = WALK_RANK_LIST } });
		EXPECT_EQ(state->walks[0].last_error, 0);
		REQUIRE_EQ(state->nr_reclaimed, before + 32);
		for (i = before; i < state->nr_reclaimed; i++)
			gone[state->reclaimed[i]] = true;
		for (i = 0; i < NR_FOLIOS; i++)
			if (!expect(gone[i] ? true : state->scores[i] >= worst, __FILE__, __LINE__,
				    "round %u: folio %u with score %lld stayed, %lld went", round, i,
				    (long long)state->scores[i], worst))
				break;
	}
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
}

static void test_rank_list_accesses(void)
{
	struct file *file = set_up_flags(1, (__u32[]){ LIST_NEW_TAIL }, NR);
	unsigned int i;

	/* the first 60 twice, 40 of them three times */
	cg_read_file(cg, file, 0, 60);
	cg_read_file(cg, file, 20, 40);
	/* the 32 oldest of the 36 that were used once, of those looked at */
	request(1, (struct walk[]){ { .list = 1, .nr_max = 96, .to = BY_ACCESSES,
				      .action = WALK_RANK_LIST } });
	REQUIRE_EQ(state->nr_reclaimed, 32);
	for (i = 0; i < 32; i++)
		EXPECT(state->reclaimed[i] >= 60 && state->reclaimed[i] < 92);
	/* what was not looked at is first in line now: four, then what was */
	request(3, (struct walk[]){ { .list = 1, .nr_max = 9 },
				    { .list = 1, .nr_max = 1, .to = 7, .action = WALK_RANK_LIST },
				    { .list = 1, .nr_max = 32, .to = BY_ACCESSES,
				      .action = WALK_RANK_LIST } });
	EXPECT(visited(0, 0, 4, 96, 1));
	EXPECT(visited(0, 4, 5, 0, 1));
	EXPECT_EQ(state->walks[1].last_error, -EINVAL);
	REQUIRE_EQ(state->nr_reclaimed, 64);
	for (i = 32; i < 64; i++)
		EXPECT(state->reclaimed[i] >= 96 || state->reclaimed[i] < 28);
}

static const struct test tests[] = {
	{ "a hundred lists",					test_create },
	{ "as many lists as there can be",			test_too_many },
	{ "numbers of no list",					test_bad_numbers },
	{ "order and bound of a walk",				test_order },
	{ "at the head",					test_head },
	{ "rotation",						test_rotate },
	{ "rotation, walking backwards",			test_rotate_reverse },
	{ "moving within the list that is walked",		test_move_within },
	{ "moving to another list",				test_move_to_other },
	{ "taken off and added again",				test_del },
	{ "a request is full after what was wanted",		test_evict },
	{ "ranking: exactly the lowest, ties as offered",	test_rank },
	{ "ranking: fewer than wanted",				test_rank_few },
	{ "ranking: bounded",					test_rank_bound },
	{ "ranking a list by the policy's bytes",		test_rank_list },
	{ "ranking a list by accesses",				test_rank_list_accesses },
	{ "a list for new folios, at its tail",			test_new_list },
	{ "a list for new folios, at its head",			test_new_list_head },
	{ "used folios move to the head",			test_used_head },
	{ "used folios move to the tail",			test_used_tail },
	{ "wrong flags of a list",				test_bad_list_flags },
};

SUBJECT(lists);
