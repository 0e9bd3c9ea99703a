/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of page cache eviction policies: their life, what reclaim asked, what was read. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cachebpf

#if !defined(_TRACE_CACHEBPF_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_CACHEBPF_H

#include <linux/cachebpf.h>
#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(cachebpf_policy,
	TP_PROTO(const char *name, u64 id, u64 cgroup),
	TP_ARGS(name, id, cgroup),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, id)
		__field(u64, cgroup)
	),
	TP_fast_assign(
		__assign_str(name);
		__entry->id = id;
		__entry->cgroup = cgroup;
	),
	TP_printk("policy=%s id=%llu cgroup=%llu",
		  __get_str(name), __entry->id, __entry->cgroup)
);

DEFINE_EVENT(cachebpf_policy, cachebpf_attach,
	TP_PROTO(const char *name, u64 id, u64 cgroup),
	TP_ARGS(name, id, cgroup)
);

DEFINE_EVENT(cachebpf_policy, cachebpf_detach,
	TP_PROTO(const char *name, u64 id, u64 cgroup),
	TP_ARGS(name, id, cgroup)
);

TRACE_EVENT(cachebpf_update,
	TP_PROTO(const char *name, u64 id, u64 cgroup, u64 old_id),
	TP_ARGS(name, id, cgroup, old_id),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, id)
		__field(u64, cgroup)
		__field(u64, old_id)
	),
	TP_fast_assign(
		__assign_str(name);
		__entry->id = id;
		__entry->cgroup = cgroup;
		__entry->old_id = old_id;
	),
	TP_printk("policy=%s id=%llu cgroup=%llu old_id=%llu",
		  __get_str(name), __entry->id, __entry->cgroup, __entry->old_id)
);

TRACE_EVENT(cachebpf_eject,
	TP_PROTO(const char *name, u64 id, u64 cgroup, const char *reason),
	TP_ARGS(name, id, cgroup, reason),
	TP_STRUCT__entry(
		__string(name, name)
		__field(u64, id)
		__field(u64, cgroup)
		__string(reason, reason)
	),
	TP_fast_assign(
		__assign_str(name);
		__entry->id = id;
		__entry->cgroup = cgroup;
		__assign_str(reason);
	),
	TP_printk("policy=%s id=%llu cgroup=%llu reason=\"%s\"",
		  __get_str(name), __entry->id, __entry->cgroup, __get_str(reason))
);

/* One round: pages asked for, folios proposed and isolated, pages reclaimed, time in the policy. */
TRACE_EVENT(cachebpf_evict,
	TP_PROTO(u64 id, u64 cgroup, int nid, unsigned long asked, unsigned int proposed,
		 unsigned int isolated, unsigned long reclaimed, u64 ns),
	TP_ARGS(id, cgroup, nid, asked, proposed, isolated, reclaimed, ns),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup)
		__field(int, nid)
		__field(unsigned long, asked)
		__field(unsigned int, proposed)
		__field(unsigned int, isolated)
		__field(unsigned long, reclaimed)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->cgroup = cgroup;
		__entry->nid = nid;
		__entry->asked = asked;
		__entry->proposed = proposed;
		__entry->isolated = isolated;
		__entry->reclaimed = reclaimed;
		__entry->ns = ns;
	),
	TP_printk("id=%llu cgroup=%llu nid=%d asked=%lu proposed=%u isolated=%u reclaimed=%lu ns=%llu",
		  __entry->id, __entry->cgroup, __entry->nid, __entry->asked, __entry->proposed,
		  __entry->isolated, __entry->reclaimed, __entry->ns)
);

/* What a policy had planned to read, as far as it may be; see struct cachebpf_readahead. */
TRACE_EVENT(cachebpf_readahead,
	TP_PROTO(u64 id, u64 cgroup, const struct cachebpf_readahead *ra, bool clamped),
	TP_ARGS(id, cgroup, ra, clamped),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup)
		__field(u64, ino)
		__field(u64, index)
		__field(u64, start)
		__field(u32, dev)
		__field(u32, wanted)
		__field(u32, reason)
		__field(u32, size)
		__field(u32, async_size)
		__field(bool, clamped)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->cgroup = cgroup;
		__entry->ino = ra->ino;
		__entry->index = ra->index;
		__entry->start = ra->start;
		__entry->dev = ra->dev;
		__entry->wanted = ra->wanted;
		__entry->reason = ra->reason;
		__entry->size = ra->size;
		__entry->async_size = ra->async_size;
		__entry->clamped = clamped;
	),
	TP_printk("id=%llu cgroup=%llu dev=%#x ino=%llu index=%llu wanted=%u reason=%u start=%llu size=%u async_size=%u clamped=%d",
		  __entry->id, __entry->cgroup, __entry->dev, __entry->ino, __entry->index,
		  __entry->wanted, __entry->reason, __entry->start, __entry->size,
		  __entry->async_size, __entry->clamped)
);

/* A page of a sample was used, or, with gone, its content is no more; see mm/cachebpf/sample.c. */
TRACE_EVENT(cachebpf_sample,
	TP_PROTO(u64 id, u64 cgroup, u64 key, bool gone),
	TP_ARGS(id, cgroup, key, gone),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup)
		__field(u64, key)
		__field(bool, gone)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->cgroup = cgroup;
		__entry->key = key;
		__entry->gone = gone;
	),
	TP_printk("id=%llu cgroup=%llu key=%#llx gone=%d",
		  __entry->id, __entry->cgroup, __entry->key, __entry->gone)
);

#endif /* _TRACE_CACHEBPF_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
