// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much later than asked the timers of one thread go off: as long as
 * interrupts have been off on that processor.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "interrupts.h"

#define kernel_type	__attribute__((preserve_access_index))

struct hrtimer {
	__s64 _softexpires;
} kernel_type;

struct task_struct {
	int pid;
} kernel_type;

struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
} kernel_type;

/* The thread. */
const volatile int sleeper_pid;

/* How many there were, and how late they were: of the first INTERRUPTS_MAX. */
__u64 n_interrupts;
__u32 late_nsec[INTERRUPTS_MAX];

/* Those that were later than LATE_NSEC: the first LATE_MAX. */
__u32 n_late;
struct late_interrupt late_ones[LATE_MAX];

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(expires, struct hrtimer *timer)
{
	struct hrtimer_sleeper *sleeper = (void *)timer - bpf_core_field_offset(struct hrtimer_sleeper, timer);
	__s64 late = bpf_ktime_get_ns() - timer->_softexpires;

	/* of another kind of timer that is anything, and hardly the number of this task */
	if (BPF_CORE_READ(sleeper, task, pid) != sleeper_pid)
		return 0;
	if (n_interrupts < INTERRUPTS_MAX)
		late_nsec[n_interrupts] = late;
	n_interrupts++;
	if (late > LATE_NSEC && n_late < LATE_MAX) {
		struct late_interrupt *one = &late_ones[n_late];

		one->nsec = late;
		bpf_get_stack(ctx, one->stack, sizeof(one->stack), 0);
		n_late++;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
