// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must hold when the workers have done what they had to, first while
 * their links are open, and then when they have ended.  What may take a moment
 * is asked for until it is true.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "programs.h"

#define MAX_EJECTIONS	64

#define WRONG_IF(cond, ...) expect(!(cond), __FILE__, __LINE__, __VA_ARGS__)

struct ejection {
	char			name[16];
	unsigned long long	cg_id;
	char			reason[120];
};

static const unsigned int parents[NR_CGROUPS] = {
	[CG_A] = CG_TOP, [CG_B] = CG_TOP, [CG_A_X] = CG_A, [CG_A_Y] = CG_A,
	[CG_B_X] = CG_B, [CG_B_Y] = CG_B, [CG_A_TEMP] = CG_A,
};

static struct ejection ejections[MAX_EJECTIONS];
static unsigned int nr_ejections;
static int kmsg = -1;
/* policies that have nothing to do with the program: that of hooks_attach() */
static long long nr_others;

/* From here on the kernel's log is this program's. */
void mark_log(void)
{
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	nr_others = kernel_stat("policies");
	REQUIRE(kmsg >= 0 && lseek(kmsg, 0, SEEK_END) >= 0);
}

/* Which policies were ejected since?  What hung up for want of one is lost. */
static void read_log(void)
{
	struct ejection *e;
	char text[2048], *at;
	ssize_t nr;

	while ((nr = read(kmsg, text, sizeof(text) - 1)) >= 0 || errno == EPIPE) {
		if (nr < 0 || nr_ejections == MAX_EJECTIONS)
			continue;
		text[nr] = '\0';
		at = strstr(text, "policy ");
		e = &ejections[nr_ejections];
		if (at && sscanf(at, "policy %15s (id %*u) of cgroup %llu is ejected: %119[^\n]",
				 e->name, &e->cg_id, e->reason) == 3)
			nr_ejections++;
	}
}

static void judge_ejections(void)
{
	unsigned int i;

	read_log();
	for (i = 0; i < nr_ejections; i++) {
		struct ejection *e = &ejections[i];
		bool slow = !strncmp(e->reason, "over budget", strlen("over budget"));

		if (verbose)
			diag("%s was ejected from %llu: %s", e->name, e->cg_id, e->reason);
		WRONG_IF(slow && !shared->budget_lowered,
			 "%s was ejected without a budget: %s", e->name, e->reason);
		WRONG_IF(!slow && strncmp(e->name, "mischief", strlen("mischief")),
			 "%s was ejected: %s", e->name, e->reason);
	}
}

static bool was_ejected(const struct held *held)
{
	unsigned int i;

	for (i = 0; i < nr_ejections; i++)
		if (ejections[i].cg_id == held->cg_id)
			return true;
	return false;
}

static bool is_there(const struct held *held)
{
	struct stat st;

	return !stat(cg_dir(held->cg), &st) && st.st_ino == held->cg_id;
}

/* A link hangs up if its cgroup is removed or its policy ejected, and for no other reason. */
static void check_hung_up(const struct held *held)
{
	WRONG_IF(is_there(held) && !was_ejected(held),
		 "%s of %s was lost: its link hung up, and it was not ejected",
		 program->recipes[held->recipe].name, cg_short(held->cg));
}

static struct held *held(unsigned int i)
{
	return &shared->workers[i / MAX_HELD].held[i % MAX_HELD];
}

static unsigned int nr_alive(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < MAX_WORKERS * MAX_HELD; i++)
		nr += held(i)->held && !held(i)->hung_up;
	return nr;
}

static bool is_attached(const struct held *h)
{
	char *name = cg_policy(cg_dir(h->cg), "policy");
	char *inherited = cg_policy(cg_dir(h->cg), "inherited");

	return name && inherited && !strcmp(name, program->recipes[h->recipe].name) &&
	       !strcmp(inherited, "0");
}

/* A policy that is ejected just now is still to hang up: either will be true. */
static void check_links(void)
{
	unsigned int i;

	for (i = 0; i < MAX_WORKERS * MAX_HELD; i++)
		WRONG_IF(held(i)->held && !EVENTUALLY(held(i)->hung_up || is_attached(held(i))),
			 "%s has %s, not %s", cg_short(held(i)->cg),
			 cg_policy(cg_dir(held(i)->cg), "policy") ?: "nothing",
			 program->recipes[held(i)->recipe].name);
	WRONG_IF(!EVENTUALLY(kernel_stat("policies") == nr_others + nr_alive()),
		 "%lld policies are attached, not %lld", kernel_stat("policies"),
		 nr_others + nr_alive());
	/* whatever hung up did so before, and what it was ejected for was said before that */
	read_log();
	for (i = 0; i < shared->nr_hung_up && i < ARRAY_SIZE(shared->hung_up); i++)
		check_hung_up(&shared->hung_up[i]);
	for (i = 0; i < MAX_WORKERS * MAX_HELD; i++)
		if (held(i)->held && held(i)->hung_up)
			check_hung_up(held(i));
}

/* Two looks at it: what is wrong for a moment, when nobody is at work, is so for longer. */
static void check_books(void)
{
	const char *text = books_wrong();

	if (text)
		sleep(1);
	if (text && books_wrong())
		WRONG_IF(true, "the kernel's self-check: %s", books_wrong());
}

static bool has_own(unsigned int cg)
{
	char *inherited = cg_policy(cg_dir(cg), "inherited");

	return inherited && !strcmp(inherited, "0");
}

static bool is_below(unsigned int cg, unsigned int top)
{
	while (cg != top && cg != CG_TOP)
		cg = parents[cg];
	return cg == top;
}

static long long file_pages(unsigned int cg)
{
	long long pages = cg_key(cg_dir(cg), "memory.stat", "file");

	/* there is none of it: this is about pages of the memory that workers share */
	pages -= cg_key(cg_dir(cg), "memory.stat", "shmem");
	return pages > 0 ? pages / (long long)PAGE : 0;
}

/* Pages cached for @cg and those who have their policy from it. */
static long long pages_served(unsigned int cg)
{
	long long pages = file_pages(cg);
	unsigned int i, up;

	for (i = CG_A; i < NR_CGROUPS; i++) {
		if (i == cg || !is_below(i, cg) || !has_own(i))
			continue;
		/* the highest of them stands for those below it */
		for (up = parents[i]; up != cg && !has_own(up); up = parents[up])
			;
		if (up == cg)
			pages -= file_pages(i);
	}
	return pages;
}

static long long number(const char *text, const char *key)
{
	char *value = flat_key(text, key);

	return value ? strtoll(value, NULL, 10) : -1;
}

static const char *const removals[] = {
	"removed_reclaim", "removed_truncate", "removed_invalidate", "removed_migrate",
	"removed_handover", "removed_dropped",
};

/* What came is what went and what is there; split folios without an entry are counted apart. */
static bool adds_up(unsigned int cg)
{
	const char *text = cg_read(cg_dir(cg), "memory.cachebpf.stat");
	long long pages = number(text, "added") + number(text, "adopted"), managed;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(removals); i++)
		pages -= number(text, removals[i]);
	managed = number(text, "managed_pages");
	return managed <= pages && managed >= pages - number(text, "unmanaged");
}

/* Exact if the self-check finds no folio without an entry. */
static bool all_managed(unsigned int cg)
{
	long long managed = cg_stat(cg_dir(cg), "managed_pages"), cached = pages_served(cg);

	return books_number("unmanaged") == 0 ? managed == cached : managed <= cached;
}

static void check_numbers(unsigned int cg, const char *text)
{
	static const char *const pairs[][2] = {
		{ "managed_folios", "managed_pages" }, { "rejected_pages", "managed_pages" },
		{ "admit_rejected", "admit_asked" }, { "admit_reversed", "admit_asked_again" },
		{ "evict_reclaimed", "evict_isolated" }, { "refaults", "added" },
		{ "readahead_declined", "readahead_asked" }, { "readahead_clamped", "readahead_asked" },
		{ "readahead_again", "refaults" },
	};
	const char *at;
	unsigned int i;

	for (at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		char key[64];
		unsigned long long value;

		if (sscanf(at, "%63s %llu", key, &value) == 2)
			WRONG_IF(value >> 62, "%s: %s is negative: %lld", cg_short(cg), key,
				 (long long)value);
	}
	WRONG_IF(number(text, "readahead_pages") + number(text, "readahead_prefetched") >
			 512 * number(text, "readahead_asked"),
		 "%s: %lld and %lld pages were read for %lld plans", cg_short(cg),
		 number(text, "readahead_pages"), number(text, "readahead_prefetched"),
		 number(text, "readahead_asked"));
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		WRONG_IF(number(text, pairs[i][0]) > number(text, pairs[i][1]),
			 "%s: %s %lld is more than %s %lld", cg_short(cg), pairs[i][0],
			 number(text, pairs[i][0]), pairs[i][1], number(text, pairs[i][1]));
}

static void check_stats(void)
{
	unsigned int cg;

	for (cg = 0; cg < NR_CGROUPS; cg++) {
		if (!has_own(cg))
			continue;
		WRONG_IF(!EVENTUALLY(adds_up(cg)), "%s: what came and what went do not add up: %s",
			 cg_short(cg), cg_read(cg_dir(cg), "memory.cachebpf.stat"));
		/* what a policy could not adopt is tried again after a minute, on a slow machine */
		WRONG_IF(!WITHIN(180, all_managed(cg)),
			 "%s: %lld pages are managed, %lld cached, %lld folios have no entry",
			 cg_short(cg), cg_stat(cg_dir(cg), "managed_pages"), pages_served(cg),
			 books_number("unmanaged"));
		check_numbers(cg, cg_read(cg_dir(cg), "memory.cachebpf.stat"));
	}
}

void check_program(void)
{
	check_links();
	judge_ejections();
	check_books();
	check_stats();
	policies_check();
	WRONG_IF(cg_key(cg_dir(CG_TOP), "memory.events", "oom_kill"), "somebody was killed");
	files_check("cached, or not");
	check_books();
}

void check_end(void)
{
	unsigned int i;

	WRONG_IF(!EVENTUALLY(kernel_stat("policies") == nr_others),
		 "%lld policies are attached, and all who attached them have ended",
		 kernel_stat("policies"));
	judge_ejections();
	check_books();
	for (i = NR_CGROUPS; i-- > 0;)
		if (!access(cg_dir(i), F_OK))
			WRONG_IF(cg_remove(cg_dir(i)), "%s cannot be removed", cg_short(i));
	sync();
	write_text("/proc/sys/vm/drop_caches", "3");
	files_check("from the disk");
}
