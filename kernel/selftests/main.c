// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the selftests of page cache policies, on a kernel that has them:
 *
 *	cachebpf-selftest [SUBJECT[/TEST]...]
 *	cachebpf-selftest -SUBJECT[/TEST]...		all but these
 *	cachebpf-selftest --pinned|--spread ...		those on one processor, or on any
 *
 * The environment names what is not where it usually is:
 *
 *	CACHEBPF_TEST_DIR	directory on ext4 for scratch files (/var/tmp)
 *	CACHEBPF_TEST_XFS	one on XFS; tests that need it are skipped without
 *	CACHEBPF_POLICIES	directory of the policies (/usr/lib/cachebpf/policies)
 *	CACHEBPF_TEST_BARS	"report" or "enforce": see live.c
 */
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "runner.h"
#include "selftest.h"

/* for what hangs: without KVM, with a debug kernel, on a busy host a test may take long */
#define TIME_OUT	1800

/* In the order in which they run. */
#define SUBJECTS(X)	\
	X(attach)		\
	X(hierarchy)		\
	X(update)		\
	X(lists)		\
	X(adopt)		\
	X(reclaim)		\
	X(protection)		\
	X(limits)		\
	X(isolation)		\
	X(events)		\
	X(keys)		\
	X(buckets)		\
	X(advice)		\
	X(advice_lists)		\
	X(reports)		\
	X(admission)		\
	X(dropped)		\
	X(rejected)		\
	X(readahead)		\
	X(windows)		\
	X(unread)		\
	X(adaptive)		\
	X(misbehave)		\
	X(watchdog)		\
	X(tenants)		\
	X(trace)		\
	X(sample)		\
	X(collapse)		\
	X(replace)		\
	X(anon)		\
	X(global)		\
	X(fairness)		\
	X(faulty)		\
	X(nowait)		\
	X(memory)		\
	X(migration)		\
	X(frames)		\
	X(numa)		\
	X(live)

#define DECLARE_SUBJECT(id)	extern const struct subject id##_subject;
SUBJECTS(DECLARE_SUBJECT)

#define POINTER_TO_SUBJECT(id)	&id##_subject,
static const struct subject *const subjects[] = { SUBJECTS(POINTER_TO_SUBJECT) };

static int nr_points, nr_bad;
static char *budget;

static bool means(const char *wanted, const char *subject, const struct test *test)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/%s", subject, test->name);
	return !strcmp(wanted, subject) || !strncmp(wanted, name, strlen(wanted));
}

static bool selected(const char *subject, const struct test *test, char **wanted)
{
	bool all = true, named = false;

	for (; *wanted; wanted++) {
		if (!strcmp(*wanted, "--pinned") || !strcmp(*wanted, "--spread")) {
			if (test->spread != !strcmp(*wanted, "--spread"))
				return false;
		} else if ((*wanted)[0] == '-') {
			if (means(*wanted + 1, subject, test))
				return false;
		} else {
			all = false;
			named = named || means(*wanted, subject, test);
		}
	}
	return all || named;
}

static void stay_here(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static unsigned long taint(void)
{
	char *text = read_text("/proc/sys/kernel/tainted");

	return text ? strtoul(text, NULL, 10) : 0;
}

static void run_test(const struct subject *subject, const struct test *test)
{
	unsigned long taint_before = taint();
	long long ejected_before = kernel_stat("ejected");
	const char *verdict = NULL;
	char reason[64];
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(EXIT_FAILURE);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TIME_OUT);
		if (!test->spread)
			stay_here();
		test->run();
		conclude();
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	cg_cleanup();
	files_cleanup();
	disks_cleanup();
	if (budget)
		write_text(budget_file, budget);

	if (WIFSIGNALED(status)) {
		snprintf(reason, sizeof(reason), "ended by signal %d (%s)", WTERMSIG(status),
			 WTERMSIG(status) == SIGALRM ? "time-out" : strsignal(WTERMSIG(status)));
		verdict = reason;
	} else if (WEXITSTATUS(status) != EXIT_PASSED && WEXITSTATUS(status) != EXIT_SKIPPED) {
		verdict = "see above";
	} else if (taint() != taint_before) {
		verdict = "the kernel warned, see its log";
	} else if (!EVENTUALLY(kernel_stat("policies") == 0)) {
		verdict = "a policy is still attached after the end of the test";
	} else if (!test->ejects && kernel_stat("ejected") != ejected_before) {
		verdict = "the kernel ejected a policy, see its log";
	} else {
		verdict = books_wrong();
	}

	nr_points++;
	nr_bad += verdict != NULL;
	printf("%sok %d - %s: %s%s\n", verdict ? "not " : "", nr_points, subject->name, test->name,
	       !verdict && WEXITSTATUS(status) == EXIT_SKIPPED ? " # SKIP see above" : "");
	if (verdict)
		diag("%s", verdict);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char exe[PATH_MAX] = "";
	size_t i, j;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < ARRAY_SIZE(subjects); i++)
			for (j = 0; j < subjects[i]->nr_tests; j++)
				printf("%s/%s\n", subjects[i]->name, subjects[i]->tests[j].name);
		return 0;
	}

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return EXIT_FAILURE;
	objects_dir = dirname(exe);
	if (getenv("CACHEBPF_POLICIES"))
		policies_dir = getenv("CACHEBPF_POLICIES");
	if (getenv("CACHEBPF_TEST_DIR"))
		scratch_dir = getenv("CACHEBPF_TEST_DIR");

	if (access("/sys/kernel/cachebpf/abi", R_OK)) {
		printf("Bail out! this kernel has no page cache policies (/sys/kernel/cachebpf)\n");
		return EXIT_FAILURE;
	}
	if (cg_setup()) {
		printf("Bail out! cannot make %s with a memory controller: %s\n", scratch_cgroup,
		       strerror(errno));
		return EXIT_FAILURE;
	}
	budget = read_text(budget_file);

	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		for (j = 0; j < subjects[i]->nr_tests; j++)
			if (selected(subjects[i]->name, &subjects[i]->tests[j], argv + 1))
				run_test(subjects[i], &subjects[i]->tests[j]);

	rmdir(scratch_cgroup);
	printf("1..%d\n", nr_points);
	return nr_bad || !nr_points;
}
