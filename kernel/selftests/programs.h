/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random programs: what a seed draws, and what those who run it share.
 *
 *	programs.c		options, and one program after the other
 *	programs-draw.c		from a seed to a program, and to text
 *	programs-run.c		a program's ground, its workers, its end
 *	programs-check.c	what must hold when the workers have stopped
 *	programs-files.c	files whose content is known at any moment
 *	programs-io.c		operations on them
 *	programs-objects.c	from recipes to BPF objects
 *	programs-policies.c	operations on policies
 *	programs-cgroups.c	operations on cgroups
 *	programs-machine.c	operations on the machine
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "selftest.h"
#include "states.h"

#define MAX_WORKERS	4
#define MAX_OPS		240
#define MAX_ARGS	4
#define NR_RECIPES	4
#define NR_FILES	6
#define FILE_PAGES	1024UL
#define FILE_MAX	(FILE_PAGES * PAGE)
/* links that a worker can hold */
#define MAX_HELD	6
#define MAX_ERRORS	20

/* the tree; the leaves are what workers are in */
enum {
	CG_TOP,
	CG_A, CG_B,
	CG_LEAVES,
	CG_A_X = CG_LEAVES, CG_A_Y, CG_B_X, CG_B_Y,
	/* nobody begins there */
	CG_A_TEMP,
	NR_CGROUPS,
};

/* callbacks that a policy may have or not */
enum {
	HAS_ADDED	= 1 << 0,
	HAS_ACCESSED	= 1 << 1,
	HAS_REMOVED	= 1 << 2,
	HAS_ADMIT	= 1 << 3,
	HAS_EVICT	= 1 << 4,
	HAS_EXIT	= 1 << 5,
	HAS_ADVISE	= 1 << 6,
	HAS_PLAN	= 1 << 7,
};

/* A policy, in words that parts.bpf.c understands. */
struct recipe {
	char			name[16];
	bool			behaves;
	bool			stock_reclaim;
	unsigned int		callbacks;
	struct parts_state	settings;
};

struct op {
	unsigned int		kind;
	unsigned int		worker;
	uint32_t		args[MAX_ARGS];
};

struct program {
	uint64_t		seed;
	unsigned int		nr_workers;
	unsigned int		leaf[MAX_WORKERS];
	bool			lru_gen;
	/* MiB, 0 for none */
	unsigned int		max[NR_CGROUPS];
	size_t			file_size[NR_FILES];
	struct recipe		recipes[NR_RECIPES];
	unsigned int		nr_ops;
	struct op		ops[MAX_OPS];
	/* random delays in the kernel, where it has them */
	unsigned int		delay_us, delay_one_in;
};

/*
 * A kind of operation.  Its arguments, a letter each:
 *
 *	p recipe of a policy		c any cgroup		l a leaf
 *	f any file			F one of the worker's own, which nobody else changes
 *	o bytes into a file		n number of pages	m MiB
 *	b yes or no			t ms			x any number below 4
 */
struct op_kind {
	const char		*name;
	unsigned int		weight;
	const char		*args;
	/* 0, or what was in the way: -errno */
	int			(*run)(const struct op *op);
};

extern const struct op_kind op_kinds[];
extern const unsigned int nr_op_kinds;

/* A link that a worker holds, or held until it hung up. */
struct held {
	bool			held;
	bool			hung_up;
	unsigned int		cg;
	unsigned int		recipe;
	uint64_t		cg_id;
};

/* In memory that all processes of a program share. */
struct shared {
	struct {
		pid_t		pid;
		/* number of the operation, -1 when it is through */
		int		at;
		struct held	held[MAX_HELD];
	} workers[MAX_WORKERS];
	/* hung up before they were given up; see cachebpf_ejected() */
	unsigned int		nr_hung_up;
	struct held		hung_up[64];
	/* in their cgroups: nobody begins, and may remove one, before all are */
	unsigned int		nr_ready;
	/* somebody let any policy be ejected for being slow */
	bool			budget_lowered;
	bool			stop;
	/* MiB, 0 for none: memory.max */
	unsigned int		max[NR_CGROUPS];
	unsigned int		nr_errors;
	char			errors[MAX_ERRORS][200];
	unsigned long		done[64], refused[64], us[64];
	/* what callbacks have counted, all recipes together */
	struct parts_state	calls;
	struct {
		/* odd while it changes */
		uint32_t	seq[FILE_PAGES];
		uint32_t	size_seq;
		uint32_t	generation;
		uint64_t	size;
		unsigned char	content[FILE_MAX];
	} files[NR_FILES];
};

/* parts of a program not to be run, by --without */
enum {
	WITHOUT_ADMISSION	= 1 << 0,
	WITHOUT_PROTECTION	= 1 << 1,
};

extern const struct program *program;
extern struct shared *shared;
extern unsigned int without;
extern bool verbose;
/* the worker that this process is */
extern unsigned int me;

/* programs-draw.c */
uint64_t draw(uint64_t *rng);
void draw_program(struct program *p, uint64_t seed);
void print_program(const struct program *p, const bool *selected);
void print_op(const struct program *p, unsigned int nr);
const char *cg_short(unsigned int cg);

/* programs-run.c; a process of its own calls it */
_Noreturn void run_program(const struct program *p, const bool *selected);
/* Something is wrong; the program goes on. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *cg_dir(unsigned int cg);
/* One at a time; waits. */
void lock_machine(void);
void unlock_machine(void);

/* programs-check.c */
void check_program(void);
void check_end(void);
void mark_log(void);

/* programs-files.c */
void files_make(const char *xfs);
const char *model_path(unsigned int file);
/* Before and after the bytes from @from to @to change; who does has it to himself. */
void change_begin(unsigned int file, size_t from, size_t to);
void change_end(unsigned int file, size_t from, size_t to);
void model_fill(unsigned int file, size_t from, size_t to, uint64_t with);
void model_zero(unsigned int file, size_t from, size_t to);
void model_resize(unsigned int file, size_t size);
/* Somebody's look at a file: is what is read what must be there? */
struct look {
	unsigned int	file;
	uint32_t	generation, size_seq, seq;
	uint64_t	size;
};
void look_file(struct look *look, unsigned int file);
void look_page(struct look *look, size_t page);
bool look_holds(const struct look *look, size_t page);
void look_compare(const struct look *look, size_t page, const void *got, ssize_t nr);
void files_check(const char *when);

/* programs-objects.c */
extern int classes_fd;
void policies_cook(void);
void policies_check(void);
void policies_check_late(void);
#define HOOKS_CGROUP	"/sys/fs/cgroup/cachebpf-hooks"
struct bpf_link *hooks_attach(void);
int cgroup_enter(const char *cg);
bool tolerable(int err);
/* A policy for what is called @cg now; its id in @cg_id. */
struct policy *find_policy(const struct op *op, unsigned int recipe, unsigned int cg,
			   uint64_t *cg_id);

/* programs-policies.c */
void policies_report(void);

/* the operations */
int op_attach(const struct op *op), op_update(const struct op *op), op_detach(const struct op *op),
	op_die(const struct op *op), op_eject(const struct op *op),
	op_classify(const struct op *op), op_admit(const struct op *op),
	op_sample(const struct op *op);
int op_read(const struct op *op), op_touch(const struct op *op), op_bytes(const struct op *op),
	op_splice(const struct op *op), op_write(const struct op *op),
	op_store(const struct op *op), op_truncate(const struct op *op),
	op_punch(const struct op *op),
	op_fsync(const struct op *op), op_dontneed(const struct op *op),
	op_willneed(const struct op *op), op_advise(const struct op *op),
	op_recreate(const struct op *op);
int op_mkdir(const struct op *op), op_rmdir(const struct op *op), op_enter(const struct op *op),
	op_reclaim(const struct op *op), op_max(const struct op *op), op_high(const struct op *op),
	op_min(const struct op *op), op_low(const struct op *op);
int op_compact(const struct op *op), op_drop(const struct op *op), op_lru(const struct op *op),
	op_cpu(const struct op *op), op_memory(const struct op *op), op_node(const struct op *op),
	op_sleep(const struct op *op);
void machine_prepare(void);
void machine_restore(void);
int set_lru(bool lru_gen);

#endif /* PROGRAMS_H */
