/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparisons without branches, of numbers below 2^63.  The verifier follows a
 * branch both ways; in a loop over something of which it knows nothing these
 * ways multiply.  barrier_var() keeps clang from making a branch of it again, or
 * the mask of all bits of a sign, which the verifier follows both ways as well.
 */
#pragma once

/* 1 if @a is less than @b, else 0 */
static __always_inline __u64 bl_less(__u64 a, __u64 b)
{
	a -= b;
	barrier_var(a);
	a >>= 63;
	barrier_var(a);
	return a;
}

/* @a if that is more than 0, else 0 */
static __always_inline __u64 bl_positive(__s64 a)
{
	__s64 sign = a >> 63;

	barrier_var(sign);
	return a & ~sign;
}

static __always_inline __u64 bl_max(__s64 a, __s64 b)
{
	return b + bl_positive(a - b);
}

static __always_inline __u64 bl_min(__s64 a, __s64 b)
{
	return a - bl_positive(a - b);
}
