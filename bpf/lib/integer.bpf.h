/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Square root and logarithm in integers, of numbers below 2^63; there is no floating
 * point in the kernel.  Without branches, see lib/branchless.bpf.h.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

/* The greatest k with k^2 <= @x; bit by bit, from the highest that it can have. */
static __always_inline __u64 isqrt(__u64 x)
{
	__u64 root = 0, bit, fits;

	for (bit = 1ULL << 62; bit; bit >>= 2) {
		fits = 1 - bl_less(x, root + bit);
		x -= (root + bit) * fits;
		root = (root >> 1) + bit * fits;
	}
	return root;
}

/* The least numbers with the logarithms 1, 2, 3, … */
static const __u64 ilog_least[] = {
	3, 8, 21, 55, 149, 404, 1097, 2981, 8104, 22027, 59875, 162755, 442414, 1202605,
	3269018, 8886111, 24154953, 65659970, 178482301, 485165196, 1318815735, 3584912847ULL,
	9744803447ULL, 26489122130ULL, 72004899338ULL, 195729609429ULL, 532048240602ULL,
	1446257064292ULL, 3931334297145ULL, 10686474581525ULL, 29048849665248ULL,
	78962960182681ULL, 214643579785917ULL, 583461742527455ULL, 1586013452313431ULL,
	4311231547115196ULL, 11719142372802612ULL, 31855931757113757ULL, 86593400423993747ULL,
	235385266837019986ULL, 639843493530054950ULL, 1739274941520501048ULL,
	4727839468229346562ULL,
};

/* The greatest k with e^k <= @x; 0 for 0. */
static __always_inline __u64 ilog(__u64 x)
{
	__u64 k = 0;

	for (__u32 i = 0; i < sizeof(ilog_least) / sizeof(*ilog_least); i++)
		k += 1 - bl_less(x, ilog_least[i]);
	return k;
}
