// SPDX-License-Identifier: GPL-2.0-only
/* What an administrator can watch: tracepoints, times, the kernel's self-check. */
#include <sys/stat.h>

#include "selftest.h"
#include "states.h"

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/cachebpf-selftest"

/* Of the trace, the lines of @event with @what in it. */
static int count(const char *event, const char *what)
{
	char *line, *rest, *text = read_text(INSTANCE "/trace"), *name;
	int nr = 0;

	REQUIRE(text && asprintf(&name, " cachebpf_%s: ", event) > 0);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		nr += strstr(line, name) && strstr(line, what);
	return nr;
}

/* fifo finds what it is asked for, and all of that can be reclaimed. */
static void expect_rounds(void)
{
	unsigned long long asked, proposed, isolated, reclaimed, ns;
	char *at = read_text(INSTANCE "/trace");

	for (at = strstr(at, " asked="); at; at = strstr(at + 1, " asked=")) {
		REQUIRE_EQ(sscanf(at, " asked=%llu proposed=%llu isolated=%llu reclaimed=%llu ns=%llu",
				  &asked, &proposed, &isolated, &reclaimed, &ns), 5);
		EXPECT_OP(asked, >, 0);
		EXPECT_EQ(proposed, asked);
		EXPECT_EQ(isolated, asked);
		EXPECT_EQ(reclaimed, asked);
		EXPECT_OP(ns, >, 0);
	}
}

static void start_tracing(const char *events)
{
	char *path;

	rmdir(INSTANCE);
	REQUIRE(mkdir(INSTANCE, 0755) == 0);
	REQUIRE_EQ(write_text(INSTANCE "/buffer_size_kb", "4096"), 0);
	REQUIRE(asprintf(&path, INSTANCE "/events/%s/enable", events) > 0);
	REQUIRE_EQ(write_text(path, "1"), 0);
}

static void test_tracepoints(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	struct policy *mru = policy_open_installed("mru", cg);
	char *fifo_id, *mru_id, *text;
	struct bpf_link *link;

	start_tracing("cachebpf");
	REQUIRE_EQ(policy_load(mru), 0);
	link = policy_start("fifo", cg);
	REQUIRE(asprintf(&fifo_id, "id=%s cgroup=%llu", cg_policy(cg, "id"),
			 (unsigned long long)cg_id(cg)) > 0);
	REQUIRE(asprintf(&text, "policy=fifo %s", fifo_id) > 0);
	EXPECT_EQ(count("attach", text), 1);

	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(count("evict", ""), 0);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_OP(count("evict", fifo_id), >, 0);
	expect_rounds();

	REQUIRE_EQ(bpf_link__update_map(link, mru->map), 0);
	REQUIRE(asprintf(&mru_id, "policy=mru id=%s cgroup=%llu", cg_policy(cg, "id"),
			 (unsigned long long)cg_id(cg)) > 0);
	EXPECT_EQ(count("update", mru_id), 1);
	EXPECT_EQ(count("detach", ""), 0);
	REQUIRE_EQ(bpf_link__detach(link), 0);
	EXPECT_EQ(count("detach", mru_id), 1);
	EXPECT_EQ(count("eject", ""), 0);
	rmdir(INSTANCE);
}

static void test_eject_event(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 40 * MiB_PAGES);
	struct policy *p = policy_open("watchdog", "lazy", cg);
	struct bpf_link *link;

	start_tracing("cachebpf/cachebpf_eject");
	link = policy_attach(p);
	((struct watchdog_state *)policy_state(p))->one_in = ~0U;
	REQUIRE_EQ(cg_write(cg, "memory.max", "8388608"), 0);
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT(EVENTUALLY(link_hung_up(link)));
	EXPECT_EQ(count("eject", "policy=lazy"), 1);
	EXPECT_EQ(count("eject", "reason=\"useless: it chose 0 of the last "), 1);
	rmdir(INSTANCE);
}

static void test_time(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	long long most;

	policy_start("fifo", cg);
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "evict_ns"), 0);
	EXPECT_EQ(cg_stat(cg, "evict_ns_max"), 0);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	most = cg_stat(cg, "evict_ns_max");
	EXPECT_OP(most, >, 0);
	EXPECT_OP(cg_stat(cg, "evict_ns"), >=, most);
	EXPECT_OP(cg_stat(cg, "evict_ns"), <=, most * cg_stat(cg, "evict_calls"));
}

static void test_self_check(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b"), *c = cg_new(NULL, "c");
	struct file *fa = file_new(NULL, "a", 300), *fb = file_new(NULL, "b", 200);
	struct file *fc = file_new(NULL, "c", 100);
	struct bpf_link *link = policy_start("fifo", a);

	REQUIRE(books_number("policies") >= 1);
	policy_start("lfu", b);
	cg_read_file(a, fa, 0, fa->nr_pages);
	cg_read_file(b, fb, 0, fb->nr_pages);
	cg_read_file(c, fc, 0, fc->nr_pages);
	EXPECT_BOOKS();
	EXPECT_EQ(books_number("policies"), 2);
	/* one each, and one each for folios that are on none */
	EXPECT_EQ(books_number("lists"), 4);
	EXPECT_EQ(books_number("entries"), 500);
	EXPECT_EQ(books_number("folios"), 500);
	EXPECT_EQ(books_number("unmanaged"), 0);
	EXPECT_EQ(books_number("busy"), 0);
	REQUIRE_EQ(bpf_link__detach(link), 0);
	EXPECT_BOOKS();
	EXPECT_EQ(books_number("policies"), 1);
	EXPECT_EQ(books_number("entries"), 200);
}

static const struct test tests[] = {
	{ "tracepoints of a policy's life and of rounds",	test_tracepoints },
	{ "a tracepoint of ejection",				test_eject_event, .ejects = true },
	{ "the time that a policy takes",			test_time },
	{ "the kernel's self-check sees everything",		test_self_check },
};

SUBJECT(trace);
