// SPDX-License-Identifier: GPL-2.0-only
/* Who is ejected, what remains of them, and who must be left alone. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "selftest.h"
#include "states.h"

#define SYSFS	"/sys/kernel/cachebpf/"
#define NR	(40 * MiB_PAGES)
#define FEW	(4 * MiB_PAGES)
#define FEW_BYTES	((long long)(FEW * PAGE))
#define MAX_VISITS	65536

struct victim {
	const char		*cg;
	struct policy		*policy;
	struct bpf_link		*link;
	struct watchdog_state	*state;
	char			*id;
};

static struct victim start(const char *parent, const char *name)
{
	struct victim v = { .cg = cg_new(parent, name) };

	v.policy = policy_open("watchdog", name, v.cg);
	v.link = policy_attach(v.policy);
	v.state = policy_state(v.policy);
	v.id = cg_policy(v.cg, "id");
	REQUIRE(v.id != NULL);
	return v;
}

/* Read more than fits, so that several thousand folios have to go. */
static void strain(const struct victim *v, const struct file *file)
{
	REQUIRE_EQ(cg_write(v->cg, "memory.max", "8388608"), 0);
	cg_read_file(v->cg, file, 0, file->nr_pages);
	EXPECT_OP(cg_number(v->cg, "memory.peak"), <=, 8 * MiB);
	EXPECT_EQ(cg_key(v->cg, "memory.events", "oom"), 0);
}

/* It is gone, its folios are not, and why it had to go can be read. */
static void expect_ejected(const struct victim *v, const struct file *file, const char *reason)
{
	char *begin, *line;
	__u32 requests;

	REQUIRE(EVENTUALLY(link_hung_up(v->link)));
	line = cg_policy(v->cg, "ejected");
	REQUIRE(asprintf(&begin, "%s id %s: %s", cg_name(v->cg), v->id, reason) > 0);
	expect(line && !strncmp(line, begin, strlen(begin)), __FILE__, __LINE__,
	       "ejected is \"%s\", not \"%s...\"", line ?: "(nothing)", begin);
	diag("%s", line);
	EXPECT_OP(file_cached(file, NULL), >, MiB_PAGES);

	requests = v->state->requests;
	cg_read_file(v->cg, file, 0, file->nr_pages);
	EXPECT_EQ(v->state->requests, requests);
	EXPECT_STR(cg_policy(v->cg, "ejected"), line);
}

static void expect_kept(const struct victim *v)
{
	EXPECT(!link_hung_up(v->link));
	EXPECT_STR(cg_policy(v->cg, "policy"), cg_name(v->cg));
	EXPECT(!cg_policy(v->cg, "ejected"));
}

static void test_useless(void)
{
	const char *good = cg_new(NULL, "good");
	struct file *theirs = file_new(NULL, "theirs", MiB_PAGES), *file = file_new(NULL, "f", NR);
	long long ejected = kernel_stat("ejected");
	struct bpf_link *link = policy_start("fifo", good);
	struct victim v = start(NULL, "lazy");

	cg_read_file(good, theirs, 0, theirs->nr_pages);
	v.state->one_in = ~0U;
	strain(&v, file);
	expect_ejected(&v, file, "useless: it chose 0 of the last ");
	EXPECT_STR(cg_policy(v.cg, "policy"), "none");
	EXPECT_STR(cg_read(v.cg, "memory.cachebpf.stat"), "");
	EXPECT_EQ(kernel_stat("ejected"), ejected + 1);

	/* nobody else noticed */
	EXPECT(!link_hung_up(link));
	EXPECT_EQ(file_cached(theirs, NULL), theirs->nr_pages);
	EXPECT_EQ(cg_stat(good, "evict_calls"), 0);
	EXPECT_EQ(cg_stat(good, "managed_pages"), theirs->nr_pages);

	/* the link is a link's, if one that does nothing any more */
	EXPECT_OP(bpf_link__update_map(v.link, v.policy->map), <, 0);
	/* word of it stays until there is a new policy */
	policy_start("lfu", v.cg);
	EXPECT_STR(cg_policy(v.cg, "policy"), "lfu");
	EXPECT(!cg_policy(v.cg, "ejected"));
}

static void test_hardly_useful(void)
{
	struct file *file = file_new(NULL, "f", NR);
	struct victim v = start(NULL, "lazy");

	v.state->one_in = 64;
	strain(&v, file);
	expect_ejected(&v, file, "useless: it chose ");
}

/* One round in three is better than nothing. */
static void test_useful(void)
{
	struct file *file = file_new(NULL, "f", NR);
	struct victim v = start(NULL, "lazy");

	v.state->one_in = 3;
	strain(&v, file);
	expect_kept(&v);
	EXPECT_OP(cg_stat(v.cg, "removed_reclaim"), >, 2 * 4096);
	EXPECT_OP(cg_stat(v.cg, "evict_fallback"), >, 4096);
}

static int keep_in_memory(void *arg)
{
	const struct file *file = arg;
	int fd = open(file->path, O_RDONLY);
	void *pages = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (pages == MAP_FAILED || mlock(pages, file->nr_pages * PAGE))
		return errno;
	/* until the test ends */
	for (;;)
		pause();
}

/* Where nobody can reclaim anything, a policy that does not either is not to blame. */
static void test_nothing_to_find(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "lazy");
	int i;

	v.state->one_in = ~0U;
	cg_start(v.cg, keep_in_memory, file);
	REQUIRE(EVENTUALLY(cg_key(v.cg, "memory.stat", "unevictable") >= FEW_BYTES));
	for (i = 0; i < 20; i++)
		cg_reclaim(v.cg, 4 * MiB);
	EXPECT_EQ(file_cached(file, NULL), FEW);
	EXPECT_OP(cg_stat(v.cg, "evict_fallback"), >, 2 * 4096);
	expect_kept(&v);
}

static void set(const char *file, unsigned int value)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), SYSFS "%s", file);
	snprintf(text, sizeof(text), "%u", value);
	REQUIRE_EQ(write_text(path, text), 0);
}

static void with_budget(unsigned int us, void (*fn)(void))
{
	char *was_us = read_text(SYSFS "watchdog_budget_us");
	char *was_nr = read_text(SYSFS "watchdog_overruns");

	REQUIRE(was_us && was_nr);
	EXPECT_OP(strtol(was_us, NULL, 10), >=, 20000);
	EXPECT_STR(was_nr, "3\n");
	set("watchdog_budget_us", us);
	EXPECT_OP(write_text(SYSFS "watchdog_overruns", "0"), <, 0);
	EXPECT_OP(write_text(SYSFS "watchdog_budget_us", "x"), <, 0);
	fn();
	REQUIRE_EQ(write_text(SYSFS "watchdog_budget_us", was_us), 0);
	REQUIRE_EQ(write_text(SYSFS "watchdog_overruns", was_nr), 0);
}

/* so much that a busy host does not make a quick call a slow one */
#define BUDGET_US	400000
#define TEXT(number)	#number
#define TEXT_OF(number)	TEXT(number)

static void slow(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "slow");

	v.state->slow_us = 3 * BUDGET_US;
	cg_read_file(v.cg, file, 0, FEW);
	EXPECT_EQ(cg_reclaim(v.cg, MiB), 0);
	EXPECT_EQ(v.state->requests, 3);
	expect_ejected(&v, file, "over budget: 3 calls of evict_folios() in a row took more than "
		       TEXT_OF(BUDGET_US) " us, the last one ");
}

static void test_slow(void)
{
	with_budget(BUDGET_US, slow);
}

static void slow_sometimes(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "slow");

	v.state->slow_us = 3 * BUDGET_US;
	v.state->one_in = 2;
	cg_read_file(v.cg, file, 0, FEW);
	EXPECT_EQ(cg_reclaim(v.cg, MiB), 0);
	EXPECT_OP(v.state->requests, >=, 8);
	EXPECT_OP(cg_stat(v.cg, "evict_ns_max"), >=, 3000LL * BUDGET_US);
	EXPECT_OP(cg_stat(v.cg, "evict_ns"), >=, 4 * 3000LL * BUDGET_US);
	expect_kept(&v);
}

static void test_slow_sometimes(void)
{
	with_budget(BUDGET_US, slow_sometimes);
}

/* A page a call, none of which is over the budget. */
static void drip(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "drip");

	v.state->slow_us = BUDGET_US / 2;
	cg_read_file(v.cg, file, 0, FEW);
	EXPECT_EQ(cg_reclaim(v.cg, 64 * PAGE), 0);
	EXPECT_OP(v.state->requests, <=, 9);
	expect_ejected(&v, file, "over budget: 3 rounds in a row took too long for what they brought, ");
}

static void test_drip(void)
{
	with_budget(BUDGET_US, drip);
}

static void endless(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "endless");

	cg_read_file(v.cg, file, 0, FEW);
	EXPECT_EQ(cg_reclaim(v.cg, MiB), 0);
	EXPECT_OP(v.state->requests, >, 0);
	EXPECT_OP(v.state->most_visits, <=, MAX_VISITS);
	EXPECT_OP(v.state->most_visits, >, MAX_VISITS - 100);
	EXPECT_OP(file_cached(file, NULL), <=, FEW - MiB_PAGES);
	expect_kept(&v);
}

static void test_endless(void)
{
	/* no time limit */
	with_budget(0, endless);
}

static int reclaim_some(void *arg)
{
	return -cg_reclaim(arg, 32 * PAGE);
}

static void stale(void)
{
	struct file *file = file_new(NULL, "f", FEW), *other = file_new(NULL, "g", FEW);
	struct victim v = start(NULL, "stale");
	pid_t pid;

	cg_read_file(v.cg, file, 0, FEW);
	cg_read_file(v.cg, other, 0, FEW);
	v.state->armed = 1;
	pid = cg_start(cg_new(NULL, "outside"), reclaim_some, (void *)v.cg);
	REQUIRE(EVENTUALLY(!*(volatile __u32 *)&v.state->armed));
	EXPECT_EQ(v.state->proposed, 32);
	REQUIRE(!truncate(file->path, 0));
	*(volatile __u32 *)&v.state->gone = 1;
	EXPECT_EQ(cg_wait(pid), 0);
	/* each of them is noticed: not one is taken for something else */
	EXPECT_EQ(cg_stat(v.cg, "reject_stale"), 32);
	EXPECT_EQ(cg_stat(v.cg, "evict_isolated"), 0);
	EXPECT_EQ(cg_stat(v.cg, "removed_truncate"), FEW);
	EXPECT_OP(cg_stat(v.cg, "evict_fallback"), >=, 32);
	EXPECT_EQ(file_read(other, 0, FEW), 0);
	expect_kept(&v);
}

static void test_stale(void)
{
	with_budget(0, stale);
}

struct taker {
	const uint64_t	*frames;
	size_t		nr_frames;
	/* these are shared with the process */
	volatile size_t	nr_taken;
	volatile bool	done;
};

#define HEAP	(64 * MiB)

/* Has a heap, with some of the frames in it, until it is ended. */
static int take_frames(void *arg)
{
	struct taker *t = arg;
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t entry;
	size_t i, j;

	/* page by page, where there is one */
	if (heap == MAP_FAILED || pagemap < 0 || madvise(heap, HEAP, MADV_NOHUGEPAGE))
		return 1;
	for (i = 0; i < HEAP / PAGE; i++) {
		heap[i * PAGE] = 1;
		if (pread(pagemap, &entry, sizeof(entry),
			  ((uintptr_t)heap / PAGE + i) * sizeof(entry)) != sizeof(entry))
			return 2;
		for (j = 0; j < t->nr_frames; j++)
			t->nr_taken += t->frames[j] == (entry & ((1ULL << 55) - 1));
	}
	t->done = true;
	for (;;)
		pause();
}

/* The same, and their frames are part of a heap by now, which belongs to the same cgroup. */
static void recycled(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "stale");
	struct taker *t;
	pid_t pid;

	t = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(t != MAP_FAILED);
	cg_read_file(v.cg, file, 0, FEW);
	/* fifo: the first ones are proposed */
	t->frames = file_frames(file);
	t->nr_frames = 32;
	v.state->armed = 1;
	pid = cg_start(cg_new(NULL, "outside"), reclaim_some, (void *)v.cg);
	REQUIRE(EVENTUALLY(!*(volatile __u32 *)&v.state->armed));
	/* the frames shall not hide in the list of this processor: the heap may be another's */
	REQUIRE(!write_text(HIGH_FRACTION, "100000"));
	REQUIRE(!truncate(file->path, 0));
	cg_start(v.cg, take_frames, t);
	REQUIRE(EVENTUALLY(t->done));
	REQUIRE(!write_text(HIGH_FRACTION, "0"));
	diag("%zu of %zu frames are others' now", t->nr_taken, t->nr_frames);
	EXPECT_OP(t->nr_taken, >, 0);
	*(volatile __u32 *)&v.state->gone = 1;
	cg_wait(pid);
	EXPECT_EQ(cg_stat(v.cg, "reject_stale"), 32);
	EXPECT_EQ(cg_stat(v.cg, "evict_isolated"), 0);
	expect_kept(&v);
}

static void test_recycled(void)
{
	with_budget(0, recycled);
}

static int detach(void *link)
{
	return bpf_link__detach(link) ? 1 : 0;
}

/* Who is detached while a call runs that takes too long is not ejected any more. */
static void detached(void)
{
	struct file *file = file_new(NULL, "f", FEW);
	struct victim v = start(NULL, "stale");
	long long ejected = kernel_stat("ejected");
	const char *outside = cg_new(NULL, "outside");
	pid_t reclaimer, detacher;

	set("watchdog_overruns", 1);
	cg_read_file(v.cg, file, 0, FEW);
	v.state->armed = 1;
	reclaimer = cg_start(outside, reclaim_some, (void *)v.cg);
	REQUIRE(EVENTUALLY(!*(volatile __u32 *)&v.state->armed));
	detacher = cg_start(outside, detach, v.link);
	/* it waits for the end of the call, which is over its budget already */
	REQUIRE(EVENTUALLY(!strcmp(cg_policy(v.cg, "policy"), "none")));
	usleep(2 * BUDGET_US);
	*(volatile __u32 *)&v.state->gone = 1;
	EXPECT_EQ(cg_wait(detacher), 0);
	EXPECT_EQ(cg_wait(reclaimer), 0);
	EXPECT_EQ(kernel_stat("ejected"), ejected);
	EXPECT(!cg_policy(v.cg, "ejected"));
	EXPECT(link_hung_up(v.link));
}

static void test_detached(void)
{
	with_budget(BUDGET_US, detached);
}

static struct {
	struct bpf_link	*link;
	struct policy	*policy;
} update;

static int do_update(void *arg)
{
	(void)arg;
	return -bpf_link__update_map(update.link, update.policy->map);
}

/* policy_init() may sleep, touch memory, and have to wait for the policy that it replaces. */
static void test_reenter(void)
{
	struct file *file = file_new(NULL, "f", 6 * MiB_PAGES), *map = file_new(NULL, "m", FEW);
	const char *cg = cg_new(NULL, "reenter");
	struct bpf_link *link = policy_start("fifo", cg);
	struct policy *p = policy_open("watchdog", "reenter", cg);
	struct watchdog_state *state;
	void *pages;
	int fd;

	REQUIRE_EQ(policy_load(p), 0);
	state = policy_state(p);
	REQUIRE_EQ(cg_write(cg, "memory.max", "8388608"), 0);
	cg_read_file(cg, file, 0, file->nr_pages);
	fd = open(map->path, O_RDONLY);
	REQUIRE(fd >= 0);
	pages = mmap(NULL, FEW * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	REQUIRE(pages != MAP_FAILED);
	REQUIRE(!madvise(pages, FEW * PAGE, MADV_RANDOM));

	state->pages = (__u64)pages;
	state->nr_pages = FEW;
	update.link = link;
	update.policy = p;
	EXPECT_EQ(cg_run(cg, do_update, NULL), 0);
	EXPECT_EQ(state->errors, 0);
	EXPECT_STR(cg_policy(cg, "policy"), "reenter");
	EXPECT_EQ(file_cached(map, NULL), FEW);
	EXPECT_OP(file_cached(file, NULL), <, file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(map, NULL) + file_cached(file, NULL));

	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_OP(state->requests, >, 0);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
}

/* Locks a file in memory until it is ended. */
static int lock_file(void *arg)
{
	const struct file *file = arg;
	volatile char *map = file_map(file);

	if (!map || mlock((void *)map, file->nr_pages * PAGE))
		return 1;
	for (;;)
		pause();
}

/* It had nothing to give for long, as stock reclaim had; when it has, nobody holds that against it. */
static void test_in_vain(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *locked = file_new(NULL, "locked", 8 * MiB_PAGES);
	struct file *file = file_new(NULL, "f", 16 * MiB_PAGES);
	struct bpf_link *link = policy_start("fifo", cg);
	pid_t pid = cg_start(cg, lock_file, locked);
	int i, j;

	REQUIRE(EVENTUALLY(cg_key(cg, "memory.stat", "unevictable") == 8 * (long long)MiB));
	for (j = 0; j < 4; j++) {
		/* how many rounds that is differs: it is to end at any point before it is asked again */
		for (i = 0; i < 40 + j; i++)
			EXPECT_EQ(cg_reclaim(cg, MiB), -EAGAIN);
		cg_read_file(cg, file, 0, file->nr_pages);
		EXPECT_EQ(cg_reclaim(cg, 15 * MiB), 0);
	}
	EXPECT(!link_hung_up(link));
	expect(!cg_policy(cg, "ejected"), __FILE__, __LINE__, "ejected: %s",
	       cg_policy(cg, "ejected") ?: "");
	EXPECT_EQ(kill(pid, SIGKILL), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
}

/* What a child's policy leaves behind is its parent's. */
static void test_heir(void)
{
	const char *top = cg_new(NULL, "top");
	struct file *file = file_new(NULL, "f", NR);
	struct victim v;

	policy_start("fifo", top);
	v = start(top, "lazy");
	v.state->one_in = ~0U;
	strain(&v, file);
	expect_ejected(&v, file, "useless: ");
	EXPECT_STR(cg_policy(v.cg, "policy"), "fifo");
	EXPECT_STR(cg_policy(v.cg, "inherited"), "1");
	EXPECT(!cg_policy(top, "ejected"));
	EXPECT_EQ(cg_stat(top, "managed_pages"), file_cached(file, NULL));
	EXPECT_EQ(cg_reclaim(top, MiB), 0);
	EXPECT_OP(cg_stat(top, "evict_reclaimed"), >=, MiB_PAGES);
	/* nor is it in the way of the cgroup's end */
	EXPECT_EQ(cg_remove(v.cg), 0);
}

/* The good ones, with everything in their way that there is. */
static void test_left_alone(void)
{
	static const char *const policies[] = { "fifo", "mru", "lfu" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		const char *top = cg_new(NULL, policies[i]);
		const char *a = cg_new(top, "a"), *b = cg_new(top, "b");
		struct file *fa = file_new(NULL, "a", NR), *fb = file_new(NULL, "b", FEW);
		struct bpf_link *link = policy_start(policies[i], top);

		/* b's folios, the first in line or the last, must not be taken */
		REQUIRE_EQ(cg_write(top, "memory.min", "8388608"), 0);
		REQUIRE_EQ(cg_write(b, "memory.min", "8388608"), 0);
		cg_read_file(b, fb, 0, FEW);
		REQUIRE_EQ(cg_write(top, "memory.max", "12582912"), 0);
		cg_read_file(a, fa, 0, NR);
		EXPECT_EQ(file_cached(fb, NULL), FEW);
		EXPECT_STR(cg_policy(top, "policy"), policies[i]);
		EXPECT_OP(cg_stat(top, "evict_reclaimed"), >, 4096);
		EXPECT_BOOKS();
		REQUIRE_EQ(bpf_link__destroy(link), 0);
		file_drop(fa);
		file_drop(fb);
	}
}

static const struct test tests[] = {
	{ "proposes nothing, ever",				test_useless, .ejects = true },
	{ "had nothing to propose for long",			test_in_vain },
	{ "proposes something now and then",			test_hardly_useful, .ejects = true },
	{ "does a part of the work",				test_useful },
	{ "there is nothing to be found",			test_nothing_to_find },
	{ "takes too long",					test_slow, .ejects = true },
	{ "takes long, but not always",				test_slow_sometimes },
	{ "takes long for each page",				test_drip, .ejects = true },
	{ "walks without end",					test_endless },
	{ "proposes folios that are gone",			test_stale, .spread = true },
	{ "proposes frames that are somebody else's",		test_recycled, .spread = true },
	{ "is detached while it takes too long",		test_detached, .spread = true },
	{ "needs memory to start while the cgroup is full",	test_reenter },
	{ "its parent's policy takes over",			test_heir, .ejects = true },
	{ "the installed policies are left alone",		test_left_alone },
};

SUBJECT(watchdog);
