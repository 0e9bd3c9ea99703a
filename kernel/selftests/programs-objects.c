// SPDX-License-Identifier: GPL-2.0-only
/*
 * From recipes to BPF objects.  All recipes are loaded before the workers begin,
 * for all cgroups, so that attaching one takes no longer than that.  For a
 * cgroup that was made anew a worker loads another one.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "programs.h"

/* the map of classes, which all objects share; inherited by workers */
int classes_fd = -1;

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
	drop_callback(p, r, HAS_ADVISE, "advise");
	drop_callback(p, r, HAS_PLAN, "plan_readahead");
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
bool tolerable(int err)
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

struct policy *find_policy(const struct op *op, unsigned int recipe, unsigned int cg,
			   uint64_t *cg_id)
{
	*cg_id = id_of(cg);
	if (!*cg_id)
		return NULL;
	if (*cg_id == cooked[recipe].cg_id[cg])
		return &cooked[recipe].policies[cg][(op - program->ops) % PARTS_COPIES];
	return load_late(recipe, cg, *cg_id);
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
		calls->advised += cooked[i].state->advised;
		calls->planned += cooked[i].state->planned;
		calls->requests += cooked[i].state->requests;
	}
}

/* The same of those that a worker has loaded himself. */
void policies_check_late(void)
{
	unsigned int i, cg;

	for (i = 0; i < NR_RECIPES; i++)
		for (cg = 0; cg < NR_CGROUPS; cg++)
			if (late[i][cg].policy.obj)
				check_state(&program->recipes[i], late[i][cg].state);
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
	struct bpf_link *link;
	struct policy *p;

	/* left by one that was killed */
	rmdir(HOOKS_CGROUP);
	REQUIRE(!mkdir(HOOKS_CGROUP, 0755));
	p = cook(&hooks, cg_id(HOOKS_CGROUP));
	link = policy_attach(p);

	classes_fd = bpf_object__find_map_fd_by_name(p->obj, "classes");
	return link;
}
