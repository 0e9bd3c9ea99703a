// SPDX-License-Identifier: GPL-2.0-only
/* A program of another type that wants to use eviction lists. */
#include "cachebpf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("syscall")
int use_list(void *ctx)
{
	return bpf_cachebpf_list_len(ctx, 1);
}
