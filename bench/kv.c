/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kv: a key-value load in the manner of YCSB's workload C (reads only, scrambled Zipfian) on RocksDB, whose
 * reads go through the page cache by pread(2).  "kv load" makes the database, "kv read" measures; scans and
 * updates can run beside the reads, in threads of their own and in a fixed proportion to them. */

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"
#include "kv-read.h"
#include "pool.h"

static int help(void) {
        printf("%1$s load DIRECTORY --records=N [--value-size=BYTES]\n"
               "%1$s read DIRECTORY --ops=N [OPTIONS…]\n\n"
               "Key-value load on RocksDB: YCSB-C, scrambled Zipfian.\n\n"
               "  --records=N          records of the database\n"
               "  --value-size=BYTES   size of a value (1000)\n"
               "  --levels=BYTES       four levels with tables of so many bytes, each level a tenth of\n"
               "                       the one below (one sorted run)\n"
               "  --ops=N              measured reads, all threads together\n"
               "  --warmup=N           reads before them (0)\n"
               "  --threads=N          threads (1)\n"
               "  --zipf=THETA         skew (0.99)\n"
               "  --universe=N         items the ranks are drawn from (the records; YCSB has 10000000000)\n"
               "  --seed=N             seed of the request sequence (1)\n"
               "  --block-cache=BYTES  RocksDB's own cache (65536)\n"
               "  --open-files=N       RocksDB's limit of open tables (512)\n"
               "  --index-in-cache     indexes of tables are read like their data, not kept in memory;\n"
               "                       both when the database is made and when it is read\n"
               "  --scan-threads=N     threads beside the reads, called kv-scan, that scan (0)\n"
               "  --scan-every=N       one scan for so many reads (1999); 0: without a pause\n"
               "  --scan-length=N      records of a scan (1000)\n"
               "  --scan-advice=WHAT   dontneed, noreuse, sequential: posix_fadvise() of the scans (none)\n"
               "  --write-threads=N    threads beside the reads, called kv-write, that update records (0);\n"
               "                       the database is changed\n"
               "  --write-every=N      one update for so many reads (1)\n"
               "  --write-buffer=BYTES RocksDB's buffer of writes, and size of its tables (2097152)\n"
               "  --disk=NAME          also take the counters of /sys/class/block/NAME/stat\n"
               "  --json               one JSON object instead of text\n"
               "  --help               this text\n",
               program_invocation_short_name);
        return 0;
}

static int parse_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret) {
        unsigned long long v;
        char *end;

        errno = 0;
        v = strtoull(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || *text == '-' || v < min || v > max)
                return log_error(-EINVAL, "--%s=%s: not a number from %" PRIu64 " to %" PRIu64,
                                 option, text, min, max);

        *ret = v;
        return 0;
}

static int parse_theta(const char *text, double *ret) {
        char *end;
        double v;

        errno = 0;
        v = strtod(text, &end);
        if (errno != 0 || end == text || *end != '\0' || !(v > 0.0 && v < 1.0))
                return log_error(-EINVAL, "--zipf=%s: the skew is a number between 0 and 1", text);

        *ret = v;
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

typedef struct Option {
        const char *name;
        uint64_t min, max;
        uint64_t *value;
} Option;

/* Returns 1 when the help was printed and nothing is left to do. */
static int parse_argv(int argc, char *argv[], LoadOptions *load, ReadOptions *read) {
        const Option numbers[] = {
                { "records",     2,            UINT64_C(1000000000), &load->records    },
                { "value-size",  KV_VALUE_MIN, KV_VALUE_MAX,         &load->value_size },
                { "levels",      65536,        UINT64_C(1) << 30,    &load->table_size },
                { "ops",         1,            UINT64_C(1) << 40,    &read->operations },
                { "warmup",      0,            UINT64_C(1) << 40,    &read->warmup     },
                { "threads",     1,            256,                  &read->threads    },
                { "seed",        0,            UINT64_MAX,           &read->seed       },
                { "universe",    2,            UINT64_C(1) << 40,    &read->universe   },
                { "block-cache", 0,            UINT64_C(1) << 40,    &read->block_cache },
                { "open-files",  16,           1000000,              &read->open_files },
                { "scan-threads",  0,          POOL_THREADS_MAX,     &read->scan_threads  },
                { "scan-every",    0,          UINT64_C(1) << 40,    &read->scan_every    },
                { "scan-length",   1,          UINT64_C(1000000000), &read->scan_length   },
                { "write-threads", 0,          POOL_THREADS_MAX,     &read->write_threads },
                { "write-every",   1,          UINT64_C(1) << 40,    &read->write_every   },
                { "write-buffer",  65536,      UINT64_C(1) << 30,    &read->write_buffer  },
        };
        enum { ARG_NUMBER = 0x100, ARG_ZIPF, ARG_ADVICE, ARG_DISK, ARG_INDEX, ARG_JSON, ARG_HELP };
        struct option long_options[ELEMENTSOF(numbers) + 7] = {};
        size_t n = 0;
        int c, r, index;

        for (; n < ELEMENTSOF(numbers); n++)
                long_options[n] = (struct option) { numbers[n].name, required_argument, NULL, ARG_NUMBER };
        long_options[n++] = (struct option) { "zipf", required_argument, NULL, ARG_ZIPF };
        long_options[n++] = (struct option) { "scan-advice", required_argument, NULL, ARG_ADVICE };
        long_options[n++] = (struct option) { "disk", required_argument, NULL, ARG_DISK };
        long_options[n++] = (struct option) { "index-in-cache", no_argument, NULL, ARG_INDEX };
        long_options[n++] = (struct option) { "json", no_argument,       NULL, ARG_JSON };
        long_options[n++] = (struct option) { "help", no_argument,       NULL, ARG_HELP };

        while ((c = getopt_long(argc, argv, "h", long_options, &index)) >= 0)
                switch (c) {
                case ARG_NUMBER:
                        r = parse_number(numbers[index].name, optarg, numbers[index].min, numbers[index].max,
                                         numbers[index].value);
                        if (r < 0)
                                return r;
                        break;
                case ARG_ZIPF:
                        r = parse_theta(optarg, &read->theta);
                        if (r < 0)
                                return r;
                        break;
                case ARG_ADVICE:
                        r = parse_advice(optarg, &read->scan_advice);
                        if (r < 0)
                                return r;
                        break;
                case ARG_DISK:
                        read->disk = optarg;
                        break;
                case ARG_INDEX:
                        load->index_in_cache = read->index_in_cache = true;
                        break;
                case ARG_JSON:
                        read->json = true;
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

static int run(int argc, char *argv[]) {
        LoadOptions load = { .value_size = 1000 };
        ReadOptions read = {
                .threads = 1, .seed = 1, .theta = 0.99, .block_cache = 65536, .open_files = 512,
                .scan_every = 1999, .scan_length = 1000, .write_every = 1, .write_buffer = UINT64_C(2) << 20,
        };
        int r;

        r = parse_argv(argc, argv, &load, &read);
        if (r != 0)
                return r < 0 ? r : 0;

        if (argc - optind != 2)
                return log_error(-EINVAL, "a verb and a directory are needed, see --help");

        load.directory = read.directory = argv[optind + 1];

        if (strcmp(argv[optind], "load") == 0) {
                if (load.records == 0)
                        return log_error(-EINVAL, "--records= is needed");
                return kv_load(&load);
        }

        if (strcmp(argv[optind], "read") == 0) {
                if (read.operations == 0)
                        return log_error(-EINVAL, "--ops= is needed");
                return kv_read(&read);
        }

        return log_error(-EINVAL, "unknown verb \"%s\": load or read", argv[optind]);
}

int main(int argc, char *argv[]) {
        return run(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
