/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum ScanAdvice {
        ADVICE_NONE,
        ADVICE_DONTNEED,        /* after each scan, for the tables it went through */
        ADVICE_NOREUSE,         /* these two once, when the tables are opened */
        ADVICE_SEQUENTIAL,
        _ADVICE_MAX,
} ScanAdvice;

typedef struct ReadOptions {
        const char *directory;
        const char *disk;       /* block device whose counters are taken too, or NULL */
        uint64_t operations;    /* measured, all threads together */
        uint64_t warmup;        /* before them, not measured */
        uint64_t threads;
        uint64_t seed;
        uint64_t universe;      /* of the Zipfian ranks; 0: the number of records */
        uint64_t block_cache;
        uint64_t open_files;
        double theta;
        bool index_in_cache;    /* the indexes of tables are read like their data */
        bool json;

        /* what runs beside the reads; 0 threads: nothing */
        uint64_t scan_threads;
        uint64_t scan_every;    /* one scan for so many reads; 0: one after the other, without a pause */
        uint64_t scan_length;   /* records */
        ScanAdvice scan_advice;
        uint64_t write_threads;
        uint64_t write_every;
        uint64_t write_buffer;  /* bytes that RocksDB collects before it writes a table */
} ReadOptions;

int kv_read(const ReadOptions *options);
