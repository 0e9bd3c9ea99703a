// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs against page cache policies: what a seed draws is run by two
 * to four processes at once, and then everything has to be in order.
 *
 *	cachebpf-programs [--seed N] [--programs N | --seconds S]
 *	cachebpf-programs --seed N --replay		one program again, or --programs of it
 *	cachebpf-programs --seed N --only 3,5,7-9	some of its operations
 *	cachebpf-programs --seed N --list		what it is
 *
 *	--without admission,protection		leave that out
 *	--verbose				say what is done
 *
 * Program n of a run is the one of the seed N + n.  What is done at the same
 * time is not in the seed: a program that failed may not fail again at once.
 * The environment is that of cachebpf-selftest (main.c); without
 * CACHEBPF_TEST_XFS an XFS is made, if that is possible.
 */
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "programs.h"
#include "runner.h"
#include "tracing.h"

unsigned int without;
bool verbose;

static unsigned long long seed = 1;
static unsigned int nr_wanted, seconds, nr_points, nr_bad;
static bool replay, list, selected[MAX_OPS];
static char *only;
static unsigned long done[64], refused[64], us[64];
static struct parts_state calls;

static void select_ops(const char *text)
{
	unsigned int from, to;
	int used;

	for (from = 0; from < MAX_OPS; from++)
		selected[from] = !text;
	while (text && sscanf(text, "%u%n", &from, &used) == 1) {
		text += used;
		to = from;
		if (sscanf(text, "-%u%n", &to, &used) == 1)
			text += used;
		for (; from <= to && from < MAX_OPS; from++)
			selected[from] = true;
		if (*text++ != ',')
			break;
	}
}

static unsigned long taint(void)
{
	char *text = read_text("/proc/sys/kernel/tainted");

	return text ? strtoul(text, NULL, 10) : 0;
}

static void count_ops(void)
{
	unsigned int i;

	for (i = 0; i < nr_op_kinds; i++) {
		done[i] += shared->done[i];
		refused[i] += shared->refused[i];
		us[i] += shared->us[i];
	}
	calls.added += shared->calls.added;
	calls.accessed += shared->calls.accessed;
	calls.removed += shared->calls.removed;
	calls.asked += shared->calls.asked;
	calls.advised += shared->calls.advised;
	calls.planned += shared->calls.planned;
	calls.requests += shared->calls.requests;
}

static void show_counts(void)
{
	unsigned int i;

	printf("# done/refused, milliseconds each:");
	for (i = 0; i < nr_op_kinds; i++)
		printf(" %s %lu/%lu %lu", op_kinds[i].name, done[i], refused[i],
		       us[i] / 1000 / (done[i] + refused[i] ?: 1));
	printf("\n# calls: added %llu accessed %llu removed %llu asked %llu advised %llu"
	       " planned %llu requests %llu; %lld policies were ejected\n", calls.added,
	       calls.accessed, calls.removed, calls.asked, calls.advised, calls.planned,
	       calls.requests, kernel_stat("ejected"));
}

static void show_failure(const struct program *p)
{
	print_program(p, selected);
	diag("again: cachebpf-programs --seed %llu --replay%s%s%s%s",
	     (unsigned long long)p->seed, only ? " --only " : "", only ?: "",
	     without & WITHOUT_ADMISSION ? " --without admission" : "",
	     without & WITHOUT_PROTECTION ? " --without protection" : "");
}

static void do_program(const struct program *p)
{
	unsigned long taint_before = taint();
	const char *verdict = NULL;
	int status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_program(p, selected);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	cg_cleanup();
	files_cleanup();
	count_ops();

	if (WIFSIGNALED(status))
		verdict = "ended by a signal";
	else if (WEXITSTATUS(status) != EXIT_PASSED)
		verdict = "see above";
	else if (taint() != taint_before)
		verdict = "the kernel warned, see its log";

	nr_points++;
	nr_bad += verdict != NULL;
	printf("%sok %u - seed %llu: %u workers, %u operations\n", verdict ? "not " : "",
	       nr_points, (unsigned long long)p->seed, p->nr_workers, p->nr_ops);
	if (verdict) {
		diag("program %u, seed %llu: %s", nr_points - 1, (unsigned long long)p->seed,
		     verdict);
		show_failure(p);
	}
	fflush(stdout);
}

static bool parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed",	required_argument,	NULL, 's' },
		{ "programs",	required_argument,	NULL, 'p' },
		{ "seconds",	required_argument,	NULL, 't' },
		{ "only",	required_argument,	NULL, 'o' },
		{ "without",	required_argument,	NULL, 'w' },
		{ "replay",	no_argument,		NULL, 'r' },
		{ "list",	no_argument,		NULL, 'l' },
		{ "verbose",	no_argument,		NULL, 'v' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			nr_wanted = strtoul(optarg, NULL, 0);
			break;
		case 't':
			seconds = strtoul(optarg, NULL, 0);
			break;
		case 'o':
			only = optarg;
			replay = true;
			break;
		case 'w':
			if (strstr(optarg, "admission"))
				without |= WITHOUT_ADMISSION;
			if (strstr(optarg, "protection"))
				without |= WITHOUT_PROTECTION;
			break;
		case 'r':
			replay = true;
			break;
		case 'l':
			list = true;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

/* A file system of its own kind, on a file; the tests say where one is. */
static char *make_xfs(void)
{
	char *command, *dir;

	if (getenv("CACHEBPF_TEST_XFS"))
		return NULL;
	REQUIRE(asprintf(&dir, "%s/cachebpf-programs-xfs", scratch_dir) > 0);
	REQUIRE(asprintf(&command,
			 "(mkdir -p %s && truncate -s 400M %s.img && mkfs.xfs -q -f %s.img &&"
			 " mount -o loop,noatime %s.img %s) >/dev/null 2>&1", dir, dir, dir, dir,
			 dir) > 0);
	if (system(command)) {
		diag("XFS cannot be had: all files are on %s", scratch_dir);
		return NULL;
	}
	setenv("CACHEBPF_TEST_XFS", dir, true);
	return dir;
}

static void unmake_xfs(const char *dir)
{
	char *command;

	if (!dir)
		return;
	REQUIRE(asprintf(&command, "umount %s && rm %s.img && rmdir %s", dir, dir, dir) > 0);
	if (system(command)) {
		nr_bad++;
		diag("XFS cannot be unmounted");
	}
}

/* The last one: nothing may be left. */
static void end_point(struct bpf_link *hooks)
{
	bool gone;

	bpf_link__destroy(hooks);
	gone = EVENTUALLY(kernel_stat("policies") == 0);
	rmdir(scratch_cgroup);
	rmdir(HOOKS_CGROUP);
	nr_points++;
	nr_bad += !gone;
	printf("%sok %u - no policy is left\n", gone ? "" : "not ", nr_points);
}

static void run_all(void)
{
	time_t end = time(NULL) + seconds;
	struct program *p = malloc(sizeof(*p));
	unsigned int nr;

	REQUIRE(p != NULL);
	if (!nr_wanted && !seconds)
		nr_wanted = replay ? 1 : 10;
	for (nr = 0; nr_wanted ? nr < nr_wanted : time(NULL) < end; nr++) {
		draw_program(p, seed + (replay ? 0 : nr));
		if (list) {
			print_program(p, selected);
			continue;
		}
		do_program(p);
		/* what follows would say nothing */
		if (taint() & 1UL << 7)
			break;
	}
}

int main(int argc, char **argv)
{
	char exe[PATH_MAX] = "", *xfs;
	struct bpf_link *hooks;

	if (!parse_options(argc, argv) || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0) {
		fputs("what is there to be done? see programs.c\n", stderr);
		return 2;
	}
	select_ops(only);
	if (list) {
		if (!nr_wanted)
			nr_wanted = 1;
		seconds = 0;
		run_all();
		return 0;
	}
	objects_dir = dirname(exe);
	if (getenv("CACHEBPF_TEST_DIR"))
		scratch_dir = getenv("CACHEBPF_TEST_DIR");
	if (access("/sys/kernel/cachebpf/abi", R_OK) || cg_setup()) {
		puts("Bail out! this kernel has no page cache policies, or no cgroups");
		return EXIT_FAILURE;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	REQUIRE(shared != MAP_FAILED);
	xfs = make_xfs();
	machine_prepare();
	hooks = hooks_attach();
	/* on all the time, as hooks are */
	tracing_start("cachebpf/cachebpf_sample");
	run_all();
	tracing_stop();
	end_point(hooks);
	unmake_xfs(xfs);
	show_counts();
	printf("1..%u\n", nr_points);
	return nr_bad || !nr_points;
}
