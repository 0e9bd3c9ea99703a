/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placeholders: of a page that is gone, which page stayed in its stead.
 *
 * A placeholder is 6 bytes in the bucket that the key of the one that went hashes to:
 * a fingerprint, and the number of the one that stayed.  A bucket that is full forgets
 * its oldest.  Buckets are searched without branches, see lib/ghost.bpf.h.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, section 2.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

#define PLACEHOLDERS_PER_BUCKET	10
/* five of them for each page that is cached */
#define PLACEHOLDER_BYTES	32

/* The newest come first. */
struct placeholders {
	/* of what stayed; 0: none */
	__u32 numbers[PLACEHOLDERS_PER_BUCKET];
	__u16 fingerprints[PLACEHOLDERS_PER_BUCKET];
};

static __always_inline struct placeholders *placeholders_of(struct cachebpf_policy *policy,
							    __u64 key)
{
	return (void *)bpf_cachebpf_bucket(policy, key, 64);
}

/* In folio_removed(): remember that @number stayed, and @folio had to go. */
static __always_inline void placeholder_make(struct cachebpf_policy *policy,
					     struct cachebpf_folio *folio, __u32 number)
{
	__u64 key = bpf_cachebpf_key(folio);
	struct placeholders *p = placeholders_of(policy, key);

	if (!p || !key)
		return;
	__unrolled
	for (int i = PLACEHOLDERS_PER_BUCKET - 1; i > 0; i--) {
		p->numbers[i] = p->numbers[i - 1];
		p->fingerprints[i] = p->fingerprints[i - 1];
	}
	p->numbers[0] = number;
	p->fingerprints[0] = key;
}

/*
 * In folio_added(): take the placeholder of @folio away, if there is one.  Returns the
 * number of the page that stayed, or 0.
 */
static __always_inline __u32 placeholder_take(struct cachebpf_policy *policy,
					      struct cachebpf_folio *folio)
{
	__u64 key = bpf_cachebpf_key(folio), found = PLACEHOLDERS_PER_BUCKET;
	struct placeholders *p = placeholders_of(policy, key);
	__u32 number;

	if (!p)
		return 0;
	__unrolled
	for (int i = 0; i < PLACEHOLDERS_PER_BUCKET; i++)
		found = bl_min(found, i + PLACEHOLDERS_PER_BUCKET *
				      bl_less(0, p->fingerprints[i] ^ (__u16)key));
	if (found >= PLACEHOLDERS_PER_BUCKET)
		return 0;
	number = p->numbers[found];
	p->numbers[found] = 0;
	return number;
}
