/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kv: the workloads of YCSB on a key-value store whose cache is the page cache: RocksDB, which reads by
 * pread(2), or LevelDB, which maps its tables.  "kv load" makes the database, "kv run" measures; scans and
 * updates can run beside the operations, in threads of their own and in a fixed proportion to them. */

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"
#include "kv-run.h"
#include "options.h"
#include "pool.h"

static int help(void) {
        printf("%1$s load DIRECTORY --records=N [--value-size=BYTES]\n"
               "%1$s run DIRECTORY --ops=N [OPTIONS…]\n\n"
               "Key-value load on RocksDB or LevelDB: the workloads of YCSB.\n\n"
               "  --engine=NAME        rocksdb, which reads its tables by pread(2), or leveldb, which maps\n"
               "                       them (rocksdb)\n"
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
               "  --zipf=THETA         skew of YCSB's Zipfian (0.99)\n"
               "  --universe=N         items the ranks are drawn from (the records; YCSB has 10000000000)\n"
               "  --seed=N             seed of the sequence of operations (1)\n"
               "  --block-cache=BYTES  the engine's own cache (65536)\n"
               "  --open-files=N       its limit of open tables (512)\n"
               "  --write-buffer=BYTES its buffer of writes, and size of RocksDB's tables (2097152)\n"
               "  --index-in-cache     indexes of tables are read like their data, not kept in memory;\n"
               "                       both when the database is made and when it is read\n"
               "  --scan-threads=N     threads beside the operations, called kv-scan, that scan (0)\n"
               "  --scan-every=N       one scan for so many operations (1999); 0: without a pause\n"
               "  --scan-length=N      records of a scan (1000)\n"
               "  --scan-advice=WHAT   dontneed, noreuse, sequential: posix_fadvise() of the scans (none)\n"
               "  --write-threads=N    threads beside the operations, called kv-write, that update records\n"
               "                       (0); the database is changed\n"
               "  --write-every=N      one update for so many operations (1)\n"
               "  --disk=NAME          also take the counters of /sys/class/block/NAME/stat\n"
               "  --json               one JSON object instead of text\n"
               "  --help               this text\n",
               program_invocation_short_name);
        return 0;
}

static int parse_advice(const char *text, ScanAdvice *ret) {
        static const char *const names[_ADVICE_MAX] = {
                [ADVICE_NONE] = "none",
                [ADVICE_DONTNEED] = "dontneed",
                [ADVICE_NOREUSE] = "noreuse",
                [ADVICE_SEQUENTIAL] = "sequential",
        };

        for (unsigned i = 0; i < _ADVICE_MAX; i++)
                if (strcmp(text, names[i]) == 0) {
                        *ret = i;
                        return 0;
                }

        return log_error(-EINVAL, "--scan-advice=%s: none, dontneed, noreuse or sequential", text);
}

static int parse_workload(const char *text, const Workload **ret) {
        const Workload *workload = workload_find(text);

        if (!workload)
                return log_error(-EINVAL, "--workload=%s: a, b, c, d, e, f, uniform, uniform-rw, or "
                                 "twitter-17, -18, -24, -34 or -52", text);

        *ret = workload;
        return 0;
}

typedef struct Option {
        const char *name;
        uint64_t min, max;
        uint64_t *value;
} Option;

/* Returns 1 when the help was printed and nothing is left to do. */
static int parse_argv(int argc, char *argv[], LoadOptions *load, RunOptions *run) {
        const Option numbers[] = {
                { "records",     2,            UINT64_C(1000000000), &load->records    },
                { "value-size",  KV_VALUE_MIN, KV_VALUE_MAX,         &load->value_size },
                { "levels",      65536,        UINT64_C(1) << 30,    &load->table_size },
                { "ops",         1,            UINT64_C(1) << 40,    &run->operations },
                { "warmup",      0,            UINT64_C(1) << 40,    &run->warmup     },
                { "threads",     1,            256,                  &run->threads    },
                { "seed",        0,            UINT64_MAX,           &run->seed       },
                { "universe",    2,            UINT64_C(1) << 40,    &run->universe   },
                { "block-cache", 0,            UINT64_C(1) << 40,    &run->block_cache },
                { "open-files",  16,           1000000,              &run->open_files },
                { "scan-threads",  0,          POOL_THREADS_MAX,     &run->scan_threads  },
                { "scan-every",    0,          UINT64_C(1) << 40,    &run->scan_every    },
                { "scan-length",   1,          UINT64_C(1000000000), &run->scan_length   },
                { "write-threads", 0,          POOL_THREADS_MAX,     &run->write_threads },
                { "write-every",   1,          UINT64_C(1) << 40,    &run->write_every   },
                { "write-buffer",  65536,      UINT64_C(1) << 30,    &run->write_buffer  },
        };
        enum {
                ARG_NUMBER = 0x100,
                ARG_ENGINE,
                ARG_WORKLOAD,
                ARG_ZIPF,
                ARG_ADVICE,
                ARG_DISK,
                ARG_INDEX,
                ARG_JSON,
                ARG_HELP,
        };
        struct option long_options[ELEMENTSOF(numbers) + 9] = {};
        size_t n = 0;
        int c, r, index;

        for (; n < ELEMENTSOF(numbers); n++)
                long_options[n] = (struct option) { numbers[n].name, required_argument, NULL, ARG_NUMBER };
        long_options[n++] = (struct option) { "engine", required_argument, NULL, ARG_ENGINE };
        long_options[n++] = (struct option) { "workload", required_argument, NULL, ARG_WORKLOAD };
        long_options[n++] = (struct option) { "zipf", required_argument, NULL, ARG_ZIPF };
        long_options[n++] = (struct option) { "scan-advice", required_argument, NULL, ARG_ADVICE };
        long_options[n++] = (struct option) { "disk", required_argument, NULL, ARG_DISK };
        long_options[n++] = (struct option) { "index-in-cache", no_argument, NULL, ARG_INDEX };
        long_options[n++] = (struct option) { "json", no_argument,       NULL, ARG_JSON };
        long_options[n++] = (struct option) { "help", no_argument,       NULL, ARG_HELP };

        while ((c = getopt_long(argc, argv, "h", long_options, &index)) >= 0)
                switch (c) {
                case ARG_NUMBER:
                        r = option_number(numbers[index].name, optarg, numbers[index].min,
                                          numbers[index].max, numbers[index].value);
                        if (r < 0)
                                return r;
                        break;
                case ARG_ENGINE:
                        load->engine = run->engine = engine_find(optarg);
                        if (!run->engine)
                                return -EINVAL;
                        break;
                case ARG_WORKLOAD:
                        r = parse_workload(optarg, &run->workload);
                        if (r < 0)
                                return r;
                        break;
                case ARG_ZIPF:
                        r = option_theta(optarg, &run->theta);
                        if (r < 0)
                                return r;
                        break;
                case ARG_ADVICE:
                        r = parse_advice(optarg, &run->scan_advice);
                        if (r < 0)
                                return r;
                        break;
                case ARG_DISK:
                        run->disk = optarg;
                        break;
                case ARG_INDEX:
                        load->index_in_cache = run->index_in_cache = true;
                        break;
                case ARG_JSON:
                        run->json = true;
                        break;
                case ARG_HELP:
                case 'h':
                        help();
                        return 1;
                default:
                        return -EINVAL;
                }

        return 0;
}

/* What was asked for, and the engine's reason against it. */
static int check_engine(const LoadOptions *load, const RunOptions *run) {
        const EngineType *e = run->engine;
        const struct {
                bool wanted;
                const char *option, *reason;
        } choices[] = {
                { load->table_size > 0,  "levels",         e->no_levels         },
                { run->index_in_cache,   "index-in-cache", e->no_index_in_cache },
                { run->scan_threads > 0, "scan-threads",   e->no_second_handle  },
        };

        for (size_t i = 0; i < ELEMENTSOF(choices); i++)
                if (choices[i].wanted && choices[i].reason)
                        return log_error(-EINVAL, "--%s: not for --engine=%s: %s", choices[i].option,
                                         e->name, choices[i].reason);

        if (run->open_files < e->open_files_min)
                return log_error(-EINVAL, "--open-files=%" PRIu64 ": %s has at least %" PRIu64,
                                 run->open_files, e->title, e->open_files_min);
        return 0;
}

static int kv_main(int argc, char *argv[]) {
        LoadOptions load = { .engine = &engine_rocksdb, .value_size = 1000 };
        RunOptions run = {
                .engine = &engine_rocksdb, .workload = workload_find("c"),
                .threads = 1, .seed = 1, .theta = 0.99, .block_cache = 65536, .open_files = 512,
                .scan_every = 1999, .scan_length = 1000, .write_every = 1, .write_buffer = UINT64_C(2) << 20,
        };
        int r;

        r = parse_argv(argc, argv, &load, &run);
        if (r != 0)
                return r < 0 ? r : 0;

        if (argc - optind != 2)
                return log_error(-EINVAL, "a verb and a directory are needed, see --help");

        r = check_engine(&load, &run);
        if (r < 0)
                return r;

        load.directory = run.directory = argv[optind + 1];

        if (strcmp(argv[optind], "load") == 0) {
                if (load.records == 0)
                        return log_error(-EINVAL, "--records= is needed");
                return kv_load(&load);
        }

        if (strcmp(argv[optind], "run") == 0) {
                if (run.operations == 0)
                        return log_error(-EINVAL, "--ops= is needed");
                return kv_run(&run);
        }

        return log_error(-EINVAL, "unknown verb \"%s\": load or run", argv[optind]);
}

int main(int argc, char *argv[]) {
        return kv_main(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
