// SPDX-License-Identifier: GPL-2.0-only
/* Loading and attaching policies, those of the tests and the installed ones. */
#include <poll.h>
#include <stdarg.h>
#include <bpf/btf.h>

#include "selftest.h"

const char *objects_dir = ".";
const char *policies_dir = "/usr/lib/cachebpf/policies";
const char *const budget_file = "/sys/kernel/cachebpf/watchdog_budget_us";

/* what libbpf and the verifier had to say since the last policy_load() or attach */
static char log_text[1 << 20];
static size_t log_len;

static int collect(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t room = sizeof(log_text) - log_len;
	int n;

	(void)level;
	n = vsnprintf(log_text + log_len, room, format, args);
	if (n > 0)
		log_len += (size_t)n < room ? (size_t)n : room - 1;
	return n;
}

void policy_log_clear(void)
{
	log_len = 0;
	log_text[0] = '\0';
	libbpf_set_print(collect);
}

bool policy_log_has(const char *text)
{
	return strstr(log_text, text);
}

void policy_log_show(void)
{
	/* the end says what was wrong */
	diag("libbpf: ...%s", log_text + (log_len > 600 ? log_len - 600 : 0));
}

static struct policy *open_object(const char *path, const char *name, const char *cg)
{
	struct policy *p = calloc(1, sizeof(*p));
	struct bpf_map *map;

	REQUIRE(p != NULL);
	policy_log_clear();
	p->obj = bpf_object__open_file(path, NULL);
	if (!p->obj) {
		diag("%s: %s", path, strerror(errno));
		give_up();
	}
	bpf_object__for_each_map(map, p->obj) {
		if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
			continue;
		if (!p->map && (!name || !strcmp(bpf_map__name(map), name)))
			p->map = map;
		else
			bpf_map__set_autocreate(map, false);
	}
	if (!p->map) {
		diag("%s: no policy %s", path, name ?: "");
		give_up();
	}
	if (cg)
		policy_set(p, "cgroup_id", cg_id(cg));
	return p;
}

struct policy *policy_open(const char *file, const char *name, const char *cg)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", objects_dir, file);
	return open_object(path, name, cg);
}

/* Where @member lies in the not yet loaded struct cachebpf_ops. */
void *policy_member(struct policy *p, const char *member)
{
	struct btf *btf = bpf_object__btf(p->obj);
	const struct btf_member *m;
	const struct btf_type *t;
	char *value;
	size_t size;
	int i, id;

	id = btf__find_by_name_kind(btf, "cachebpf_ops", BTF_KIND_STRUCT);
	REQUIRE(id > 0);
	value = bpf_map__initial_value(p->map, &size);
	REQUIRE(value != NULL);
	t = btf__type_by_id(btf, id);
	for (i = 0, m = btf_members(t); i < btf_vlen(t); i++, m++)
		if (!strcmp(btf__name_by_offset(btf, m->name_off), member))
			return value + m->offset / 8;
	diag("cachebpf_ops has no member %s", member);
	give_up();
}

/* With all that policies of the daemon have in common. */
struct policy *policy_open_whole(const char *name, const char *cg)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", policies_dir, name);
	/* the only one of its file, and not always called as that is: names in C have no "-" */
	return open_object(path, NULL, cg);
}

void policy_leave_out(struct policy *p, const char *callback)
{
	struct bpf_map *streams = bpf_object__find_map_by_name(p->obj, ".bss.readahead");

	memset(policy_member(p, callback), 0, sizeof(struct bpf_program *));
	if (!strcmp(callback, "plan_readahead"))
		bpf_map__set_autocreate(streams, false);
}

/* As the daemon opens it where an admission filter is configured. */
struct policy *policy_open_with_filter(const char *name, const char *cg)
{
	struct policy *p = policy_open_whole(name, cg);

	policy_leave_out(p, "plan_readahead");
	return p;
}

/* And where nothing is. */
struct policy *policy_open_installed(const char *name, const char *cg)
{
	struct policy *p = policy_open_with_filter(name, cg);

	policy_leave_out(p, "admit_folio");
	return p;
}

/* Where the constant @name is, to be changed before the policy is loaded. */
static void *constant(struct policy *p, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(p->obj, ".rodata");
	struct btf *btf = bpf_object__btf(p->obj);
	const struct btf_var_secinfo *var;
	const struct btf_type *t;
	char *value;
	size_t size;
	int i, id;

	id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	REQUIRE(map && id > 0);
	value = bpf_map__initial_value(map, &size);
	REQUIRE(value != NULL);
	t = btf__type_by_id(btf, id);
	for (i = 0, var = btf_var_secinfos(t); i < btf_vlen(t); i++, var++) {
		const struct btf_type *v = btf__type_by_id(btf, var->type);

		if (!strcmp(btf__name_by_offset(btf, v->name_off), name))
			return value + var->offset;
	}
	diag("there is no %s", name);
	give_up();
}

/* Threads whose names match @glob only scan: what they read is rejected. */
void policy_set_scan_threads(struct policy *p, const char *glob)
{
	strcpy(constant(p, "cachebpf_scan_threads"), glob);
}

/* As in bpf/lib/readahead.bpf.h. */
void policy_set_readahead(struct policy *p, uint32_t setting)
{
	memcpy(constant(p, "cachebpf_readahead"), &setting, sizeof(setting));
}

void policy_set(struct policy *p, const char *member, uint64_t value)
{
	memcpy(policy_member(p, member), &value, sizeof(value));
}

struct bpf_program *policy_callback(struct policy *p, const char *member)
{
	return *(struct bpf_program **)policy_member(p, member);
}

int policy_load(struct policy *p)
{
	policy_log_clear();
	return bpf_object__load(p->obj) ? -errno : 0;
}

int policy_try_attach(struct policy *p, struct bpf_link **ret)
{
	struct bpf_link *link;

	policy_log_clear();
	link = bpf_map__attach_struct_ops(p->map);
	if (!link)
		return -errno;
	*ret = link;
	return 0;
}

struct bpf_link *policy_attach_loaded(struct policy *p)
{
	struct bpf_link *link = NULL;

	if (!EXPECT_EQ(policy_try_attach(p, &link), 0)) {
		policy_log_show();
		give_up();
	}
	return link;
}

/* Load it, too. */
struct bpf_link *policy_attach(struct policy *p)
{
	if (!EXPECT_EQ(policy_load(p), 0)) {
		policy_log_show();
		give_up();
	}
	return policy_attach_loaded(p);
}

struct bpf_link *policy_start(const char *installed, const char *cg)
{
	return policy_attach(policy_open_installed(installed, cg));
}

void *policy_state(struct policy *p)
{
	struct bpf_map *map = bpf_object__find_map_by_name(p->obj, ".bss.state");
	size_t size;

	REQUIRE(map != NULL);
	return bpf_map__initial_value(map, &size);
}

bool link_hung_up(struct bpf_link *link)
{
	struct pollfd p = { .fd = bpf_link__fd(link) };

	REQUIRE(poll(&p, 1, 0) >= 0);
	return p.revents & POLLHUP;
}

void no_budget(void)
{
	REQUIRE_EQ(write_text(budget_file, "0"), 0);
}
