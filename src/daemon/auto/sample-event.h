/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What sample.bpf.c and sampler.c share. Both include their own definitions of __u64 before. */

/* Units that can have a sample at a time. */
#define SAMPLE_UNITS_MAX 128

#define SAMPLE_RING_SIZE (256 << 10)
/* With so many bytes in the ring buffer the daemon is to read it. */
#define SAMPLE_WAKE_SIZE (SAMPLE_RING_SIZE / 4)

struct sample_event {
        __u64 cgroup;
        __u64 key;
        __u64 gone; /* boolean */
};
