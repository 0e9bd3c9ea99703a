// SPDX-License-Identifier: GPL-2.0-only
/* Admission: what a policy is asked, and that its answer, and its change of mind, count. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "admission.h"

const char *cg;
struct admission_state *state;
struct bpf_link *attachment;
static struct policy *policy;

void attach(const char *map, enum admission_mode mode)
{
	policy = policy_open("admission", map, cg);
	attachment = policy_attach(policy);
	state = policy_state(policy);
	state->mode = mode;
}

void set_up(const char *map, const char *name, enum admission_mode mode)
{
	cg = cg_new(NULL, name);
	attach(map, mode);
}

unsigned long long asked(unsigned int wanted, unsigned int unwanted)
{
	unsigned long long nr = 0;
	unsigned int flags;

	for (flags = 0; flags < ADMISSION_NR_FLAGS; flags++)
		if ((flags & wanted) == wanted && !(flags & unwanted))
			nr += state->asked[flags];
	return nr;
}

void check_books(void)
{
	static const char *const ways[] = {
		"removed_reclaim", "removed_truncate", "removed_invalidate", "removed_migrate",
		"removed_handover", "removed_dropped",
	};
	long long gone = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		gone += cg_stat(cg, ways[i]);
	EXPECT_EQ(cg_stat(cg, "added") + cg_stat(cg, "adopted"),
		  cg_stat(cg, "managed_pages") + gone);
	EXPECT_EQ(cg_stat(cg, "admit_asked"), asked(0, REUSE));
	EXPECT_EQ(cg_stat(cg, "admit_asked_again"), asked(REUSE, READ | WRITE));
	EXPECT_EQ(cg_stat(cg, "admit_reversed"), state->added[ADMITTED]);
	EXPECT_OP(cg_stat(cg, "rejected_pages"), <=, cg_stat(cg, "managed_pages"));
	EXPECT_EQ(cg_stat(cg, "unmanaged"), 0);
	EXPECT_EQ(state->damaged, 0);
	EXPECT_BOOKS();
}

int read_sequential(void *arg)
{
	return file_read_sequential(arg);
}

int read_beginnings(void *arg)
{
	struct file *file = arg;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	char buffer[512];
	size_t i;

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return 1;
	for (i = 0; i < file->nr_pages; i++)
		if (pread(fd, buffer, sizeof(buffer), i * PAGE) != sizeof(buffer))
			return 1;
	return 0;
}

static void test_question(void)
{
	struct file *file = file_new(NULL, "f", 300);
	struct stat st;
	pid_t pid;

	REQUIRE(!stat(file->path, &st));
	set_up("admission", "a", ADMIT_ALL);
	pid = getpid();
	EXPECT_EQ(file_read(file, 0, 1), 0);
	EXPECT_EQ(asked(0, 0), 0);

	/* charged to the cgroup, and so asked there, is what its processes read */
	cg_read_file(cg, file, 277, 1);
	EXPECT_EQ(asked(READ, WRITE | FAULT | REUSE), 1);
	EXPECT_EQ(state->ino, st.st_ino);
	EXPECT_EQ(state->pos, 277 * PAGE);
	EXPECT_EQ(major(st.st_dev), state->dev >> 8 & 0xfff);
	EXPECT_EQ(minor(st.st_dev), (state->dev & 0xff) | (state->dev >> 12 & 0xfff00));
	EXPECT_EQ(state->nr_pages, 1);
	EXPECT(state->pid != 0 && (pid_t)state->pid != pid);
	EXPECT_EQ(state->added[0], 1);

	/* what is there is not asked about, by whomever it was brought */
	cg_read_file(cg, file, 277, 1);
	cg_read_file(cg, file, 0, 1);
	EXPECT_EQ(asked(0, 0), 1);
	EXPECT_EQ(cg_stat(cg, "admit_asked"), 1);
	EXPECT_EQ(cg_stat(cg, "admit_rejected"), 0);
	check_books();
}

#define CLASS_SCAN	7

static int set_class(unsigned int class)
{
	/* PIDFD_THREAD */
	int err, pidfd = syscall(SYS_pidfd_open, gettid(), O_EXCL);

	if (pidfd < 0)
		return errno;
	err = bpf_map_update_elem(bpf_object__find_map_fd_by_name(policy->obj, "classes"),
				  &pidfd, &class, BPF_ANY);
	close(pidfd);
	return -err;
}

struct two_files {
	struct file	*scanned, *wanted;
};

static void *scan_thread(void *arg)
{
	struct two_files *files = arg;

	return (void *)(intptr_t)(set_class(CLASS_SCAN) ?: file_read_sequential(files->scanned));
}

/* A thread of the class, beside one of none in the same process. */
static int two_threads(void *arg)
{
	struct two_files *files = arg;
	pthread_t thread;
	void *result;
	int err;

	err = pthread_create(&thread, NULL, scan_thread, files);
	if (err)
		return err;
	err = file_read_sequential(files->wanted);
	pthread_join(thread, &result);
	return err ?: (intptr_t)result;
}

static void test_class(void)
{
	struct two_files files = {
		file_new(NULL, "scanned", 4 * MiB_PAGES),
		file_new(NULL, "wanted", MiB_PAGES),
	};

	set_up("admission", "a", ADMIT_CLASS);
	state->rejected_class = CLASS_SCAN;
	EXPECT_EQ(cg_run(cg, two_threads, &files), 0);
	EXPECT_EQ(file_cached(files.scanned, NULL), 0);
	EXPECT_EQ(file_cached(files.wanted, NULL), MiB_PAGES);
	EXPECT_EQ(state->added[0], MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "admit_rejected"), 4 * MiB_PAGES);
	check_books();
}

static int read_ahead_in_class(void *arg)
{
	struct file *file = arg;

	return set_class(CLASS_SCAN) ?: file_read_ahead(file, 0, file->nr_pages);
}

/* What was rejected for one is asked about again when another uses it first. */
static void test_other_task(void)
{
	struct file *file = file_new(NULL, "f", 32);

	set_up("admission", "a", ADMIT_CLASS);
	state->rejected_class = CLASS_SCAN;
	EXPECT_EQ(cg_run(cg, read_ahead_in_class, file), 0);
	REQUIRE(EVENTUALLY(file_cached(file, NULL) == 32));
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 32);

	/* also if it is of no cgroup with a policy */
	EXPECT_EQ(file_read(file, 0, 32), 0);
	EXPECT_EQ(cg_stat(cg, "admit_reversed"), 32);
	EXPECT_EQ(state->added[ADMITTED], 32);
	EXPECT_EQ(state->accesses, 1);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 0);
	EXPECT_EQ(file_cached(file, NULL), 32);
	check_books();
}

static void test_reuse(void)
{
	struct file *file = file_new(NULL, "f", 100);

	set_up("admission", "a", ADMIT_REUSED);
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 100);
	EXPECT_EQ(cg_stat(cg, "admit_asked_again"), 0);
	EXPECT_EQ(file_cached(file, NULL), 100);

	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 0);
	EXPECT_EQ(asked(REUSE, ~REUSE), 100);
	EXPECT_EQ(state->added[ADMITTED], 100);
	/* with the use that it was rejected in */
	EXPECT_EQ(state->accesses, 2);
	EXPECT_EQ(state->accessed, 0);

	/* ordinary ones now: read to the end, and they stay; asked about no more */
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 100);
	EXPECT_EQ(state->accessed, 100);
	EXPECT_EQ(cg_stat(cg, "admit_asked_again"), 100);
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(state->removed, 100 - file_cached(file, NULL));
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 0);

	/* a refusal the second time changes nothing, and the third is asked for again */
	file_forget(file);
	state->mode = ADMIT_NONE;
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_stat(cg, "admit_asked_again"), 300);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 100);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	check_books();
}

/* A policy that has admit_folio() alone: admission for stock reclaim. */
static void test_filter(void)
{
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);

	set_up("filter", "a", ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	state->mode = ADMIT_ALL;
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), file->nr_pages);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_OP(file_cached(file, NULL), <=, 3 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "evict_asked"), 0);
	check_books();
}

static void test_child(void)
{
	struct file *fa = file_new(NULL, "a", MiB_PAGES), *fb = file_new(NULL, "b", MiB_PAGES);
	const char *a, *b;

	set_up("admission", "top", ADMIT_NONE);
	a = cg_new(cg, "a");
	b = cg_new(cg, "b");
	EXPECT_EQ(cg_run(a, read_sequential, fa), 0);
	EXPECT_EQ(file_cached(fa, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), MiB_PAGES);

	/* reclaim for one of the children leaves alone what was rejected in the other */
	EXPECT_EQ(cg_run(b, read_beginnings, fb), 0);
	EXPECT_EQ(cg_run(a, read_beginnings, fa), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 2 * MiB_PAGES);
	EXPECT_EQ(cg_reclaim(a, MiB / 2), 0);
	EXPECT_EQ(file_cached(fb, NULL), MiB_PAGES);
	EXPECT_OP(file_cached(fa, NULL), <=, MiB_PAGES / 2);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	check_books();
}

/* Where rejected folios are when their policy goes. */
static void test_detach(void)
{
	struct file *file = file_new(NULL, "f", 200);
	struct policy *next;

	set_up("admission", "a", ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 200);

	/* with a successor, which was never asked */
	next = policy_open_installed("fifo", cg);
	REQUIRE_EQ(policy_load(next), 0);
	REQUIRE_EQ(bpf_link__update_map(attachment, next->map), 0);
	EXPECT_EQ(cg_stat(cg, "adopted"), 200);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 200);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 0);
	EXPECT_EQ(file_read(file, 0, 200), 0);
	EXPECT_EQ(file_cached(file, NULL), 200);
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
	REQUIRE_EQ(cg_remove(cg), 0);

	/* what was cached before a policy came is not asked about, and stays */
	cg = cg_new(NULL, "b");
	file_forget(file);
	cg_read_file(cg, file, 0, 200);
	attach("admission", ADMIT_NONE);
	EXPECT_EQ(file_read(file, 0, 200), 0);
	EXPECT_EQ(asked(0, 0), 0);
	EXPECT_EQ(state->added[ADOPTED], 200);
	EXPECT_EQ(file_cached(file, NULL), 200);
	file_forget(file);

	/* and without: back to stock reclaim */
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
	EXPECT_EQ(file_cached(file, NULL), 200);
	EXPECT_EQ(file_read(file, 0, 200), 0);
	EXPECT_EQ(file_cached(file, NULL), 200);
	EXPECT_EQ(cg_reclaim(cg, 100 * PAGE), 0);
	EXPECT_OP(file_cached(file, NULL), <=, 100);
}

static void test_verified(void)
{
	struct policy *p = policy_open("admission", "filter", cg_new(NULL, "a"));
	struct bpf_link *link;

	REQUIRE_EQ(bpf_program__set_flags(policy_callback(p, "admit_folio"), BPF_F_SLEEPABLE), 0);
	EXPECT_EQ(policy_load(p), -EINVAL);

	/* a filter is no policy for reclaim */
	p = policy_open("admission", "filter", cg_new(NULL, "b"));
	policy_set(p, "flags", 0);
	REQUIRE_EQ(policy_load(p), 0);
	EXPECT_EQ(policy_try_attach(p, &link), -EINVAL);

	EXPECT(strstr(read_text("/sys/kernel/cachebpf/features"), "admission\n") != NULL);
}

static const struct test tests[] = {
	{ "what the policy is asked",				test_question },
	{ "by class of thread",					test_class },
	{ "another task than the one it was rejected for",	test_other_task },
	{ "a second use can turn it around",			test_reuse },
	{ "a filter for stock reclaim",				test_filter },
	{ "in child cgroups",					test_child },
	{ "after an update, and after detaching",		test_detach },
	{ "callbacks that are not accepted",			test_verified },
};

SUBJECT(admission);
