// SPDX-License-Identifier: GPL-2.0-only
/* Policies that are of no use: the cgroup is served all the same. */
#include "selftest.h"
#include "states.h"

#define NR	(4 * MiB_PAGES)

static const char *cg;
static struct file *file;
static struct misbehave_state *state;
static struct bpf_link *attached;

/* Read a file under the policy @name and reclaim @nr pages of it. */
static void use_for(const char *name, unsigned long nr)
{
	struct policy *p;

	/* some of them are slow, which is not what they are judged for here */
	no_budget();
	cg = cg_new(NULL, "a");
	file = file_new(NULL, "f", NR);
	p = policy_open("misbehave", name, cg);
	attached = policy_attach(p);
	state = policy_state(p);
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);

	EXPECT_EQ(cg_reclaim(cg, nr * PAGE), 0);
	EXPECT_OP(state->requests, >, 0);
	EXPECT_OP(file_cached(file, NULL), <=, NR - nr);
	EXPECT_OP(file_cached(file, NULL), >, NR / 4);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));
	EXPECT_EQ(cg_stat(cg, "removed_reclaim"), NR - file_cached(file, NULL));
	EXPECT_EQ(cg_stat(cg, "reject_stale"), 0);
	EXPECT_BOOKS();
}

static void use(const char *name)
{
	use_for(name, MiB_PAGES);
}

/* A limit is kept, and everything ends well. */
static void afterwards(void)
{

	REQUIRE_EQ(cg_write(cg, "memory.max", "4194304"), 0);
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));

	EXPECT_EQ(bpf_link__detach(attached), 0);
	EXPECT_STR(cg_policy(cg, "policy"), "none");
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(cg_remove(cg), 0);
}

/* The same, if the kernel does not stand it for long. */
static void until_ejected(const char *reason)
{
	char *line;

	REQUIRE_EQ(cg_write(cg, "memory.max", "4194304"), 0);
	cg_read_file(cg, file, 0, NR);
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	REQUIRE(EVENTUALLY(link_hung_up(attached)));
	line = cg_policy(cg, "ejected");
	expect(line && strstr(line, reason), __FILE__, __LINE__, "ejected for \"%s\"",
	       line ?: "(nothing)");
	EXPECT_STR(cg_policy(cg, "policy"), "none");
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(cg_remove(cg), 0);
}

static void test_nothing(void)
{
	use("nothing");
	EXPECT_EQ(cg_stat(cg, "evict_proposed"), 0);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), 0);
	EXPECT_OP(cg_stat(cg, "evict_fallback"), >=, MiB_PAGES);
	afterwards();
}

static void test_minimal(void)
{
	use("minimal");
	EXPECT_EQ(cg_stat(cg, "lists"), 0);
	EXPECT_OP(cg_stat(cg, "evict_fallback"), >=, MiB_PAGES);
	afterwards();
}

static void test_unlisted(void)
{
	use("unlisted");
	EXPECT_EQ(state->visits, 0);
	EXPECT_EQ(cg_stat(cg, "evict_proposed"), 0);
	EXPECT_OP(cg_stat(cg, "evict_fallback"), >=, MiB_PAGES);
	afterwards();
}

static void test_same(void)
{
	use_for("same", MiB_PAGES / 4);
	/* no more than wanted are listened to, one is taken, the others are found out */
	EXPECT_EQ(cg_stat(cg, "evict_proposed"), state->proposals);
	EXPECT_OP(state->proposals, <=, state->requests * 32);
	EXPECT_EQ(cg_stat(cg, "evict_isolated"), cg_stat(cg, "evict_calls"));
	EXPECT_EQ(cg_stat(cg, "reject_busy") + cg_stat(cg, "evict_isolated"),
		  cg_stat(cg, "evict_proposed"));
	until_ejected(": garbage: of ");
}

static void test_same_rank(void)
{
	use_for("same_rank", MiB_PAGES / 4);
	EXPECT_EQ(cg_stat(cg, "evict_isolated"), cg_stat(cg, "evict_calls"));
	until_ejected(": garbage: of ");
}

static void test_busybody(void)
{
	use("busybody");
	/* it is slow, and does its work */
	EXPECT_OP(state->visits, >=, 5 * (NR / 4));
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	afterwards();
}

static void test_nested(void)
{
	use("nested");
	EXPECT_OP(state->visits, <=, 64ULL * state->requests);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	afterwards();
}

static void test_shuffle(void)
{
	use("shuffle");
	/* each walk is bounded by the length of its list */
	EXPECT_OP(state->visits, <=, 2ULL * NR * state->requests);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	afterwards();
}

/* A nuisance below does not harm its siblings. */
static void test_neighbours(void)
{
	const char *good = cg_new(NULL, "good");
	struct file *theirs = file_new(NULL, "theirs", MiB_PAGES);

	policy_start("fifo", good);
	cg_read_file(good, theirs, 0, theirs->nr_pages);
	use("nothing");
	EXPECT_EQ(file_cached(theirs, NULL), theirs->nr_pages);
	EXPECT_EQ(cg_stat(good, "evict_calls"), 0);
	afterwards();
	EXPECT_EQ(file_cached(theirs, NULL), theirs->nr_pages);
	EXPECT_EQ(cg_stat(good, "managed_pages"), theirs->nr_pages);
}

static const struct test tests[] = {
	{ "proposes nothing",					test_nothing },
	{ "has nothing but evict_folios()",			test_minimal },
	{ "puts no folio on any list",				test_unlisted },
	{ "proposes the same folio over and over",		test_same, .ejects = true },
	{ "ranks the same folio over and over",			test_same_rank, .ejects = true },
	{ "looks at everything all the time",			test_busybody },
	{ "changes a list while it is walked",			test_nested },
	{ "moves folios back and forth",			test_shuffle },
	{ "and its neighbours",					test_neighbours },
};

SUBJECT(misbehave);
