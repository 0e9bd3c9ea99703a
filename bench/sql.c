/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sql: look-ups and range scans in an SQLite database whose cache is the page cache.  "sql load" makes the
 * database, "sql run" measures. */

#include <getopt.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"
#include "options.h"
#include "sql.h"

static int help(void) {
        printf("%1$s load FILE --records=N [--value-size=BYTES]\n"
               "%1$s run FILE --ops=N [OPTIONS…]\n\n"
               "Reads of an SQLite database by one thread: look-ups by primary key, and scans of a\n"
               "secondary index with the rows that it names, which lie anywhere in the table.\n\n"
               "  --records=N          records of the database\n"
               "  --value-size=BYTES   size of a value (980: four records in a page)\n"
               "  --ops=N              measured operations\n"
               "  --warmup=N           operations before them (0)\n"
               "  --scans=PERCENT      part of the operations that are scans (10)\n"
               "  --scan-length=N      rows of a scan (10)\n"
               "  --zipf=THETA         skew of look-ups, and of where scans begin (0.99)\n"
               "  --seed=N             seed of the sequence of operations (1)\n"
               "  --cache=PAGES        SQLite's own cache (0)\n"
               "  --disk=NAME          also take the counters of /sys/class/block/NAME/stat\n"
               "  --json               one JSON object instead of text\n"
               "  --help               this text\n",
               program_invocation_short_name);
        return 0;
}

typedef struct Option {
        const char *name;
        uint64_t min, max;
        uint64_t *value;
} Option;

/* Returns 1 when the help was printed and nothing is left to do. */
static int parse_argv(int argc, char *argv[], SqlLoadOptions *load, SqlRunOptions *run) {
        const Option numbers[] = {
                { "records",     2,            UINT64_C(1000000000), &load->records     },
                { "value-size",  KV_VALUE_MIN, KV_VALUE_MAX,         &load->value_size  },
                { "ops",         1,            UINT64_C(1) << 40,    &run->operations   },
                { "warmup",      0,            UINT64_C(1) << 40,    &run->warmup       },
                { "scans",       0,            100,                  &run->scan_percent },
                { "scan-length", 1,            UINT64_C(1000000000), &run->scan_length  },
                { "seed",        0,            UINT64_MAX,           &run->seed         },
                { "cache",       0,            UINT64_C(1) << 30,    &run->cache_pages  },
        };
        enum {
                ARG_NUMBER = 0x100,
                ARG_ZIPF,
                ARG_DISK,
                ARG_JSON,
        };
        struct option long_options[ELEMENTSOF(numbers) + 5] = {};
        size_t n = 0;
        int c, r, index;

        for (; n < ELEMENTSOF(numbers); n++)
                long_options[n] = (struct option) { numbers[n].name, required_argument, NULL, ARG_NUMBER };
        long_options[n++] = (struct option) { "zipf", required_argument, NULL, ARG_ZIPF };
        long_options[n++] = (struct option) { "disk", required_argument, NULL, ARG_DISK };
        long_options[n++] = (struct option) { "json", no_argument, NULL, ARG_JSON };
        long_options[n++] = (struct option) { "help", no_argument, NULL, 'h' };

        while ((c = getopt_long(argc, argv, "h", long_options, &index)) >= 0)
                switch (c) {
                case ARG_NUMBER:
                        r = option_number(numbers[index].name, optarg, numbers[index].min,
                                          numbers[index].max, numbers[index].value);
                        if (r < 0)
                                return r;
                        break;
                case ARG_ZIPF:
                        r = option_theta(optarg, &run->theta);
                        if (r < 0)
                                return r;
                        break;
                case ARG_DISK:
                        run->disk = optarg;
                        break;
                case ARG_JSON:
                        run->json = true;
                        break;
                case 'h':
                        help();
                        return 1;
                default:
                        return -EINVAL;
                }

        return 0;
}

static int sql_main(int argc, char *argv[]) {
        SqlLoadOptions load = { .value_size = 980 };
        SqlRunOptions run = { .scan_percent = 10, .scan_length = 10, .seed = 1, .theta = 0.99 };
        int r;

        r = parse_argv(argc, argv, &load, &run);
        if (r != 0)
                return r < 0 ? r : 0;

        if (argc - optind != 2)
                return log_error(-EINVAL, "a verb and a file are needed, see --help");

        load.path = run.path = argv[optind + 1];

        if (strcmp(argv[optind], "load") == 0) {
                if (load.records == 0)
                        return log_error(-EINVAL, "--records= is needed");
                return sql_load(&load);
        }

        if (strcmp(argv[optind], "run") == 0) {
                if (run.operations == 0)
                        return log_error(-EINVAL, "--ops= is needed");
                return sql_run(&run);
        }

        return log_error(-EINVAL, "unknown verb \"%s\": load or run", argv[optind]);
}

int main(int argc, char *argv[]) {
        return sql_main(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
