// SPDX-License-Identifier: GPL-2.0-only
/* One program: its ground, its workers, and its end. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "programs.h"

#define DELAY		"/sys/kernel/debug/cachebpf/delay"
#define WATCHDOG	"/sys/kernel/cachebpf/watchdog_budget_us"
/* a machine without KVM that has much else to do is slow; what hangs does so for ever */
#define LONGEST		300

const struct program *program;
struct shared *shared;
unsigned int me;

static char *dirs[NR_CGROUPS];
static int machine_lock = -1;

const char *cg_dir(unsigned int cg)
{
	return dirs[cg];
}

void wrong(const char *format, ...)
{
	unsigned int nr = __atomic_fetch_add(&shared->nr_errors, 1, __ATOMIC_RELAXED);
	va_list args;

	if (nr >= MAX_ERRORS)
		return;
	va_start(args, format);
	vsnprintf(shared->errors[nr], sizeof(shared->errors[nr]), format, args);
	va_end(args);
}

/* A lock that is gone with its owner; a file description for each process. */
void lock_machine(void)
{
	char path[512];

	if (machine_lock < 0) {
		snprintf(path, sizeof(path), "%s/cachebpf-selftest-lock", scratch_dir);
		machine_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	while (flock(machine_lock, LOCK_EX) && errno == EINTR)
		;
}

void unlock_machine(void)
{
	flock(machine_lock, LOCK_UN);
}

static void make_cgroups(const struct program *p)
{
	char text[32];
	unsigned int i;

	for (i = 0; i < NR_CGROUPS; i++) {
		REQUIRE(asprintf(&dirs[i], "%s/%s", scratch_cgroup, cg_short(i)) > 0);
		*strrchr(dirs[i], '/') = '\0';
		cg_write(dirs[i], "cgroup.subtree_control", "+memory");
		cg_new(dirs[i], strrchr(cg_short(i), '/') ? strrchr(cg_short(i), '/') + 1 :
							    cg_short(i));
		REQUIRE(asprintf(&dirs[i], "%s/%s", scratch_cgroup, cg_short(i)) > 0);
		shared->max[i] = p->max[i];
		if (!p->max[i])
			continue;
		snprintf(text, sizeof(text), "%uM", p->max[i]);
		REQUIRE_EQ(cg_write(dirs[i], "memory.max", text), 0);
	}
	for (i = 0; i < CG_LEAVES; i++)
		cg_write(dirs[i], "cgroup.subtree_control", "+memory");
}

static void set_delay(const char *file, unsigned long long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), DELAY "/%s", file);
	snprintf(text, sizeof(text), "%llu", value);
	write_text(path, text);
}

static void set_delays(const struct program *p)
{
	set_delay("seed", p ? p->seed : 0);
	set_delay("max_us", p ? p->delay_us : 0);
	set_delay("one_in", p ? p->delay_one_in : 0);
}

static void run_op(const struct op *op, unsigned int nr)
{
	struct timespec before, after;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &before);
	shared->workers[me].at = nr;
	if (verbose) {
		print_op(program, nr);
		fflush(stdout);
	}
	err = op_kinds[op->kind].run(op);
	__atomic_fetch_add(err ? &shared->refused[op->kind] : &shared->done[op->kind], 1,
			   __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &after);
	__atomic_fetch_add(&shared->us[op->kind], (after.tv_sec - before.tv_sec) * 1000000 +
			   (after.tv_nsec - before.tv_nsec) / 1000, __ATOMIC_RELAXED);
}

static int work(void *arg)
{
	const bool *selected = arg;
	unsigned int i;

	__atomic_add_fetch(&shared->nr_ready, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->nr_ready, __ATOMIC_ACQUIRE) < program->nr_workers &&
	       !__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE))
		usleep(1000);
	for (i = 0; i < program->nr_ops; i++)
		if (program->ops[i].worker == me && selected[i])
			run_op(&program->ops[i], i);
	shared->workers[me].at = -1;
	/* with its links open, until everything is checked */
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		policies_report();
		usleep(20000);
	}
	policies_report();
	policies_check_late();
	return 0;
}

static bool through(void)
{
	unsigned int i;

	for (i = 0; i < program->nr_workers; i++)
		if (__atomic_load_n(&shared->workers[i].at, __ATOMIC_ACQUIRE) != -1)
			return false;
	return true;
}

/* Wait until each has done what it had to; false if one died or hangs. */
static bool wait_for_workers(void)
{
	unsigned int i, left = LONGEST * 20;
	int status;

	while (!through()) {
		for (i = 0; i < program->nr_workers; i++) {
			pid_t pid = shared->workers[i].pid;

			if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid)
				continue;
			shared->workers[i].pid = 0;
			if (WIFSIGNALED(status))
				wrong("worker%u ended by signal %d (%s)", i, WTERMSIG(status),
				      strsignal(WTERMSIG(status)));
			else
				wrong("worker%u ended with status %d", i, WEXITSTATUS(status));
			return false;
		}
		if (!--left) {
			/* what they wait for, on the console */
			write_text("/proc/sysrq-trigger", "w");
			for (i = 0; i < program->nr_workers; i++)
				if (shared->workers[i].at >= 0)
					wrong("worker%u hangs in operation %d", i,
					      shared->workers[i].at);
			return false;
		}
		usleep(50000);
	}
	return true;
}

static void stop_workers(void)
{
	unsigned int i;
	int status;

	__atomic_store_n(&shared->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < program->nr_workers; i++) {
		pid_t pid = shared->workers[i].pid;

		if (pid <= 0)
			continue;
		/* it may be in the middle of something */
		if (!EXPECT(EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid)))
			kill(pid, SIGKILL);
		else if (status)
			wrong("worker%u ended with status %#x", i, status);
	}
}

static void start_workers(const struct program *p, const bool *selected)
{
	unsigned int i;

	for (i = 0; i < p->nr_workers; i++)
		shared->workers[i].at = 0;
	for (i = 0; i < p->nr_workers; i++) {
		/* cg_start() forks */
		me = i;
		shared->workers[i].pid = cg_start(dirs[p->leaf[i]], work, (void *)selected);
	}
}

static void show_errors(void)
{
	unsigned int i;

	for (i = 0; i < shared->nr_errors && i < MAX_ERRORS; i++)
		EXPECT(!"an operation went as it must not");
	for (i = 0; i < shared->nr_errors && i < MAX_ERRORS; i++)
		diag("%s", shared->errors[i]);
}

void run_program(const struct program *p, const bool *selected)
{
	const char *budget = read_text(WATCHDOG);
	bool alive;

	program = p;
	files_make(getenv("CACHEBPF_TEST_XFS"));
	make_cgroups(p);
	mark_log();
	/* how long something takes is the machine's affair, unless an operation says otherwise */
	REQUIRE(budget && !write_text(WATCHDOG, "0"));
	REQUIRE(!set_lru(p->lru_gen));
	policies_cook();
	set_delays(p);
	start_workers(p, selected);
	alive = wait_for_workers();
	machine_restore();
	set_delays(NULL);
	if (alive)
		check_program();
	stop_workers();
	write_text(WATCHDOG, budget);
	if (alive)
		check_end();
	show_errors();
	conclude();
}
