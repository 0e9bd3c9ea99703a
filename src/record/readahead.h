/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sim/trace-record.h"

/* Tells what was read ahead from what was brought in for an access: the kernel brings pages in first, and
 * then comes the access that wanted some of them. */
typedef struct Readahead Readahead;

typedef int (*ReadaheadFunc)(const RecordAccess *a, void *userdata);

/* "func" gets the accesses, and those with TRACE_READAHEAD for pages that no access wanted. */
Readahead *readahead_new(ReadaheadFunc func, void *userdata);

/* The thread brought pages into the cache. */
int readahead_added(Readahead *r, const RecordAccess *a);

/* The thread used pages: what it brought in before and did not use was read ahead. */
int readahead_access(Readahead *r, const RecordAccess *a);

/* The page left the cache for good, whoever had brought it in. */
int readahead_gone(Readahead *r, const RecordAccess *a);

/* No access will come any more. */
int readahead_flush(Readahead *r);

Readahead *readahead_free(Readahead *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(Readahead *, readahead_free);
