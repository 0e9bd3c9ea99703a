// SPDX-License-Identifier: GPL-2.0-only
/* Attaching: what is refused and why, what can be read, how it ends. */
#include <sys/stat.h>

#include "selftest.h"
#include "states.h"

/* Load a policy that is like fifo but for what @change does, and attach it. */
static int attach_changed(const char *cg, void (*change)(struct policy *))
{
	struct policy *p = policy_open_installed("fifo", cg);
	struct bpf_link *link;
	long long attached = kernel_stat("attached");
	int err;

	change(p);
	REQUIRE_EQ(policy_load(p), 0);
	err = policy_try_attach(p, &link);
	EXPECT_EQ(kernel_stat("attached"), attached + !err);
	EXPECT_STR(cg_policy(cg, "policy"), err ? "none" : "fifo");
	if (!err)
		REQUIRE_EQ(bpf_link__destroy(link), 0);
	EXPECT_EQ(kernel_stat("policies"), 0);
	return err;
}

static void no_change(struct policy *p)
{
	(void)p;
}

static void no_such_cgroup(struct policy *p)
{
	policy_set(p, "cgroup_id", 0xdeadbeef);
}

static void no_evict(struct policy *p)
{
	policy_set(p, "evict_folios", 0);
}

static void no_evict_stock(struct policy *p)
{
	no_evict(p);
	policy_set(p, "flags", 1);
}

static void no_name(struct policy *p)
{
	memset(policy_member(p, "name"), 0, 16);
}

static void bad_name(struct policy *p)
{
	strcpy(policy_member(p, "name"), "a b\n");
}

static void long_name(struct policy *p)
{
	memset(policy_member(p, "name"), 'x', 16);
}

static void bad_flags(struct policy *p)
{
	policy_set(p, "flags", 1ULL << 63);
}

static void test_errors(void)
{
	const char *cg = cg_new(NULL, "a");

	EXPECT_EQ(attach_changed(cg, no_change), 0);
	EXPECT_EQ(attach_changed(cg, no_such_cgroup), -ENOENT);
	EXPECT_EQ(attach_changed(cg, no_evict), -EINVAL);
	EXPECT_EQ(attach_changed(cg, no_evict_stock), 0);
	EXPECT_EQ(attach_changed(cg, no_name), -EINVAL);
	EXPECT_EQ(attach_changed(cg, bad_name), -EINVAL);
	EXPECT_EQ(attach_changed(cg, long_name), -EINVAL);
	EXPECT_EQ(attach_changed(cg, bad_flags), -EINVAL);
	EXPECT_EQ(attach_changed(cg, no_change), 0);
}

static void test_busy(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct policy *fifo = policy_open_installed("fifo", a);
	struct policy *mru = policy_open_installed("mru", a);
	struct bpf_link *first, *link;

	first = policy_attach(fifo);
	/* the same map again */
	EXPECT_EQ(policy_try_attach(fifo, &link), -EBUSY);
	/* another one for the same cgroup */
	REQUIRE_EQ(policy_load(mru), 0);
	EXPECT_EQ(policy_try_attach(mru, &link), -EBUSY);
	EXPECT_STR(cg_policy(a, "policy"), "fifo");
	EXPECT(!link_hung_up(first));
	/* another cgroup is not in the way */
	policy_start("mru", b);
	EXPECT_STR(cg_policy(b, "policy"), "mru");
	EXPECT_EQ(kernel_stat("policies"), 2);

	REQUIRE_EQ(bpf_link__detach(first), 0);
	EXPECT_EQ(policy_try_attach(mru, &link), 0);
	EXPECT_STR(cg_policy(a, "policy"), "mru");
}

static void test_no_controller(void)
{
	const char *a = cg_new(NULL, "a");
	struct policy *p;
	struct bpf_link *link;
	char *child;

	REQUIRE(asprintf(&child, "%s/child", a) > 0);
	REQUIRE(!mkdir(child, 0755));
	REQUIRE(!cg_read(child, "memory.current"));
	p = policy_open_installed("fifo", child);
	REQUIRE_EQ(policy_load(p), 0);
	EXPECT_EQ(policy_try_attach(p, &link), -EOPNOTSUPP);
	EXPECT_STR(cg_policy(a, "policy"), "none");
}

static void test_init_error(void)
{
	const char *cg = cg_new(NULL, "a");
	struct policy *p = policy_open("refused", "refuse", cg);
	struct bpf_link *link;

	REQUIRE_EQ(policy_load(p), 0);
	EXPECT_EQ(policy_try_attach(p, &link), -ENOTTY);
	EXPECT_STR(cg_policy(cg, "policy"), "none");
	EXPECT_EQ(kernel_stat("policies"), 0);
	/* nothing of it is in the way of the next one */
	policy_start("fifo", cg);
}

/* What the verifier refuses, and a part of its reason. */
static void test_verifier(void)
{
	static const struct {
		const char *map, *reason;
	} cases[] = {
		{ "create_late",	"bpf_cachebpf_list_create is not allowed" },
		{ "create_exit",	"bpf_cachebpf_list_create is not allowed" },
		{ "dummy",		"bpf_cachebpf_list_len is not allowed" },
		{ "write_order",	"only cachebpf_folio.accesses may be written" },
		{ "write_admission",	"only cachebpf_folio.accesses may be written" },
		{ "write_cgroup",	"only cachebpf_folio.accesses may be written" },
		{ "write_wanted",	"only cachebpf_folio.accesses may be written" },
		{ "write_readahead",	"only cachebpf_folio.accesses may be written" },
		{ "leak_task",		"Unreleased reference" },
		{ "leak_walk",		"Unreleased reference" },
		{ "may_fault",		"must be sleepable" },
		{ "long_data",		"invalid access to memory, mem_size=16 off=16" },
		{ "key_evict",		"bpf_cachebpf_key is not allowed" },
		{ "key_by_number",	"expected pointer to STRUCT cachebpf_held_folio" },
		{ "file_evict",		"bpf_cachebpf_file is not allowed" },
		{ "number_init",	"bpf_iter_cachebpf_folio_new is not allowed" },
		{ "advised_before",	"access beyond struct cachebpf_advice" },
		{ "proposed_before",	"access beyond struct cachebpf_evict" },
		{ "buckets_late",	"bpf_cachebpf_buckets_create is not allowed" },
		{ "bucket_init",	"bpf_cachebpf_bucket is not allowed" },
		{ "long_bucket",	"invalid access to memory, mem_size=64 off=64" },
		{ "as_number",		"arg#1 pointer type STRUCT cachebpf_folio must point to" },
		{ "made_up_folio",	"arg#1 pointer type STRUCT cachebpf_folio must point to" },
		{ "made_up_evict",	"arg#0 pointer type STRUCT cachebpf_evict must point to" },
		{ "made_up_plan",	"arg#0 pointer type STRUCT cachebpf_readahead must point to" },
		{ "as_pointer",		"R2 must be" },
	};
	const char *cg = cg_new(NULL, "a");
	struct policy *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		p = policy_open("refused", cases[i].map, NULL);
		expect(policy_load(p) < 0, __FILE__, __LINE__, "%s was loaded", cases[i].map);
		if (!expect(policy_log_has(cases[i].reason), __FILE__, __LINE__,
			    "%s was refused, but not with \"%s\"", cases[i].map, cases[i].reason))
			policy_log_show();
	}

	/* the callbacks on the hot paths must not sleep */
	p = policy_open_installed("fifo", cg);
	REQUIRE_EQ(bpf_program__set_flags(policy_callback(p, "evict_folios"), BPF_F_SLEEPABLE), 0);
	EXPECT_EQ(policy_load(p), -EINVAL);
	if (!EXPECT(policy_log_has("evict_folios")))
		policy_log_show();
}

static void test_other_program_type(void)
{
	struct bpf_object *obj;
	char path[512];

	snprintf(path, sizeof(path), "%s/syscall.bpf.o", objects_dir);
	obj = bpf_object__open_file(path, NULL);
	REQUIRE(obj != NULL);
	policy_log_clear();
	EXPECT(bpf_object__load(obj) < 0);
	if (!EXPECT(policy_log_has("bpf_cachebpf_list_len is not allowed")))
		policy_log_show();
}

static void test_files(void)
{
	const char *cg = cg_new(NULL, "a");
	long long attached = kernel_stat("attached"), detached = kernel_stat("detached");
	struct bpf_link *link;
	char id[32], *first;

	EXPECT_STR(cg_read(cg, "memory.cachebpf.policy"), "policy none\n");
	EXPECT_STR(cg_read(cg, "memory.cachebpf.stat"), "");

	link = policy_start("fifo", cg);
	snprintf(id, sizeof(id), "%llu", (unsigned long long)cg_id(cg));
	EXPECT_STR(cg_policy(cg, "policy"), "fifo");
	EXPECT_STR(cg_policy(cg, "cgroup"), id);
	EXPECT_STR(cg_policy(cg, "inherited"), "0");
	EXPECT_STR(cg_policy(cg, "updates"), "0");
	first = cg_policy(cg, "id");
	REQUIRE(first != NULL);
	EXPECT_STR(cg_policy(cg, "id"), first);
	EXPECT_EQ(cg_stat(cg, "lists"), 1);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 0);
	EXPECT_EQ(kernel_stat("policies"), 1);
	EXPECT_EQ(kernel_stat("attached"), attached + 1);
	EXPECT_EQ(kernel_stat("detached"), detached);

	REQUIRE_EQ(bpf_link__detach(link), 0);
	EXPECT(link_hung_up(link));
	EXPECT_STR(cg_read(cg, "memory.cachebpf.policy"), "policy none\n");
	EXPECT_STR(cg_read(cg, "memory.cachebpf.stat"), "");
	EXPECT_EQ(kernel_stat("policies"), 0);
	EXPECT_EQ(kernel_stat("detached"), detached + 1);

	policy_start("fifo", cg);
	EXPECT(strcmp(cg_policy(cg, "id"), first));
	EXPECT_EQ(kernel_stat("attached"), attached + 2);
}

/* All that the documentation names, each a number. */
static void test_statistics(void)
{
	static const char *const names[] = {
		"managed_folios", "managed_pages", "rejected_pages", "lists", "table_bytes",
		"bucket_bytes", "evict_ns_max", "hits", "misses", "added", "adopted", "unmanaged",
		"refaults", "admit_asked", "admit_rejected", "admit_asked_again", "admit_reversed",
		"readahead_asked", "readahead_declined", "readahead_clamped", "readahead_pages",
		"readahead_prefetched", "readahead_marks_set", "readahead_marks_hit",
		"readahead_unused", "readahead_again",
		"removed_reclaim", "removed_truncate", "removed_invalidate", "removed_migrate",
		"removed_handover", "removed_dropped", "evict_calls", "evict_asked",
		"evict_proposed", "evict_isolated", "evict_reclaimed", "evict_fallback",
		"evict_ns", "reject_stale", "reject_busy", "reject_node", "reject_protected",
		"reject_kept",
	};
	const char *cg = cg_new(NULL, "a");
	char *text, *line, *value;
	size_t nr_lines = 0, i;

	policy_start("fifo", cg);
	text = cg_read(cg, "memory.cachebpf.stat");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		value = flat_key(text, names[i]);
		expect(value && *value && !value[strspn(value, "0123456789")], __FILE__, __LINE__,
		       "%s is \"%s\"", names[i], value ?: "(nothing)");
	}
	for (line = text; (line = strchr(line, '\n')); line++)
		nr_lines++;
	EXPECT_EQ(nr_lines, ARRAY_SIZE(names));
}

/* A block of the folio table is of four entries, with something beside them; so many are kept. */
#define BLOCK_PAGES	4
#define MIN_BLOCK	(BLOCK_PAGES * 32)
#define MAX_BLOCK	(MIN_BLOCK + 32)
#define KEPT_BLOCKS	64

/* What the folio table takes comes and goes with the folios. */
static void test_table(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 8 * MiB_PAGES);
	long long nr = file->nr_pages;

	policy_start("fifo", cg);
	EXPECT_EQ(cg_stat(cg, "table_bytes"), 0);
	cg_read_file(cg, file, 0, nr);
	EXPECT_OP(cg_stat(cg, "table_bytes"), >=, nr / BLOCK_PAGES * MIN_BLOCK);
	EXPECT_OP(cg_stat(cg, "table_bytes"), <=, nr * MAX_BLOCK);
	file_forget(file);
	EXPECT_OP(cg_stat(cg, "table_bytes"), <=, KEPT_BLOCKS * MAX_BLOCK);
}

static void test_detach_keeps_cache(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 256);
	struct bpf_link *link = policy_start("fifo", cg);

	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 256);
	REQUIRE_EQ(bpf_link__detach(link), 0);
	EXPECT_EQ(file_cached(file, NULL), 256);
	EXPECT_EQ(file_read(file, 0, file->nr_pages), 0);
	/* they are the stock LRU's now */
	EXPECT_EQ(cg_reclaim(cg, 128 * PAGE), 0);
	EXPECT_OP(file_cached(file, NULL), <=, 128);
}

static void test_rmdir(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct file *file = file_new(NULL, "f", 64);
	struct bpf_link *of_a = policy_start("fifo", a), *of_b = policy_start("mru", b);
	struct bpf_link_info info = { };
	__u32 len = sizeof(info);

	/* a cgroup with cached pages goes away as well */
	cg_read_file(a, file, 0, file->nr_pages);
	EXPECT(!link_hung_up(of_a));
	REQUIRE_EQ(cg_remove(a), 0);
	EXPECT(EVENTUALLY(link_hung_up(of_a)));
	EXPECT(EVENTUALLY(kernel_stat("policies") == 1));
	EXPECT_EQ(file_read(file, 0, file->nr_pages), 0);

	/* the descriptor is still a link's, if one that does nothing any more */
	EXPECT_EQ(bpf_link_get_info_by_fd(bpf_link__fd(of_a), &info, &len), 0);
	EXPECT_EQ(info.type, BPF_LINK_TYPE_STRUCT_OPS);
	EXPECT(!link_hung_up(of_b));
	EXPECT_STR(cg_policy(b, "policy"), "mru");

	/* nor is the name in the way of a new cgroup's policy */
	a = cg_new(NULL, "a");
	EXPECT_STR(cg_policy(a, "policy"), "none");
	policy_start("lfu", a);
	EXPECT_STR(cg_policy(a, "policy"), "lfu");
}

/* as many as there can be, which makes the arrays of them large */
#define MAX_LISTS	1022
#define NR_TIMES	256
/* the smallest of these arrays, half of it, in KiB */
#define MAX_LEFT	(NR_TIMES * 8 / 2)

/* KiB that the kernel has in slabs and does not give back for the asking. */
static long long slab(void)
{
	return strtoll(flat_key(read_text("/proc/meminfo"), "SUnreclaim:") ?: "-1", NULL, 10);
}

/* Nothing is left of a policy that has come and gone. */
static void test_memory(void)
{
	const char *cg = cg_new(NULL, "a");
	struct policy *p = policy_open("advice", NULL, cg);
	struct advice_state *state;
	struct file *file = file_new(NULL, "f", 64);
	long long before = 0;
	int i;

	REQUIRE_EQ(policy_load(p), 0);
	state = policy_state(p);
	state->want_lists = MAX_LISTS;
	cg_read_file(cg, file, 0, file->nr_pages);
	for (i = -8; i < NR_TIMES; i++) {
		if (!i)
			before = slab();
		REQUIRE_EQ(bpf_link__destroy(policy_attach_loaded(p)), 0);
	}
	EXPECT_EQ(state->create_error, 0);
	EXPECT_EQ(state->nr_lists, (NR_TIMES + 8) * MAX_LISTS);
	REQUIRE(before > 0);
	/* some of it goes a grace period later */
	EXPECT(EVENTUALLY(slab() - before < MAX_LEFT));
	diag("%d times attached and detached: %+lld KiB of slabs", NR_TIMES, slab() - before);
}

static const struct test tests[] = {
	{ "errors of the caller, and what remains of them",	test_errors },
	{ "one policy a cgroup, one instance a map",		test_busy },
	{ "a cgroup without memory controller",			test_no_controller },
	{ "policy_init()'s error is the caller's",		test_init_error },
	{ "the verifier's refusals",				test_verifier },
	{ "another program type has no eviction lists",		test_other_program_type },
	{ "what can be read while attached and after",		test_files },
	{ "all statistics that there are",			test_statistics },
	{ "what the folio table takes",				test_table },
	{ "detaching leaves the cache as it is",		test_detach_keeps_cache },
	{ "removing the cgroup hangs up the link",		test_rmdir },
	{ "it leaves no memory behind",				test_memory },
};

SUBJECT(attach);
