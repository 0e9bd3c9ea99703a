/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/libbpf.h>

/* A ring buffer of libbpf without a kernel: what is in it, and how it is consumed, is up to the test.
 * There is one at a time. */
struct ring_buffer {
        int fd; /* an eventfd: readable when there is something */
        ring_buffer_sample_fn on_sample;
        void *ctx;
};

/* NULL: there is none. */
extern struct ring_buffer *played_ring;
