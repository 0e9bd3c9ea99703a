/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is used near a jump: of the pages that are 1, 2 or 3, 4 to 7 and so on behind what was
 * asked for, and of those before it, the share that is used soon after.
 *
 * A page that was not read ahead tells when it is used: it is missing.  Of what was read
 * ahead one page, the probe, has a marker.  So the average of an octave that is not read
 * takes in each jump, and that of one that is read takes in the probes that were there.
 *
 * A table of LevelDB is such a file: a look-up begins with the end of a block, and goes on
 * with the page or two before it.
 */
#pragma once

#include "../cachebpf.bpf.h"

/* up to 63 pages on each side */
#define NEAR_OCTAVES	6
/* the first one of those before the jump; the others are behind it */
#define NEAR_BEFORE	8
/* neither, and the number of all */
#define NEAR_FAR	16
/* an average of which the last one is 1 in 8: all were used */
#define NEAR_USED	65536
#define NEAR_LAST	(NEAR_USED / 8)
/* a page that is read with others costs about a quarter of one that is read alone */
#define NEAR_PAYS	(NEAR_USED / 4)

struct near {
	__u32 shares[NEAR_FAR];
};

/* The octave of @page near a jump to [@start, @end), or NEAR_FAR. */
__verified_once __u32 near_octave(__u64 start, __u64 end, __u64 page)
{
	bool before = page < start;
	/* what is in the jump is far: 0, or negative */
	__u64 distance = before ? start - page : page - end + 1;

	if (!distance || distance >> NEAR_OCTAVES)
		return NEAR_FAR;
	return (before ? NEAR_BEFORE : 0) + (distance >= 2) + (distance >= 4) + (distance >= 8) +
	       (distance >= 16) + (distance >= 32);
}

/* Its first distance, which is the number of its pages as well. */
static __always_inline __u32 near_pages(__u32 octave)
{
	return 1U << octave % NEAR_BEFORE;
}

/* The octaves on one side that begin behind @from pages, and not behind @to: a bit for each. */
__verified_once __u32 near_between(__u64 from, __u64 to)
{
	__u32 octaves = 0;

	__unrolled
	for (__u32 i = 0; i < NEAR_OCTAVES; i++)
		if (near_pages(i) > from && near_pages(i) <= to)
			octaves |= 1U << i;
	return octaves;
}

/* Pages that pay on one side, from the jump to the end of the last octave that does. */
__verified_once __u32 near_extent(const struct near *n __arg_nonnull, bool before)
{
	__u32 pages = 0;

	__unrolled
	for (__u32 i = 0; i < NEAR_OCTAVES; i++)
		if (n->shares[(before ? NEAR_BEFORE : 0) + i] >= NEAR_PAYS)
			pages = (2U << i) - 1;
	return pages;
}

/* Nobody knows yet: it may pay up to so many @pages on each side. */
static __always_inline void near_begin(struct near *n, __u32 pages)
{
	__unrolled
	for (__u32 i = 0; i < NEAR_OCTAVES; i++)
		n->shares[i] = n->shares[NEAR_BEFORE + i] =
			pages >= 2 * near_pages(i) - 1 ? NEAR_USED / 2 : 0;
}

/* One more jump is over, that says of @octave what near_use() was told. */
static __always_inline void near_pass(struct near *n, __u32 octave)
{
	__u32 *share = n->shares + octave % NEAR_FAR;

	*share -= *share / 8;
}

/* Near the present jump @pages of @octave were used. */
static __always_inline void near_use(struct near *n, __u32 octave, __u32 pages)
{
	__u32 *share = n->shares + octave % NEAR_FAR;

	*share = min(*share + NEAR_LAST / near_pages(octave) * pages, NEAR_USED);
}
