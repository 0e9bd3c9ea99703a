/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Harness of the kernel selftests.
 *
 * A subject is a C file with a table of tests.  Each test runs in a process of
 * its own, below a scratch cgroup and a scratch directory that are cleared
 * behind it, and is one TAP point.  It fails if an expectation does not hold,
 * if it dies or hangs, or if the kernel warned meanwhile.  A test frees
 * nothing: its process ends with it, and links, files and memory with that.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PAGE		4096UL
#define MiB		(1UL << 20)
#define MiB_PAGES	(MiB / PAGE)

struct test {
	const char	*name;
	void		(*run)(void);
	/* on any processor; the others are deterministic only on one */
	bool		spread;
	/* the watchdog has something to do; otherwise a policy that is ejected is a failure */
	bool		ejects;
};

struct subject {
	const char		*name;
	const struct test	*tests;
	size_t			nr_tests;
};

#define SUBJECT(id)						\
	const struct subject id##_subject = {			\
		.name = #id, .tests = tests, .nr_tests = ARRAY_SIZE(tests), }

/* expect.c */
bool expect(bool holds, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool expect_str(const char *got, const char *wanted, const char *file, int line,
		const char *what);
_Noreturn void give_up(void);
_Noreturn void skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void conclude(void);
void diag(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Note a failure and go on. */
#define EXPECT(cond) expect((cond), __FILE__, __LINE__, "%s does not hold", #cond)
#define EXPECT_OP(a, op, b) ({							\
	long long _a = (a), _b = (b);						\
	expect(_a op _b, __FILE__, __LINE__, "%s %s %s does not hold: %lld, %lld",	\
	       #a, #op, #b, _a, _b); })
#define EXPECT_EQ(a, b)	EXPECT_OP(a, ==, b)
#define EXPECT_STR(a, b) expect_str((a), (b), __FILE__, __LINE__, #a)
/* The rest of the test makes no sense without it. */
#define REQUIRE(cond)		do { if (!EXPECT(cond)) give_up(); } while (0)
#define REQUIRE_EQ(a, b)	do { if (!EXPECT_EQ(a, b)) give_up(); } while (0)

/* Is it true within so many seconds?  A condition may itself take long. */
struct wait {
	long long		until_ms;
	unsigned int		nr_looks;
};

struct wait wait_begin(unsigned int seconds);
bool wait_more(struct wait *wait);

#define WITHIN(seconds, cond) ({				\
	struct wait _wait = wait_begin(seconds);		\
	bool _holds;						\
	while (!(_holds = (cond)) && wait_more(&_wait))		\
		;						\
	_holds; })
/* what is true after a second at the latest may take a minute on a host that has much else to do */
#define EVENTUALLY(cond) WITHIN(60, cond)

/* books.c: the kernel's self-check, if it has one; more tests ask for it in the middle */
const char *books_wrong(void);
long long books_number(const char *key);
#define EXPECT_BOOKS() ({							\
	const char *_wrong = books_wrong();					\
	expect(!_wrong, __FILE__, __LINE__, "the kernel's self-check: %s", _wrong); })

/* cgroup.c; a cgroup is named by its directory */
extern const char *scratch_cgroup;
int cg_setup(void);
void cg_cleanup(void);
char *cg_new(const char *parent, const char *name);
int cg_remove(const char *cg);
uint64_t cg_id(const char *cg);
const char *cg_name(const char *cg);
char *cg_read(const char *cg, const char *file);
int cg_write(const char *cg, const char *file, const char *text);
long long cg_key(const char *cg, const char *file, const char *key);
long long cg_number(const char *cg, const char *file);
int cg_reclaim(const char *cg, unsigned long bytes);
pid_t cg_start(const char *cg, int (*fn)(void *arg), void *arg);
int cg_wait(pid_t pid);
int cg_run(const char *cg, int (*fn)(void *arg), void *arg);
/* a line of memory.cachebpf.policy, of memory.cachebpf.stat */
char *cg_policy(const char *cg, const char *key);
long long cg_stat(const char *cg, const char *key);
long long kernel_stat(const char *key);
/* Run @fn with one implementation of the LRU, with both, if the kernel has them. */
void with_lru(bool lru_gen, void (*fn)(bool lru_gen));
const char *lru_name(bool lru_gen);
void with_both_lrus(void (*fn)(bool lru_gen));
int write_text(const char *path, const char *text);
/* Skips the test on a machine with one NUMA node. */
void need_nodes(void);
/* What this process allocates from now on comes from the node @nid; 0 or an errno. */
int bind_to_node(int nid);
char *read_text(const char *path);
char *flat_key(const char *text, const char *key);

/* file.c */
struct file {
	char		path[512];
	unsigned int	seed;
	size_t		nr_pages;
};

extern const char *scratch_dir;
void files_cleanup(void);
/* A file with known content of which nothing is cached. */
struct file *file_new(const char *dir, const char *name, size_t nr_pages);
/* The same without content, to be written by file_write(). */
struct file *file_empty(const char *name, size_t nr_pages);
/* All zero, and read without a disk. */
struct file *file_hole(const char *name, size_t nr_pages);
/* A directory on XFS; without one the test is skipped. */
const char *xfs_dir(void);
int file_write(struct file *file, size_t first, size_t nr);
void file_sync(const struct file *file);
/* What is busy stays in the cache; nothing does. */
void file_drop(const struct file *file);
void file_forget(const struct file *file);
/* Mapped for reading; NULL if it cannot be. */
volatile char *file_map(const struct file *file);
int file_read_mapped(void *file);
int file_keep_mapped(void *file);
/* The same with MADV_RANDOM. */
int file_keep_mapped_at_random(void *file);
size_t file_cached(const struct file *file, bool *cached);
/* How large per-CPU lists of free pages may be; "100000": hardly, "0": as by default. */
#define HIGH_FRACTION	"/proc/sys/vm/percpu_pagelist_high_fraction"
/* Where its pages, all cached, are in memory; that is no use of them. */
uint64_t *file_frames(const struct file *file);
/* Read in the current process and compare; 0 or an errno. */
int file_read(const struct file *file, size_t first, size_t nr);
int file_read_ahead(const struct file *file, size_t first, size_t nr);
int file_read_sequential(const struct file *file);
/* The same without a comparison, in a process of a cgroup. */
int file_read_through(void *file);
/* The first two of these in a process of @cg. */
void cg_read_file(const char *cg, const struct file *file, size_t first, size_t nr);
void cg_read_ahead(const char *cg, const struct file *file, size_t first, size_t nr);

/* page-reader.c */
struct page_reader {
	const struct file	*file;
	/* maps the file, and locks the pages */
	bool			locks;
	int			orders[2], answers[2];
	pid_t			pid;
};

/* It reads page by page; @file stays. */
struct page_reader *page_reader_start(const char *cg, const struct file *file, bool locks);
/* False if it has died of it. */
bool page_reader_next(struct page_reader *r, size_t nr);

/* disk.c */
char *disk_new(const char *name, unsigned long mib, unsigned long us);
const char *disk_mount(const char *disk, bool journal);
void disk_set_bad(const char *disk, unsigned long block, bool bad);
void disk_swap_on(const char *disk);
void disks_cleanup(void);

/* policy.c */
struct policy {
	struct bpf_object	*obj;
	struct bpf_map		*map;
};

extern const char *objects_dir;
extern const char *policies_dir;
/* Open @file of this directory, or of the installed policies, with the struct_ops map @name. */
struct policy *policy_open(const char *file, const char *name, const char *cg);
struct policy *policy_open_installed(const char *name, const char *cg);
struct policy *policy_open_with_filter(const char *name, const char *cg);
struct policy *policy_open_whole(const char *name, const char *cg);
/* These three: before it is loaded. */
void policy_leave_out(struct policy *p, const char *callback);
void policy_set_scan_threads(struct policy *p, const char *glob);
void policy_set_readahead(struct policy *p, uint32_t setting);
void *policy_member(struct policy *p, const char *member);
void policy_set(struct policy *p, const char *member, uint64_t value);
struct bpf_program *policy_callback(struct policy *p, const char *member);
int policy_load(struct policy *p);
int policy_try_attach(struct policy *p, struct bpf_link **ret);
struct bpf_link *policy_attach(struct policy *p);
struct bpf_link *policy_attach_loaded(struct policy *p);
/* open, load and attach what cannot fail */
struct bpf_link *policy_start(const char *installed, const char *cg);
/* the global variables in the section .bss.state */
void *policy_state(struct policy *p);
bool policy_log_has(const char *text);
void policy_log_clear(void);
void policy_log_show(void);
bool link_hung_up(struct bpf_link *link);
/* Until the test is over the watchdog has no budget of time, which a busy host can break. */
void no_budget(void);
extern const char *const budget_file;

#endif /* SELFTEST_H */
