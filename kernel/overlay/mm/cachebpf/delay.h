/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moments in which an entry changes hands, or its policy does.  For tests, they
 * can be made to take long: a race that needs two of them at once is then not
 * a matter of luck.
 */
#ifndef _MM_CACHEBPF_DELAY_H
#define _MM_CACHEBPF_DELAY_H

#include <linux/jump_label.h>

enum cachebpf_moment {
	/* an entry is about to have an owner, and has one but is on no list */
	CACHEBPF_AT_PUBLISH,
	CACHEBPF_AT_INTRODUCE,
	/* a policy has been asked: its folio is about to be rejected, or taken after all */
	CACHEBPF_AT_REJECT,
	CACHEBPF_AT_RECONSIDER,
	/* a rejected folio is about to be dropped */
	CACHEBPF_AT_DROP,
	/* a callback is about to move a folio, or what was noted is about to be applied */
	CACHEBPF_AT_MOVE,
	CACHEBPF_AT_APPLY,
	/* an entry is about to be given up */
	CACHEBPF_AT_DISOWN,
	/* another folio has taken over, and is about to get the place of the old one */
	CACHEBPF_AT_REPLACE,
	/* a folio has become smaller, and the rest of it is about to get an entry */
	CACHEBPF_AT_SPLIT,
	/* a folio that is cached already is about to be managed */
	CACHEBPF_AT_ADOPT,
	/* a policy is published or not any more; its callbacks end; its lists are emptied */
	CACHEBPF_AT_ATTACH,
	CACHEBPF_AT_RETIRE,
	CACHEBPF_AT_HAND_OVER,
	/* candidates are about to be looked at, to be isolated, and have come back */
	CACHEBPF_AT_PIN,
	CACHEBPF_AT_ISOLATE,
	CACHEBPF_AT_SETTLE,
	/* a cgroup comes or goes */
	CACHEBPF_AT_OFFLINE,
	CACHEBPF_NR_MOMENTS,
};

#ifdef CONFIG_CACHEBPF_CHECK
DECLARE_STATIC_KEY_FALSE(cachebpf_delay_key);
void __cachebpf_delay(enum cachebpf_moment moment);

/* Any context. */
static __always_inline void cachebpf_delay(enum cachebpf_moment moment)
{
	if (static_branch_unlikely(&cachebpf_delay_key))
		__cachebpf_delay(moment);
}
#else
static inline void cachebpf_delay(enum cachebpf_moment moment)
{
}
#endif

#endif /* _MM_CACHEBPF_DELAY_H */
