/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The admission filter: threads of some classes read past the cache.
 *
 * What they read and nobody had in the cache is dropped behind them; what they
 * write, and what is used by others, stays.  CACHEBPF_POLICY() gives the filter
 * to every policy; one with an admit_folio() of its own defines
 * CACHEBPF_OWN_ADMISSION before it includes anything.
 *
 * Whoever loads a policy turns the filter off, which makes it cost nothing, by
 * clearing the member admit_folio of the policy's cachebpf_ops (libbpf then
 * does not load the program either), or sets cachebpf_reject_classes.  For the
 * stock policy it goes with "noop".
 *
 * Source: cache_ext, the application-informed admission filter, which rejects what
 * the compaction of an LSM tree reads.
 */
#pragma once

#include "threads.bpf.h"

/* bit i: class i of enum cachebpf_thread_class */
const volatile __u32 cachebpf_reject_classes SEC(".rodata") =
	1U << CACHEBPF_THREAD_SCAN | 1U << CACHEBPF_THREAD_BACKGROUND;

bool CACHEBPF_OP(cachebpf_admit, struct cachebpf_policy *policy,
		 struct cachebpf_admission *admission)
{
	/* what is written is new, and likely to be read soon */
	if (admission->flags & CACHEBPF_ADMISSION_WRITE)
		return true;
	return !(cachebpf_reject_classes >> (thread_class() & 31) & 1);
}
