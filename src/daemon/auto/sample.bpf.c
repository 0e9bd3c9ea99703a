// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes what the kernel tells of the samples of some control groups on to the
 * daemon.  That is woken up when there is much to read; it looks when it needs
 * to know all.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sample-event.h"

/* By the control group's id: events for which there was no room. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLE_UNITS_MAX);
	__type(key, __u64);
	__type(value, __u64);
} units SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SAMPLE_RING_SIZE);
} events SEC(".maps");

SEC("tp_btf/cachebpf_sample")
int BPF_PROG(sample, __u64 id, __u64 cgroup, __u64 key, bool gone)
{
	__u64 *n_lost = bpf_map_lookup_elem(&units, &cgroup);
	struct sample_event *e;

	if (!n_lost)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(n_lost, 1);
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
