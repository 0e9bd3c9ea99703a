// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies that come and go, for the storm (tests/vm/storm.sh):
 *
 *	cachebpf-storm SECONDS CGROUP...
 *
 * In rounds, each a process of its own: load some of the installed policies
 * for one of the cgroups, every other one with its admission filter, which
 * rejects what threads called "scan..." read, and every other one with readahead of its own;
 * attach, replace and detach them in random order, and end without or, now and then, with a link still open.  Prints what was done;
 * the status is that of the worst that happened.
 */
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "runner.h"
#include "selftest.h"

#define MAX_POLICIES	16
#define LOADED		3
/* to load them takes long where everything is checked */
#define STEPS		96
/* longest pause between two steps */
#define MAX_PAUSE_US	400000

static char *names[MAX_POLICIES];
static unsigned int nr_names;

/* what all rounds did, in memory they share */
static struct counts {
	unsigned long	rounds, attached, busy, updated, detached, left, refused;
} *counts;

static void find_policies(void)
{
	DIR *dir = opendir(policies_dir);
	struct dirent *entry;
	char *end;

	while (dir && (entry = readdir(dir)) && nr_names < MAX_POLICIES) {
		end = strstr(entry->d_name, ".bpf.o");
		if (!end || end[strlen(".bpf.o")])
			continue;
		names[nr_names] = strndup(entry->d_name, end - entry->d_name);
		nr_names++;
	}
	if (dir)
		closedir(dir);
	REQUIRE(nr_names >= LOADED);
}

/*
 * What may come of it when somebody else has attached a policy, removed the
 * cgroup, or when memory is short.
 */
static bool tolerable(int err)
{
	return err == -EBUSY || err == -ENOENT || err == -ENOMEM || err == -ENOLINK;
}

static void step(struct policy **p, struct bpf_link **link)
{
	struct policy *choice = p[rand() % LOADED];
	int err;

	if (!*link) {
		err = policy_try_attach(choice, link);
		if (!err)
			__atomic_add_fetch(&counts->attached, 1, __ATOMIC_RELAXED);
		else if (EXPECT(tolerable(err)))
			__atomic_add_fetch(&counts->busy, 1, __ATOMIC_RELAXED);
		else
			diag("attach: %s", strerror(-err));
		return;
	}
	if (rand() % 3) {
		err = bpf_link__update_map(*link, choice->map);
		/* to replace a policy by itself is refused, and so is it after a hang-up */
		if (!err)
			__atomic_add_fetch(&counts->updated, 1, __ATOMIC_RELAXED);
		else if (EXPECT(tolerable(err) || err == -EINVAL || err == -EPERM))
			__atomic_add_fetch(&counts->refused, 1, __ATOMIC_RELAXED);
		else
			diag("update: %s", strerror(-err));
		return;
	}
	if (rand() % 2)
		bpf_link__detach(*link);
	bpf_link__destroy(*link);
	*link = NULL;
	__atomic_add_fetch(&counts->detached, 1, __ATOMIC_RELAXED);
}

static void one_round(const char *cg)
{
	struct policy *p[LOADED];
	struct bpf_link *link = NULL;
	struct stat st;
	int i;

	/* it may be one of those that are made and removed all the time */
	if (stat(cg, &st))
		_exit(EXIT_SKIPPED);
	for (i = 0; i < LOADED; i++) {
		/* adaptive, off, 128 KiB, 2 MiB; see bpf/lib/readahead.bpf.h */
		static const uint32_t settings[] = { ~0U - 1, 0, 32, 512 };

		p[i] = policy_open_whole(names[rand() % nr_names], NULL);
		if (rand() % 2)
			policy_set_scan_threads(p[i], "scan*");
		else
			policy_leave_out(p[i], "admit_folio");
		if (rand() % 2)
			policy_set_readahead(p[i], settings[rand() % ARRAY_SIZE(settings)]);
		else
			policy_leave_out(p[i], "plan_readahead");
		policy_set(p[i], "cgroup_id", st.st_ino);
		if (policy_load(p[i])) {
			policy_log_show();
			give_up();
		}
	}
	for (i = rand() % STEPS; i < STEPS; i++) {
		step(p, &link);
		usleep(rand() % MAX_PAUSE_US);
	}
	if (link)
		__atomic_add_fetch(&counts->left, 1, __ATOMIC_RELAXED);
	conclude();
}

int main(int argc, char **argv)
{
	char exe[PATH_MAX] = "";
	int status, worst = 0;
	time_t end;
	pid_t pid;

	if (argc < 3 || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 2;
	objects_dir = dirname(exe);
	find_policies();
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	REQUIRE(counts != MAP_FAILED);

	for (end = time(NULL) + atoi(argv[1]); time(NULL) < end; counts->rounds++) {
		srand(time(NULL) * 31 + getpid() + counts->rounds);
		fflush(stdout);
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			one_round(argv[2 + rand() % (argc - 2)]);
		}
		REQUIRE(waitpid(pid, &status, 0) == pid);
		if (WIFSIGNALED(status)) {
			diag("a round was ended by signal %d", WTERMSIG(status));
			worst = EXIT_FAILED;
		} else if (WEXITSTATUS(status) == EXIT_FAILED) {
			worst = EXIT_FAILED;
		}
	}
	printf("rounds %lu attached %lu busy %lu updated %lu refused %lu detached %lu left %lu\n",
	       counts->rounds, counts->attached, counts->busy, counts->updated, counts->refused,
	       counts->detached, counts->left);
	return worst || !counts->attached || !counts->updated;
}
