// SPDX-License-Identifier: GPL-2.0-only
/* What an administrator can watch: tracepoints, times, the kernel's self-check, and delays for tests. */
#include <sys/stat.h>
#include <time.h>

#include "selftest.h"
#include "states.h"
#include "tracing.h"

/* Of the trace, the lines of @event with @what in it. */
static int count(const char *event, const char *what)
{
	char *line, *rest, *text = read_text(TRACING "/trace"), *name;
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
	char *at = read_text(TRACING "/trace");

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

static void test_tracepoints(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	struct policy *mru = policy_open_installed("mru", cg);
	char *fifo_id, *mru_id, *text;
	struct bpf_link *link;

	tracing_start("cachebpf");
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
	tracing_stop();
}

static void test_eject_event(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 40 * MiB_PAGES);
	struct policy *p = policy_open("watchdog", "lazy", cg);
	struct bpf_link *link;

	tracing_start("cachebpf/cachebpf_eject");
	link = policy_attach(p);
	((struct watchdog_state *)policy_state(p))->one_in = ~0U;
	REQUIRE_EQ(cg_write(cg, "memory.max", "8388608"), 0);
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT(EVENTUALLY(link_hung_up(link)));
	EXPECT_EQ(count("eject", "policy=lazy"), 1);
	EXPECT_EQ(count("eject", "reason=\"useless: it chose 0 of the last "), 1);
	tracing_stop();
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

/* Lines of the trace that say @what; there can be many. */
static long long nr_lines(const char *what)
{
	FILE *trace = fopen(TRACING "/trace", "re");
	char *line = NULL;
	long long nr = 0;
	size_t size = 0;

	REQUIRE(trace != NULL);
	while (getline(&line, &size, trace) > 0)
		nr += strstr(line, what) != NULL;
	fclose(trace);
	return nr;
}

/* A folio whose frame has an entry, since a neighbour has one, needs no memory for it. */
static void test_blocks(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_hole("f", 4 * MiB_PAGES);
	long long nr;

	tracing_start("kmem/kmem_cache_alloc");
	policy_start("fifo", cg);
	EXPECT_EQ(cg_run(cg, file_read_through, file), 0);
	nr = nr_lines("cachebpf_block_new");
	tracing_stop();
	diag("%lld blocks were made for %lld folios", nr, cg_stat(cg, "added"));
	EXPECT_EQ(cg_stat(cg, "added"), file->nr_pages);
	/* of four entries each: mostly a reader gets frames that lie side by side */
	EXPECT_OP(nr, >=, cg_stat(cg, "added") / 4);
	EXPECT_OP(nr, <=, cg_stat(cg, "added") * 3 / 4);
}

#define DELAY		"/sys/kernel/debug/cachebpf/delay/"
#define NR_DELAYED	128
/* half of it is what each lasts on average */
#define MAX_DELAY_US	2000

static int set_delay(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), DELAY "%s", file);
	return write_text(path, text);
}

static long long nr_passed(const char *moment)
{
	return cg_key(DELAY, "passed", moment);
}

/* Microseconds that it takes to read @file. */
static long long us_to_read(const char *cg, const struct file *file)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	cg_read_file(cg, file, 0, file->nr_pages);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000000LL + (end.tv_nsec - begin.tv_nsec) / 1000;
}

/* What the storm and random programs rely on: there are delays when they are asked for, and only then. */
static void test_delays(void)
{
	static const struct {
		const char *path;
		unsigned int mode;
	} files[] = {
		{ DELAY "one_in", 0600 }, { DELAY "max_us", 0600 }, { DELAY "moments", 0600 },
		{ DELAY "seed", 0600 }, { DELAY "passed", 0400 },
	};
	const char *cg = cg_new(NULL, "a");
	struct file *file[3];
	long long before, published, retired, us;
	char *max_us, *moments;
	struct stat st;
	size_t i;

	if (access(DELAY, F_OK))
		skip("this kernel has no delays: it lacks CONFIG_CACHEBPF_CHECK");
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		REQUIRE(!stat(files[i].path, &st));
		EXPECT_EQ(st.st_mode & 07777, files[i].mode);
	}
	for (i = 0; i < 3; i++)
		file[i] = file_new(NULL, (char[]){ 'a' + i, 0 }, NR_DELAYED);
	max_us = read_text(DELAY "max_us");
	moments = read_text(DELAY "moments");
	EXPECT_STR(read_text(DELAY "one_in"), "0\n");
	policy_start("fifo", cg);
	before = nr_passed("publish");
	cg_read_file(cg, file[0], 0, NR_DELAYED);
	EXPECT_EQ(nr_passed("publish"), before);

	/* the first of the moments: an entry is about to have an owner */
	EXPECT_EQ(set_delay("moments", "1"), 0);
	EXPECT_EQ(set_delay("max_us", "2000"), 0);
	EXPECT_EQ(set_delay("seed", "4711"), 0);
	EXPECT_EQ(set_delay("one_in", "4294967296"), -ERANGE);
	retired = nr_passed("retire");
	EXPECT_EQ(set_delay("one_in", "1"), 0);
	EXPECT_STR(read_text(DELAY "one_in"), "1\n");
	EXPECT_STR(read_text(DELAY "seed"), "4711\n");
	us = us_to_read(cg, file[1]);
	published = nr_passed("publish") - before;
	EXPECT_EQ(set_delay("one_in", "0"), 0);
	EXPECT_EQ(set_delay("seed", "0"), 0);
	EXPECT_EQ(set_delay("max_us", max_us), 0);
	EXPECT_EQ(set_delay("moments", moments), 0);
	diag("%lld moments passed, %d pages read in %lld us", published, NR_DELAYED, us);
	EXPECT_OP(published, >=, NR_DELAYED);
	EXPECT_OP(us, >=, NR_DELAYED * MAX_DELAY_US / 4);
	EXPECT_EQ(nr_passed("retire"), retired);

	before = nr_passed("publish");
	cg_read_file(cg, file[2], 0, NR_DELAYED);
	EXPECT_EQ(nr_passed("publish"), before);
}

static const struct test tests[] = {
	{ "tracepoints of a policy's life and of rounds",	test_tracepoints },
	{ "a tracepoint of ejection",				test_eject_event, .ejects = true },
	{ "the time that a policy takes",			test_time },
	{ "the kernel's self-check sees everything",		test_self_check },
	{ "memory for entries is asked for once a block",	test_blocks },
	{ "random delays where they are asked for",		test_delays },
};

SUBJECT(trace);
