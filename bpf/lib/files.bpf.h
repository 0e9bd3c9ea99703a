/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files whose pages lose something each time that one of them is used.
 *
 * That happens later: a file counts its uses, and knows what each of its pages has lost
 * since ever.  What a single page has lost is the difference to what that was as it came.
 *
 * Files are told apart by a hash: those that share an entry count as one.  Uses that two
 * processors count at the same time may be lost, or taken back; pages are counted exactly.
 */
#pragma once

#include "../cachebpf.bpf.h"

#define NR_FILES	1024U
#define PACE		16
/* some lose much faster for a while: to be believed, that has to last */
#define PACE_MAX	(2 * PACE)

struct file {
	/* by each page, since ever, */
	__s64 lost;
	/* for so many of the uses */
	__u32 known, uses;
	/* that are cached */
	__s64 nr_pages;
	/* how many times as fast as all files it loses, in units of PACE */
	__u64 pace;
	/* what it and all had lost when that was computed */
	__s64 lost_then, any_then;
};

static struct file files[NR_FILES];
/* all files as one */
static struct file any_file;

/* In folio_added(): the number of the file of @folio. */
static __always_inline __u32 file_number(struct cachebpf_folio *folio)
{
	struct cachebpf_file id = {};

	bpf_cachebpf_file(folio, &id);
	return ((id.ino ^ (__u64)id.dev << 40) + id.generation) * 0x9e3779b97f4a7c15ULL >> 54;
}

static __always_inline struct file *file_of(__u32 number)
{
	return &files[number % NR_FILES];
}

/* Of a @loss for all pages of @file, the part of one. */
static __always_inline __u64 file_part(const struct file *file, __u64 loss)
{
	__s64 nr = file->nr_pages;

	return loss / (nr > 0 ? nr : 1);
}

/* Compute the pace of @file anew, if pages of all files have lost @loss each since the last time. */
static __always_inline void file_set_pace(struct file *file, __u64 loss)
{
	__u64 any = any_file.lost - file->any_then;

	if (any < loss)
		return;
	file->pace = min((file->lost - file->lost_then) * PACE / (any ?: 1), PACE_MAX);
	file->lost_then = file->lost;
	file->any_then = any_file.lost;
}

/* What each page of @file has lost since ever, if together they lose @loss for each use. */
static __always_inline __s64 file_lost(struct file *file, __u64 loss)
{
	__s32 nr = file->uses - file->known;

	/* a processor that counts late takes uses back that were known */
	if (nr > 0) {
		file->known += nr;
		file->lost += nr * file_part(file, loss);
		any_file.lost += nr * file_part(&any_file, loss);
		file_set_pace(file, loss);
	}
	return file->lost;
}

/* @file has @nr more pages; file_lost() comes first: these have no part in what was lost before. */
static __always_inline void file_has(struct file *file, __s64 nr)
{
	__sync_fetch_and_add(&file->nr_pages, nr);
	__sync_fetch_and_add(&any_file.nr_pages, nr);
}
