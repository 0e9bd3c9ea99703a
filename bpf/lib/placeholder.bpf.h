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

#define IN_EACH_WORD(x)		((x) * 0x0001000100010001)

/* The newest come first. */
struct placeholders {
	/* of what stayed; 0: none */
	__u32 numbers[PLACEHOLDERS_PER_BUCKET];
	union {
		__u16 fingerprints[PLACEHOLDERS_PER_BUCKET];
		/* four fingerprints each */
		__u64 words[PLACEHOLDERS_PER_BUCKET / 4];
	};
	/* in whatever the policy counts by */
	__u16 when[PLACEHOLDERS_PER_BUCKET];
};

/* May there be a placeholder of @key?  Mostly there is none, and then this is sure. */
static __always_inline bool placeholder_maybe(const struct placeholders *p, __u64 key)
{
	__u64 wanted = IN_EACH_WORD(key & 0xffff), found = 0;

	__unrolled
	for (int i = 0; i < PLACEHOLDERS_PER_BUCKET / 4; i++) {
		__u64 x = p->words[i] ^ wanted;

		/* the lowest 16 bits that are 0 borrow, and so have the highest of them set */
		found |= (x - IN_EACH_WORD(1ULL)) & ~x;
	}
	return found & IN_EACH_WORD(0x8000ULL);
}

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

/*
 * Take the placeholder of @key away, if there is one.  Returns the number of the page that
 * stayed, and in the upper half when; or 0.  A function of its own for the verifier, which
 * then looks at it once.
 */
__verified_once __u64 placeholder_take(struct cachebpf_policy *policy __arg_trusted, __u64 key)
{
	struct placeholders *p = placeholders_of(policy, key);
	__u64 found = PLACEHOLDERS_PER_BUCKET;
	__u64 number, when;

	if (!p || !placeholder_maybe(p, key))
		return 0;
	__unrolled
	for (int i = 0; i < PLACEHOLDERS_PER_BUCKET; i++)
		found = bl_min(found, i + PLACEHOLDERS_PER_BUCKET *
				      bl_less(0, p->fingerprints[i] ^ (__u16)key));
	if (found >= PLACEHOLDERS_PER_BUCKET)
		return 0;
	number = p->numbers[found];
	when = p->when[found];
	/* there is room again for one, before the oldest is forgotten */
	__unrolled
	for (int i = 0; i < PLACEHOLDERS_PER_BUCKET - 1; i++) {
		if (i < (int)found)
			continue;
		p->numbers[i] = p->numbers[i + 1];
		p->fingerprints[i] = p->fingerprints[i + 1];
		p->when[i] = p->when[i + 1];
	}
	p->numbers[PLACEHOLDERS_PER_BUCKET - 1] = 0;
	return number ? when << 32 | number : 0;
}
