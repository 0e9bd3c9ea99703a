/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kv: the workloads of YCSB on a key-value store whose cache is the page cache: RocksDB, which reads by
 * pread(2), or LevelDB or LMDB, which map their files.  "kv load" makes the database, "kv run" measures;
 * scans and updates can run beside the operations, in threads of their own. */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv-run.h"
#include "options.h"
#include "pool.h"

static void help(void) {
        printf("%1$s load DIRECTORY --records=N [--value-size=BYTES]\n"
               "%1$s run DIRECTORY --ops=N [OPTIONS…]\n\n"
               "Key-value load on RocksDB, LevelDB or LMDB: the workloads of YCSB.\n\n"
               "  --engine=NAME        rocksdb, which reads its tables by pread(2), or leveldb or lmdb,\n"
               "                       which map their files (rocksdb)\n"
               "  --records=N          records of the database\n"
               "  --value-size=BYTES   size of a value (1000)\n"
               "  --levels=BYTES       four levels with tables of so many bytes, each level a tenth of\n"
               "                       the one below (one sorted run)\n"
               "  --workload=NAME      a: 50 %% reads, 50 %% updates; b: 95 %%, 5 %%; c: reads; d: 95 %%\n"
               "                       reads of what is new, 5 %% inserts; e: 95 %% scans of 1 to 100\n"
               "                       records, 5 %% inserts; f: 50 %% reads, 50 %% read-modify-write, all\n"
               "                       but d scrambled Zipfian; uniform: reads; uniform-rw: 50 %% updates;\n"
               "                       twitter-17, -18, -24, -34, -52: with the statistics of these\n"
               "                       clusters of Twitter's caches (c).\n"
               "                       Where records are updated or inserted, the database is changed\n"
               "  --ops=N              measured operations, all threads together\n"
               "  --warmup=N           operations before them (0)\n"
               "  --threads=N          threads (1)\n"
               "  --rate=N             operations a second, all threads together (as many as can be)\n"
               "  --zipf=THETA         skew of YCSB's Zipfian (0.99)\n"
               "  --universe=N         items the ranks are drawn from (the records; YCSB has 10000000000)\n"
               "  --seed=N             seed of the sequence of operations (1)\n"
               "  --block-cache=BYTES  the engine's own cache (65536)\n"
               "  --open-files=N       its limit of open tables (512)\n"
               "  --write-buffer=BYTES its buffer of writes, and size of RocksDB's tables (2097152)\n"
               "  --index-in-cache     indexes of tables are read like their data, not kept in memory;\n"
               "                       both when the database is made and when it is read\n"
               "  --unaligned          blocks of a database that is made begin where the last one ends,\n"
               "                       so that most span two pages (where a page begins)\n"
               "  --scan-threads=N     threads beside the operations, called kv-scan, that scan without a\n"
               "                       pause (0)\n"
               "  --scan-length=N      records of a scan (1000)\n"
               "  --scan-advice=WHAT   dontneed, noreuse, sequential: posix_fadvise() of the scans (none)\n"
               "  --write-threads=N    threads beside the operations, called kv-write, that update one\n"
               "                       record for each operation (0); the database is changed\n"
               "  --disk=NAME          also take the counters of /sys/class/block/NAME/stat\n"
               "  --curve=N            also the disk's reads in each of N equal parts of the run, with\n"
               "                       the warm-up; wants --disk (none)\n"
               "  --json               one JSON object instead of text\n"
               "  --help               this text\n",
               program_invocation_short_name);
}

static int parse_advice(const char *text, void *target) {
        static const char *const names[_ADVICE_MAX] = {
                [ADVICE_NONE] = "none",
                [ADVICE_DONTNEED] = "dontneed",
                [ADVICE_NOREUSE] = "noreuse",
                [ADVICE_SEQUENTIAL] = "sequential",
        };

        for (unsigned i = 0; i < _ADVICE_MAX; i++)
                if (strcmp(text, names[i]) == 0) {
                        *(ScanAdvice *) target = i;
                        return 0;
                }

        return log_error(-EINVAL, "--scan-advice=%s: none, dontneed, noreuse or sequential", text);
}

static int parse_workload(const char *text, void *target) {
        const Workload *workload = workload_find(text);

        if (!workload)
                return log_error(-EINVAL, "--workload=%s: a, b, c, d, e, f, uniform, uniform-rw, or "
                                 "twitter-17, -18, -24, -34 or -52", text);

        *(const Workload **) target = workload;
        return 0;
}

static int parse_engine(const char *text, void *target) {
        const EngineType *engine = engine_find(text); /* says so if there is none */

        if (!engine)
                return -EINVAL;

        *(const EngineType **) target = engine;
        return 0;
}

/* What was asked for, and the engine's reason against it. */
static int check_engine(const LoadOptions *load, const RunOptions *run) {
        const EngineType *e = run->engine;
        const struct {
                bool wanted;
                const char *option, *reason;
        } choices[] = {
                { load->table_size > 0,       "levels",         e->no_levels         },
                { run->access.index_in_cache, "index-in-cache", e->no_index_in_cache },
                { load->unaligned,            "unaligned",      e->no_unaligned      },
                { run->scan_threads > 0,      "scan-threads",   e->no_second_handle  },
        };

        for (size_t i = 0; i < ELEMENTSOF(choices); i++)
                if (choices[i].wanted && choices[i].reason)
                        return log_error(-EINVAL, "--%s: not for --engine=%s: %s", choices[i].option,
                                         e->name, choices[i].reason);

        if (run->access.open_files < e->open_files_min)
                return log_error(-EINVAL, "--open-files=%" PRIu64 ": %s has at least %" PRIu64,
                                 run->access.open_files, e->title, e->open_files_min);
        return 0;
}

static int kv_main(int argc, char *argv[]) {
        LoadOptions load = { .value_size = 1000 };
        RunOptions run = {
                .engine = &engine_rocksdb, .workload = workload_find("c"),
                .threads = 1, .seed = 1, .theta = 0.99, .scan_length = 1000,
                .access = { .block_cache = 65536, .open_files = 512, .write_buffer = UINT64_C(2) << 20 },
        };
        const Option options[] = {
                { "records",       2,            UINT64_C(1000000000), &load.records            },
                { "value-size",    KV_VALUE_MIN, KV_VALUE_MAX,         &load.value_size         },
                { "levels",        65536,        UINT64_C(1) << 30,    &load.table_size         },
                { "ops",           1,            UINT64_C(1) << 40,    &run.operations          },
                { "warmup",        0,            UINT64_C(1) << 40,    &run.warmup              },
                { "threads",       1,            256,                  &run.threads             },
                { "rate",          1,            UINT64_C(1000000000), &run.rate                },
                { "seed",          0,            UINT64_MAX,           &run.seed                },
                { "universe",      2,            UINT64_C(1) << 40,    &run.universe            },
                { "block-cache",   0,            UINT64_C(1) << 40,    &run.access.block_cache  },
                { "open-files",    16,           1000000,              &run.access.open_files   },
                { "scan-threads",  0,            POOL_THREADS_MAX,     &run.scan_threads        },
                { "scan-length",   1,            UINT64_C(1000000000), &run.scan_length         },
                { "curve",         1,            CURVE_PARTS_MAX,      &run.curve               },
                { "write-threads", 0,            POOL_THREADS_MAX,     &run.write_threads       },
                { "write-buffer",  65536,        UINT64_C(1) << 30,    &run.access.write_buffer },
                { "engine",        .parse = parse_engine, .target = &run.engine },
                { "workload",      .parse = parse_workload, .target = &run.workload },
                { "zipf",          .parse = option_theta, .target = &run.theta },
                { "scan-advice",   .parse = parse_advice, .target = &run.scan_advice },
                { "disk",          .text = &run.disk },
                { "index-in-cache", .flag = &run.access.index_in_cache },
                { "unaligned",     .flag = &load.unaligned },
                { "json",          .flag = &run.json },
        };
        const char *directory;
        int r, verb;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? r : 0;

        verb = options_verb(argc, argv, (const Verb[]) {
                                { "load", "records", load.records  },
                                { "run",  "ops",     run.operations },
                        }, "directory", &directory);
        if (verb < 0)
                return verb;

        if (run.curve > 0 && !run.disk)
                return log_error(-EINVAL, "--curve: --disk has to say of which disk");

        load.engine = run.engine;
        load.index_in_cache = run.access.index_in_cache;
        load.directory = run.directory = directory;
        r = check_engine(&load, &run);
        if (r < 0)
                return r;

        return verb == 0 ? kv_load(&load) : kv_run(&run);
}

int main(int argc, char *argv[]) {
        return kv_main(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
