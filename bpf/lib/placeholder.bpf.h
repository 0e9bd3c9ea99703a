/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placeholders: of a page that is gone, which page stayed in its stead, and when.
 *
 * A placeholder is 8 bytes in the bucket that the key of the one that went hashes to:
 * a fingerprint, the number of the one that stayed, and the time.  A bucket that is full
 * forgets its oldest.  Buckets are searched without branches, see lib/ghost.bpf.h.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, section 2.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

#define PLACEHOLDERS_PER_BUCKET	8
/* five of them for each page that is cached */
#define PLACEHOLDER_BYTES	40

/* The newest come first. */
struct placeholders {
	/* of what stayed; 0: none */
	__u32 numbers[PLACEHOLDERS_PER_BUCKET];
	__u16 fingerprints[PLACEHOLDERS_PER_BUCKET];
	/* in whatever the policy counts by */
	__u16 when[PLACEHOLDERS_PER_BUCKET];
};

struct placeholder {
	/* 0: there is none */
	__u32 number;
	__u16 when;
};

static __always_inline struct placeholders *placeholders_of(struct cachebpf_policy *policy,
							    __u64 key)
{
	return (void *)bpf_cachebpf_bucket(policy, key, 64);
}

/* In folio_removed(): remember that @number stayed, and @folio had to go. */
static __always_inline void placeholder_make(struct cachebpf_policy *policy,
					     struct cachebpf_folio *folio, __u32 number, __u16 when)
{
	__u64 key = bpf_cachebpf_key(folio);
	struct placeholders *p = placeholders_of(policy, key);

	if (!p || !key)
		return;
	__unrolled
	for (int i = PLACEHOLDERS_PER_BUCKET - 1; i > 0; i--) {
		p->numbers[i] = p->numbers[i - 1];
		p->fingerprints[i] = p->fingerprints[i - 1];
		p->when[i] = p->when[i - 1];
	}
	p->numbers[0] = number;
	p->fingerprints[0] = key;
	p->when[0] = when;
}

/* In folio_added(): take the placeholder of @folio away, if there is one. */
static __always_inline struct placeholder placeholder_take(struct cachebpf_policy *policy,
							   struct cachebpf_folio *folio)
{
	struct placeholder taken = {};
	__u64 key = bpf_cachebpf_key(folio), found = PLACEHOLDERS_PER_BUCKET;
	struct placeholders *p = placeholders_of(policy, key);

	if (!p)
		return taken;
	__unrolled
	for (int i = 0; i < PLACEHOLDERS_PER_BUCKET; i++)
		found = bl_min(found, i + PLACEHOLDERS_PER_BUCKET *
				      bl_less(0, p->fingerprints[i] ^ (__u16)key));
	if (found >= PLACEHOLDERS_PER_BUCKET)
		return taken;
	taken.number = p->numbers[found];
	taken.when = p->when[found];
	p->numbers[found] = 0;
	return taken;
}
