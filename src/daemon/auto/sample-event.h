/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What sample.bpf.c and sampler.c share. Both include their own definitions of __u64 before. */

/* Units that can have a sample at a time. */
#define SAMPLE_UNITS_MAX 128

#define SAMPLE_RING_SIZE (2 << 20)
/* An event, and what the ring buffer adds. */
#define SAMPLE_RECORD_SIZE (sizeof(struct sample_event) + 8)

/* What a unit may pass on in a period. Each unit has its own periods: the next one begins when the budget is
 * spent, the time is over, and the daemon has read what came before this one. So at most two budgets of a
 * unit are unread, a sixteenth of the ring buffer: of units that have six candidates ten race at a time. */
#define SAMPLE_BUDGET 2048U
#define SAMPLE_PERIOD_NSEC 50000000U

/* With so many bytes in the ring buffer the daemon is to read it. No more than a budget: a unit that has
 * spent it waits for that. */
#define SAMPLE_WAKE_SIZE (SAMPLE_BUDGET * SAMPLE_RECORD_SIZE)

struct sample_event {
        __u64 cgroup;
        __u64 key;
        __u64 gone; /* boolean */
};

struct sample_unit {
        __u64 n_lost;     /* events that were not passed on */
        __u64 n_passed;   /* in this period */
        __u64 begin_nsec; /* when it began, … */
        __u64 begin_byte; /* … and how much was in the ring buffer until then */
};
