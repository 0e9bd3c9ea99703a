// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies come to, change in and leave a cgroup that has much cached: nothing
 * is lost, it does not take long, and, once more with a reader, nobody who
 * uses the cache meanwhile waits for long.
 *
 * The environment variable CACHEBPF_TEST_BARS makes it 1 GiB, and "enforce"
 * makes the times a matter of passing: for a machine whose clock counts
 * instructions (TEST-33-live.sh).
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "selftest.h"

#define ROUNDS		3
/* adopting makes entries, which takes most of it */
#define MAX_MS		125
#define MAX_STALL_MS	10

enum phase { IDLE, ATTACH, UPDATE, DETACH, NR_PHASES };

static const char *const phase_names[] = { "nothing", "attach", "update", "detach" };

/* what the reader tells */
struct reader {
	size_t			nr_pages;
	int			fd;
	bool			running;
	volatile enum phase	phase;
	volatile bool		stop;
	volatile uint64_t	reads;
	volatile uint64_t	longest_ns[NR_PHASES];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int reader(void *arg)
{
	struct reader *r = arg;
	uint64_t before = now_ns(), after;
	unsigned int random = 1;
	char page[PAGE];

	for (; !r->stop; before = after) {
		enum phase phase = r->phase;

		random = random * 1103515245 + 12345;
		if (pread(r->fd, page, PAGE, (random >> 4) % r->nr_pages * PAGE) != PAGE)
			return errno ?: EIO;
		after = now_ns();
		/* what began in one phase and ended in another belongs to both */
		if (after - before > r->longest_ns[phase])
			r->longest_ns[phase] = after - before;
		if (after - before > r->longest_ns[r->phase])
			r->longest_ns[r->phase] = after - before;
		r->reads++;
	}
	return 0;
}

/* Let the reader come by at least twice, so that all it waited for is known. */
static void begin(struct reader *r, enum phase phase)
{
	uint64_t reads = r->reads;

	r->phase = phase;
	REQUIRE(!r->running || EVENTUALLY(r->reads > reads + 1));
}

static uint64_t took[NR_PHASES];

/* While somebody reads, it is the reader's time that counts. */
static void note_time(struct reader *r, enum phase phase, uint64_t began)
{
	uint64_t ns = now_ns() - began;

	if (!r->running && ns > took[phase])
		took[phase] = ns;
}

static void one_round(struct reader *r, const char *cg, const struct file *file)
{
	long long pages = file->nr_pages, in_stat = cg_key(cg, "memory.stat", "file"), folios;
	struct policy *first = policy_open_installed("fifo", cg);
	struct policy *second = policy_open_installed("lfu", cg);
	struct bpf_link *link;
	uint64_t began;

	REQUIRE_EQ(policy_load(first), 0);
	REQUIRE_EQ(policy_load(second), 0);

	begin(r, ATTACH);
	began = now_ns();
	link = policy_attach_loaded(first);
	note_time(r, ATTACH, began);
	begin(r, IDLE);
	folios = cg_stat(cg, "managed_folios");
	EXPECT_EQ(cg_stat(cg, "managed_pages"), pages);
	EXPECT_EQ(file_cached(file, NULL), pages);

	begin(r, UPDATE);
	began = now_ns();
	EXPECT_EQ(bpf_link__update_map(link, second->map), 0);
	note_time(r, UPDATE, began);
	begin(r, IDLE);
	EXPECT_STR(cg_policy(cg, "policy"), "lfu");
	EXPECT_EQ(cg_stat(cg, "managed_folios"), folios);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), pages);

	begin(r, DETACH);
	began = now_ns();
	EXPECT_EQ(bpf_link__detach(link), 0);
	note_time(r, DETACH, began);
	begin(r, IDLE);
	EXPECT_STR(cg_policy(cg, "policy"), "none");
	EXPECT_EQ(file_cached(file, NULL), pages);
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") == in_stat));
	EXPECT_EQ(cg_key(cg, "memory.stat", "pgsteal"), 0);
	bpf_link__destroy(link);
}

static void test_live(void)
{
	const char *bars = getenv("CACHEBPF_TEST_BARS"), *cg = cg_new(NULL, "a");
	struct file *file = file_hole("f", (bars ? 1024 : 64) * MiB_PAGES);
	struct reader *r;
	int phase, i;
	pid_t pid;

	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(r != MAP_FAILED);
	r->nr_pages = file->nr_pages;
	r->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(r->fd >= 0);
	REQUIRE_EQ(cg_run(cg, file_read_through, file), 0);
	EXPECT_EQ(file_cached(file, NULL), file->nr_pages);

	for (i = 0; i < ROUNDS; i++)
		one_round(r, cg, file);
	pid = cg_start(cg, reader, r);
	r->running = true;
	begin(r, IDLE);
	sleep(1);
	for (i = 0; i < ROUNDS; i++)
		one_round(r, cg, file);
	r->stop = true;
	EXPECT_EQ(cg_wait(pid), 0);

	for (phase = 0; phase < NR_PHASES; phase++) {
		double ms = took[phase] / 1e6, stall_ms = r->longest_ns[phase] / 1e6;

		diag("%s with %zu MiB cached: %.2f ms; the reader waited %.2f ms at most",
		     phase_names[phase], file->nr_pages / MiB_PAGES, ms, stall_ms);
		if (!bars || strcmp(bars, "enforce"))
			continue;
		expect(ms < MAX_MS, __FILE__, __LINE__, "%s took %.2f ms", phase_names[phase], ms);
		expect(stall_ms < MAX_STALL_MS, __FILE__, __LINE__,
		       "%s: the reader waited %.2f ms", phase_names[phase], stall_ms);
	}
	diag("%llu reads", (unsigned long long)r->reads);
}

static const struct test tests[] = {
	{ "policies come, change and go under load",		test_live,	.spread = true },
};

SUBJECT(live);
