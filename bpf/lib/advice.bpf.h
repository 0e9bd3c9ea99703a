/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs say to a policy that lets them, as numbers of posix_fadvise().
 * cachebpf-policy(7) documents them.  A number is
 *
 *	ADVICE | what << 8 | level << 4 | more
 *
 * with a level from 0, which is the program's -1.
 */
#pragma once

/* CACHEBPF_ADVICE_OWN */
#define ADVICE		0x43420000
#define ADVICE_MASK	((__s32)0xffff0000)

/* -1 to 3 */
#define NR_LEVELS	5
#define LEVEL_DEFAULT	1

enum advice {
	/* long-term, of a file; the level */
	ADVICE_SET_PRIORITY = 1,
	/* returns the level */
	ADVICE_GET_PRIORITY,
	/* of a level; more: 1 MRU, 0 LRU */
	ADVICE_SET_REPLACEMENT,
	/* of a level; returns what set was given */
	ADVICE_GET_REPLACEMENT,
	/* of what is cached of a range, until it is used again; the level */
	ADVICE_SET_TEMPORARY,
};

static __always_inline __u32 advice_what(__s32 advice)
{
	return advice >> 8 & 0xff;
}

static __always_inline __u32 advice_level(__s32 advice)
{
	return advice >> 4 & 0xf;
}

static __always_inline __u32 advice_more(__s32 advice)
{
	return advice & 0xf;
}
