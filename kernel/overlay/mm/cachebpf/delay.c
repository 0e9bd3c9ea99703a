// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random delays, in /sys/kernel/debug/cachebpf/delay:
 *
 *	one_in		of so many moments one is delayed; 0: none
 *	max_us		up to so many microseconds, of which the processor does nothing else
 *	moments		which ones, a bit for each of enum cachebpf_moment
 *	seed		of the random numbers, one sequence for each processor
 *	passed		how often each moment was passed while there were delays
 *
 * The processor waits actively: most moments are with a lock held or in an RCU
 * read side.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>

#include "check.h"
#include "delay.h"

/* a lock that is held for longer by all of its owners looks like a deadlock */
#define MOST_US		2000

DEFINE_STATIC_KEY_FALSE(cachebpf_delay_key);

static u32 one_in, max_us = 100, moments = BIT(CACHEBPF_NR_MOMENTS) - 1;
static u64 seed;
static DEFINE_PER_CPU(struct rnd_state, randoms);
static DEFINE_PER_CPU(unsigned long [CACHEBPF_NR_MOMENTS], passed);

static const char * const names[] = {
	[CACHEBPF_AT_PUBLISH]		= "publish",
	[CACHEBPF_AT_INTRODUCE]		= "introduce",
	[CACHEBPF_AT_REJECT]		= "reject",
	[CACHEBPF_AT_RECONSIDER]	= "reconsider",
	[CACHEBPF_AT_DROP]		= "drop",
	[CACHEBPF_AT_MOVE]		= "move",
	[CACHEBPF_AT_APPLY]		= "apply",
	[CACHEBPF_AT_DISOWN]		= "disown",
	[CACHEBPF_AT_REPLACE]		= "replace",
	[CACHEBPF_AT_SPLIT]		= "split",
	[CACHEBPF_AT_ADOPT]		= "adopt",
	[CACHEBPF_AT_ATTACH]		= "attach",
	[CACHEBPF_AT_RETIRE]		= "retire",
	[CACHEBPF_AT_HAND_OVER]		= "hand_over",
	[CACHEBPF_AT_PIN]		= "pin",
	[CACHEBPF_AT_ISOLATE]		= "isolate",
	[CACHEBPF_AT_SETTLE]		= "settle",
	[CACHEBPF_AT_OFFLINE]		= "offline",
};

static_assert(ARRAY_SIZE(names) == CACHEBPF_NR_MOMENTS);

void __cachebpf_delay(enum cachebpf_moment moment)
{
	u32 us = READ_ONCE(max_us), in = READ_ONCE(one_in);
	struct rnd_state *random;

	this_cpu_inc(passed[moment]);
	if (!us || !in || !(READ_ONCE(moments) & BIT(moment)))
		return;
	/* an interrupt in the middle may repeat a number: they are random */
	random = get_cpu_ptr(&randoms);
	in = prandom_u32_state(random) % in;
	us = prandom_u32_state(random) % min(us, MOST_US);
	put_cpu_ptr(&randoms);
	if (!in)
		udelay(us);
}

static int seed_set(void *data, u64 value)
{
	int cpu;

	seed = value;
	for_each_possible_cpu(cpu)
		prandom_seed_state(per_cpu_ptr(&randoms, cpu), value + cpu);
	return 0;
}

static int seed_get(void *data, u64 *value)
{
	*value = seed;
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(seed_fops, seed_get, seed_set, "%llu\n");

static int one_in_set(void *data, u64 value)
{
	if (value > U32_MAX)
		return -ERANGE;
	WRITE_ONCE(one_in, value);
	if (value)
		static_branch_enable(&cachebpf_delay_key);
	else
		static_branch_disable(&cachebpf_delay_key);
	return 0;
}

static int one_in_get(void *data, u64 *value)
{
	*value = one_in;
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(one_in_fops, one_in_get, one_in_set, "%llu\n");

static int passed_show(struct seq_file *m, void *v)
{
	unsigned long sum;
	int i, cpu;

	for (i = 0; i < CACHEBPF_NR_MOMENTS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += per_cpu(passed, cpu)[i];
		seq_printf(m, "%s %lu\n", names[i], sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(passed);

void __init cachebpf_delay_init(struct dentry *parent)
{
	struct dentry *dir = debugfs_create_dir("delay", parent);

	seed_set(NULL, 0);
	debugfs_create_file_unsafe("one_in", 0600, dir, NULL, &one_in_fops);
	debugfs_create_file_unsafe("seed", 0600, dir, NULL, &seed_fops);
	debugfs_create_u32("max_us", 0600, dir, &max_us);
	debugfs_create_x32("moments", 0600, dir, &moments);
	debugfs_create_file("passed", 0400, dir, NULL, &passed_fops);
}
