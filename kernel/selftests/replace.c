// SPDX-License-Identifier: GPL-2.0-only
/*
 * File systems that replace a folio in the page cache by another one, which
 * may be charged to another cgroup: then it is that one's policy's to manage.
 */
#include <fcntl.h>

#include "admission.h"
#include "fuse.h"

#define NR	256

static struct events_state *start_events(const char *where)
{
	struct policy *p = policy_open("events", NULL, where);

	policy_attach(p);
	return policy_state(p);
}

/* Have @reader read a file of the server's that comes with pages of @owner's. */
static struct file *move_pages(const char *reader, const char *owner)
{
	struct file *source = file_new(NULL, "source", NR), *file = fuse_mount(source, STOLEN);

	/* without an open file, and its dentry, FUSE forgets the inode and what is cached of it */
	REQUIRE(open(file->path, O_RDONLY | O_CLOEXEC) >= 0);
	cg_read_file(owner, source, 0, NR);
	REQUIRE_EQ(cg_run(reader, read_sequential, file), 0);
	/* it was done: nothing is cached of the one, everything of the other */
	EXPECT_EQ(file_cached(source, NULL), 0);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT(EVENTUALLY(cg_key(owner, "memory.stat", "file") == NR * (long long)PAGE));
	EXPECT(EVENTUALLY(cg_key(reader, "memory.stat", "file") == 0));
	return file;
}

static void test_two_policies(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct events_state *of_a = start_events(a), *of_b = start_events(b);
	struct file *file = move_pages(a, b);
	static bool cached[NR];
	size_t i, first;

	/* a's folios were added for the read, and ended when others took their places */
	EXPECT_EQ(cg_stat(a, "added"), NR);
	EXPECT_EQ(of_a->removed[MIGRATE], NR);
	EXPECT_EQ(of_a->intact, NR);
	EXPECT_EQ(cg_stat(a, "managed_folios"), 0);
	/* b's left one file for the other */
	EXPECT_EQ(cg_stat(b, "added"), NR);
	EXPECT_EQ(of_b->removed[INVALIDATE], NR);
	EXPECT_EQ(of_b->intact, NR);
	EXPECT_EQ(cg_stat(b, "adopted"), NR);
	EXPECT_EQ(cg_stat(b, "managed_folios"), NR);
	EXPECT_EQ(cg_stat(a, "unmanaged") + cg_stat(b, "unmanaged"), 0);
	EXPECT_BOOKS();

	/* whoever reads: b is told, and b alone reclaims */
	of_b->accessed = 0;
	cg_read_file(a, file, 0, NR);
	EXPECT_EQ(of_b->accessed, NR);
	cg_reclaim(a, MiB);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(cg_reclaim(b, NR / 4 * PAGE), 0);
	EXPECT_OP(file_cached(file, cached), <=, NR - NR / 4);
	EXPECT_EQ(of_b->removed[RECLAIM], NR - file_cached(file, NULL));
	EXPECT_EQ(cg_stat(b, "evict_fallback"), 0);
	for (first = 0; first < NR && !cached[first]; first++)
		;
	for (i = first; i < NR; i++)
		if (!expect(cached[i], __FILE__, __LINE__, "page %zu went before page %zu", i,
			    first))
			break;
	EXPECT_EQ(of_a->damaged + of_b->damaged, 0);
}

static void test_reader_without(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct events_state *of_b = start_events(b);
	struct file *file = move_pages(a, b);

	EXPECT_EQ(of_b->removed[INVALIDATE], NR);
	EXPECT_EQ(cg_stat(b, "managed_pages"), NR);
	EXPECT_BOOKS();
	EXPECT_EQ(cg_reclaim(b, MiB), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(of_b->removed[RECLAIM], NR);
}

static void test_owner_without(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct events_state *of_a = start_events(a);
	struct file *file = move_pages(a, b);

	EXPECT_EQ(of_a->removed[MIGRATE], NR);
	EXPECT_EQ(of_a->intact, NR);
	EXPECT_EQ(cg_stat(a, "managed_pages"), 0);
	EXPECT_BOOKS();
	cg_reclaim(a, MiB);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(file_read(file, 0, NR), 0);
}

/* Pages that come from the same cgroup, or from nowhere, take the places of the others. */
static void same_cgroup(enum fuse_pages pages)
{
	struct file *source = file_new(NULL, "source", NR), *file = fuse_mount(source, pages);
	struct events_state *events;

	cg = cg_new(NULL, "a");
	/* what is not stolen stays where it is, and is the server's */
	if (pages == STOLEN)
		events = start_events(cg);
	cg_read_file(pages == STOLEN ? cg : cg_new(NULL, "b"), source, 0, NR);
	if (pages != STOLEN)
		events = start_events(cg);
	REQUIRE_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(file_cached(source, NULL), pages == STOLEN ? 0 : NR);
	EXPECT_EQ(events->removed[INVALIDATE], pages == STOLEN ? NR : 0);
	EXPECT_EQ(events->removed[MIGRATE], 0);
	EXPECT_EQ(events->nr_added, pages == STOLEN ? 2 * NR : NR);
	EXPECT_EQ(cg_stat(cg, "adopted"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), NR);
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") == NR * (long long)PAGE));
	EXPECT_BOOKS();
	EXPECT_EQ(cg_reclaim(cg, NR * PAGE), 0);
	EXPECT_EQ(events->removed[RECLAIM], NR);
	EXPECT_EQ(events->damaged, 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
}

static void test_same_cgroup(void)
{
	same_cgroup(STOLEN);
}

static void test_fresh(void)
{
	same_cgroup(FRESH);
}

/* A policy that rejects what it brings in has no say about what takes its place. */
static void test_rejected(void)
{
	const char *a, *b = cg_new(NULL, "b");
	struct events_state *of_b = start_events(b);
	struct file *file;

	set_up("admission", "a", ADMIT_NONE);
	a = cg;
	file = move_pages(a, b);
	EXPECT_EQ(cg_stat(a, "admit_rejected"), NR);
	EXPECT_EQ(cg_stat(a, "rejected_pages"), 0);
	EXPECT_EQ(cg_stat(b, "managed_pages"), NR);
	EXPECT_EQ(file_read(file, 0, NR), 0);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(of_b->damaged, 0);
	check_books();
}

static const struct test tests[] = {
	{ "by a folio of a cgroup with another policy",		test_two_policies },
	{ "of a cgroup without policy",				test_reader_without },
	{ "by a folio of a cgroup without policy",			test_owner_without },
	{ "by a folio of the same cgroup",			test_same_cgroup },
	{ "by a new folio",					test_fresh },
	{ "of a policy that rejects",				test_rejected },
};

SUBJECT(replace);
