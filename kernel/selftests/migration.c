// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folios that move in a cgroup that is at its limit: their new entries are no
 * reason to lose them.
 */
#include "selftest.h"

#define NR		(64 * MiB_PAGES)
#define LIMIT		"67108864"
/* of those that moved, how many may be lost to the policy, in per cent */
#define MOST_LOST	1

static long long nr_migrated(void)
{
	return cg_key("/proc", "vmstat", "pgmigrate_success");
}

/*
 * Fill @cg, page by page or in longer pieces, beside somebody whose pages are
 * gone afterwards, and have its folios moved into the holes.
 */
static void compact(const char *policy, size_t piece)
{
	char *name;
	const char *cg;
	struct file *file = file_hole("f", 2 * NR), *filler = file_hole("filler", NR);
	long long before, moved, lost, managed, cached;
	struct page_reader *reader;
	size_t i;

	REQUIRE(asprintf(&name, "%s-%zu", policy, piece) > 0);
	cg = cg_new(NULL, name);
	REQUIRE_EQ(cg_write(cg, "memory.max", LIMIT), 0);
	policy_start(policy, cg);
	/* what is freed shall not hide in per-CPU lists, where compaction does not look */
	REQUIRE(!write_text(HIGH_FRACTION, "100000"));
	/* first to the limit, so that nothing is left of it */
	reader = page_reader_start(cg, file, false);
	REQUIRE(page_reader_next(reader, NR));
	for (i = 0; i < NR; i += piece) {
		REQUIRE(page_reader_next(reader, piece));
		REQUIRE_EQ(file_read_ahead(filler, i, piece), 0);
	}
	file_forget(filler);

	cached = file_cached(file, NULL);
	managed = cg_stat(cg, "managed_pages");
	before = nr_migrated();
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	REQUIRE(!write_text(HIGH_FRACTION, "0"));
	moved = nr_migrated() - before;
	lost = cg_stat(cg, "removed_migrate");
	diag("%s: limit %lld, current %lld: %lld cached, %lld managed; %lld moved, of whomever: %lld lost, %lld unmanaged; %lld cached, %lld managed",
	     name, cg_number(cg, "memory.max") / (long long)PAGE,
	     cg_number(cg, "memory.current") / (long long)PAGE, cached, managed, moved, lost,
	     cg_stat(cg, "unmanaged"), (long long)file_cached(file, NULL),
	     cg_stat(cg, "managed_pages"));
	EXPECT_OP(moved, >, (long long)NR / 20);
	EXPECT_OP(lost * 100, <=, moved * MOST_LOST);
	EXPECT_EQ(cg_stat(cg, "managed_pages") + lost, managed);
	EXPECT_BOOKS();
	unlink(file->path);
	unlink(filler->path);
}

static void test_compaction(void)
{
	compact("fifo", 1);
	compact("fifo", 16);
}

static const struct test tests[] = {
	{ "compaction of what is at its limit",		test_compaction },
};

SUBJECT(migration);
