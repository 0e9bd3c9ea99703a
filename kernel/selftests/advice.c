// SPDX-License-Identifier: GPL-2.0-only
/* Advice: what a policy hears, of whose pages, and what happens while somebody speaks. */
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "advice.h"

#define NR		200
/* a walk that takes some seconds, by WAIT_US for each call */
#define NR_SLOW		(60 * BATCH)
#define WAIT_US		50000

static const char *cg;
static struct policy *policy;
static struct advice_state *state;
static struct bpf_link *attached;

struct speech *speech_new(const struct file *file, long long from, long long len, int advice)
{
	struct speech *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(s != MAP_FAILED);
	*s = (struct speech) {
		.file = file, .from = from, .len = len, .advice = advice, .answer = INT_MAX,
	};
	return s;
}

int speak(void *arg)
{
	struct speech *s = arg;

	s->answer = fadvise(s->file, s->from, s->len, s->advice);
	return 0;
}

int say(const char *in, const struct file *file, long long from, long long len, int advice)
{
	struct speech *s = speech_new(file, from, len, advice);

	REQUIRE_EQ(cg_run(in, speak, s), 0);
	return s->answer;
}

static void set_up(void)
{
	cg = cg_new(NULL, "a");
	state = advice_load(cg, &policy);
	attached = policy_attach_loaded(policy);
}

/* All that is said of @file by @in, with its pages; were there @nr of them? */
static void hear_all(const char *in, const struct file *file, unsigned int nr)
{
	state->answer = state->walk_answer = WALK;
	state->nr_seen = state->nr_calls = 0;
	EXPECT_EQ(say(in, file, 0, 0, OWN), 0);
	EXPECT_EQ(state->nr_seen, nr);
}

/* Were the pages @first and on seen, @nr of them? */
static void expect_seen(unsigned int first, unsigned int nr)
{
	unsigned int i;

	EXPECT_EQ(state->nr_seen, nr);
	EXPECT_EQ(state->nr_calls, (nr + BATCH - 1) / BATCH);
	for (i = 0; i < nr && i < state->nr_seen; i++)
		if (!EXPECT_EQ(state->seen[i].index, first + i))
			break;
}

static long generation_of(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC), generation = 0;

	REQUIRE(fd >= 0 && !ioctl(fd, FS_IOC_GETVERSION, &generation));
	close(fd);
	return generation;
}

static void test_said(void)
{
	static const int answers[] = { 0, 7, WALK - 1, WALK | 1, INT_MAX, -EPERM, -4095 };
	struct file *file = file_new(NULL, "f", NR);
	struct stat st;
	unsigned int i;

	set_up();
	REQUIRE(!stat(file->path, &st));
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		state->answer = answers[i];
		EXPECT_EQ(say(cg, file, 5 * PAGE, 10 * PAGE, OWN | i), answers[i]);
		EXPECT_EQ(state->said.advice, OWN | i);
	}
	EXPECT_EQ(state->nr_said, ARRAY_SIZE(answers));
	EXPECT_EQ(state->said.manager, cg_id(cg));
	EXPECT_EQ(state->said.ino, st.st_ino);
	EXPECT_EQ(major(st.st_dev), state->said.dev >> 8 & 0xfff);
	EXPECT_EQ(minor(st.st_dev), (state->said.dev & 0xff) | (state->said.dev >> 12 & 0xfff00));
	EXPECT_EQ(state->said.generation, (__u32)generation_of(file));
	EXPECT_EQ(state->said.index, 5);
	EXPECT_EQ(state->said.first, 5);
	EXPECT_EQ(state->said.last, 14);

	/* no errno */
	state->answer = -4096;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), -EINVAL);
	state->answer = INT_MIN;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), -EINVAL);
	EXPECT_EQ(state->nr_calls, 0);
}

static void expect_nobody(const struct file *file)
{
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(say(cg, file, 0, 0, OWN), -EOPNOTSUPP);
	EXPECT_EQ(say(cg, file, 0, 0, OWN | 0xffff), -EOPNOTSUPP);
	/* numbers of nobody, on either side */
	EXPECT_EQ(say(cg, file, 0, 0, OWN - 1), -EINVAL);
	EXPECT_EQ(say(cg, file, 0, 0, OWN + 0x10000), -EINVAL);
	EXPECT_EQ(say(cg, file, 0, 0, 6), -EINVAL);
	EXPECT_EQ(say(cg, file, 0, 0, -1), -EINVAL);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(say(cg, file, 0, 0, POSIX_FADV_DONTNEED), 0);
	EXPECT(EVENTUALLY(say(cg, file, 0, 0, POSIX_FADV_DONTNEED) || !file_cached(file, NULL)));
}

static void test_nobody(void)
{
	struct file *file = file_new(NULL, "f", NR);

	cg = cg_new(NULL, "a");
	expect_nobody(file);
	/* one that does not listen; one beside, that does */
	policy_start("fifo", cg);
	policy = NULL;
	state = advice_load(cg_new(NULL, "b"), &policy);
	policy_attach_loaded(policy);
	expect_nobody(file);
	EXPECT_EQ(state->nr_said, 0);
}

/* Policies are shown it before it takes effect, and it does whatever they say. */
static void test_standard(void)
{
	static const int standard[] = {
		POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL, POSIX_FADV_WILLNEED,
		POSIX_FADV_DONTNEED, POSIX_FADV_NOREUSE,
	};
	struct file *file = file_new(NULL, "f", NR);
	unsigned int i;

	set_up();
	for (i = 0; i < ARRAY_SIZE(standard); i++) {
		state->answer = i % 2 ? -EPERM : 5;
		EXPECT_EQ(say(cg, file, 0, 0, standard[i]), 0);
		EXPECT_EQ(state->nr_said, i + 1);
		EXPECT_EQ(state->said.advice, standard[i]);
	}
	EXPECT_EQ(say(cg, file, 0, 0, 6), -EINVAL);

	file_forget(file);
	EXPECT_EQ(say(cg, file, 0, 16 * PAGE, POSIX_FADV_WILLNEED), 0);
	EXPECT(EVENTUALLY(file_cached(file, NULL) >= 16));
	cg_read_file(cg, file, 0, NR);
	state->answer = state->walk_answer = WALK;
	state->nr_seen = state->nr_calls = 0;
	EXPECT_EQ(say(cg, file, 0, 0, POSIX_FADV_DONTNEED), 0);
	expect_seen(0, NR);
	EXPECT_OP(file_cached(file, NULL), <, NR / 2);
}

static void test_range(void)
{
	const struct {
		long long from, len;
		int answer;
		unsigned int first, nr;
	} cases[] = {
		{ 0, 0, 0, 0, NR },
		{ 5 * PAGE, 10 * PAGE, 0, 5, 10 },
		{ 3 * PAGE + 17, 1, 0, 3, 1 },
		{ 3 * PAGE + 17, PAGE, 0, 3, 2 },
		{ (NR - 2) * PAGE, 100 * PAGE, 0, NR - 2, 2 },
		{ NR * PAGE, 0, 0, 0, 0 },
		{ 1LL << 50, PAGE, 0, 0, 0 },
		{ 0, LLONG_MAX, 0, 0, NR },
		{ LLONG_MAX, LLONG_MAX, 0, 0, 0 },
		{ LLONG_MAX - 1, 1, 0, 0, 0 },
		{ -1, PAGE, -EINVAL, 0, 0 },
		{ LLONG_MIN, 0, -EINVAL, 0, 0 },
		{ 0, -1, -EINVAL, 0, 0 },
	};
	struct file *file = file_new(NULL, "f", NR);
	unsigned int i;

	set_up();
	state->answer = state->walk_answer = WALK;
	cg_read_file(cg, file, 0, NR);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		state->nr_seen = state->nr_calls = 0;
		if (!EXPECT_EQ(say(cg, file, cases[i].from, cases[i].len, OWN), cases[i].answer))
			diag("range %u", i);
		expect_seen(cases[i].first, cases[i].nr);
	}

	/* what is not cached is no page of anybody */
	EXPECT_EQ(say(cg, file, 40 * PAGE, 100 * PAGE, POSIX_FADV_DONTNEED), 0);
	state->nr_seen = 0;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), 0);
	EXPECT_EQ(state->nr_seen, file_cached(file, NULL));

	/* the policy has heard enough */
	state->walk_answer = 5;
	state->nr_calls = 0;
	EXPECT_EQ(say(cg, file, 0, 0, OWN), 5);
	EXPECT_EQ(state->nr_calls, 1);
}

/* Each concerns the pages of his own manager only. */
static void test_managers(void)
{
	struct file *file = file_new(NULL, "f", NR);
	const char *x, *y, *z;
	unsigned int i;

	set_up();
	x = cg_new(cg, "x");
	y = cg_new(cg, "y");
	cg_read_file(x, file, 0, 100);
	/* nobody is in a cgroup that has children */
	z = cg_new(x, "z");
	cg_read_file(y, file, 100, 50);
	cg_read_file(z, file, 150, 20);
	REQUIRE_EQ(state->nr_added, 170);
	for (i = 0; i < 170; i++) {
		bool ys = state->added[i].index >= 100 && state->added[i].index < 150;

		if (!EXPECT_EQ(state->added[i].owner, cg_id(ys ? y : x)))
			break;
	}

	/* a child of a manager speaks for it */
	hear_all(z, file, 120);
	EXPECT_EQ(state->said.manager, cg_id(x));
	hear_all(cg_new(x, "w"), file, 120);
	EXPECT_EQ(state->said.manager, cg_id(x));
	hear_all(y, file, 50);
	EXPECT_EQ(state->said.manager, cg_id(y));
	for (i = 0; i < 50; i++)
		if (!EXPECT_EQ(state->seen[i].index, 100 + i) ||
		    !EXPECT_EQ(state->seen[i].owner, cg_id(y)))
			break;

	/* pages of a policy below are not this one's, and who speaks there speaks to that one */
	policy_attach(policy_open_installed("fifo", z));
	hear_all(cg_new(x, "v"), file, 100);
	EXPECT_EQ(say(z, file, 0, 0, OWN), -EOPNOTSUPP);
	EXPECT_EQ(say(cg_new(NULL, "b"), file, 0, 0, OWN), -EOPNOTSUPP);
}

/* A walk of seconds, begun in @in; it has come to the second call of the policy. */
static pid_t speak_slowly(const char *in, const struct file *file, struct speech **s)
{
	pid_t pid;

	*s = speech_new(file, 0, 0, OWN);
	state->answer = state->walk_answer = WALK;
	state->wait_us = WAIT_US;
	pid = cg_start(in, speak, *s);
	REQUIRE(EVENTUALLY(state->nr_calls >= 2));
	return pid;
}

/* It is through without waiting for all of the walk. */
static void expect_cut_short(void)
{
	EXPECT_OP(state->nr_calls, <, NR_SLOW / BATCH);
}

static void test_killed(void)
{
	struct file *file = file_new(NULL, "f", NR_SLOW);
	struct speech *s;
	pid_t pid;

	set_up();
	cg_read_file(cg, file, 0, NR_SLOW);
	pid = speak_slowly(cg, file, &s);
	REQUIRE(!kill(pid, SIGKILL));
	EXPECT_EQ(cg_wait(pid), -EINTR);
	EXPECT_EQ(s->answer, INT_MAX);
	expect_cut_short();
}

static void test_replaced(void)
{
	struct file *file = file_new(NULL, "f", NR_SLOW);
	struct advice_state *other;
	struct policy *successor;
	struct speech *s;
	pid_t pid;

	set_up();
	cg_read_file(cg, file, 0, NR_SLOW);
	other = advice_load(cg, &successor);
	pid = speak_slowly(cg, file, &s);
	REQUIRE_EQ(bpf_link__update_map(attached, successor->map), 0);
	EXPECT_EQ(cg_wait(pid), 0);
	EXPECT_EQ(s->answer, -EAGAIN);
	expect_cut_short();
	/* the other one has heard nothing of it */
	EXPECT_EQ(other->nr_said, 0);
	EXPECT_EQ(other->nr_calls, 0);
}

static void test_detached(void)
{
	struct file *file = file_new(NULL, "f", NR_SLOW);
	struct speech *s;
	pid_t pid;

	set_up();
	cg_read_file(cg, file, 0, NR_SLOW);
	pid = speak_slowly(cg, file, &s);
	/* who speaks has it open, too */
	REQUIRE_EQ(bpf_link__detach(attached), 0);
	EXPECT_EQ(cg_wait(pid), 0);
	EXPECT_EQ(s->answer, -EOPNOTSUPP);
	expect_cut_short();
}

/* Take it to a cgroup without a policy. */
static void take_away(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	REQUIRE_EQ(cg_write(cg_new(NULL, "elsewhere"), "cgroup.procs", text), 0);
}

/* Who speaks goes elsewhere, and the cgroup that he has spoken for is removed. */
static void test_cgroup_goes(void)
{
	struct file *file = file_new(NULL, "f", NR_SLOW);
	struct speech *s;
	const char *x;
	pid_t pid;

	set_up();
	x = cg_new(cg, "x");
	cg_read_file(x, file, 0, NR_SLOW);
	pid = speak_slowly(x, file, &s);
	take_away(pid);
	EXPECT_EQ(cg_remove(x), 0);
	/* for the pages that were its own */
	EXPECT_EQ(cg_wait(pid), 0);
	EXPECT_EQ(s->answer, 0);
	EXPECT_EQ(state->nr_seen, NR_SLOW);
	EXPECT_BOOKS();

	/* they are nobody's who could speak */
	state->wait_us = 0;
	hear_all(cg_new(cg, "y"), file, 0);
}

/* And with it the policy. */
static void test_policy_goes(void)
{
	struct file *file = file_new(NULL, "f", NR_SLOW);
	struct speech *s;
	pid_t pid;

	set_up();
	cg_read_file(cg, file, 0, NR_SLOW);
	pid = speak_slowly(cg, file, &s);
	take_away(pid);
	EXPECT_EQ(cg_remove(cg), 0);
	EXPECT(EVENTUALLY(link_hung_up(attached)));
	EXPECT_EQ(cg_wait(pid), 0);
	EXPECT_EQ(s->answer, -EOPNOTSUPP);
	expect_cut_short();
}

static int speak_of_deleted(void *arg)
{
	struct speech *s = arg;
	int fd = open(s->file->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || unlink(s->file->path))
		return 1;
	s->answer = syscall(SYS_fadvise64, fd, 0, 0, OWN);
	return 0;
}

/* A file that is deleted has pages still; what has its inode number then is another one. */
static void test_deleted(void)
{
	const char *dir = disk_mount(disk_new("numbers", 64, 0), true);
	struct file *file = file_new(dir, "f", NR), *other;
	struct speech *s = speech_new(file, 0, 0, OWN);
	__u32 generation;
	__u64 ino;

	set_up();
	cg_read_file(cg, file, 0, NR);
	state->answer = state->walk_answer = WALK;
	REQUIRE_EQ(cg_run(cg, speak_of_deleted, s), 0);
	EXPECT_EQ(s->answer, 0);
	expect_seen(0, NR);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	ino = state->said.ino;
	generation = state->said.generation;

	/* nobody else makes files there */
	other = file_new(dir, "g", NR);
	hear_all(cg, other, 0);
	REQUIRE_EQ(state->said.ino, ino);
	EXPECT(state->said.generation != generation);
	cg_read_file(cg, other, 0, 10);
	hear_all(cg, other, 10);
}

/* Of a policy with 3 lists, where new folios come to the first one. */
static void set_up_lists(void)
{
	cg = cg_new(NULL, "a");
	state = advice_load(cg, &policy);
	state->want_lists = 3;
	state->list_flags[0] = 2;
	state->answer = state->walk_answer = WALK;
	state->from = 1;
	state->to = 2;
	policy_attach_loaded(policy);
}

/* Folios are moved by whom they concern, and of the range. */
static void test_next_of_manager(void)
{
	struct file *file = file_new(NULL, "f", NR);
	const char *x, *y;
	unsigned int i;

	set_up_lists();
	x = cg_new(cg, "x");
	y = cg_new(cg, "y");
	cg_read_file(x, file, 0, 20);
	cg_read_file(y, file, 20, 20);
	cg_read_file(x, file, 40, 20);
	/* readers say something, too */
	state->nr_calls = 0;
	state->action = ADVICE_MOVE_NEXT;
	EXPECT_EQ(say(x, file, 10 * PAGE, 40 * PAGE, OWN), 0);
	EXPECT_EQ(state->nr_calls, 0);
	EXPECT_EQ(state->nr_moved, 20);
	/* all that are where they were */
	state->action = ADVICE_LOOK;
	hear_all(x, file, 40);
	for (i = 0; i < 40; i++)
		if (!EXPECT_EQ(state->seen[i].list, i >= 10 && i < 30 ? 2 : 1))
			break;
	hear_all(y, file, 20);
	for (i = 0; i < 20; i++)
		if (!EXPECT_EQ(state->seen[i].list, 1))
			break;
}

static void test_next_nowhere(void)
{
	static const __u32 bad[][2] = { { 0, 2 }, { 4, 2 }, { ~0U, 2 }, { 1, 4 }, { 1, ~0U } };
	struct file *file = file_new(NULL, "f", NR);
	unsigned int i;

	set_up_lists();
	cg_read_file(cg, file, 0, NR);
	for (i = 0; i < 2 * ARRAY_SIZE(bad); i++) {
		state->action = i % 2 ? ADVICE_INSERT_NEXT : ADVICE_MOVE_NEXT;
		state->from = bad[i / 2][0];
		state->to = bad[i / 2][1];
		state->action_error = 0;
		hear_all(cg, file, NR);
		EXPECT_EQ(state->action_error, -ENOENT);
	}
	EXPECT_EQ(state->nr_moved, 0);
}

/* much more than fits */
#define NR_PRESSED	(24 * MiB_PAGES)

/* As a linker does: what was read is given back at once. */
static int read_and_speak(void *arg)
{
	const struct file *file = arg;
	size_t at, nr = 8;
	int err;

	for (at = 0; at < file->nr_pages; at += nr) {
		err = file_read(file, at, nr);
		if (err)
			return err;
		if (fadvise(file, at * PAGE, nr * PAGE, OWN))
			return 254;
		/* of all of it, while pages come and go */
		if (at % 512 == 0 && fadvise(file, 0, 0, at % 1024 ? OWN : POSIX_FADV_NOREUSE))
			return 253;
	}
	return 0;
}

static void expect_books_under_pressure(__u32 action)
{
	struct file *file = file_new(NULL, "f", NR_PRESSED);
	pid_t pids[3];
	unsigned int i;

	cg = cg_new(NULL, "a");
	REQUIRE_EQ(cg_write(cg, "memory.max", "8M"), 0);
	state = advice_load(cg, &policy);
	state->want_lists = 3;
	state->list_flags[0] = 2;
	state->propose = 3;
	state->answer = state->walk_answer = WALK;
	state->action = action;
	state->from = 1;
	state->to = 2;
	state->nr_max = ~0U;
	for (i = 0; i < ADVICE_MAX_FOLIOS; i++)
		state->keys[i] = i * 7919 % 1000;
	policy_attach_loaded(policy);
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = cg_start(cg, read_and_speak, file);
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(cg_wait(pids[i]), 0);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom_kill"), 0);
	EXPECT(!state->action_error || state->action_error == -ESTALE);
	EXPECT_OP(cg_stat(cg, "evict_reclaimed"), >, 0);
	EXPECT_BOOKS();
}

static void test_pressure(void)
{
	expect_books_under_pressure(ADVICE_INSERT);
}

/* Who moves the next folios holds none of them. */
static void test_pressure_move_next(void)
{
	expect_books_under_pressure(ADVICE_MOVE_NEXT);
	EXPECT_OP(state->nr_moved, >, 0);
}

static void test_pressure_insert_next(void)
{
	expect_books_under_pressure(ADVICE_INSERT_NEXT);
	EXPECT_OP(state->nr_moved, >, 0);
}

static const struct test tests[] = {
	{ "what is said, and the answer",			test_said },
	{ "nobody listens",					test_nobody },
	{ "standard advice is shown, and does what it always did",	test_standard },
	{ "pages of the range, and of no other",		test_range },
	{ "pages of the manager who speaks, and of no other",	test_managers },
	{ "a long walk ends with who asked for it",		test_killed },
	{ "a policy is replaced in the middle",			test_replaced },
	{ "a policy is detached in the middle",			test_detached },
	{ "a cgroup goes in the middle",			test_cgroup_goes },
	{ "a cgroup goes in the middle, with the policy",	test_policy_goes },
	{ "files that are deleted, and numbers used again",	test_deleted },
	{ "the next folios: of the range and the manager",	test_next_of_manager },
	{ "the next folios: from or to no list",		test_next_nowhere },
	{ "memory is short",					test_pressure },
	{ "memory is short, while the next folios move",	test_pressure_move_next },
	{ "memory is short, while they are sorted in",		test_pressure_insert_next },
};

SUBJECT(advice);
