/* SPDX-License-Identifier: GPL-2.0-only */
/* What the policy "dispatch" tells, and how. */
#pragma once

#include <linux/types.h>

/* Names of its maps: a ring buffer of struct dispatch_event, and an array with a count for each of
 * enum dispatch_count, on each CPU. */
#define DISPATCH_EVENTS "dispatch_events"
#define DISPATCH_COUNTS "dispatch_counts"

#define DISPATCH_RING_SIZE (1 << 20)

enum dispatch_kind {
	DISPATCH_ADDED,
	DISPATCH_ACCESSED,
	DISPATCH_REMOVED,
	DISPATCH_KINDS,
};

/* the events that were sent, by kind, and those that found no room */
enum dispatch_count {
	DISPATCH_LOST = DISPATCH_KINDS,
	DISPATCH_COUNTS_MAX,
};

/* which folio it was: what a policy would have to know at least */
struct dispatch_event {
	__u64 key;
	__u32 kind;
	__u32 why;
};
