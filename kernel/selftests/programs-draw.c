// SPDX-License-Identifier: GPL-2.0-only
/* From a seed to a program; nothing but the seed matters. */
#include "programs.h"

/* as in bpf/cachebpf.bpf.h */
enum {
	NEW_HEAD = 1, NEW_TAIL = 2, USED_HEAD = 4, USED_TAIL = 8, STAMPED = 16, ELSEWHERE = 32
};
enum { REVERSE = 1, ROTATE = 2 };

const struct op_kind op_kinds[] = {
	{ "attach",	12,	"pc",	op_attach },
	{ "update",	14,	"xp",	op_update },
	{ "detach",	8,	"xb",	op_detach },
	{ "die",	4,	"pctb",	op_die },
	{ "eject",	1,	"cf",	op_eject },
	{ "classify",	3,	"x",	op_classify },
	{ "admit",	3,	"px",	op_admit },
	{ "sample",	4,	"cx",	op_sample },

	{ "read",	14,	"fon",	op_read },
	{ "bytes",	6,	"fon",	op_bytes },
	{ "splice",	3,	"fon",	op_splice },
	{ "touch",	6,	"fonb",	op_touch },
	{ "write",	10,	"Fon",	op_write },
	{ "store",	5,	"Fon",	op_store },
	{ "truncate",	4,	"Fo",	op_truncate },
	{ "punch",	4,	"Fon",	op_punch },
	{ "fsync",	4,	"f",	op_fsync },
	{ "dontneed",	5,	"fon",	op_dontneed },
	{ "willneed",	5,	"fon",	op_willneed },
	{ "advise",	8,	"fonx",	op_advise },
	{ "recreate",	2,	"Fo",	op_recreate },

	{ "mkdir",	4,	"l",	op_mkdir },
	{ "rmdir",	4,	"l",	op_rmdir },
	{ "enter",	4,	"l",	op_enter },
	{ "reclaim",	9,	"cm",	op_reclaim },
	{ "max",	3,	"cm",	op_max },
	{ "high",	4,	"cm",	op_high },
	{ "min",	2,	"cm",	op_min },
	{ "low",	2,	"cm",	op_low },

	{ "compact",	3,	"",	op_compact },
	{ "drop",	2,	"x",	op_drop },
	{ "lru",	3,	"b",	op_lru },
	{ "cpu",	1,	"t",	op_cpu },
	{ "memory",	1,	"xt",	op_memory },
	{ "node",	3,	"fonb",	op_node },
	{ "sleep",	3,	"t",	op_sleep },
};

const unsigned int nr_op_kinds = ARRAY_SIZE(op_kinds);

/* splitmix64 */
uint64_t draw(uint64_t *rng)
{
	uint64_t x = *rng += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
	return draw(rng) % n;
}

static bool one_in(uint64_t *rng, uint32_t n)
{
	return below(rng, n) == 0;
}

static struct parts_put draw_put(uint64_t *rng, const struct recipe *r)
{
	struct parts_put put = { .how = below(rng, PUT_HOWS), .tail = below(rng, 2) };

	/* one that misbehaves may name lists that it does not have */
	put.list = below(rng, r->settings.nr_lists + 1 + 2 * !r->behaves);
	if (one_in(rng, 3))
		put.writes = below(rng, 16);
	return put;
}

static struct parts_step draw_step(uint64_t *rng, const struct recipe *r)
{
	static const uint32_t numbers[] = { 1, 8, 32, 64, 200 };
	struct parts_step step = {
		.how = r->behaves ? 1 + below(rng, STEP_MOVE) : below(rng, STEP_HOWS),
		.nr_max = numbers[below(rng, ARRAY_SIZE(numbers))],
		.flags = below(rng, 4),
		.tail = below(rng, 2),
		.key = below(rng, 3),
	};
	uint32_t nr = r->settings.nr_lists + 1 + 2 * !r->behaves;

	step.list = below(rng, nr);
	step.to = below(rng, nr);
	/* always the same ones would not do if they cannot be had */
	if (r->behaves)
		step.flags |= ROTATE;
	else if (one_in(rng, 3))
		step.nr_max = 0;
	return step;
}

/*
 * One that behaves proposes everything it has, in the end, and each folio once;
 * what it does before that may be anything that does not keep it from there.
 */
static void draw_recipe(uint64_t *rng, struct recipe *r, unsigned int nr)
{
	static const uint32_t news[] = { 0, 0, NEW_HEAD, NEW_TAIL };
	static const uint32_t uses[] = { 0, 0, USED_HEAD, USED_TAIL };
	struct parts_state *s = &r->settings;
	unsigned int i, new_list;

	r->behaves = nr < NR_RECIPES / 2;
	snprintf(r->name, sizeof(r->name), "%s.%u", r->behaves ? "behaves" : "mischief", nr);
	r->callbacks = draw(rng) & (HAS_ADDED | HAS_ACCESSED | HAS_REMOVED | HAS_EXIT |
				  HAS_ADVISE | HAS_PLAN);
	r->callbacks |= HAS_EVICT;
	if (one_in(rng, 2))
		r->callbacks |= HAS_ADMIT;
	if (one_in(rng, 6)) {
		r->stock_reclaim = true;
		if (one_in(rng, 2))
			r->callbacks &= ~HAS_EVICT;
	}

	s->nr_lists = below(rng, PARTS_MAX_LISTS + 1);
	new_list = below(rng, PARTS_MAX_LISTS);
	s->stamped = one_in(rng, 3);
	for (i = 0; i < s->nr_lists; i++) {
		s->list_flags[i] = uses[below(rng, ARRAY_SIZE(uses))];
		/* of numbers, which begin with 1, those of the lists before */
		if (i && s->list_flags[i] && one_in(rng, 3))
			s->list_flags[i] |= ELSEWHERE | (1 + below(rng, i)) << 16;
		if (s->stamped)
			s->list_flags[i] |= STAMPED;
		if (i == new_list)
			s->list_flags[i] |= news[below(rng, ARRAY_SIZE(news))];
	}
	if (one_in(rng, 3))
		s->bucket_bytes = 1 + below(rng, 64);
	s->admit = below(rng, PARTS_ADMITS);
	s->plan = below(rng, PARTS_PLANS);
	s->when_added = draw_put(rng, r);
	s->when_accessed = draw_put(rng, r);
	s->when_removed = draw_put(rng, r);
	s->when_advised = draw_put(rng, r);
	for (i = 0; i < PARTS_NR_STEPS; i++)
		s->steps[i] = draw_step(rng, r);
	if (r->behaves) {
		s->steps[PARTS_NR_STEPS - 1].how = STEP_SWEEP;
		/* to rank is to choose among all: something would always be chosen, and be busy */
		for (i = 0; i < PARTS_NR_STEPS - 1; i++)
			if (s->steps[i].how == STEP_MOVE)
				s->steps[i].nr_max = 8;
	}
}

static uint32_t draw_arg(uint64_t *rng, const struct program *p, unsigned int worker, char what)
{
	unsigned int nr_own;

	switch (what) {
	case 'p':
		return below(rng, NR_RECIPES);
	case 'c':
		return below(rng, NR_CGROUPS);
	case 'l':
		return CG_LEAVES + below(rng, NR_CGROUPS - CG_LEAVES);
	case 'f':
		return below(rng, NR_FILES);
	case 'F':
		nr_own = (NR_FILES - worker + p->nr_workers - 1) / p->nr_workers;
		return worker + p->nr_workers * below(rng, nr_own);
	case 'o':
		/* half of them where a page begins, a few at the very start */
		if (one_in(rng, 6))
			return 0;
		return one_in(rng, 2) ? below(rng, FILE_PAGES) * PAGE : below(rng, FILE_MAX);
	case 'n':
		/* up to all of a file, which is more often all of it than anything else */
		return one_in(rng, 4) ? FILE_PAGES : 1U << below(rng, 11);
	case 'm':
		return below(rng, 24);
	case 'b':
		return below(rng, 2);
	case 't':
		return below(rng, 150);
	default:
		return below(rng, 4);
	}
}

static void draw_op(uint64_t *rng, const struct program *p, struct op *op)
{
	unsigned int i, sum = 0;
	uint32_t at;

	for (i = 0; i < nr_op_kinds; i++)
		sum += op_kinds[i].weight;
	at = below(rng, sum);
	for (op->kind = 0; at >= op_kinds[op->kind].weight; op->kind++)
		at -= op_kinds[op->kind].weight;
	op->worker = below(rng, p->nr_workers);
	for (i = 0; op_kinds[op->kind].args[i]; i++)
		op->args[i] = draw_arg(rng, p, op->worker, op_kinds[op->kind].args[i]);
}

void draw_program(struct program *p, uint64_t seed)
{
	uint64_t rng = seed;
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->nr_workers = 2 + below(&rng, MAX_WORKERS - 1);
	for (i = 0; i < MAX_WORKERS; i++)
		p->leaf[i] = CG_LEAVES + below(&rng, CG_A_TEMP - CG_LEAVES);
	p->lru_gen = below(&rng, 2);
	p->max[CG_TOP] = 12 + below(&rng, 12);
	for (i = CG_A; i < CG_A_TEMP; i++)
		p->max[i] = one_in(&rng, 2) ? 8 + below(&rng, 8) : 0;
	for (i = 0; i < NR_FILES; i++)
		p->file_size[i] = (FILE_PAGES / 2 + below(&rng, FILE_PAGES / 2)) * PAGE;
	for (i = 0; i < NR_RECIPES; i++)
		draw_recipe(&rng, &p->recipes[i], i);
	p->delay_us = 1U << below(&rng, 12);
	p->delay_one_in = 1U << below(&rng, 8);
	p->nr_ops = 60 + below(&rng, MAX_OPS - 60);
	for (i = 0; i < p->nr_ops; i++)
		draw_op(&rng, p, &p->ops[i]);
}

const char *cg_short(unsigned int cg)
{
	static const char *const names[NR_CGROUPS] = {
		[CG_TOP] = "t", [CG_A] = "t/a", [CG_B] = "t/b", [CG_A_X] = "t/a/x",
		[CG_A_Y] = "t/a/y", [CG_B_X] = "t/b/x", [CG_B_Y] = "t/b/y",
		[CG_A_TEMP] = "t/a/temp",
	};

	return names[cg];
}

static void print_arg(const struct program *p, char what, uint32_t arg)
{
	switch (what) {
	case 'p':
		printf(" %s", p->recipes[arg].name);
		break;
	case 'c':
	case 'l':
		printf(" %s", cg_short(arg));
		break;
	case 'f':
	case 'F':
		printf(" file%u", arg);
		break;
	case 'o':
		printf(" at %u", arg);
		break;
	case 'n':
		printf(" %u pages", arg);
		break;
	case 'm':
		printf(" %uM", arg);
		break;
	case 't':
		printf(" %u ms", arg);
		break;
	default:
		printf(" %u", arg);
	}
}

void print_op(const struct program *p, unsigned int nr)
{
	const struct op *op = &p->ops[nr];
	const struct op_kind *kind = &op_kinds[op->kind];
	unsigned int i;

	printf("# %3u worker%u %s", nr, op->worker, kind->name);
	for (i = 0; kind->args[i]; i++)
		print_arg(p, kind->args[i], op->args[i]);
	putchar('\n');
}

static void print_put(const char *when, const struct parts_put *put)
{
	static const char *const hows[] = { "nothing", "add", "move", "spread", "del",
					    "sorted" };

	printf(" %s:%s>%u%s/w%u", when, hows[put->how], put->list, put->tail ? "tail" : "head",
	       put->writes);
}

static void print_recipe(const struct recipe *r)
{
	static const char *const hows[] = {
		"nothing", "evict", "rank", "rank-list", "first", "move", "sweep", "too-many",
		"repeat", "nested", "gone",
	};
	const struct parts_state *s = &r->settings;
	unsigned int i;

	printf("# %s: callbacks %#x%s, lists", r->name, r->callbacks,
	       r->stock_reclaim ? ", stock reclaim" : "");
	for (i = 0; i < s->nr_lists; i++)
		printf(" %#x", s->list_flags[i]);
	printf(", buckets %u, admit %u, plan %u,", s->bucket_bytes, s->admit, s->plan);
	print_put("added", &s->when_added);
	print_put("accessed", &s->when_accessed);
	print_put("removed", &s->when_removed);
	print_put("advised", &s->when_advised);
	printf(", evict:");
	for (i = 0; i < PARTS_NR_STEPS; i++)
		printf(" %s(list %u, %u, flags %u, to %u, key %u)", hows[s->steps[i].how],
		       s->steps[i].list, s->steps[i].nr_max, s->steps[i].flags, s->steps[i].to,
		       s->steps[i].key);
	putchar('\n');
}

void print_program(const struct program *p, const bool *selected)
{
	unsigned int i;

	printf("# seed %llu: %u workers, %u operations, %s\n", (unsigned long long)p->seed,
	       p->nr_workers, p->nr_ops, lru_name(p->lru_gen));
	for (i = 0; i < NR_RECIPES; i++)
		print_recipe(&p->recipes[i]);
	for (i = 0; i < NR_CGROUPS; i++)
		if (p->max[i])
			printf("# memory.max of %s: %uM\n", cg_short(i), p->max[i]);
	for (i = 0; i < NR_FILES; i++)
		printf("# file%u: %zu pages\n", i, p->file_size[i] / PAGE);
	for (i = 0; i < p->nr_workers; i++)
		printf("# worker%u begins in %s\n", i, cg_short(p->leaf[i]));
	for (i = 0; i < p->nr_ops; i++)
		if (selected[i])
			print_op(p, i);
	fflush(stdout);
}
