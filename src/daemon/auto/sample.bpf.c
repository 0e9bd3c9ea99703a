// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes what the kernel tells of the samples of some control groups on to the
 * daemon.  That is woken up when there is much to read; it looks when it needs
 * to know all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sample-event.h"

/* By the control group's id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_UNITS_MAX);
	__type(key, __u64);
	__type(value, struct sample_unit);
} units SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SAMPLE_RING_SIZE);
} events SEC(".maps");

static bool spend(struct sample_unit *unit)
{
	if (unit->n_passed >= SAMPLE_BUDGET)
		return false;
	__sync_fetch_and_add(&unit->n_passed, 1);
	return true;
}

/*
 * A unit with many events leaves room for those of others.  The clock is not
 * read before the budget is spent.  Several processors may begin a period at the
 * same time; then some events more are passed on.
 */
static bool may_pass(struct sample_unit *unit)
{
	__u64 now;

	if (spend(unit))
		return true;
	now = bpf_ktime_get_ns();
	if (now - unit->begin_nsec < SAMPLE_PERIOD_NSEC ||
	    bpf_ringbuf_query(&events, BPF_RB_CONS_POS) < unit->begin_byte)
		return false;
	unit->n_passed = 0;
	unit->begin_nsec = now;
	unit->begin_byte = bpf_ringbuf_query(&events, BPF_RB_PROD_POS);
	return spend(unit);
}

SEC("tp_btf/cachebpf_sample")
int BPF_PROG(sample, __u64 id, __u64 cgroup, __u64 key, bool gone)
{
	struct sample_unit *unit = bpf_map_lookup_elem(&units, &cgroup);
	struct sample_event *e;

	if (!unit)
		return 0;
	e = may_pass(unit) ? bpf_ringbuf_reserve(&events, sizeof(*e), 0) : NULL;
	if (!e) {
		__sync_fetch_and_add(&unit->n_lost, 1);
		return 0;
	}
	e->cgroup = cgroup;
	e->key = key;
	e->gone = gone;
	bpf_ringbuf_submit(e, bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < SAMPLE_WAKE_SIZE ?
				      BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
