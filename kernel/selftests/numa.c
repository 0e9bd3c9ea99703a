// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folios on several NUMA nodes: each node has its part of every list and is
 * reclaimed on its own, and a folio that moves to another node takes with it
 * what its policy knows.  For a machine like that of TEST-31-numa.sh.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "advice.h"

#define NR	((long long)(2 * MiB_PAGES))

/* <numaif.h> belongs to a library that is not needed for more than this */
enum { MPOL_BIND = 2, MPOL_MF_MOVE = 2 };

void need_nodes(void)
{
	if (access("/sys/devices/system/node/node1/meminfo", R_OK))
		skip("this machine has one NUMA node");
}

/* A processor of the node @nid; its zone list begins with that node. */
static void go_to_node(int nid)
{
	char path[128], *list;
	cpu_set_t cpus;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", nid);
	list = read_text(path);
	REQUIRE(list && *list != '\n');
	CPU_ZERO(&cpus);
	CPU_SET(atoi(list), &cpus);
	REQUIRE(!sched_setaffinity(0, sizeof(cpus), &cpus));
}

int bind_to_node(int nid)
{
	unsigned long mask = 1UL << nid;

	return syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8 * sizeof(mask)) ? errno : 0;
}

struct on_node {
	const struct file	*file;
	int			nid;
	bool			sequential;
};

static int do_read(void *arg)
{
	struct on_node *read = arg;
	int err = bind_to_node(read->nid);

	if (err)
		return err;
	return read->sequential ? file_read_sequential(read->file) :
				  file_read(read->file, 0, read->file->nr_pages);
}

/* Read all of @file in @cg; what comes into the cache comes from node @nid. */
static void read_on_node(const char *cg, const struct file *file, int nid, bool sequential)
{
	struct on_node read = { file, nid, sequential };

	REQUIRE_EQ(cg_run(cg, do_read, &read), 0);
}

/* Pages of file memory that @cg has on node @nid, by memory.numa_stat. */
static long long pages_on_node(const char *cg, int nid)
{
	char *line, name[16];

	/* as in cg_key(): it is late otherwise */
	free(cg_read(cg, "cpu.stat"));
	line = flat_key(cg_read(cg, "memory.numa_stat"), "file");
	snprintf(name, sizeof(name), "N%d=", nid);
	line = line ? strstr(line, name) : NULL;
	return line ? strtoll(line + strlen(name), NULL, 10) / (long long)PAGE : -1;
}

static long long cached(const struct file *file)
{
	return file_cached(file, NULL);
}

static void per_node(bool lru_gen)
{
	const char *cg = cg_new(NULL, lru_gen ? "mglru" : "classic");
	struct file *file[2];
	struct bpf_link *link;
	int nid, round;
	long long left;

	for (nid = 0; nid < 2; nid++) {
		char name[16];

		snprintf(name, sizeof(name), "node%d", nid);
		file[nid] = file_new(NULL, name, NR);
	}
	/* half of them before the policy comes: both ways to manage them */
	read_on_node(cg, file[0], 0, false);
	link = policy_start("fifo", cg);
	read_on_node(cg, file[1], 1, false);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 2 * NR);
	EXPECT_EQ(cg_stat(cg, "adopted"), NR);
	EXPECT_EQ(cg_stat(cg, "added"), NR);
	EXPECT(EVENTUALLY(pages_on_node(cg, 0) == NR && pages_on_node(cg, 1) == NR));

	/* each gives its share, wherever the reclaimer runs */
	for (round = 1; round <= 2; round++) {
		left = NR - round * MiB_PAGES / 2;
		go_to_node(round - 1);
		EXPECT_EQ(cg_reclaim(cg, MiB), 0);
		for (nid = 0; nid < 2; nid++) {
			EXPECT_OP(cached(file[nid]), <=, left);
			EXPECT_OP(cached(file[nid]), >, left - 64);
			EXPECT(EVENTUALLY(pages_on_node(cg, nid) == cached(file[nid])));
		}
	}
	EXPECT_EQ(cg_stat(cg, "managed_pages"),
		  cached(file[0]) + cached(file[1]));
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "reject_node"), 0);

	/* more than one node has: the other one helps */
	EXPECT_EQ(cg_reclaim(cg, MiB + MiB / 2), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"),
		  cached(file[0]) + cached(file[1]));
	EXPECT_OP(cg_stat(cg, "managed_pages"), <=, MiB_PAGES / 2);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
	for (nid = 0; nid < 2; nid++) {
		EXPECT_EQ(file_read(file[nid], 0, NR), 0);
		unlink(file[nid]->path);
	}
}

static void test_per_node(void)
{
	need_nodes();
	with_both_lrus(per_node);
}

/* MGLRU scans nothing of less than 4096 pages before others have been tried in vain */
#define NR_AT_LIMIT	((long long)(24 * MiB_PAGES))
#define NR_MORE		((long long)(8 * MiB_PAGES))

/* At a limit of the cgroup both nodes give their part, not only that of the reader. */
static void at_limit(bool lru_gen)
{
	const char *cg = cg_new(NULL, lru_gen ? "limit-mglru" : "limit-classic");
	struct file *file[2], *more = file_new(NULL, "more", NR_MORE);
	struct bpf_link *link = policy_start("fifo", cg);
	char limit[32];
	int nid;

	for (nid = 0; nid < 2; nid++) {
		file[nid] = file_new(NULL, nid ? "far" : "near", NR_AT_LIMIT);
		read_on_node(cg, file[nid], nid, false);
	}
	snprintf(limit, sizeof(limit), "%lld", cg_number(cg, "memory.current"));
	REQUIRE_EQ(cg_write(cg, "memory.max", limit), 0);
	go_to_node(0);
	read_on_node(cg, more, 0, false);
	diag("%s: %lld pages near, %lld far of %lld", cg_name(cg), cached(file[0]), cached(file[1]),
	     NR_AT_LIMIT);
	EXPECT_OP(cached(file[1]), <=, NR_AT_LIMIT - NR_MORE / 4);
	EXPECT_OP(cg_stat(cg, "evict_fallback"), <=, cg_stat(cg, "evict_asked") / 4);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
	for (nid = 0; nid < 2; nid++)
		unlink(file[nid]->path);
	unlink(more->path);
}

static void test_at_limit(void)
{
	need_nodes();
	with_both_lrus(at_limit);
}

/* Move all pages of @file to node @nid; they must be mapped here only. */
static void move_to_node(const struct file *file, int nid)
{
	size_t i, nr = file->nr_pages;
	void **pages = calloc(nr, sizeof(*pages));
	int *nodes = calloc(nr, sizeof(*nodes)), *status = calloc(nr, sizeof(*status));
	volatile unsigned char *map;
	int fd;

	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && pages && nodes && status);
	map = mmap(NULL, nr * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	REQUIRE(map != MAP_FAILED);
	/* or the end of the mapping would be a use of each */
	REQUIRE(!madvise((void *)map, nr * PAGE, MADV_RANDOM));
	for (i = 0; i < nr; i++) {
		(void)map[i * PAGE];
		pages[i] = (void *)&map[i * PAGE];
		nodes[i] = nid;
	}
	/* a page that somebody else happens to hold at the moment stays: again */
	EXPECT(EVENTUALLY(syscall(SYS_move_pages, 0, nr, pages, nodes, status, MPOL_MF_MOVE) == 0));
	/* where they are, since all but the first page of a large folio were "busy" with the first */
	REQUIRE(syscall(SYS_move_pages, 0, nr, pages, NULL, status, 0) == 0);
	for (i = 0; i < nr; i++)
		if (!expect(status[i] == nid, __FILE__, __LINE__, "page %zu: status %d", i,
			    status[i]))
			break;
	munmap((void *)map, nr * PAGE);
	close(fd);
	free(pages);
	free(nodes);
	free(status);
}

static void moved(const char *dir, bool sequential)
{
	const char *cg = cg_new(NULL, sequential ? "large" : "small");
	struct file *file = file_new(dir, cg_name(cg), NR);
	struct policy *p = policy_open("events", NULL, cg);
	struct bpf_link *link = policy_attach(p);
	struct events_state *state = policy_state(p);
	long long folios, hits;

	read_on_node(cg, file, 0, sequential);
	folios = cg_stat(cg, "managed_folios");
	EXPECT(EVENTUALLY(pages_on_node(cg, 0) == NR));
	if (!sequential)
		EXPECT_EQ(folios, NR);
	else if (folios == NR)
		diag("%s does not use large folios", file->path);

	move_to_node(file, 1);
	EXPECT(EVENTUALLY(pages_on_node(cg, 1) == NR && pages_on_node(cg, 0) == 0));
	EXPECT_EQ(cg_stat(cg, "managed_folios"), folios);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	EXPECT_EQ(cg_stat(cg, "removed_migrate"), 0);
	EXPECT_EQ(state->nr_added, folios);

	/* the kernel counts on from where it was */
	hits = cg_stat(cg, "hits");
	state->accesses_seen = 0;
	cg_read_file(cg, file, 0, 1);
	EXPECT_EQ(cg_stat(cg, "hits"), hits + 1);
	EXPECT_OP(state->accesses_seen, >=, 2);

	/* and back: each node has to have let go of them */
	move_to_node(file, 0);
	EXPECT(EVENTUALLY(pages_on_node(cg, 0) == NR));
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	EXPECT_EQ(state->nr_added, folios);

	go_to_node(0);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), cached(file));
	EXPECT_OP(cached(file), <=, NR - MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(file_read(file, 0, NR), 0);

	/* every folio's 16 bytes are as they were left, wherever they went */
	unlink(file->path);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 0);
	EXPECT_EQ(state->damaged, 0);
	EXPECT_OP(state->intact, >=, folios);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_moved(void)
{
	need_nodes();
	moved(NULL, false);
}

static void test_moved_large(void)
{
	need_nodes();
	moved(xfs_dir(), true);
}

/* A folio has its key and its list wherever it lies, and a request says which node it is for. */
static void test_key(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);
	struct policy *p = policy_open("keys", NULL, cg);
	struct keys_state *state;
	long long i;

	need_nodes();
	policy_attach(p);
	state = policy_state(p);
	read_on_node(cg, file, 0, false);
	REQUIRE_EQ(state->nr_added, NR);
	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	EXPECT_EQ(state->nodes, 1);

	cg_read_file(cg, file, 0, NR);
	state->nodes = 0;
	move_to_node(file, 1);
	cg_read_file(cg, file, 0, NR);
	for (i = 0; i < NR; i++) {
		if (state->removed[i])
			continue;
		if (!EXPECT(state->accessed[i] == state->added[i]) ||
		    !EXPECT_EQ(state->list_accessed[i], 1 + i % KEYS_NR_LISTS))
			break;
	}
	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	EXPECT_EQ(state->nodes, 2);
}

/* A process that moves, with its memory, as numactl or a change of its cpuset does it. */
static void test_migrate_pages(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);
	unsigned long from = 1, to = 2;
	volatile unsigned char *map;
	size_t i;
	int fd;

	need_nodes();
	policy_start("lfu", cg);
	read_on_node(cg, file, 0, false);
	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	map = mmap(NULL, NR * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	REQUIRE(map != MAP_FAILED);
	for (i = 0; i < NR; i++)
		(void)map[i * PAGE];
	REQUIRE(syscall(SYS_migrate_pages, 0, 8 * sizeof(from), &from, &to) >= 0);
	EXPECT(EVENTUALLY(pages_on_node(cg, 1) > NR * 9 / 10));
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	EXPECT_EQ(cg_stat(cg, "removed_migrate"), 0);
	munmap((void *)map, NR * PAGE);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), cached(file));
	EXPECT_EQ(file_read(file, 0, NR), 0);
}

/* On the LRU of files, and no file's. */
static int move_lazily_freed(void *arg)
{
	static void *pages[MiB_PAGES];
	static int nodes[MiB_PAGES], status[MiB_PAGES];
	const unsigned long mask = 1;
	size_t i;
	char *map;

	map = mmap(NULL, MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8 * sizeof(mask)))
		return 1;
	for (i = 0; i < MiB_PAGES; i++) {
		map[i * PAGE] = 1;
		pages[i] = &map[i * PAGE];
		nodes[i] = 1;
	}
	if (madvise(map, MiB, MADV_FREE) ||
	    !EVENTUALLY(syscall(SYS_move_pages, 0, MiB_PAGES, pages, nodes, status,
				MPOL_MF_MOVE) == 0))
		return 2;
	for (i = 0; i < MiB_PAGES; i++)
		if (status[i] != 1)
			return 3;
	return 0;
}

static void test_lazily_freed(void)
{
	const char *cg = cg_new(NULL, "a");

	need_nodes();
	policy_start("fifo", cg);
	EXPECT_EQ(cg_run(cg, move_lazily_freed, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT_EQ(cg_stat(cg, "adopted"), 0);
}

/* In the dump @d are the folios @first and on, @nr of them, with the stamps that they had. */
static void expect_dumped(const struct advice_state *state, int d, long long first, long long nr)
{
	long long i;

	EXPECT_EQ(state->nr_dumped[d], nr);
	for (i = 0; i < nr; i++)
		if (!EXPECT_EQ(state->dumps[d][i].key, first + i) ||
		    !EXPECT_EQ(state->dumps[d][i].stamp, state->added[first + i].stamp))
			break;
}

/* Stamps say what was used before what on all nodes, and stay with folios that move. */
static void test_stamps(void)
{
	const char *cg = cg_new(NULL, "a");
	struct advice_state *state;
	struct file *file[3];
	struct policy *p;
	long long i;

	need_nodes();
	state = advice_load(cg, &p);
	state->want_lists = 1;
	/* new ones at the tail, used ones as well, stamped */
	state->list_flags[0] = 2 | 8 | 16;
	state->number_as_key = true;
	policy_attach_loaded(p);
	for (i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%lld", i);
		file[i] = file_new(NULL, name, NR);
		read_on_node(cg, file[i], i % 2, false);
	}
	REQUIRE_EQ(state->nr_added, 3 * NR);
	for (i = 1; i < 3 * NR; i++)
		if (!EXPECT(state->added[i - 1].stamp < state->added[i].stamp))
			break;

	/* to between two others, the newer ones first */
	move_to_node(file[2], 1);
	move_to_node(file[0], 1);
	EXPECT(EVENTUALLY(pages_on_node(cg, 1) == 3 * NR));
	state->dump[0] = 1;
	state->armed = 1;
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	REQUIRE_EQ(state->armed, 0);
	expect_dumped(state, 0, 0, 3 * NR);
}

static int read_in_turn(void *arg)
{
	struct file **file = arg;
	long long i;
	int err = 0;

	for (i = 0; i < NR && !err; i++)
		err = file_read(file[i % 2], i / 2, 1);
	return err;
}

/* Uses that were noted one after the other are of folios on several nodes. */
static void test_uses(void)
{
	const char *cg = cg_new(NULL, "a");
	struct advice_state *state;
	struct file *file[2];
	struct policy *p;
	long long i;

	need_nodes();
	state = advice_load(cg, &p);
	state->want_lists = 1;
	/* new ones at the tail, used ones as well */
	state->list_flags[0] = 2 | 8;
	state->number_as_key = true;
	policy_attach_loaded(p);
	file[0] = file_new(NULL, "f0", NR);
	file[1] = file_new(NULL, "f1", NR);
	read_on_node(cg, file[0], 0, false);
	read_on_node(cg, file[1], 1, false);
	REQUIRE_EQ(state->nr_added, 2 * NR);

	go_to_node(0);
	EXPECT_EQ(cg_run(cg, read_in_turn, file), 0);
	EXPECT_EQ(cg_stat(cg, "hits"), NR);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 2 * NR);
	EXPECT_BOOKS();
	/* the used half of the first node's is behind the other one */
	state->dump[0] = 1;
	state->armed = 1;
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	REQUIRE_EQ(state->armed, 0);
	EXPECT_EQ(state->nr_dumped[0], NR);
	for (i = 0; i < NR; i++)
		if (!EXPECT_EQ(state->dumps[0][i].key, (i + NR / 2) % NR))
			break;
}

static const struct test tests[] = {
	{ "each node is managed and reclaimed on its own",	test_per_node },
	{ "each node gives its part at a limit",		test_at_limit },
	{ "a moved folio keeps what is known of it",		test_moved },
	{ "so does a large one",				test_moved_large },
	{ "its key as well, and requests name a node",		test_key },
	{ "a process moves with its pages",			test_migrate_pages },
	{ "so does lazily freed memory, which is no file's",	test_lazily_freed },
	{ "stamps are the same on all nodes",			test_stamps },
	{ "uses of folios on all nodes in turn",		test_uses },
};

SUBJECT(numa);
