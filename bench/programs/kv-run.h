/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kv-engine.h"
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
        uint64_t block_cache;
        uint64_t open_files;
        uint64_t write_buffer;  /* bytes that the engine collects before it writes a table */
        double theta;
        bool index_in_cache;    /* the indexes of tables are read like their data */
        bool json;

        /* what runs beside the operations; 0 threads: nothing */
        uint64_t scan_threads;
        uint64_t scan_every;    /* one for so many operations; 0: one after the other, without a pause */
        uint64_t scan_length;   /* records */
        ScanAdvice scan_advice;
        uint64_t write_threads;
        uint64_t write_every;
} RunOptions;

int kv_run(const RunOptions *options);
