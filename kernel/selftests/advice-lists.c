// SPDX-License-Identifier: GPL-2.0-only
/* What a policy that follows advice needs of lists: order, stamps, and folios found again. */
#include "advice.h"

#define NR		100
#define MAX_LISTS	1022
/* folios that bpf_cachebpf_first() and bpf_cachebpf_list_insert() look at */
#define MAX_PASSED	64
#define MAX_SORTED	128
/* and that bpf_cachebpf_advice_move() looks at */
#define MAX_MOVED	1024

#define REVERSE		1

static const char *cg;
static struct policy *policy;
static struct advice_state *state;

/* With lists that have these flags, up to the first that has none. */
static void set_up(__u32 first, __u32 second, __u32 third)
{
	cg = cg_new(NULL, "a");
	state = advice_load(cg, &policy);
	state->list_flags[0] = first;
	state->list_flags[1] = second;
	state->list_flags[2] = third;
	state->want_lists = 3;
	state->answer = state->walk_answer = WALK;
	state->dump[0] = 1;
	state->dump[1] = 2;
	policy_attach_loaded(policy);
}

static struct file *read_new(const char *name, size_t nr)
{
	struct file *file = file_new(NULL, name, nr);

	cg_read_file(cg, file, 0, nr);
	return file;
}

/* Serve a request: all that is asked for in the state. */
static void request(void)
{
	state->nr_found = 0;
	state->armed = 1;
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	REQUIRE_EQ(state->armed, 0);
}

/* Have the kernel do @action with the pages of @file. */
static void act(const struct file *file, __u32 action, __u32 to)
{
	state->action = action;
	state->to = to;
	state->nr_seen = 0;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), 0);
	EXPECT_EQ(state->nr_seen, file->nr_pages);
	EXPECT_EQ(state->action_error, 0);
}

/* The folio, by the order in which they were added, that has @number; -1 if none has. */
static int folio_of(__u32 number)
{
	int i;

	for (i = 0; i < ADVICE_MAX_FOLIOS && i < (int)state->nr_added; i++)
		if (state->added[i].number == number)
			return i;
	return -1;
}

/* Are those from @from on in the dump @d the folios @first and on, @nr of them? */
static bool dumped(int d, unsigned int from, unsigned int nr, int first)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (from + i >= state->nr_dumped[d] ||
		    !EXPECT_EQ(folio_of(state->dumps[d][from + i].number), first + i))
			return false;
	return true;
}

/* Are the stamps of the dump @d in order, and each alone if @strictly? */
static void expect_stamps(int d, unsigned int from, unsigned int to, bool strictly)
{
	const struct advice_folio *f = state->dumps[d];

	for (; from + 1 < to; from++)
		if (!EXPECT(f[from].stamp + strictly <= f[from + 1].stamp))
			break;
}

static void test_many_lists(void)
{
	struct file *file;

	cg = cg_new(NULL, "a");
	state = advice_load(cg, &policy);
	state->want_lists = MAX_LISTS + 5;
	state->answer = state->walk_answer = WALK;
	state->dump[0] = MAX_LISTS;
	state->dump[1] = MAX_LISTS + 1;
	policy_attach_loaded(policy);
	EXPECT_EQ(state->nr_lists, MAX_LISTS);
	EXPECT_EQ(state->create_error, -ENOSPC);
	EXPECT_EQ(cg_stat(cg, "lists"), MAX_LISTS);

	/* the last one is one */
	file = read_new("f", NR);
	act(file, ADVICE_MOVE, MAX_LISTS);
	request();
	EXPECT_EQ(state->nr_dumped[0], NR);
	EXPECT(dumped(0, 0, NR, 0));
	EXPECT_EQ(state->dumps[0][0].list, MAX_LISTS);
	EXPECT_EQ(state->nr_dumped[1], 0);
	/* there is no other */
	state->action = ADVICE_MOVE;
	state->to = MAX_LISTS + 1;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), 0);
	EXPECT_EQ(state->action_error, -ENOENT);
	state->action = ADVICE_INSERT;
	state->action_error = 0;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), 0);
	EXPECT_EQ(state->action_error, -ENOENT);
}

static void test_bad_flags(void)
{
	static const __u32 bad[] = {
		/* to a list that is not there, to itself, to what is on no list */
		USED_TO(3U), USED_TO(2U), USED_TO(0U), USED_TO(0xffffU),
		/* never; twice; to nowhere */
		ELSEWHERE | 1 << 16, USED_TO(1U) | 4, USED_TAIL | 1 << 16, 1 << 16, 1 << 6,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		cg = cg_new(NULL, (char[]){ 'a' + i, 0 });
		state = advice_load(cg, &policy);
		state->list_flags[1] = bad[i];
		state->want_lists = 2;
		policy_attach_loaded(policy);
		EXPECT_EQ(state->nr_lists, 1);
		if (!EXPECT_EQ(state->create_error, -EINVAL))
			diag("flags %#x", bad[i]);
	}
}

static void test_stamps(void)
{
	struct file *file;
	unsigned int i;

	set_up(NEW_TAIL | USED_TAIL | STAMPED, STAMPED, 0);
	file = read_new("f", NR);
	/* it is there when the policy hears of it */
	for (i = 1; i < NR; i++)
		if (!EXPECT(state->added[i - 1].stamp < state->added[i].stamp))
			break;
	cg_read_file(cg, file, 10, 10);
	/* on another list it is the same */
	state->action = ADVICE_MOVE;
	state->to = 2;
	EXPECT_EQ(say(cg, file, 50 * PAGE, 10 * PAGE, OWN), 0);
	request();
	EXPECT_EQ(state->nr_dumped[0], NR - 10);
	EXPECT(dumped(0, 0, 10, 0));
	EXPECT(dumped(0, NR - 20, 10, 10));
	expect_stamps(0, 0, NR - 20, true);
	/* used in one batch */
	expect_stamps(0, NR - 20, NR - 10, false);
	EXPECT(state->dumps[0][NR - 20].stamp > state->added[NR - 1].stamp);
	EXPECT_EQ(state->nr_dumped[1], 10);
	EXPECT(dumped(1, 0, 10, 50));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(state->dumps[1][i].stamp, state->added[50 + i].stamp);
}

static void test_not_stamped(void)
{
	unsigned int i;

	set_up(NEW_TAIL | USED_TAIL, 0, 0);
	cg_read_file(cg, read_new("f", NR), 0, NR);
	request();
	EXPECT_EQ(state->nr_dumped[0], NR);
	for (i = 0; i < NR; i++)
		if (!EXPECT_EQ(state->dumps[0][i].stamp, 0))
			break;
}

static void test_elsewhere(void)
{
	struct file *file;

	set_up(STAMPED | USED_TAIL, NEW_TAIL | STAMPED | USED_TO(1), 0);
	file = read_new("f", NR);
	cg_read_file(cg, file, 30, 10);
	/* it is in order there */
	cg_read_file(cg, file, 30, 1);
	request();
	EXPECT_EQ(state->nr_dumped[0], 10);
	EXPECT(dumped(0, 0, 9, 31));
	EXPECT(dumped(0, 9, 1, 30));
	expect_stamps(0, 0, 10, false);
	EXPECT(state->dumps[0][0].stamp > state->added[NR - 1].stamp);
	EXPECT_EQ(state->nr_dumped[1], NR - 10);
	expect_stamps(1, 0, NR - 10, true);
}

/* The @nr folios of the list 2 are in order, and equal ones as they came. */
static void expect_sorted(unsigned int nr)
{
	const struct advice_folio *f = state->dumps[1];
	unsigned int i;

	EXPECT_EQ(state->nr_dumped[1], nr);
	for (i = 1; i < nr; i++)
		if (!expect(f[i - 1].key < f[i].key || (f[i - 1].key == f[i].key &&
			    folio_of(f[i - 1].number) < folio_of(f[i].number)),
			    __FILE__, __LINE__, "place %u: key %lld of folio %d behind %lld of %d", i,
			    f[i].key, folio_of(f[i].number), f[i - 1].key,
			    folio_of(f[i - 1].number)))
			break;
}

static void insert(const char *name, unsigned int nr, __s64 (*key)(unsigned int i))
{
	struct file *file = read_new(name, nr);
	unsigned int i;

	for (i = 0; i < nr; i++)
		state->keys[i] = key(i);
	act(file, ADVICE_INSERT, 2);
}

static __s64 some(unsigned int i)
{
	return (__s64)(i * 7919 % 23) - 11;
}

static __s64 extreme(unsigned int i)
{
	return i % 2 ? INT64_MIN + i : INT64_MAX - i;
}

static __s64 high(unsigned int i)
{
	return 1000000 + i;
}

static __s64 low(unsigned int i)
{
	return i;
}

static __s64 falling(unsigned int i)
{
	return 900000 - i;
}

static __s64 middle(unsigned int i)
{
	(void)i;
	return 1000000 + 300;
}

static void test_insert(void)
{
	set_up(NEW_TAIL, 0, 0);
	state->nr_max = ~0U;
	insert("f", NR, some);
	insert("g", 10, extreme);
	request();
	EXPECT_EQ(state->nr_dumped[0], 0);
	expect_sorted(NR + 10);
}

/* One after the other they find their places far from the tail, however long the list is. */
static void test_insert_far(void)
{
	set_up(NEW_TAIL, 0, 0);
	state->nr_max = MAX_SORTED;
	insert("high", 1000, high);
	insert("low", 500, low);
	insert("falling", 500, falling);
	request();
	expect_sorted(2000);
}

/* Of 1000 others at most @most are passed by one whose place is far, and at least half as many. */
static void expect_bound(__u32 nr_max, unsigned int most)
{
	unsigned int at;

	set_up(NEW_TAIL, 0, 0);
	state->nr_max = nr_max;
	insert("high", 1000, high);
	insert("middle", 1, middle);
	request();
	REQUIRE_EQ(state->nr_dumped[1], 1001);
	for (at = 1000; at && folio_of(state->dumps[1][at].number) != 1000; at--)
		;
	EXPECT_OP(at, >=, 1000 - most);
	EXPECT_OP(at, <=, 1000 - most / 2);
}

static void test_insert_bound(void)
{
	expect_bound(~0U, MAX_SORTED);
}

static void test_insert_own_bound(void)
{
	expect_bound(10, 10);
}

/* Have the kernel do @action with the next pages of @file on the list 1, to list 2, in each call. */
static void act_next(const struct file *file, __u32 action)
{
	state->action = action;
	state->from = 1;
	state->to = 2;
	state->nr_seen = state->nr_calls = state->nr_moved = 0;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), 0);
	EXPECT_EQ(state->action_error, 0);
}

/* One on another list ends it, and is shown; it goes on behind those that are shown with that one. */
static void test_move_next(void)
{
	struct file *file;
	unsigned int i;

	set_up(NEW_TAIL, 0, 0);
	file = read_new("f", NR);
	state->action = ADVICE_MOVE;
	state->to = 3;
	EXPECT_EQ(say(cg, file, 40 * PAGE, PAGE, OWN), 0);
	state->keys[0] = 7;
	act_next(file, ADVICE_MOVE_NEXT);
	EXPECT_EQ(state->nr_calls, 1);
	EXPECT_EQ(state->nr_seen, BATCH);
	EXPECT_EQ(state->seen[0].index, 40);
	EXPECT_EQ(state->nr_moved, NR - BATCH);
	request();
	EXPECT_EQ(state->nr_dumped[0], BATCH - 1);
	EXPECT(dumped(0, 0, BATCH - 1, 41));
	EXPECT_EQ(state->nr_dumped[1], NR - BATCH);
	EXPECT(dumped(1, 0, 40, 0));
	EXPECT(dumped(1, 40, NR - BATCH - 40, 40 + BATCH));
	for (i = 0; i < NR - BATCH; i++)
		if (!EXPECT_EQ(state->dumps[1][i].key, 7))
			break;
}

static void test_move_next_bound(void)
{
	set_up(NEW_TAIL, 0, 0);
	act_next(read_new("f", 2 * MAX_MOVED + BATCH + 10), ADVICE_MOVE_NEXT);
	EXPECT_EQ(state->nr_moved, 2 * MAX_MOVED);
	EXPECT_EQ(state->nr_calls, 2);
	EXPECT_EQ(state->nr_seen, BATCH + 10);
}

/* What is left of folios that are gone is passed over, however many there are. */
static void test_move_next_behind_shadows(void)
{
	const char *b = cg_new(NULL, "b");
	struct file *file = file_new(NULL, "f", 4 * NR);

	set_up(NEW_TAIL, 0, 0);
	cg_read_file(b, file, 0, 3 * NR);
	cg_reclaim(b, 3 * NR * PAGE);
	cg_read_file(cg, file, 0, 1);
	cg_read_file(cg, file, 3 * NR, NR);
	act_next(file, ADVICE_MOVE_NEXT);
	EXPECT_EQ(state->nr_moved, NR + 1);
}

/* By their stamps, which become their keys. */
static void test_insert_next(void)
{
	struct file *file;
	unsigned int i;

	set_up(NEW_TAIL | USED_TAIL | STAMPED, STAMPED, 0);
	file = file_new(NULL, "f", NR);
	cg_read_file(cg, file, 0, NR - 20);
	cg_read_file(cg, file, NR - 10, 10);
	/* behind these the last ones have to look for their places */
	cg_read_file(cg, file, NR - 20, 10);
	act_next(file, ADVICE_INSERT_NEXT);
	EXPECT_EQ(state->nr_moved, NR);
	EXPECT_EQ(state->nr_calls, 0);
	request();
	EXPECT_EQ(state->nr_dumped[0], 0);
	EXPECT_EQ(state->nr_dumped[1], NR);
	EXPECT(dumped(1, 0, NR, 0));
	for (i = 0; i < NR; i++)
		if (!EXPECT_EQ(state->dumps[1][i].key, state->dumps[1][i].stamp))
			break;
}

/* Who has to look for its place counts as many. */
static void test_insert_next_bound(void)
{
	const unsigned int nr = 3 * MAX_MOVED / 64;
	struct file *file;
	unsigned int i;

	set_up(NEW_TAIL | USED_TAIL | STAMPED, STAMPED, 0);
	file = file_new(NULL, "f", nr);
	/* read from the end: all but the first have to */
	for (i = nr; i-- > 0;)
		cg_read_file(cg, file, i, 1);
	act_next(file, ADVICE_INSERT_NEXT);
	EXPECT_OP(state->nr_moved, <, nr);
	EXPECT_OP(state->nr_calls, >, 0);
	EXPECT_EQ(state->nr_moved + state->nr_seen, nr);
}

/* The folio that a look @l found, -1 without. */
static int found(int l)
{
	return state->looks[l].error ? -1 : folio_of(state->looks[l].number);
}

static void test_first(void)
{
	set_up(NEW_TAIL, 0, 0);
	read_new("f", NR);
	state->looks[0] = (struct advice_look) { .list = 1 };
	state->looks[1] = (struct advice_look) { .list = 1, .flags = REVERSE };
	state->looks[2] = (struct advice_look) { .list = 2 };
	state->looks[3] = (struct advice_look) { .list = 4 };
	request();
	EXPECT_EQ(found(0), 0);
	EXPECT_EQ(state->looks[0].order, 0);
	EXPECT_EQ(state->looks[0].visits, 1);
	EXPECT_EQ(found(1), NR - 1);
	EXPECT_EQ(state->looks[2].error, -ENOENT);
	EXPECT_EQ(state->looks[2].visits, 0);
	EXPECT_EQ(state->looks[3].error, -ENOENT);
	/* they stay where they are */
	EXPECT_EQ(state->nr_dumped[0], NR);
	EXPECT(dumped(0, 0, NR, 0));

	state->looks[0].flags = 1 << 1;
	state->looks[1].flags = 1U << 31;
	request();
	EXPECT_EQ(state->looks[0].error, -EINVAL);
	EXPECT_EQ(state->looks[1].error, -EINVAL);
}

static int read_sequential(void *file)
{
	return file_read_sequential(file);
}

/* It tells of a large folio how large it is. */
static void test_first_large(void)
{
	struct file *file = file_new(xfs_dir(), "f", 4 * MiB_PAGES);
	int i;

	set_up(NEW_TAIL, 0, 0);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	state->looks[0] = (struct advice_look) { .list = 1 };
	state->looks[1] = (struct advice_look) { .list = 1, .flags = REVERSE };
	request();
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(state->looks[i].error, 0);
		EXPECT_EQ(state->looks[i].order, state->looks[i].own_order);
	}
	diag("orders %u and %u", state->looks[0].order, state->looks[1].order);
	EXPECT_OP(state->looks[0].own_order + state->looks[1].own_order, >, 0);
}

static int write_some(void *file)
{
	return file_write(file, 0, NR);
}

/* A file of NR pages that cannot be had, since they are dirty, and one of others behind it. */
static void dirty_ones_first(void)
{
	struct file *file = file_empty("dirty", 0);

	file->nr_pages = NR;
	REQUIRE_EQ(cg_run(cg, write_some, file), 0);
	REQUIRE_EQ(state->nr_added, NR);
	read_new("clean", NR);
}

static void test_first_blocked(void)
{
	set_up(NEW_TAIL, 0, 0);
	dirty_ones_first();
	state->looks[0] = (struct advice_look) { .list = 1 };
	state->looks[1] = (struct advice_look) { .list = 1, .flags = REVERSE };
	state->dump[0] = 2;
	request();
	/* what is behind them is found, with the lock given away meanwhile */
	EXPECT_EQ(found(0), NR);
	EXPECT_EQ(state->looks[0].visits, MAX_PASSED + NR + 1);
	EXPECT_EQ(found(1), 2 * NR - 1);
	EXPECT_EQ(state->looks[1].visits, 1);
}

/* On a list in the order of use they count as used, and make room for others. */
static void test_first_in_order(void)
{
	set_up(NEW_TAIL | USED_TAIL | STAMPED, 0, 0);
	dirty_ones_first();
	state->looks[0] = (struct advice_look) { .list = 1 };
	state->looks[1] = (struct advice_look) { .list = 1 };
	state->looks[2] = (struct advice_look) { .list = 1 };
	request();
	EXPECT_EQ(found(0), NR);
	EXPECT_EQ(state->looks[0].visits, NR + 1);
	EXPECT_EQ(found(1), NR);
	EXPECT_EQ(state->looks[1].visits, NR - MAX_PASSED + 1);
	EXPECT_EQ(found(2), NR);
	EXPECT_EQ(state->looks[2].visits, 1);
	EXPECT(dumped(0, 0, NR, NR));
	expect_stamps(0, 0, NR, true);
	EXPECT_EQ(state->nr_dumped[0], NR);
}

/* How many has for_folio() found by @number? */
static unsigned int nr_found(__u32 number)
{
	state->number_wanted = number;
	request();
	return state->nr_found;
}

static void test_find(void)
{
	struct advice_state *mine;
	struct file *file, *other;
	__u32 foreign, gone;

	set_up(NEW_TAIL, 0, 0);
	other = read_new("other", 10);
	foreign = state->added[0].number;
	mine = state;

	cg = cg_new(NULL, "b");
	state = advice_load(cg, &policy);
	state->list_flags[0] = NEW_TAIL;
	state->want_lists = 1;
	policy_attach_loaded(policy);
	file = read_new("f", 10 * NR);
	gone = state->added[10 * NR - 1].number;
	EXPECT_EQ(nr_found(gone), 1);
	EXPECT_EQ(nr_found(foreign), 0);
	EXPECT_EQ(nr_found(0), 0);
	EXPECT_EQ(nr_found(~0U), 0);
	EXPECT_EQ(nr_found(1U << 31), 0);
	REQUIRE(!truncate(file->path, (10 * NR - 1) * PAGE));
	EXPECT_EQ(nr_found(gone), 0);
	EXPECT_EQ(mine->nr_found, 0);
	EXPECT_EQ(file_cached(other, NULL), 10);
}

static const struct test tests[] = {
	{ "1022 lists, and no more",				test_many_lists },
	{ "wrong flags of a list",				test_bad_flags },
	{ "stamps say when it was used last",			test_stamps },
	{ "not on a list that has none",			test_not_stamped },
	{ "a use takes a folio to another list",		test_elsewhere },
	{ "sorting in: in order, equal ones as they come",	test_insert },
	{ "sorting in: far from the tail",			test_insert_far },
	{ "sorting in: bounded",				test_insert_bound },
	{ "sorting in: bounded by the policy",			test_insert_own_bound },
	{ "the next folios move, until one is elsewhere",	test_move_next },
	{ "the next folios: bounded",				test_move_next_bound },
	{ "the next folios: behind shadows",			test_move_next_behind_shadows },
	{ "the next folios: sorted in",				test_insert_next },
	{ "the next folios: sorted in, bounded",		test_insert_next_bound },
	{ "the first folio, and the last",			test_first },
	{ "the first folio: a large one",			test_first_large },
	{ "the first folio: behind many others",				test_first_blocked },
	{ "the first folio: on a list in order",		test_first_in_order },
	{ "a folio found by its number",			test_find },
};

SUBJECT(advice_lists);
