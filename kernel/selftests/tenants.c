// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a tenant of a cgroup can do to the policy of it, which belongs to all
 * of them: a policy that does its work is not ejected for that, and what is in
 * vain does not take longer than without it.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "selftest.h"

#define NR		(32 * MiB_PAGES)
#define NR_TENANT	(8 * MiB_PAGES)
#define LIMIT		"33554432"
/* pages that are judged at a time */
#define WINDOW		4096LL
#define NR_WINDOWS	3
/* those of one that hardly reads; what is in use, and what is thrown out meanwhile */
#define NR_PIECE	256
#define NR_KEPT		(24 * MiB_PAGES)
#define NR_OUT		(2 * MiB_PAGES)

static void *map_file(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (fd < 0 || map == MAP_FAILED)
		_exit(1);
	return map;
}

static int read_for_ever(void *file)
{
	for (;;)
		if (file_read_sequential(file))
			return 1;
}

/* All that a mapping has, again and again: locked, and let go of. */
static int lock_for_ever(void *arg)
{
	struct file *file = arg;
	void *map = map_file(file);

	for (;;) {
		if (mlock(map, file->nr_pages * PAGE))
			return 1;
		usleep(10000);
		if (munlock(map, file->nr_pages * PAGE))
			return 1;
	}
}

/* Thrown out, and read again. */
static int page_out_for_ever(void *arg)
{
	struct file *file = arg;
	volatile char *map = map_file(file);
	size_t i;

	for (;;) {
		for (i = 0; i < file->nr_pages; i++)
			(void)map[i * PAGE];
		if (madvise((void *)map, file->nr_pages * PAGE, MADV_PAGEOUT))
			return 1;
	}
}

static const char *top;

static long long not_chosen(void)
{
	return cg_stat(top, "removed_reclaim") - cg_stat(top, "evict_reclaimed");
}

static void expect_kept(struct bpf_link *link, const char *name)
{
	expect(!cg_policy(top, "ejected"), __FILE__, __LINE__, "%s: ejected %s", name,
	       cg_policy(top, "ejected") ?: "");
	diag("%s: chosen %lld, not chosen %lld, fallback %lld; rejected: busy %lld, kept %lld",
	     name, cg_stat(top, "evict_reclaimed"), not_chosen(), cg_stat(top, "evict_fallback"),
	     cg_stat(top, "reject_busy"), cg_stat(top, "reject_kept"));
	EXPECT_EQ(cg_write(top, "cgroup.kill", "1"), 0);
	bpf_link__destroy(link);
}

static struct bpf_link *set_up(const char *policy, const char *what)
{
	struct bpf_link *link;
	char name[64];

	alarm(1800);
	no_budget();
	snprintf(name, sizeof(name), "%s-%s", policy, what);
	top = cg_new(NULL, name);
	REQUIRE_EQ(cg_write(top, "memory.max", LIMIT), 0);
	link = policy_start(policy, top);
	return link;
}

static struct file *new_file(const char *name, size_t nr_pages)
{
	char full[128];

	snprintf(full, sizeof(full), "%s-%s", cg_name(top), name);
	return file_new(NULL, full, nr_pages);
}

static bool judged_enough(int (*what)(void *arg))
{
	return cg_stat(top, "evict_reclaimed") > NR_WINDOWS * WINDOW &&
	       (what != page_out_for_ever || not_chosen() > NR_WINDOWS * WINDOW);
}

/* @what, beside a reader that does nothing but read, until several windows were judged. */
static void beside_reader(const char *policy, const char *name, int (*what)(void *arg))
{
	struct bpf_link *link = set_up(policy, name);
	const char *reader = cg_new(top, "reader"), *tenant = cg_new(top, "tenant");

	cg_start(reader, read_for_ever, new_file("reader", 2 * NR));
	cg_start(tenant, what, new_file("tenant", NR_TENANT));
	/* a kernel that checks everything takes its time for so many pages */
	EXPECT(WITHIN(600, link_hung_up(link) || judged_enough(what)));
	expect_kept(link, cg_name(top));
}

static const char *const policies[] = { "fifo", "lfu", "s3fifo", "mru" };

static void test_lock(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		beside_reader(policies[i], "lock", lock_for_ever);
}

static void test_page_out(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		beside_reader(policies[i], "page-out", page_out_for_ever);
}

/*
 * Whatever the policy proposes is in use, and what is reclaimed somebody throws
 * out himself, much more than a reader needs: of all that is reclaimed the
 * policy chose next to nothing.
 */
static void beside_slow_reader(const char *policy)
{
	struct bpf_link *link = set_up(policy, "slow");
	const char *reader = cg_new(top, "reader"), *tenant = cg_new(top, "tenant");
	struct file *file = new_file("reader", 2 * NR);
	size_t i;

	cg_start(tenant, file_keep_mapped, new_file("kept", NR_KEPT));
	cg_start(tenant, page_out_for_ever, new_file("out", NR_OUT));
	for (i = 0; i < NR / 2 / NR_PIECE && !link_hung_up(link); i++) {
		cg_read_file(reader, file, i * NR_PIECE, NR_PIECE);
		if (!EVENTUALLY(link_hung_up(link) ||
				not_chosen() > 16 * cg_stat(top, "evict_reclaimed")))
			break;
		if (cg_stat(top, "evict_fallback") > 3 * WINDOW)
			break;
	}
	EXPECT_OP(not_chosen(), >, WINDOW);
	expect_kept(link, cg_name(top));
}

static void test_slow_reader(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		beside_slow_reader(policies[i]);
}

#define NR_CHILDREN	25
#define NR_EACH		MiB_PAGES

/* Until the test ends. */
static int keep_locked(void *arg)
{
	struct file *const *files = arg;
	int i;

	for (i = 0; i < NR_CHILDREN; i++)
		if (mlock(map_file(files[i]), NR_EACH * PAGE))
			return 2;
	for (;;)
		pause();
}

/* More than is left. */
static int take_memory(void *arg)
{
	size_t size = 16 * MiB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	(void)arg;
	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 1, size);
	return 0;
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Milliseconds until somebody is killed for want of memory, where nothing can be reclaimed. */
static long long until_killed(const char *policy, bool lru_gen)
{
	static struct file *files[NR_CHILDREN];
	const char *children[NR_CHILDREN], *outside;
	struct bpf_link *link = NULL;
	long long begin, ms;
	char name[64];
	pid_t pid;
	int i;

	alarm(1800);
	snprintf(name, sizeof(name), "%s-%s", lru_name(lru_gen), policy ?: "none");
	top = cg_new(NULL, name);
	snprintf(name, sizeof(name), "%s-%s-outside", lru_name(lru_gen), policy ?: "none");
	outside = cg_new(NULL, name);
	if (policy)
		link = policy_start(policy, top);
	for (i = 0; i < NR_CHILDREN; i++) {
		snprintf(name, sizeof(name), "%s-%d", cg_name(top), i);
		children[i] = cg_new(top, name);
		files[i] = file_new(NULL, name, NR_EACH);
		cg_read_file(children[i], files[i], 0, NR_EACH);
	}
	pid = cg_start(outside, keep_locked, files);
	REQUIRE(EVENTUALLY(cg_key(top, "memory.stat", "unevictable") >=
			   (long long)(NR_CHILDREN * NR_EACH * PAGE)));
	snprintf(name, sizeof(name), "%lld", cg_number(top, "memory.current") + 4 * (long long)MiB);
	REQUIRE_EQ(cg_write(top, "memory.max", name), 0);

	begin = now_ms();
	EXPECT_EQ(cg_run(children[0], take_memory, NULL), -EINTR);
	ms = now_ms() - begin;
	EXPECT_EQ(cg_key(top, "memory.events", "oom_kill"), 1);
	diag("%s: %lld ms until the kill, %d cgroups below, %ld pages: %lld calls, %lld ms in them",
	     cg_name(top), ms, NR_CHILDREN, NR_CHILDREN * NR_EACH, cg_stat(top, "evict_calls"),
	     cg_stat(top, "evict_ns") / 1000000);
	/* once for each pass over the children is enough, of which there are less than a thousand */
	EXPECT_OP(cg_stat(top, "evict_calls"), <=, 2000);
	kill(pid, SIGKILL);
	cg_wait(pid);
	if (link)
		bpf_link__destroy(link);
	for (i = 0; i < NR_CHILDREN; i++)
		unlink(files[i]->path);
	return ms;
}

static void out_of_memory(bool lru_gen)
{
	until_killed(NULL, lru_gen);
	until_killed("fifo", lru_gen);
	until_killed("lfu", lru_gen);
}

static void test_out_of_memory(void)
{
	no_budget();
	with_both_lrus(out_of_memory);
}

static const struct test tests[] = {
	{ "somebody locks pages",			test_lock,	.spread = true },
	{ "somebody throws pages out",			test_page_out,	.spread = true },
	{ "somebody does more of it than others read",	test_slow_reader, .spread = true },
	{ "out of memory, and nothing to reclaim",	test_out_of_memory },
};

SUBJECT(tenants);
