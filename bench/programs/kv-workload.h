/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "popularity.h"
#include "random.h"
#include "zipf.h"

/* The workloads of YCSB (Cooper and others, SoCC 2010), the two that the cache_ext paper adds, and some with
 * the statistics of Twitter's caches: what is done with which record.  A sequence depends on its seed and
 * nothing else. */

typedef enum OperationKind {
        OPERATION_READ,
        OPERATION_UPDATE,
        OPERATION_INSERT,
        OPERATION_SCAN,
        OPERATION_MODIFY,       /* read, and then write */
        _OPERATION_MAX,
} OperationKind;

typedef struct Operation {
        OperationKind kind;
        uint64_t record;
        uint64_t length;        /* of a scan, in records */
} Operation;

/* Which record it is. */
typedef enum Distribution {
        DISTRIBUTION_ZIPFIAN,   /* scrambled: popular records lie anywhere */
        DISTRIBUTION_LATEST,    /* the newest is the most popular one */
        DISTRIBUTION_UNIFORM,
        DISTRIBUTION_SHIFTED,   /* of popularity.h: popular records lie anywhere */
} Distribution;

typedef struct Workload {
        const char *name;                       /* of --workload= */
        Distribution distribution;
        unsigned percent[_OPERATION_MAX];       /* of the kinds; 100 together */
        double alpha, shift;                    /* of DISTRIBUTION_SHIFTED */
} Workload;

/* Scans have 1 to so many records, each length equally likely. */
#define WORKLOAD_SCAN_MAX 100

/* NULL: there is none of that name. */
const Workload *workload_find(const char *name);

/* Does it change the database? */
bool workload_writes(const Workload *w);

/* "read", "update", "insert", "scan", "rmw" */
const char *operation_name(OperationKind kind);

typedef struct SequenceOptions {
        uint64_t records;       /* of the database, numbered from 0 */
        uint64_t universe;      /* of the Zipfian ranks; 0: the number of records */
        double theta;           /* of a Zipfian */
        uint64_t seed;
        uint64_t operations;    /* that will be asked for: inserts that belong to them can be read */
        unsigned thread, threads;
} SequenceOptions;

/* What one of several threads does.  Records that it inserts have the numbers after those of the database
 * that no other thread takes, and it reads of the inserted ones only its own: neither depends on how far the
 * others are. */
typedef struct Sequence {
        const Workload *workload;
        uint64_t records, inserted;
        unsigned thread, threads;
        Zipf zipf;
        Popularity popularity;
        Random kinds, others;   /* others: what is drawn beside kinds and Zipfian */
} Sequence;

void sequence_init(Sequence *s, const Workload *workload, const SequenceOptions *options);
Operation sequence_next(Sequence *s);
