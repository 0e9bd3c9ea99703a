// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy and a program in user space: what it reports through a ring buffer
 * arrives, and what a program that user space runs changes takes effect.
 */
#include "selftest.h"
#include "states.h"

#define NR	200

static unsigned int received[REPORT_KINDS];

static int receive(void *ctx, void *data, size_t size)
{
	const struct report *report = data;

	(void)ctx;
	REQUIRE(size >= sizeof(*report) && report->kind < REPORT_KINDS);
	/* none is missing, and they come in order */
	EXPECT_EQ(report->nr, received[report->kind]);
	received[report->kind]++;
	return 0;
}

static void run(struct policy *p, const char *program)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(p->obj, program);
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	REQUIRE(prog != NULL);
	EXPECT_EQ(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
	EXPECT_EQ(opts.retval, 1);
}

static void test_ring(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);
	struct policy *p = policy_open("reports", NULL, cg);
	struct reports_state *state;
	struct ring_buffer *ring;
	static bool cached[NR];
	size_t i, gone;

	policy_attach(p);
	state = policy_state(p);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(p->obj, "ring"), receive, NULL, NULL);
	REQUIRE(ring != NULL);

	cg_read_file(cg, file, 0, NR);
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(ring_buffer__poll(ring, 1000), 2 * NR);
	EXPECT_EQ(received[REPORT_ADDED], NR);
	EXPECT_EQ(received[REPORT_ACCESSED], NR);

	/* it begins with list 1: pages 0, 2, ... */
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	gone = NR - file_cached(file, cached);
	EXPECT_OP(gone, >=, 32);
	for (i = 0; i < NR; i += 2)
		if (!EXPECT_EQ(cached[i], i / 2 >= gone) || !EXPECT(cached[i + 1]))
			break;

	/* and with the other one as soon as the program has run */
	run(p, "reports_flip");
	EXPECT_EQ(state->flips, 1);
	EXPECT_EQ(state->other_first, 1);
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	file_cached(file, cached);
	EXPECT(!cached[1]);
	EXPECT(!cached[2 * 32 - 1]);
	EXPECT(cached[2 * gone]);

	REQUIRE(!unlink(file->path));
	EXPECT_OP(ring_buffer__poll(ring, 1000), >=, NR);
	EXPECT_EQ(received[REPORT_REMOVED], NR);
	EXPECT_OP(received[REPORT_EVICT], >=, 2);
	for (i = 0; i < REPORT_KINDS; i++)
		EXPECT_EQ(received[i], state->sent[i]);
	EXPECT_EQ(state->lost, 0);
}

static const struct test tests[] = {
	{ "a ring buffer, and a program for user space",	test_ring },
};

SUBJECT(reports);
