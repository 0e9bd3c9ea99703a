/* SPDX-License-Identifier: GPL-2.0-only */
/* A BPF object that is no policy. */
#include "../../../bpf/cachebpf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("socket") int drop(void *ctx)
{
	return 0;
}
