// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory.min and memory.low of children: they hold, whatever a policy proposes,
 * and a policy that cannot know of them is not to blame for proposing so.
 */
#include <fcntl.h>

#include "selftest.h"

/* Three windows of the watchdog, in requests that are all in vain. */
#define NR_CHILD	(48 * MiB_PAGES)
#define PROTECTION	"54525952"	/* 52 MiB */
#define LIMIT		"67108864"	/* 64 MiB */
#define NR_READ		(32 * MiB_PAGES)
#define NR_PIECES	8
/* of what is evicted, how much may be left to stock reclaim, in per cent */
#define MOST_FALLBACK	5

struct scene {
	const char	*policy;
	const char	*protection;
	/* the child uses its cache, too, time and again */
	bool		busy;
	struct file	*child, *other;
};

/* A child with a protected cache, which came first, while another one reads more than fits. */
static void beside_protected(bool lru_gen, const struct scene *s)
{
	const char *top, *child, *other;
	struct bpf_link *link;
	long long evicted;
	char *name;
	int i;

	REQUIRE(asprintf(&name, "%s-%s-%s", lru_name(lru_gen), s->policy, s->protection + 7) > 0);
	top = cg_new(NULL, name);
	child = cg_new(top, "child");
	other = cg_new(top, "other");
	link = policy_start(s->policy, top);
	REQUIRE_EQ(cg_write(child, s->protection, PROTECTION), 0);
	REQUIRE_EQ(cg_write(top, "memory.max", LIMIT), 0);
	cg_read_file(child, s->child, 0, NR_CHILD);
	for (i = 0; i < NR_PIECES; i++) {
		cg_read_file(other, s->other, i * NR_READ / NR_PIECES, NR_READ / NR_PIECES);
		if (s->busy)
			cg_read_file(child, s->child, 0, NR_CHILD);
	}

	EXPECT_EQ(file_cached(s->child, NULL), NR_CHILD);
	EXPECT_EQ(cg_key(top, "memory.events", "oom"), 0);
	if (!expect(!cg_policy(top, "ejected"), __FILE__, __LINE__, "%s: ejected %s", name,
		    cg_policy(top, "ejected") ?: ""))
		goto out;
	evicted = cg_stat(top, "removed_reclaim");
	diag("%s: evicted %lld, chosen %lld, fallback %lld, of %lld proposals rejected as protected %lld",
	     name, evicted, cg_stat(top, "evict_reclaimed"), cg_stat(top, "evict_fallback"),
	     cg_stat(top, "evict_proposed"), cg_stat(top, "reject_protected"));
	EXPECT_OP(evicted, >, (long long)NR_READ / 2);
	EXPECT_OP(cg_stat(top, "evict_fallback") * 100, <=, evicted * MOST_FALLBACK);
	EXPECT_BOOKS();
out:
	bpf_link__destroy(link);
	file_forget(s->child);
	file_forget(s->other);
}

static struct file *files[2];

static void beside_all(bool lru_gen)
{
	static const struct scene scenes[] = {
		{ "fifo", "memory.min" },
		{ "fifo", "memory.low" },
		{ "s3fifo", "memory.min" },
		/* what was used last is the child's */
		{ "mru", "memory.min", .busy = true },
	};
	struct scene scene;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		scene = scenes[i];
		scene.child = files[0];
		scene.other = files[1];
		beside_protected(lru_gen, &scene);
	}
}

static void beside(bool lru_gen)
{
	no_budget();
	files[0] = file_new(NULL, "child", NR_CHILD);
	files[1] = file_new(NULL, "other", NR_READ);
	with_lru(lru_gen, beside_all);
}

static void test_beside_classic(void)
{
	beside(false);
}

static void test_beside_mglru(void)
{
	beside(true);
}

/* More than a request remembers verdicts of; their pages lie one behind the other. */
#define NR_CHILDREN	16
#define NR_LEVELS	12
#define NR_IN_TURN	(NR_CHILDREN * 2 * MiB_PAGES)
/* the watchdog's budget for a request; it was 73 ms */
#define MAX_NS		20000000

struct turn {
	struct file	*file;
	/* whose turn it is next is told by a page number in its pipe */
	int		pipes[NR_CHILDREN][2];
	unsigned int	i;
};

static int read_in_turn(void *arg)
{
	struct turn *t = arg;
	int fd = open(t->file->path, O_RDONLY | O_CLOEXEC);
	size_t page;
	char byte;

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return 1;
	while (read(t->pipes[t->i][0], &page, sizeof(page)) == sizeof(page)) {
		if (page < t->file->nr_pages && pread(fd, &byte, 1, page * PAGE) != 1)
			return 2;
		page++;
		if (write(t->pipes[(t->i + 1) % NR_CHILDREN][1], &page, sizeof(page)) < 0)
			return 3;
		if (page > t->file->nr_pages)
			return 0;
	}
	return 4;
}

/*
 * To look up the protection of many cgroups, deep down, folio by folio, is not
 * to take for ever.  The policy wants what was used last, which is theirs.
 */
static void test_many(void)
{
	struct file *other = file_new(NULL, "other", NR_READ / 2);
	const char *top = cg_new(NULL, "top"), *parent = top, *cg;
	struct turn t = { .file = file_new(NULL, "in-turn", NR_IN_TURN) };
	pid_t pids[NR_CHILDREN];
	size_t first = 0;
	char name[16];
	int i;

	no_budget();
	policy_start("mru", top);
	cg_read_file(cg_new(top, "other"), other, 0, other->nr_pages);
	for (i = 0; i < NR_LEVELS; i++) {
		parent = cg_new(parent, "level");
		REQUIRE_EQ(cg_write(parent, "memory.min", "max"), 0);
	}
	for (t.i = 0; t.i < NR_CHILDREN; t.i++)
		REQUIRE(!pipe2(t.pipes[t.i], O_CLOEXEC));
	for (t.i = 0; t.i < NR_CHILDREN; t.i++) {
		snprintf(name, sizeof(name), "child-%u", t.i);
		cg = cg_new(parent, name);
		REQUIRE_EQ(cg_write(cg, "memory.min", "max"), 0);
		pids[t.i] = cg_start(cg, read_in_turn, &t);
	}
	REQUIRE(write(t.pipes[0][1], &first, sizeof(first)) == sizeof(first));
	for (t.i = 0; t.i < NR_CHILDREN; t.i++)
		REQUIRE_EQ(cg_wait(pids[t.i]), 0);
	REQUIRE_EQ(file_cached(t.file, NULL), NR_IN_TURN);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(cg_reclaim(top, MiB), 0);
	diag("evicted %lld, chosen %lld; %lld requests took %lld us, the longest one %lld us",
	     cg_stat(top, "removed_reclaim"), cg_stat(top, "evict_reclaimed"),
	     cg_stat(top, "evict_calls"), cg_stat(top, "evict_ns") / 1000,
	     cg_stat(top, "evict_ns_max") / 1000);
	/* all of them are alike, and a busy host makes some of them longer */
	EXPECT_OP(cg_stat(top, "evict_ns"), <=, cg_stat(top, "evict_calls") * MAX_NS);
	expect(!cg_policy(top, "ejected"), __FILE__, __LINE__, "ejected: %s",
	       cg_policy(top, "ejected") ?: "");
	EXPECT_EQ(file_cached(t.file, NULL), NR_IN_TURN);
	EXPECT_BOOKS();
}

/* With a policy, or without one, ask for more than a protected child has to give. */
static void overshoot(bool lru_gen, const char *policy)
{
	const unsigned long min = 16 * MiB;
	struct file *file = file_new(NULL, "f", 18 * MiB_PAGES);
	const char *top, *child;
	struct bpf_link *link = NULL;
	long long surplus, lost;
	char *name;

	REQUIRE(asprintf(&name, "%s-%s", lru_name(lru_gen), policy ?: "none") > 0);
	top = cg_new(NULL, name);
	child = cg_new(top, "child");
	if (policy)
		link = policy_start(policy, top);
	REQUIRE_EQ(cg_write(child, "memory.min", "16777216"), 0);
	cg_read_file(child, file, 0, file->nr_pages);
	/* what may go, and no less than that: there is more to be taken off than folios */
	surplus = (cg_number(child, "memory.current") - (long long)min) / (long long)PAGE;
	REQUIRE(surplus > 0);

	EXPECT_EQ(cg_reclaim(top, 32 * MiB), -EAGAIN);
	lost = file->nr_pages - file_cached(file, NULL);
	diag("%s: %lld pages more than memory.min, %lld gone; left of it: %lld KiB", name, surplus,
	     lost, (cg_number(child, "memory.current") - (long long)min) >> 10);
	EXPECT_OP(lost, >, 0);
	/* it may be one batch before that is noticed; generations have batches of 64 */
	EXPECT_OP(lost, <=, surplus + (lru_gen ? 64 : 32));
	EXPECT_BOOKS();
	if (link)
		bpf_link__destroy(link);
	unlink(file->path);
}

static void overshoot_all(bool lru_gen)
{
	static const char *const policies[] = { NULL, "fifo", "lfu", "mru" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		overshoot(lru_gen, policies[i]);
}

static void test_overshoot(void)
{
	with_both_lrus(overshoot_all);
}

/* What is protected is not forgotten: when that ends, the policy decides at once. */
static void test_unprotected(void)
{
	const char *top = cg_new(NULL, "top"), *child = cg_new(top, "child");
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	int i;

	policy_start("fifo", top);
	cg_read_file(child, file, 0, file->nr_pages);
	REQUIRE_EQ(cg_write(child, "memory.min", PROTECTION), 0);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(cg_reclaim(top, MiB), -EAGAIN);
	EXPECT_EQ(file_cached(file, NULL), file->nr_pages);
	EXPECT_OP(cg_stat(top, "evict_calls"), >=, 256);

	REQUIRE_EQ(cg_write(child, "memory.min", "0"), 0);
	EXPECT_EQ(cg_reclaim(top, MiB), 0);
	diag("evicted %lld, chosen %lld", cg_stat(top, "removed_reclaim"),
	     cg_stat(top, "evict_reclaimed"));
	EXPECT_OP(cg_stat(top, "removed_reclaim"), >=, MiB_PAGES);
	EXPECT_OP(cg_stat(top, "evict_reclaimed"), >=, (long long)MiB_PAGES / 2);
}

static const struct test tests[] = {
	{ "what is not protected any more",			test_unprotected },
	{ "beside a protected cache, classic LRU",	test_beside_classic },
	{ "beside a protected cache, generations",	test_beside_mglru },
	{ "beside many protected caches",		test_many },
	{ "no more than what is not protected",		test_overshoot },
};

SUBJECT(protection);
