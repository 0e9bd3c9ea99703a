/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kv-db.h"
#include "kv-run.h"

/* Scans: runs of records that follow each other, from one on that is drawn as the reads are.  They have a
 * handle of the database for themselves, and so file descriptors to which advice can be given that does not
 * concern the reads. */
typedef struct Scans Scans;

int scans_new(const RunOptions *options, Scans **ret);
void scans_free(Scans *scans);

/* One scan, the number-th; false: a record was missing or wrong, or advice was refused. */
bool scans_work(void *scans, uint64_t number);
