/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Readahead: how much of a file is read beyond what a task asks for.
 *
 * The kernel's own readahead looks at one window of an open file.  Here each stream, which
 * is what one open file reads, has besides that a memory of whether readahead pays:
 *
 * - A run goes on where it ended: its window doubles each time, up to that of the device,
 *   or two requests.  A run may go forward or backward, or take a page here and one as far
 *   away again and again; the last two are found by a vote: most of the last eight distances
 *   between misses are the same.
 * - All other misses are jumps.  Around one is read what pays, as the jumps before have shown,
 *   see near.bpf.h.  What is read with a jump has a marker on a random page, the probe.  The
 *   last four jumps are remembered: threads may share a stream, or one may go back and forth.
 *
 * Around the first jumps of a stream is read what pays with the others of the control group; the
 * first stream begins as without a policy.  Two streams may share a slot, and then forget each
 * other.
 *
 * Two processors may write to a slot at the same time: then a window is too small or too
 * large once.
 *
 * CACHEBPF_POLICY() gives this to every policy; one with a plan_readahead() of its own
 * defines CACHEBPF_OWN_READAHEAD before it includes anything.  Whoever loads a policy sets
 * cachebpf_readahead, or, for stock readahead, has it cost nothing: clears the member
 * plan_readahead of the policy's cachebpf_ops, and does not create the map .bss.readahead.
 * For the stock policy it goes with "noop".
 *
 * Source: of markers, F. Wu, H. Xi and C. Xu, "On the design of a new Linux readahead
 * framework", 2008; of the vote, H. Al Maruf and M. Chowdhury, "Effectively prefetching
 * remote memory with Leap", 2020.
 */
#pragma once

#include "near.bpf.h"

/* A setting: pages of a window at most, 0: read nothing ahead, or one of these. */
#define READAHEAD_STOCK		(~0U)
#define READAHEAD_ADAPTIVE	(~0U - 1)

#define READAHEAD_STREAMS	256
#define READAHEAD_DISTANCES	8
/* so many of these have to be the same */
#define READAHEAD_VOTES		5
/* the kernel reads no more at a time, with the request, */
#define READAHEAD_MOST		512
/* and without it no more than 1 in 16 of what the control group can hold */
#define READAHEAD_SHARE		16
#define READAHEAD_LEAST		4
/* a stride that is longer than so many requests is not read as a whole */
#define READAHEAD_DENSE		4
#define READAHEAD_RANGES	4
#define READAHEAD_NONE		(~0ULL)
#define READAHEAD_JUMPS		4
/* a stream that jumped so often is known by itself */
#define READAHEAD_KNOWN		32

struct readahead_jump {
	/* what was asked for */
	__u64 start;
	__u64 end;
	/* where a run would go on: behind what was read; */
	__u64 next;
	/* or downward: there something was read before */
	__u64 down;
	/* the page with the marker, or READAHEAD_NONE; its octave */
	__u64 probe;
	__u32 probed;
	/* octaves that there are in the file and that were not read: a bit for each */
	__u32 unread;
};

struct readahead_stream {
	__u64 key;
	/* where the last miss was */
	__u64 last;
	/* the run: where the last request that is read ahead will be, */
	__u64 base;
	/* how far the next one is from there, 0: there is no run, */
	__s64 stride;
	/* pages beyond the request, and the page with the marker */
	__u64 run;
	__u64 mark;
	struct readahead_jump jumps[READAHEAD_JUMPS];
	__s64 distances[READAHEAD_DISTANCES];
	__u32 nr_distances;
	/* the jump that the run began with, READAHEAD_JUMPS: none */
	__u32 from;
	/* of page faults, not reads */
	__u32 faults;
	/* so many jumps */
	__u32 nr_jumps;
	/* have shown what is used around them */
	struct near near;
};

/* in a map of its own, which need not be there without READAHEAD_ADAPTIVE */
struct readahead_stream readahead_streams[READAHEAD_STREAMS] SEC(".bss.readahead");
/* what the latest streams of reads have learned, and those of faults */
struct near readahead_learned[2] SEC(".bss.readahead");
/* faults begin as without a policy, with a window around them */
bool readahead_begun SEC(".bss.readahead");

/* Pages that can be read beyond the request, which there is none of at a marker. */
static __always_inline __u64 readahead_most(const struct cachebpf_readahead *ra)
{
	__u64 wanted = ra->reason == CACHEBPF_READAHEAD_MARKER ? 0 : ra->wanted;

	return min(READAHEAD_MOST - min(READAHEAD_MOST, wanted), ra->limit / READAHEAD_SHARE);
}

/* One more jump says of @octave that none of it was used, unless readahead_use() is told so. */
static __always_inline void readahead_pass(struct readahead_stream *s, __u32 octave)
{
	near_pass(&s->near, octave);
	near_pass(readahead_learned + s->faults % 2, octave);
}

/* @pages of @octave were used. */
static __always_inline void readahead_use(struct readahead_stream *s, __u32 octave, __u32 pages)
{
	near_use(&s->near, octave, pages);
	near_use(readahead_learned + s->faults % 2, octave, pages);
}

/* A jump is over: what was not used until now was not used. */
__verified_once int readahead_judge(struct readahead_stream *s __arg_nonnull, __u32 number)
{
	const struct readahead_jump *jump = s->jumps + number % READAHEAD_JUMPS;
	__u32 i;

	for (i = 0; i < NEAR_FAR; i++)
		if (jump->unread >> i & 1)
			readahead_pass(s, i);
	if (jump->probe != READAHEAD_NONE)
		readahead_pass(s, jump->probed);
	return 0;
}

/* The slot of the stream; anew if it was another's. */
static __always_inline struct readahead_stream *readahead_find(const struct cachebpf_readahead *ra)
{
	/* never 0, which is a slot that nobody has had */
	__u64 key = ((ra->ino * 0x9e3779b97f4a7c15ULL ^ ra->stream) * 0xff51afd7ed558ccdULL + ra->dev) | 1;
	struct readahead_stream *s = readahead_streams + (key >> 32) % READAHEAD_STREAMS;
	__u32 i;

	if (s->key == key)
		return s;

	if (s->key)
		for (i = 0; i < READAHEAD_JUMPS; i++)
			readahead_judge(s, i);
	*s = (struct readahead_stream) {
		.key = key,
		.last = ra->index,
		.mark = READAHEAD_NONE,
		.from = READAHEAD_JUMPS,
		.faults = ra->reason == CACHEBPF_READAHEAD_FAULT,
	};
	for (i = 0; i < READAHEAD_JUMPS; i++)
		s->jumps[i] = (struct readahead_jump) {
			.start = READAHEAD_NONE,
			.end = READAHEAD_NONE,
			.next = READAHEAD_NONE,
			.down = READAHEAD_NONE,
			.probe = READAHEAD_NONE,
		};
	if (!readahead_begun) {
		readahead_begun = true;
		near_begin(readahead_learned + 1, ra->stock_window / 2);
	}
	s->near = readahead_learned[s->faults];
	return s;
}

static __always_inline __u64 readahead_double(__u64 pages, __u64 most)
{
	return min(max(2 * pages, READAHEAD_LEAST), most);
}

/* The read goes on where the last one ended, or it begins with the file. */
static __always_inline bool readahead_continues(const struct cachebpf_readahead *ra)
{
	return !ra->index || ra->index == ra->prev_end;
}

/* Note @distance; returns how many of the last eight are the same. */
static __always_inline __u32 readahead_vote(struct readahead_stream *s, __s64 distance)
{
	__u32 votes = 0;

	s->distances[s->nr_distances++ % READAHEAD_DISTANCES] = distance;
	__unrolled
	for (int i = 0; i < READAHEAD_DISTANCES; i++)
		votes += s->distances[i] == distance;
	return votes;
}

/* A window that holds the next requests of the run, all @step pages apart. */
static __always_inline void readahead_window(struct cachebpf_readahead *ra,
					     struct readahead_stream *s, __u64 step)
{
	bool marked = ra->reason == CACHEBPF_READAHEAD_MARKER;
	/* the window begins with the request, or behind the one before */
	__u64 from = marked ? s->base : ra->index, wanted = marked ? 0 : ra->wanted;
	__u64 ahead = s->run / step * step;

	if (s->stride < 0) {
		ahead = min(ahead, from / step * step);
		s->base = from - ahead;
		s->mark = from - step;
		ra->start = s->base;
	} else {
		s->base = from + ahead;
		s->mark = from + step;
		ra->start = marked ? s->mark : from;
	}
	ra->size = ahead + wanted;
	/* the marker is on the next request */
	ra->async_size = ahead ? ra->start + ra->size - s->mark : 0;
}

/* Requests that are far apart: each of the next ones is read by itself. */
static __always_inline void readahead_ranges(struct cachebpf_readahead *ra,
					     struct readahead_stream *s, __u64 step)
{
	__u64 nr = min(s->run / ra->wanted, READAHEAD_RANGES);

	if (s->stride < 0)
		nr = min(nr, ra->index / step);
	s->base = ra->index;
	s->mark = READAHEAD_NONE;
	__unrolled
	for (__u32 i = 0; i < READAHEAD_RANGES; i++) {
		if (i >= nr)
			break;
		s->base += s->stride;
		bpf_cachebpf_prefetch(ra, s->base, ra->wanted);
	}
}

/* The run goes on with a window twice as large. */
static __always_inline void readahead_run(struct cachebpf_readahead *ra,
					  struct readahead_stream *s, __u64 most)
{
	__u64 step = s->stride < 0 ? -s->stride : s->stride;

	/* the queue of the device takes no more at a time: who reads would wait for the rest */
	most = min(most, max(ra->stock_window, 2 * (__u64)ra->wanted));
	s->run = readahead_double(max(s->run, ra->wanted), most);
	if (ra->reason != CACHEBPF_READAHEAD_MARKER && step > READAHEAD_DENSE * ra->wanted)
		readahead_ranges(ra, s, step);
	else
		readahead_window(ra, s, step);
	s->last = s->base;
}

/* Around a jump is read what has paid around those before. */
static __always_inline void readahead_jump(struct cachebpf_readahead *ra,
					   struct readahead_stream *s, __u64 most)
{
	struct readahead_jump *jump = s->jumps + s->nr_jumps % READAHEAD_JUMPS;
	__u64 end = ra->index + ra->wanted, left = ra->file_pages - min(ra->file_pages, end);
	const struct near *near;
	__u64 after, before, place;

	s->faults = ra->reason == CACHEBPF_READAHEAD_FAULT;
	readahead_judge(s, s->nr_jumps);
	if (s->from == s->nr_jumps % READAHEAD_JUMPS)
		s->from = READAHEAD_JUMPS;
	near = s->nr_jumps < READAHEAD_KNOWN ? readahead_learned + s->faults % 2 : &s->near;
	after = min(near_extent(near, false), min(left, most));
	before = min(near_extent(near, true), min(ra->index, most - after));
	s->nr_jumps++;
	s->last = ra->index;
	*jump = (struct readahead_jump) {
		.start = ra->index,
		.end = end,
		.next = end + after,
		.down = before ? ra->index - before - ra->wanted : READAHEAD_NONE,
		.probe = READAHEAD_NONE,
		.unread = near_between(after, left) |
			  near_between(before, ra->index) << NEAR_BEFORE,
	};
	if (!after && !before)
		return;

	place = bpf_get_prandom_u32() % (before + after);
	if (place >= before)
		place += ra->wanted;
	ra->start = ra->index - before;
	ra->size = before + ra->wanted + after;
	ra->async_size = ra->size - place;
	jump->probe = ra->start + place;
	jump->probed = near_octave(jump->start, end, jump->probe);
}

/*
 * Windows that double up to @pages while reads go on where the last one ended, with the
 * marker in the middle of each; at faults @pages around the one that is missing.
 */
static __always_inline void readahead_fixed(struct cachebpf_readahead *ra, __u64 pages)
{
	if (ra->reason == CACHEBPF_READAHEAD_FAULT) {
		ra->start = ra->index - min(ra->index, pages / 2);
		ra->size = max(pages, 1);
		return;
	}
	if (ra->reason == CACHEBPF_READAHEAD_MARKER)
		ra->start = ra->index + ra->last_window / 2;
	else if (!readahead_continues(ra))
		return;
	ra->size = max(readahead_double(ra->last_window, pages), ra->size);
	ra->async_size = ra->size / 2;
}

/* Is the marker that was used the one on @page?  It is the whole folio's. */
static __always_inline bool readahead_is_mark(const struct cachebpf_readahead *ra, __u64 page)
{
	return page - ra->index < max(ra->marked, 1);
}

/* A page with a marker is used that is not a run's. */
static __always_inline void readahead_marker(struct cachebpf_readahead *ra,
					     struct readahead_stream *s, __u64 most)
{
	for (__u32 i = 0; i < READAHEAD_JUMPS; i++) {
		struct readahead_jump *jump = s->jumps + i;

		if (!readahead_is_mark(ra, jump->probe))
			continue;
		readahead_pass(s, jump->probed);
		readahead_use(s, jump->probed, near_pages(jump->probed));
		jump->probe = READAHEAD_NONE;
		return;
	}
	/* one of a run that is forgotten here */
	readahead_fixed(ra, min(most, ra->stock_window));
	s->run = ra->size;
	s->stride = 1;
	s->base = ra->start + ra->size - 1;
	s->mark = ra->start + ra->size - ra->async_size;
}

/* The present run, if it began with a jump, has come to the page @index: what is between them was used. */
__verified_once int readahead_reach(struct readahead_stream *s __arg_nonnull, __u64 index)
{
	struct readahead_jump *jump = s->jumps + s->from % READAHEAD_JUMPS;
	bool before = index < jump->start;
	__u64 distance = before ? jump->start - index : index - jump->end + 1;
	__u32 i, octave;

	if (s->from >= READAHEAD_JUMPS)
		return 0;
	for (i = 0; i < NEAR_OCTAVES; i++) {
		octave = (before ? NEAR_BEFORE : 0) + i;
		if (!(jump->unread >> octave & 1) || distance < near_pages(i))
			continue;
		jump->unread &= ~(1U << octave);
		readahead_pass(s, octave);
		readahead_use(s, octave, near_pages(i));
	}
	return 0;
}

/*
 * A run begins with the request.  The next one is @stride pages away; @run pages of it were
 * read with the jump @from.
 */
static __always_inline bool readahead_begin(struct readahead_stream *s, __s64 stride, __u64 run,
					    __u32 from)
{
	s->stride = stride;
	s->run = run;
	s->from = from;
	return true;
}

/* A page is missing.  Returns whether it belongs to a run, the present one or a new one. */
static __always_inline bool readahead_miss(struct cachebpf_readahead *ra,
					   struct readahead_stream *s)
{
	__s64 distance = ra->index - s->last;
	__u32 votes = readahead_vote(s, distance);

	if (s->stride && ra->index == s->base + s->stride)
		return true;

	for (__u32 i = 0; i < READAHEAD_JUMPS; i++) {
		struct readahead_jump *jump = s->jumps + i;

		if (ra->index == jump->next) {
			jump->next = READAHEAD_NONE;
			return readahead_begin(s, ra->wanted, ra->index - jump->end, i);
		}
		if (ra->index == jump->down) {
			jump->down = READAHEAD_NONE;
			return readahead_begin(s, -(__s64)ra->wanted, jump->start - ra->index, i);
		}
	}
	if (readahead_continues(ra))
		return readahead_begin(s, ra->wanted, 0, READAHEAD_JUMPS);
	if (distance && votes >= READAHEAD_VOTES)
		return readahead_begin(s, distance, 0, READAHEAD_JUMPS);
	return false;
}

/* A page is missing that is not a run's: is it near a jump that did not read it? */
static __always_inline void readahead_near(const struct cachebpf_readahead *ra,
					   struct readahead_stream *s)
{
	for (__u32 i = 0; i < READAHEAD_JUMPS; i++) {
		const struct readahead_jump *jump = s->jumps + i;
		__u32 octave = near_octave(jump->start, jump->end, ra->index);

		if (octave == NEAR_FAR || !(jump->unread >> octave % NEAR_FAR & 1))
			continue;
		readahead_use(s, octave, 1);
		break;
	}
}

static __always_inline void readahead_adapt(struct cachebpf_readahead *ra)
{
	struct readahead_stream *s = readahead_find(ra);
	__u64 most = readahead_most(ra);
	bool marked = ra->reason == CACHEBPF_READAHEAD_MARKER;

	if (marked ? readahead_is_mark(ra, s->mark) : readahead_miss(ra, s)) {
		readahead_reach(s, ra->index);
		readahead_run(ra, s, most);
	} else if (marked) {
		readahead_marker(ra, s, most);
	} else {
		readahead_near(ra, s);
		readahead_jump(ra, s, most);
	}
}

/*
 * Decide on @ra by @setting.  Returns false: as without a policy.  In plan_readahead().
 */
static __always_inline bool readahead_plan(struct cachebpf_readahead *ra, __u32 setting)
{
	if (setting == READAHEAD_STOCK)
		return false;

	ra->start = ra->index;
	ra->size = ra->reason == CACHEBPF_READAHEAD_MARKER ? 0 : ra->wanted;
	ra->async_size = 0;
	if (setting == READAHEAD_ADAPTIVE)
		readahead_adapt(ra);
	else if (setting)
		readahead_fixed(ra, min(setting, readahead_most(ra)));
	return true;
}

#ifndef CACHEBPF_OWN_READAHEAD
/* the setting of the control group */
const volatile __u32 cachebpf_readahead SEC(".rodata") = READAHEAD_STOCK;

bool CACHEBPF_OP(cachebpf_plan, struct cachebpf_policy *policy, struct cachebpf_readahead *ra)
{
	return readahead_plan(ra, cachebpf_readahead);
}
#endif
