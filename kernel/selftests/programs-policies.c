// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on policies.  Each worker loads its own objects, when it needs
 * them, a recipe for a cgroup, and keeps them: what was attached once can be
 * attached again.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "programs.h"

#define WATCHDOG	"/sys/kernel/cachebpf/watchdog_budget_us"

/* the map of classes, which all objects share; inherited by workers */
static int classes_fd = -1;

static struct loaded {
	struct policy		*policy;
	struct parts_state	*state;
	uint64_t		cg_id;
} loaded[NR_RECIPES][NR_CGROUPS];

static struct bpf_link *links[MAX_HELD];

/* 0 if it is not there */
static uint64_t id_of(unsigned int cg)
{
	struct stat st;

	return stat(cg_dir(cg), &st) ? 0 : st.st_ino;
}

int cgroup_enter(const char *cg)
{
	return cg_write(cg, "cgroup.procs", "0");
}

/* Where this process is, below the scratch cgroup or not. */
static void cgroup_of_self(char *path, size_t size)
{
	char text[400] = "";
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	text[strcspn(text, "\n")] = '\0';
	snprintf(path, size, "/sys/fs/cgroup%s", strncmp(text, "0::", 3) ? "" : text + 3);
}

static void drop_callback(struct policy *p, const struct recipe *r, unsigned int callback,
			  const char *member)
{
	if (!(r->callbacks & callback) ||
	    (callback == HAS_ADMIT && without & WITHOUT_ADMISSION))
		memset(policy_member(p, member), 0, sizeof(struct bpf_program *));
}

/* The object that has not been loaded yet, as the recipe says. */
static struct policy *cook(const struct recipe *r, uint64_t cg_id)
{
	struct policy *p = policy_open("parts", "parts", NULL);
	struct parts_state *state = policy_state(p);

	drop_callback(p, r, HAS_ADDED, "folio_added");
	drop_callback(p, r, HAS_ACCESSED, "folio_accessed");
	drop_callback(p, r, HAS_REMOVED, "folio_removed");
	drop_callback(p, r, HAS_ADMIT, "admit_folio");
	drop_callback(p, r, HAS_EVICT, "evict_folios");
	drop_callback(p, r, HAS_EXIT, "policy_exit");
	policy_set(p, "cgroup_id", cg_id);
	/* CACHEBPF_F_STOCK_RECLAIM */
	policy_set(p, "flags", r->stock_reclaim);
	memcpy(policy_member(p, "name"), r->name, sizeof(r->name));
	*state = r->settings;
	if (classes_fd >= 0)
		REQUIRE(!bpf_map__reuse_fd(bpf_object__find_map_by_name(p->obj, "classes"),
					   classes_fd));
	return p;
}

/* A process that ends, a cgroup that goes, or somebody else's policy; and memory may be short. */
static bool tolerable(int err)
{
	return err == -EBUSY || err == -ENOENT || err == -ENOMEM || err == -ENOLINK ||
	       err == -EAGAIN || err == -EINTR;
}

/* Loading takes memory that is not to count in the tree: it is done from outside of it. */
static struct loaded *load(unsigned int recipe, unsigned int cg)
{
	struct loaded *l = &loaded[recipe][cg];
	uint64_t cg_id = id_of(cg);
	char home[512];
	int err;

	if (!cg_id)
		return NULL;
	if (l->policy && l->cg_id == cg_id)
		return l;
	cgroup_of_self(home, sizeof(home));
	cgroup_enter("/sys/fs/cgroup");
	/* of a cgroup of the same name that is gone */
	if (l->policy)
		bpf_object__close(l->policy->obj);
	l->policy = cook(&program->recipes[recipe], cg_id);
	l->cg_id = cg_id;
	err = policy_load(l->policy);
	l->state = policy_state(l->policy);
	/* it may have been removed meanwhile */
	cgroup_enter(home);
	if (!err)
		return l;
	if (!tolerable(err)) {
		wrong("%s cannot be loaded: %s", program->recipes[recipe].name, strerror(-err));
		policy_log_show();
	}
	bpf_object__close(l->policy->obj);
	l->policy = NULL;
	return NULL;
}

void policies_prepare(void)
{
	memset(links, 0, sizeof(links));
}

static struct held *held_by_me(unsigned int slot)
{
	return &shared->workers[me].held[slot];
}

/* For those who check: which links are alive, and what callbacks have found. */
void policies_report(void)
{
	uint64_t not_empty = 0, not_intact = 0;
	unsigned int i, j;

	for (i = 0; i < MAX_HELD; i++)
		if (links[i])
			held_by_me(i)->hung_up = link_hung_up(links[i]);
	for (i = 0; i < NR_RECIPES; i++) {
		for (j = 0; j < NR_CGROUPS; j++) {
			if (!loaded[i][j].policy)
				continue;
			not_empty += loaded[i][j].state->not_empty;
			not_intact += loaded[i][j].state->not_intact;
		}
	}
	shared->workers[me].not_empty = not_empty;
	shared->workers[me].not_intact = not_intact;
}

int op_attach(const struct op *op)
{
	unsigned int recipe = op->args[0], cg = op->args[1], slot;
	struct bpf_link *link = NULL;
	struct loaded *l;
	int err;

	for (slot = 0; slot < MAX_HELD && links[slot]; slot++)
		;
	if (slot == MAX_HELD)
		return -ENOSPC;
	l = load(recipe, cg);
	if (!l)
		return -ENOENT;
	err = policy_try_attach(l->policy, &link);
	if (err) {
		if (!tolerable(err))
			wrong("attach: %s", strerror(-err));
		return err;
	}
	*held_by_me(slot) = (struct held) {
		.held = true, .cg = cg, .recipe = recipe, .cg_id = l->cg_id,
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
	struct loaded *l;

	if (slot < 0)
		return -ENOENT;
	l = load(op->args[1], held_by_me(slot)->cg);
	if (!l)
		return -ENOENT;
	err = bpf_link__update_map(links[slot], l->policy->map);
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
	struct policy *p;
	uint64_t cg_id = id_of(op->args[1]);
	int status;
	pid_t pid;

	if (!cg_id)
		return -ENOENT;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		cgroup_enter("/sys/fs/cgroup");
		p = cook(&program->recipes[op->args[0]], cg_id);
		if (policy_load(p) || policy_try_attach(p, &link))
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

/* All policies that this worker has loaded answer otherwise from now on. */
int op_admit(const struct op *op)
{
	unsigned int i, j;

	for (i = 0; i < NR_RECIPES; i++)
		for (j = 0; j < NR_CGROUPS; j++)
			if (loaded[i][j].policy)
				loaded[i][j].state->admit = op->args[0];
	return 0;
}

/*
 * A policy where nothing happens, that is there all the time: the hooks in the
 * kernel do not come and go with each policy of a program.  QEMU's interpreter
 * can run into an instruction that another processor is just changing; see
 * tests/vm/storm.sh.
 */
struct bpf_link *hooks_attach(void)
{
	static const struct recipe hooks = {
		.name = "hooks", .callbacks = HAS_EVICT | HAS_ADMIT, .behaves = true,
	};
	struct policy *p = cook(&hooks, cg_id(cg_new("/sys/fs/cgroup", "cachebpf-hooks")));
	struct bpf_link *link = policy_attach(p);

	classes_fd = bpf_object__find_map_fd_by_name(p->obj, "classes");
	return link;
}
