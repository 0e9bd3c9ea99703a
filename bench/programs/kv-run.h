/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kv-curve.h"
#include "kv-db.h"
#include "kv-workload.h"

typedef enum ScanAdvice {
        ADVICE_NONE,
        ADVICE_DONTNEED,        /* after each scan, for the tables it went through */
        ADVICE_NOREUSE,         /* these two once, when the tables are opened */
        ADVICE_SEQUENTIAL,
        _ADVICE_MAX,
} ScanAdvice;

typedef struct RunOptions {
        const EngineType *engine;
        const Workload *workload;
        const char *directory;
        const char *disk;       /* block device whose counters are taken too, or NULL */
        uint64_t operations;    /* measured, all threads together */
        uint64_t warmup;        /* before them, not measured */
        uint64_t threads;
        uint64_t rate;          /* operations a second, all threads together; 0: as many as can be */
        uint64_t seed;
        uint64_t universe;      /* of the Zipfian ranks; 0: the number of records */
        uint64_t curve;         /* parts in each of which the reads of the disk are counted; 0: none */
        double theta;
        EngineOptions access;   /* to the database; it is written to only if the workload does, or threads */
        bool json;

        /* what runs beside the operations; 0 threads: nothing */
        uint64_t scan_threads;
        uint64_t scan_length;   /* records */
        ScanAdvice scan_advice;
        uint64_t write_threads;
} RunOptions;

int kv_run(const RunOptions *options);

/* Scans: runs of records that follow each other, from one on that is drawn as the reads are.  They have a
 * handle of the database for themselves, and so file descriptors to which advice can be given that does not
 * concern the reads. */
typedef struct Scans Scans;

int scans_new(const RunOptions *options, Scans **ret);
void scans_free(Scans *scans);

/* One scan, the number-th; false: a record was missing or wrong, or advice was refused. */
bool scans_work(void *scans, uint64_t number);
