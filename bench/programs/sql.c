/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sql: look-ups and range scans in an SQLite database whose cache is the page cache.  "sql load" makes the
 * database, "sql run" measures. */

#include "bench-util.h"
#include "kv.h"
#include "options.h"
#include "sql.h"

static void help(void) {
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
}

static int sql_main(int argc, char *argv[]) {
        SqlLoadOptions load = { .value_size = 980 };
        SqlRunOptions run = { .scan_percent = 10, .scan_length = 10, .seed = 1, .theta = 0.99 };
        const Option options[] = {
                { "records",     2,            UINT64_C(1000000000), &load.records     },
                { "value-size",  KV_VALUE_MIN, KV_VALUE_MAX,         &load.value_size  },
                { "ops",         1,            UINT64_C(1) << 40,    &run.operations   },
                { "warmup",      0,            UINT64_C(1) << 40,    &run.warmup       },
                { "scans",       0,            100,                  &run.scan_percent },
                { "scan-length", 1,            UINT64_C(1000000000), &run.scan_length  },
                { "seed",        0,            UINT64_MAX,           &run.seed         },
                { "cache",       0,            UINT64_C(1) << 30,    &run.cache_pages  },
                { "zipf",        .parse = option_theta, .target = &run.theta },
                { "disk",        .text = &run.disk },
                { "json",        .flag = &run.json },
        };
        const char *path;
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? r : 0;

        r = options_verb(argc, argv, (const Verb[]) {
                                { "load", "records", load.records  },
                                { "run",  "ops",     run.operations },
                        }, "file", &path);
        if (r < 0)
                return r;

        load.path = run.path = path;
        return r == 0 ? sql_load(&load) : sql_run(&run);
}

int main(int argc, char *argv[]) {
        return sql_main(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
