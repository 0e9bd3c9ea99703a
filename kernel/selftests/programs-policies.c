// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on policies.  All recipes are loaded before the workers begin, for
 * all cgroups, so that attaching one takes no longer than that.  For a cgroup
 * that was made anew a worker loads another one.
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

/* one object for a recipe, with policies for each cgroup */
static struct cooked {
	struct parts_state	*state;
	struct policy		policies[NR_CGROUPS][PARTS_COPIES];
	uint64_t		cg_id[NR_CGROUPS];
} cooked[NR_RECIPES];

/* a worker's own, for a cgroup that was not there then */
static struct late {
	struct policy		policy;
	struct parts_state	*state;
	uint64_t		cg_id;
} late[NR_RECIPES][NR_CGROUPS];

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

/* Make the struct_ops map number @nr of @p->obj, not loaded yet, the policy of @cg_id. */
static void season(struct policy *p, const struct recipe *r, uint64_t cg_id, unsigned int nr)
{
	char name[16];

	snprintf(name, sizeof(name), "parts_%u", nr);
	p->map = bpf_object__find_map_by_name(p->obj, name);
	REQUIRE(p->map != NULL);
	bpf_map__set_autocreate(p->map, true);
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
}

/* An object with the first policy, not loaded yet. */
static struct policy *cook(const struct recipe *r, uint64_t cg_id)
{
	struct policy *p = policy_open("parts", "parts_0", NULL);

	season(p, r, cg_id, 0);
	*(struct parts_state *)policy_state(p) = r->settings;
	if (classes_fd >= 0)
		REQUIRE(!bpf_map__reuse_fd(bpf_object__find_map_by_name(p->obj, "classes"),
					   classes_fd));
	return p;
}

static void cook_for_all(const struct recipe *r, struct cooked *c)
{
	unsigned int cg, copy;
	struct policy *p;

	p = cook(r, id_of(0));
	for (cg = 0; cg < NR_CGROUPS; cg++) {
		c->cg_id[cg] = id_of(cg);
		for (copy = 0; copy < PARTS_COPIES; copy++) {
			c->policies[cg][copy].obj = p->obj;
			season(&c->policies[cg][copy], r, c->cg_id[cg], cg * PARTS_COPIES + copy);
		}
	}
	if (!EXPECT_EQ(policy_load(p), 0)) {
		policy_log_show();
		give_up();
	}
	c->state = policy_state(p);
}

void policies_cook(void)
{
	unsigned int i;

	for (i = 0; i < NR_RECIPES; i++)
		cook_for_all(&program->recipes[i], &cooked[i]);
}

/* A process that ends, a cgroup that goes, or somebody else's policy; and memory may be short. */
static bool tolerable(int err)
{
	return err == -EBUSY || err == -ENOENT || err == -ENOMEM || err == -ENOLINK ||
	       err == -EAGAIN || err == -EINTR;
}

/* Loading takes memory that is not to count in the tree: it is done from outside of it. */
static struct policy *load_late(unsigned int recipe, unsigned int cg, uint64_t cg_id)
{
	struct late *l = &late[recipe][cg];
	char home[512];
	int err;

	if (l->policy.obj && l->cg_id == cg_id)
		return &l->policy;
	cgroup_of_self(home, sizeof(home));
	cgroup_enter("/sys/fs/cgroup");
	/* of another one of that name, which is gone */
	if (l->policy.obj)
		bpf_object__close(l->policy.obj);
	l->policy = *cook(&program->recipes[recipe], cg_id);
	l->cg_id = cg_id;
	err = policy_load(&l->policy);
	l->state = policy_state(&l->policy);
	/* it may have been removed meanwhile */
	cgroup_enter(home);
	if (!err)
		return &l->policy;
	if (!tolerable(err)) {
		wrong("%s cannot be loaded: %s", program->recipes[recipe].name, strerror(-err));
		policy_log_show();
	}
	bpf_object__close(l->policy.obj);
	l->policy.obj = NULL;
	return NULL;
}

/* A policy for what is called @cg now; its id in @cg_id. */
static struct policy *find(const struct op *op, unsigned int recipe, unsigned int cg,
			   uint64_t *cg_id)
{
	*cg_id = id_of(cg);
	if (!*cg_id)
		return NULL;
	if (*cg_id == cooked[recipe].cg_id[cg])
		return &cooked[recipe].policies[cg][(op - program->ops) % PARTS_COPIES];
	return load_late(recipe, cg, *cg_id);
}

static struct held *held_by_me(unsigned int slot)
{
	return &shared->workers[me].held[slot];
}

static void check_state(const struct recipe *r, const struct parts_state *state)
{
	if (state->not_empty)
		wrong("%s: %llu folios came with bytes that were not empty", r->name,
		      (unsigned long long)state->not_empty);
	if (state->not_intact)
		wrong("%s: %llu folios went with bytes that were not theirs", r->name,
		      (unsigned long long)state->not_intact);
}

/* What callbacks have found, of the objects that all workers share. */
void policies_check(void)
{
	struct parts_state *calls = &shared->calls;
	unsigned int i;

	for (i = 0; i < NR_RECIPES; i++) {
		check_state(&program->recipes[i], cooked[i].state);
		calls->added += cooked[i].state->added;
		calls->accessed += cooked[i].state->accessed;
		calls->removed += cooked[i].state->removed;
		calls->asked += cooked[i].state->asked;
		calls->requests += cooked[i].state->requests;
	}
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
	policy = find(op, recipe, cg, &cg_id);
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
	policy = find(op, op->args[1], held_by_me(slot)->cg, &cg_id);
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

	policy = find(op, op->args[0], op->args[1], &cg_id);
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

/* All policies of a recipe answer otherwise from now on. */
int op_admit(const struct op *op)
{
	unsigned int recipe = op->args[0], cg;

	cooked[recipe].state->admit = op->args[1];
	for (cg = 0; cg < NR_CGROUPS; cg++)
		if (late[recipe][cg].policy.obj)
			late[recipe][cg].state->admit = op->args[1];
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
