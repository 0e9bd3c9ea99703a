// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anon memory beside a policy: the policy has the file folios, and they alone;
 * anon memory is swapped, or lazily freed, as if there were no policy.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "selftest.h"

#define NR_FILE		(6 * MiB_PAGES)
#define NR_ANON		(8 * MiB_PAGES)
/* too little for both: 6 MiB */
#define LIMIT		"6291456"

/*
 * The disk is a fast one: a cgroup of which all is on its way to a slow one
 * runs out of memory.
 */
static void swap_on(void)
{
	disk_swap_on(disk_new("swap", 64, 0));
}

/* A process with anon memory. */
struct owner {
	size_t	nr_pages;
	/* some of it is marked as free */
	size_t	nr_lazy;
	/* it goes through it time and again, until it is told to stop */
	bool	busy;
	int	ready[2];
	int	stop[2];
	pid_t	pid;
};

static uint64_t word_of(size_t page)
{
	return 0x5eed000000000000 + page;
}

static bool right(const volatile uint64_t *memory, const struct owner *o)
{
	size_t i;
	uint64_t word;

	for (i = 0; i < o->nr_pages; i++) {
		word = memory[i * PAGE / sizeof(*memory)];
		/* what is marked may be as it was, or empty */
		if (word != word_of(i) && !(i < o->nr_lazy && !word))
			return false;
	}
	return true;
}

static int own_memory(void *arg)
{
	struct owner *o = arg;
	volatile uint64_t *memory;
	size_t i;
	char c = 0;

	memory = mmap(NULL, o->nr_pages * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	for (i = 0; i < o->nr_pages; i++)
		memory[i * PAGE / sizeof(*memory)] = word_of(i);
	if (o->nr_lazy && madvise((void *)memory, o->nr_lazy * PAGE, MADV_FREE))
		return 2;
	if (write(o->ready[1], &c, 1) != 1)
		return 3;
	if (o->busy)
		fcntl(o->stop[0], F_SETFL, O_NONBLOCK);
	while (read(o->stop[0], &c, 1) < 0 && errno == EAGAIN)
		if (!right(memory, o))
			return 4;
	return right(memory, o) ? 0 : 5;
}

/* Returns when the memory is there. */
static void start_owner(struct owner *o, const char *cg)
{
	char c;

	REQUIRE(!pipe(o->ready) && !pipe(o->stop));
	o->pid = cg_start(cg, own_memory, o);
	/* so that its end is seen */
	close(o->ready[1]);
	REQUIRE(read(o->ready[0], &c, 1) == 1);
}

/* Everything is what it was, if it was swapped or not. */
static void stop_owner(struct owner *o)
{
	REQUIRE(write(o->stop[1], "", 1) == 1);
	EXPECT_EQ(cg_wait(o->pid), 0);
}

static int reclaim(const char *cg, unsigned long bytes, int swappiness)
{
	char text[64];

	snprintf(text, sizeof(text), "%lu swappiness=%d", bytes, swappiness);
	return cg_write(cg, "memory.reclaim", text);
}

/* FIFO, and nothing else, decided which pages of @file are still there. */
static void expect_fifo(const struct file *file, const char *lru)
{
	static bool cached[NR_FILE];
	size_t i, first;

	file_cached(file, cached);
	for (first = 0; first < file->nr_pages && !cached[first]; first++)
		;
	for (i = first; i < file->nr_pages; i++)
		if (!expect(cached[i], __FILE__, __LINE__, "%s: page %zu went before page %zu",
			    lru, i, first))
			break;
}

/* The counters, and that the policy chose each of the file folios that are gone. */
static void expect_chosen(const char *cg, const struct file *file)
{
	long long nr = file_cached(file, NULL);

	EXPECT_EQ(cg_stat(cg, "managed_pages"), nr);
	EXPECT_EQ(cg_stat(cg, "removed_reclaim"), (long long)file->nr_pages - nr);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), cg_stat(cg, "removed_reclaim"));
	EXPECT_EQ(cg_stat(cg, "unmanaged"), 0);
	EXPECT_EQ(cg_stat(cg, "reject_stale"), 0);
	EXPECT_BOOKS();
}

/* Of the file folios that are gone the policy chose so many. */
static void expect_mostly_chosen(const char *cg, int percent)
{
	EXPECT_OP(cg_stat(cg, "evict_reclaimed") * 100, >=,
		  cg_stat(cg, "removed_reclaim") * percent);
}

static void show(const char *what, const char *cg)
{
	diag("%s: %s: asked %lld, reclaimed %lld of %lld, fallback %lld, calls %lld; swapped %lld",
	     cg_name(cg), what, cg_stat(cg, "evict_asked"), cg_stat(cg, "evict_reclaimed"),
	     cg_stat(cg, "removed_reclaim"), cg_stat(cg, "evict_fallback"),
	     cg_stat(cg, "evict_calls"),
	     cg_number(cg, "memory.swap.current") / (long long)PAGE);
}

/* Files alone, both, anon memory alone. */
static void swappiness(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, NR_FILE);
	struct owner owner = { .nr_pages = NR_ANON };
	struct bpf_link *link = policy_start("fifo", cg);
	long long swapped, left;

	start_owner(&owner, cg);
	cg_read_file(cg, file, 0, NR_FILE);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR_FILE);

	EXPECT_EQ(reclaim(cg, 2 * MiB, 0), 0);
	EXPECT_EQ(cg_number(cg, "memory.swap.current"), 0);
	EXPECT_OP(file_cached(file, NULL), <=, NR_FILE - 2 * MiB_PAGES);
	EXPECT_OP(file_cached(file, NULL), >, NR_FILE - 3 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	expect_fifo(file, lru);
	expect_chosen(cg, file);
	show("files", cg);

	EXPECT_EQ(cg_reclaim(cg, 2 * MiB), 0);
	expect_fifo(file, lru);
	expect_chosen(cg, file);
	show("default", cg);

	left = file_cached(file, NULL);
	swapped = cg_number(cg, "memory.swap.current");
	EXPECT_EQ(reclaim(cg, 3 * MiB, 200), 0);
	EXPECT_OP(cg_number(cg, "memory.swap.current") - swapped +
		  (left - (long long)file_cached(file, NULL)) * (long long)PAGE, >=, 3 * MiB);
	expect_fifo(file, lru);
	expect_chosen(cg, file);
	show("anon memory", cg);

	/* nearly everything: nobody can do with files alone */
	reclaim(cg, 12 * MiB, 200);
	EXPECT_OP(cg_number(cg, "memory.swap.current"), >=, 6 * MiB);
	expect_fifo(file, lru);
	expect_chosen(cg, file);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	show("everything", cg);

	stop_owner(&owner);
	EXPECT_EQ(file_read(file, 0, NR_FILE), 0);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

/* A cgroup without any file: reclaim from above takes its anon memory all the same. */
static void no_file(bool lru_gen)
{
	const char *top = cg_new(NULL, lru_name(lru_gen)), *cg = cg_new(top, "child");
	struct owner owner = { .nr_pages = 4 * NR_ANON };
	struct bpf_link *link = policy_start("fifo", cg);

	start_owner(&owner, cg);
	EXPECT_EQ(reclaim(top, 8 * MiB, 60), 0);
	show("no file", cg);
	EXPECT_OP(cg_number(cg, "memory.swap.current"), >=, 7 * MiB);
	stop_owner(&owner);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_no_file(void)
{
	swap_on();
	with_both_lrus(no_file);
}

static void test_swappiness(void)
{
	swap_on();
	with_both_lrus(swappiness);
}

static int scan(void *arg)
{
	return file_read_sequential(arg) ?: file_read_sequential(arg);
}

/* A limit that is too small for both: each gives something. */
static void limit(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, NR_FILE);
	struct owner owner = { .nr_pages = NR_ANON };
	struct bpf_link *link = policy_start("fifo", cg);

	REQUIRE_EQ(cg_write(cg, "memory.max", LIMIT), 0);
	start_owner(&owner, cg);
	EXPECT_OP(cg_number(cg, "memory.swap.current"), >=, 2 * MiB);
	EXPECT_EQ(cg_run(cg, scan, file), 0);
	EXPECT_OP(cg_stat(cg, "removed_reclaim"), >, (long long)NR_FILE);
	expect_mostly_chosen(cg, 95);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));
	EXPECT_OP(cg_number(cg, "memory.peak"), <=, cg_number(cg, "memory.max"));
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	EXPECT_OP(cg_stat(cg, "evict_fallback"), <=, cg_stat(cg, "evict_asked") / 2);
	show("limit", cg);
	stop_owner(&owner);
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_limit(void)
{
	swap_on();
	with_both_lrus(limit);
}

/* Had the owner to wait for enough of its memory, or was somebody killed? */
static bool has_thrashed(const char *cg, long long swapped_in)
{
	return cg_key("/proc", "vmstat", "pswpin") - swapped_in > (long long)NR_ANON / 2 ||
	       cg_key(cg, "memory.events", "oom_kill");
}

/* Returns false if the kernel found no memory and killed somebody. */
static bool thrash(const char *cg, struct file *file)
{
	struct owner owner = { .nr_pages = NR_ANON, .busy = true };
	long long swapped_in = cg_key("/proc", "vmstat", "pswpin");
	int i;

	start_owner(&owner, cg);
	/* on a busy host the owner does not get far in ten rounds */
	for (i = 0; i < 10 || (i < 500 && !has_thrashed(cg, swapped_in)); i++) {
		cg_read_file(cg, file, 0, file->nr_pages);
		usleep(20000);
	}
	if (cg_key(cg, "memory.events", "oom_kill")) {
		kill(owner.pid, SIGKILL);
		cg_wait(owner.pid);
		return false;
	}
	EXPECT_OP(cg_key("/proc", "vmstat", "pswpin") - swapped_in, >, NR_ANON / 2);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	expect_mostly_chosen(cg, 60);
	/* the owner may have had to read its own program again */
	EXPECT_OP(cg_stat(cg, "managed_pages"), >=, file_cached(file, NULL));
	show("few files", cg);
	stop_owner(&owner);
	return true;
}

/*
 * Anon memory that is used all the time and does not fit, and hardly any file:
 * the policy has next to nothing to give, and is not to blame for that.
 *
 * Under MGLRU the kernel may find nothing to reclaim and kill, without a policy
 * as well: in four of 60 such cgroups on a busy host.  So it has three attempts.
 */
static void few_files(bool lru_gen)
{
	int attempt, attempts = lru_gen ? 3 : 1;
	bool alive = false;

	for (attempt = 1; !alive && attempt <= attempts; attempt++) {
		char name[32];
		const char *cg;
		struct file *file;
		struct bpf_link *link;

		snprintf(name, sizeof(name), "%s-%d", lru_name(lru_gen), attempt);
		cg = cg_new(NULL, name);
		file = file_new(NULL, name, 64);
		link = policy_start("fifo", cg);
		REQUIRE_EQ(cg_write(cg, "memory.max", LIMIT), 0);
		alive = thrash(cg, file);
		if (!alive)
			diag("%s: out of memory", name);
		EXPECT_BOOKS();
		REQUIRE_EQ(bpf_link__destroy(link), 0);
	}
	EXPECT(alive);
}

static void test_few_files(void)
{
	swap_on();
	with_both_lrus(few_files);
}

/* Memory marked by MADV_FREE is on the LRU of files, and no file's. */
static void lazily_freed(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, NR_FILE);
	struct owner before = { .nr_pages = 2 * MiB_PAGES, .nr_lazy = 2 * MiB_PAGES };
	struct owner after = before;
	struct bpf_link *link;

	start_owner(&before, cg);
	cg_read_file(cg, file, 0, NR_FILE / 2);
	link = policy_start("fifo", cg);
	EXPECT_EQ(cg_stat(cg, "adopted"), NR_FILE / 2);
	start_owner(&after, cg);
	cg_read_file(cg, file, NR_FILE / 2, NR_FILE / 2);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR_FILE);
	EXPECT_BOOKS();

	EXPECT_EQ(reclaim(cg, 2 * MiB, 0), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	expect_chosen(cg, file);
	show("some", cg);
	/* what the policy does not have stock reclaim frees, without any swap */
	reclaim(cg, 12 * MiB, 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_OP(cg_key(cg, "memory.stat", "pglazyfreed"), >, 3 * (long long)MiB_PAGES);
	expect_chosen(cg, file);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	show("all", cg);
	stop_owner(&before);
	stop_owner(&after);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_lazily_freed(void)
{
	with_both_lrus(lazily_freed);
}

/* It goes in its turn, also while the policy can give all that is asked for. */
static void lazily_freed_first(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, NR_FILE);
	struct owner owner = { .nr_pages = 2 * MiB_PAGES, .nr_lazy = 2 * MiB_PAGES };
	struct bpf_link *link = policy_start("fifo", cg);
	long long freed = 0;
	int i;

	start_owner(&owner, cg);
	for (i = 0; i < 64 && freed < (long long)owner.nr_lazy / 2; i++) {
		cg_read_file(cg, file, 0, NR_FILE);
		EXPECT_EQ(reclaim(cg, MiB, 0), 0);
		/* brings the counters up to date as well, which takes some seconds otherwise */
		freed = cg_key(cg, "memory.stat", "pglazyfreed");
		diag("%s: lazily freed %lld of %zu", lru, freed, owner.nr_lazy);
	}
	EXPECT_OP(freed, >=, (long long)owner.nr_lazy / 2);
	expect_mostly_chosen(cg, 60);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	show("first", cg);
	stop_owner(&owner);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_lazily_freed_first(void)
{
	with_both_lrus(lazily_freed_first);
}

/* So does a little of it beside much, where each request is small. */
static void little_lazily_freed(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, 40 * MiB_PAGES);
	struct owner owner = { .nr_pages = MiB_PAGES, .nr_lazy = MiB_PAGES };
	struct bpf_link *link = policy_start("fifo", cg);
	long long freed = 0;
	int i;

	start_owner(&owner, cg);
	REQUIRE_EQ(cg_write(cg, "memory.max", "37748736"), 0);
	for (i = 0; i < 12 && freed < (long long)owner.nr_lazy / 2; i++) {
		cg_read_file(cg, file, 0, file->nr_pages);
		freed = cg_key(cg, "memory.stat", "pglazyfreed");
	}
	EXPECT_OP(freed, >=, (long long)owner.nr_lazy / 2);
	expect_mostly_chosen(cg, 60);
	stop_owner(&owner);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_little_lazily_freed(void)
{
	with_both_lrus(little_lazily_freed);
}

/*
 * Lazily freed memory that a limit keeps does not take the turns of what is to be
 * had, also after a request for more than there is.
 */
static void lazily_freed_kept(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	const char *kept = cg_new(cg, "kept"), *reader = cg_new(cg, "reader");
	struct file *file = file_new(NULL, lru, NR_FILE);
	struct owner owner = { .nr_pages = 2 * MiB_PAGES, .nr_lazy = 2 * MiB_PAGES };
	struct bpf_link *link = policy_start("fifo", cg);
	long long chosen, gone;

	REQUIRE_EQ(cg_write(cg, "memory.min", "4194304"), 0);
	REQUIRE_EQ(cg_write(kept, "memory.min", "4194304"), 0);
	start_owner(&owner, kept);
	cg_read_file(reader, file, 0, NR_FILE);
	cg_key(cg, "memory.stat", "pglazyfreed");
	reclaim(cg, 64 * 1024LL * MiB, 0);
	EXPECT_OP(cg_key(cg, "memory.stat", "pglazyfreed"), <, (long long)owner.nr_lazy / 2);

	REQUIRE_EQ(cg_write(cg, "memory.max", LIMIT), 0);
	chosen = cg_stat(cg, "evict_reclaimed");
	gone = cg_stat(cg, "removed_reclaim");
	cg_read_file(reader, file, 0, NR_FILE);
	cg_read_file(reader, file, 0, NR_FILE);
	chosen = cg_stat(cg, "evict_reclaimed") - chosen;
	gone = cg_stat(cg, "removed_reclaim") - gone;
	diag("%s: chosen %lld of %lld", lru, chosen, gone);
	EXPECT_OP(gone, >, (long long)NR_FILE / 2);
	EXPECT_OP(chosen * 100, >=, gone * 50);
	stop_owner(&owner);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_lazily_freed_kept(void)
{
	with_both_lrus(lazily_freed_kept);
}

#define NR_HEAP		(24 * MiB_PAGES)
/* the heap and 4 MiB of files */
#define HEAP_LIMIT	"29360128"
#define NR_STREAM	(256 * MiB_PAGES)
#define NR_CIRCLE	(8 * MiB_PAGES)

/* Who has it: its cgroup alone; beside a reader; at a limit below the policy's cgroup. */
enum heap { ALONE, BESIDE, BELOW };

/*
 * Bytes of a heap nobody uses that are swapped while files are read that nobody
 * reads again, by the same cgroup or, with a few files beside the heap, by its
 * sibling; or one in circles.
 */
static long long swapped_of_heap(bool lru_gen, const char *policy, enum heap place)
{
	size_t i, nr = place == BELOW ? NR_CIRCLE : NR_STREAM;
	struct owner owner = { .nr_pages = NR_HEAP };
	const char *top, *served, *heap, *reader;
	struct bpf_link *link = NULL;
	struct file *file, *few;
	long long swapped;
	char *name;

	REQUIRE(asprintf(&name, "%s-%s-%d", lru_name(lru_gen), policy ?: "none", place) > 0);
	top = cg_new(NULL, name);
	served = cg_new(top, "served");
	heap = cg_new(served, "heap");
	reader = place == BESIDE ? cg_new(served, "reader") : heap;
	file = file_hole(name, nr);
	few = file_new(NULL, "few", 64);
	if (policy)
		link = policy_start(policy, place == ALONE ? heap : served);
	REQUIRE_EQ(cg_write(place == BESIDE ? top : heap, "memory.max", HEAP_LIMIT), 0);
	start_owner(&owner, heap);
	cg_read_file(heap, few, 0, 64);
	for (i = 0; i < NR_STREAM / nr; i++)
		EXPECT_EQ(cg_run(reader, file_read_through, file), 0);
	swapped = cg_number(heap, "memory.swap.current");
	diag("%s: %lld of %zu MiB swapped, %zu of 64 pages cached", name, swapped / (long long)MiB,
	     NR_HEAP / MiB_PAGES, file_cached(few, NULL));
	if (link && place == ALONE)
		show("heap", heap);
	stop_owner(&owner);
	if (link)
		REQUIRE_EQ(bpf_link__destroy(link), 0);
	unlink(file->path);
	unlink(few->path);
	return swapped;
}

/*
 * A heap nobody uses goes as it would without a policy, also where that keeps the
 * few files beside it.
 */
static void unused_heap(bool lru_gen)
{
	static const char *const policies[] = { "fifo", "mru" };
	long long without, with;
	enum heap place;
	size_t i;

	for (place = ALONE; place <= BELOW; place++) {
		without = swapped_of_heap(lru_gen, NULL, place);
		for (i = 0; i < ARRAY_SIZE(policies); i++) {
			with = swapped_of_heap(lru_gen, policies[i], place);
			EXPECT_OP(with, >=, without / 2);
			EXPECT_OP(with, <=, without * 3 / 2 + 3 * (long long)MiB);
		}
	}
}

/* With the classic LRU it depends on when the kernel adds up its counters. */
static void test_unused_heap(void)
{
	swap_on();
	with_lru(true, unused_heap);
}

static const struct test tests[] = {
	{ "swappiness",						test_swappiness },
	{ "without any file",					test_no_file },
	{ "a limit that is too small for both",			test_limit },
	{ "hardly any files",					test_few_files, .spread = true },
	{ "lazily freed memory",				test_lazily_freed },
	{ "lazily freed memory goes in its turn",		test_lazily_freed_first },
	{ "so does a little of it beside much",			test_little_lazily_freed },
	{ "lazily freed memory that is kept takes no turn",	test_lazily_freed_kept },
	{ "a heap nobody uses",					test_unused_heap },
};

SUBJECT(anon);
