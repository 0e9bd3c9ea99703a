/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <linux/types.h>

/* What interrupts.bpf.c keeps, and interrupts.c reads. */
#define INTERRUPTS_MAX (1U << 18)
#define LATE_MAX (1U << 12)
#define LATE_NSEC 10000

/* One that was late: addresses, from what noted it to what had interrupts off, and its callers. */
struct late_interrupt {
        __u32 nsec;
        __u64 stack[16];
};
