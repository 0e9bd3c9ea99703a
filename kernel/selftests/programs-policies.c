// SPDX-License-Identifier: GPL-2.0-only
/* Operations on policies. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "programs.h"

#define WATCHDOG	"/sys/kernel/cachebpf/watchdog_budget_us"

static struct bpf_link *links[MAX_HELD];

static struct held *held_by_me(unsigned int slot)
{
	return &shared->workers[me].held[slot];
}

/* By a worker that has nothing to do any more: which of its links are alive? */
void policies_report(void)
{
	unsigned int i;

	for (i = 0; i < MAX_HELD; i++)
		if (links[i])
			held_by_me(i)->hung_up = link_hung_up(links[i]);
}

int op_attach(const struct op *op)
{
	unsigned int recipe = op->args[0], cg = op->args[1], slot;
	struct bpf_link *link = NULL;
	struct policy *policy;
	uint64_t cg_id;
	int err;

	for (slot = 0; slot < MAX_HELD && links[slot]; slot++)
		;
	if (slot == MAX_HELD)
		return -ENOSPC;
	policy = find_policy(op, recipe, cg, &cg_id);
	if (!policy)
		return -ENOENT;
	err = policy_try_attach(policy, &link);
	if (err) {
		if (!tolerable(err))
			wrong("attach: %s", strerror(-err));
		return err;
	}
	*held_by_me(slot) = (struct held) {
		.held = true, .cg = cg, .recipe = recipe, .cg_id = cg_id,
	};
	links[slot] = link;
	return 0;
}

/* The link that the argument @nr chooses, -1 without any. */
static int choose_link(uint32_t nr)
{
	unsigned int i, n = 0;

	for (i = 0; i < MAX_HELD; i++)
		n += !!links[i];
	if (!n)
		return -1;
	for (n = nr % n, i = 0; !links[i] || n--; i++)
		;
	return i;
}

int op_update(const struct op *op)
{
	int slot = choose_link(op->args[0]), err;
	struct policy *policy;
	uint64_t cg_id;

	if (slot < 0)
		return -ENOENT;
	policy = find_policy(op, op->args[1], held_by_me(slot)->cg, &cg_id);
	if (!policy)
		return -ENOENT;
	err = bpf_link__update_map(links[slot], policy->map);
	if (!err) {
		held_by_me(slot)->recipe = op->args[1];
		return 0;
	}
	/* by itself, for another cgroup of that name, or after it has hung up */
	if (!tolerable(err) && err != -EINVAL && err != -EPERM)
		wrong("update: %s", strerror(-err));
	return err;
}

int op_detach(const struct op *op)
{
	int slot = choose_link(op->args[0]);
	struct held *held;
	unsigned int nr;

	if (slot < 0)
		return -ENOENT;
	held = held_by_me(slot);
	if (link_hung_up(links[slot])) {
		nr = __atomic_fetch_add(&shared->nr_hung_up, 1, __ATOMIC_RELAXED);
		if (nr < ARRAY_SIZE(shared->hung_up))
			shared->hung_up[nr] = *held;
	}
	if (op->args[1])
		bpf_link__detach(links[slot]);
	bpf_link__destroy(links[slot]);
	links[slot] = NULL;
	held->held = false;
	return 0;
}

/* A process that attaches, and ends with the link open, by itself or killed. */
int op_die(const struct op *op)
{
	struct bpf_link *link;
	struct policy *policy;
	uint64_t cg_id;
	int status;
	pid_t pid;

	policy = find_policy(op, op->args[0], op->args[1], &cg_id);
	if (!policy)
		return -ENOENT;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (policy_try_attach(policy, &link))
			_exit(1);
		usleep(op->args[2] * 1000);
		if (op->args[3])
			raise(SIGKILL);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) ? -EBUSY : 0;
}

/* For a moment nobody is quick enough for the watchdog. */
int op_eject(const struct op *op)
{
	char text[512];
	int fd;

	lock_machine();
	shared->budget_lowered = true;
	write_text(WATCHDOG, "1");
	fd = open(model_path(op->args[1]), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
		close(fd);
	}
	snprintf(text, sizeof(text), "%lu", 2 * MiB);
	cg_write(cg_dir(op->args[0]), "memory.reclaim", text);
	write_text(WATCHDOG, "0");
	unlock_machine();
	return 0;
}

int op_classify(const struct op *op)
{
	/* PIDFD_THREAD */
	int err, pidfd = syscall(SYS_pidfd_open, gettid(), O_EXCL);
	uint32_t class = op->args[0];

	if (pidfd < 0)
		return -errno;
	err = bpf_map_update_elem(classes_fd, &pidfd, &class, BPF_ANY);
	close(pidfd);
	if (err && err != -ENOMEM)
		wrong("classify: %s", strerror(-err));
	return err;
}

/* Of one page in 1, 4 or 16 each use is told from now on, or of none; see tracing_start() in main(). */
int op_sample(const struct op *op)
{
	static const char *const rates[] = { "0", "1", "4", "16" };
	const char *cg = cg_dir(op->args[0]);
	int err = cg_write(cg, "memory.cachebpf.sample", rates[op->args[1]]);

	/* it has no policy of its own, or was removed */
	if (err && err != -ENODEV && err != -ENOENT)
		wrong("sample of %s: %s", cg_short(op->args[0]), strerror(-err));
	return err;
}
