// SPDX-License-Identifier: GPL-2.0-only
/* Replacing a policy in place. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "advice.h"

#define NR_PAGES	1000

static void test_in_place(void)
{
	const char *cg = cg_new(NULL, "a"), *child = cg_new(cg, "child");
	long long attached = kernel_stat("attached"), detached = kernel_stat("detached");
	long long updated = kernel_stat("updated"), managed;
	struct policy *mru = policy_open_installed("mru", cg);
	struct file *file = file_new(NULL, "f", NR_PAGES);
	struct bpf_link *link = policy_start("fifo", cg);
	char *id = cg_policy(cg, "id");

	cg_read_file(child, file, 0, NR_PAGES);
	managed = cg_stat(cg, "managed_pages");
	EXPECT_EQ(managed, NR_PAGES);

	REQUIRE_EQ(policy_load(mru), 0);
	REQUIRE_EQ(bpf_link__update_map(link, mru->map), 0);
	EXPECT(!link_hung_up(link));
	EXPECT_STR(cg_policy(cg, "policy"), "mru");
	EXPECT_STR(cg_policy(child, "policy"), "mru");
	EXPECT_STR(cg_policy(child, "inherited"), "1");
	EXPECT_STR(cg_policy(cg, "updates"), "1");
	EXPECT(strcmp(cg_policy(cg, "id"), id));
	EXPECT_EQ(cg_stat(cg, "managed_pages"), managed);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), managed);
	EXPECT_EQ(cg_stat(cg, "adopted"), managed);
	EXPECT_EQ(cg_stat(cg, "added"), 0);
	EXPECT_EQ(file_cached(file, NULL), NR_PAGES);

	EXPECT_EQ(kernel_stat("policies"), 1);
	EXPECT_EQ(kernel_stat("attached"), attached + 1);
	EXPECT_EQ(kernel_stat("detached"), detached);
	EXPECT_EQ(kernel_stat("updated"), updated + 1);

	/* the new policy decides now: the newest go */
	cg_read_file(child, file, 0, NR_PAGES);
	EXPECT_EQ(cg_stat(cg, "hits"), NR_PAGES);
	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));
	EXPECT_EQ(file_read(file, 0, NR_PAGES), 0);

	/* and the link is the new one's to detach */
	REQUIRE_EQ(bpf_link__detach(link), 0);
	EXPECT_STR(cg_policy(cg, "policy"), "none");
	EXPECT_EQ(kernel_stat("detached"), detached + 1);
}

static void test_refused(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct policy *for_b = policy_open_installed("mru", b), *wrong;
	struct file *file = file_new(NULL, "f", 64);
	struct bpf_link *link = policy_start("fifo", a);
	char *id = cg_policy(a, "id");

	cg_read_file(a, file, 0, 64);
	/* for another cgroup */
	REQUIRE_EQ(policy_load(for_b), 0);
	EXPECT_EQ(bpf_link__update_map(link, for_b->map), -EINVAL);
	/* one that cannot start */
	wrong = policy_open("refused", "refuse", a);
	REQUIRE_EQ(policy_load(wrong), 0);
	EXPECT_EQ(bpf_link__update_map(link, wrong->map), -ENOTTY);
	/* one without evict_folios() */
	wrong = policy_open_installed("mru", a);
	policy_set(wrong, "evict_folios", 0);
	REQUIRE_EQ(policy_load(wrong), 0);
	EXPECT_EQ(bpf_link__update_map(link, wrong->map), -EINVAL);

	/* the old one is in force, as if nothing had happened */
	EXPECT_STR(cg_policy(a, "policy"), "fifo");
	EXPECT_STR(cg_policy(a, "id"), id);
	EXPECT_STR(cg_policy(a, "updates"), "0");
	EXPECT_EQ(cg_stat(a, "managed_pages"), 64);
	EXPECT_EQ(kernel_stat("policies"), 1);
	EXPECT(!link_hung_up(link));
	EXPECT_EQ(cg_reclaim(a, 32 * PAGE), 0);
	EXPECT_EQ(cg_stat(a, "evict_fallback"), 0);
}

static void test_busy(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct policy *in_use = policy_open_installed("mru", b);
	struct policy *self = policy_open_installed("fifo", a);
	struct bpf_link *link;

	policy_attach(in_use);
	link = policy_attach(self);
	EXPECT(bpf_link__update_map(link, in_use->map) < 0);
	EXPECT(bpf_link__update_map(link, self->map) < 0);
	EXPECT_STR(cg_policy(a, "policy"), "fifo");
	EXPECT_STR(cg_policy(b, "policy"), "mru");
}

static void test_often(void)
{
	static const char *const names[] = { "fifo", "mru", "lfu" };
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 300);
	struct bpf_link *link = policy_start("fifo", cg);
	struct policy *p;
	int i;

	cg_read_file(cg, file, 0, 100);
	for (i = 1; i <= 12; i++) {
		p = policy_open_installed(names[i % ARRAY_SIZE(names)], cg);
		REQUIRE_EQ(policy_load(p), 0);
		REQUIRE_EQ(bpf_link__update_map(link, p->map), 0);
		EXPECT_EQ(cg_key(cg, "memory.cachebpf.policy", "updates"), i);
		EXPECT_STR(cg_policy(cg, "policy"), names[i % ARRAY_SIZE(names)]);
		EXPECT_EQ(cg_stat(cg, "managed_pages"), 100 + (i - 1) * 10);
		cg_read_file(cg, file, 90 + i * 10, 10);
	}
	EXPECT_EQ(file_read(file, 0, 300), 0);
}

/* Replace and detach while folios come, are used and go. */
static int churn(void *arg)
{
	struct file *file = arg;
	int err = 0;

	while (!err)
		err = file_read_sequential(file);
	return err;
}

static void test_under_load(void)
{
	static const char *const names[] = { "fifo", "mru", "lfu" };
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 16 * MiB_PAGES);
	struct bpf_link *link;
	struct policy *p;
	pid_t pid;
	int i, j;

	REQUIRE_EQ(cg_write(cg, "memory.max", "8388608"), 0);
	pid = cg_start(cg, churn, file);

	for (i = 0; i < 6; i++) {
		link = policy_start("fifo", cg);
		for (j = 1; j <= 4; j++) {
			usleep(20000);
			p = policy_open_installed(names[j % ARRAY_SIZE(names)], cg);
			REQUIRE_EQ(policy_load(p), 0);
			REQUIRE_EQ(bpf_link__update_map(link, p->map), 0);
		}
		REQUIRE_EQ(bpf_link__destroy(link), 0);
	}
	/* it reads, and compares, until it finds a difference or is ended */
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom_kill"), 0);
	EXPECT_EQ(file_read_sequential(file), 0);
}

static int close_when_told(int told, int fd)
{
	char c;

	if (read(told, &c, 1) != 1)
		return 1;
	close(fd);
	return 0;
}

/* One map, one instance: it has ended before the next one begins, whoever lets go of the link. */
static void test_end_and_begin(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 64 * MiB_PAGES);
	struct policy *p = policy_open("parts", "parts_0", cg);
	struct parts_state *state;
	struct bpf_link *link;
	int pipes[2], status, err;
	unsigned int i;
	pid_t pid;

	REQUIRE_EQ(policy_load(p), 0);
	state = policy_state(p);
	link = policy_attach_loaded(p);
	cg_read_file(cg, file, 0, file->nr_pages);
	for (i = 1; i <= 5; i++) {
		REQUIRE(!pipe2(pipes, O_CLOEXEC));
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid)
			_exit(close_when_told(pipes[0], bpf_link__fd(link)));
		/* not the last reference to it */
		REQUIRE_EQ(bpf_link__destroy(link), 0);
		EXPECT_STR(cg_policy(cg, "policy"), "parts");
		REQUIRE(write(pipes[1], "", 1) == 1);
		do {
			err = policy_try_attach(p, &link);
		} while (err == -EBUSY);
		REQUIRE_EQ(err, 0);
		EXPECT_EQ(state->exits, i);
		REQUIRE(waitpid(pid, &status, 0) == pid && !status);
		close(pipes[0]);
		close(pipes[1]);
	}
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

/* Read @file from its end, where a policy that is handing over comes last. */
static int read_backwards(void *arg)
{
	const struct file *file = arg;
	char page[PAGE];
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	size_t i;

	for (;;)
		for (i = file->nr_pages; i-- > 0;)
			if (pread(fd, page, PAGE, i * PAGE) != PAGE)
				return 1;
}

static struct policy *load_two_lists(const char *cg)
{
	struct policy *policy;
	struct advice_state *state = advice_load(cg, &policy);

	/* what is new goes to the second, and what is used to the first */
	state->list_flags[0] = USED_TAIL;
	state->list_flags[1] = NEW_TAIL | USED_TO(1);
	state->want_lists = 2;
	return policy;
}

/* The list to which uses move folios is handed over first: what is used meanwhile stays where it is. */
static void test_used_elsewhere(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 20000);
	struct bpf_link *link = policy_attach_loaded(load_two_lists(cg));
	struct policy *next;
	pid_t pid;
	int i;

	cg_read_file(cg, file, 0, file->nr_pages);
	for (i = 0; i < 3; i++) {
		next = load_two_lists(cg);
		pid = cg_start(cg, read_backwards, file);
		usleep(1000);
		REQUIRE_EQ(bpf_link__update_map(link, next->map), 0);
		EXPECT_EQ(kill(pid, SIGKILL), 0);
		EXPECT_EQ(cg_wait(pid), -EINTR);
		if (!EXPECT_EQ(cg_stat(cg, "managed_pages"), file->nr_pages))
			break;
	}
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static const struct test tests[] = {
	{ "in place: every folio is handed over",		test_in_place },
	{ "a refused update changes nothing",			test_refused },
	{ "maps that are in use",				test_busy },
	{ "many times",						test_often },
	{ "an instance ends before the next one begins",	test_end_and_begin,	.spread = true },
	{ "a list to which uses move folios",			test_used_elsewhere,	.spread = true },
	{ "under load, with attach and detach",			test_under_load,	.spread = true },
};

SUBJECT(update);
