/* SPDX-License-Identifier: GPL-2.0-only */
/* How policies of the tests take their time. */
#pragma once

#include "cachebpf.bpf.h"

/* the most that one bpf_loop() does */
#define MAX_LOOPS	(1 << 23)

static long is_over(__u32 i, void *ctx)
{
	__u64 *end = ctx;

	return bpf_ktime_get_ns() >= *end;
}

static __always_inline void spend_us(__u32 us)
{
	__u64 end = bpf_ktime_get_ns() + us * 1000ULL;
	int i;

	/* a fast machine may be through with one of them too early */
	bpf_for(i, 0, 100)
		if (bpf_loop(MAX_LOOPS, is_over, &end, 0) < MAX_LOOPS)
			break;
}
