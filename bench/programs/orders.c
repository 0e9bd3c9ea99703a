/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench-util.h"
#include "figures.h"
#include "options.h"
#include "random.h"

/* orders: records of a file in one of the orders in which readahead pays, or does not. */

typedef enum Order {
        ORDER_FORWARD,
        ORDER_BACKWARD,
        ORDER_STRIDES,
        ORDER_RANDOM,
        /* look-ups, and between them runs forward */
        ORDER_MIXED,
        _ORDER_MAX,
} Order;

static const char *const order_names[_ORDER_MAX] = {
        [ORDER_FORWARD]  = "forward",
        [ORDER_BACKWARD] = "backward",
        [ORDER_STRIDES]  = "strides",
        [ORDER_RANDOM]   = "random",
        [ORDER_MIXED]    = "mixed",
};

/* Of ORDER_STRIDES: records from one to the next.  Of ORDER_MIXED: one operation in so many begins a run. */
#define STRIDE 3
#define RUN_ONE_IN 20

typedef struct Run {
        Order order;
        uint64_t operations, warmup, record, run, seed;
        bool mapped, json, print;
        const char *disk;

        int fd;
        const char *map;
        uint64_t records;       /* of the file */
        uint64_t sum;           /* so that all bytes are used */
        uint64_t next, left;    /* of a run: its next record, and how many it has yet */
        char *buffer;
        Random random;
        Histogram latency;
        Counters counters;
        uint64_t nsec;
} Run;

static uint64_t next_mixed(Run *run) {
        if (run->left == 0) {
                run->left = random_below(&run->random, RUN_ONE_IN) == 0 ? run->run : 1;
                run->next = random_below(&run->random, run->records);
        }
        run->left--;
        return run->next++ % run->records;
}

static uint64_t next_record(Run *run, uint64_t i) {
        switch (run->order) {
        case ORDER_FORWARD:
                return i % run->records;
        case ORDER_BACKWARD:
                return run->records - 1 - i % run->records;
        case ORDER_STRIDES:
                return i * STRIDE % run->records;
        case ORDER_RANDOM:
                return random_below(&run->random, run->records);
        default:
                return next_mixed(run);
        }
}

static int read_record(Run *run, uint64_t i) {
        uint64_t record = next_record(run, i), at = record * run->record;

        if (run->print) {
                printf("%" PRIu64 "\n", record);
                return 0;
        }
        if (run->mapped) {
                for (uint64_t byte = 0; byte < run->record; byte += 4096)
                        run->sum += (unsigned char) run->map[at + byte];
                return 0;
        }
        if (pread(run->fd, run->buffer, run->record, (off_t) at) != (ssize_t) run->record)
                return log_error(-EIO, "cannot read: %s", strerror(errno));
        return 0;
}

static int measure(Run *run) {
        uint64_t begin, now, start;
        Counters before, after;
        int r = 0;

        for (uint64_t i = 0; r >= 0 && i < run->warmup; i++)
                r = read_record(run, i);
        if (r >= 0)
                r = counters_take(run->disk, &before);

        now = begin = now_nsec();
        for (uint64_t i = 0; r >= 0 && i < run->operations; i++) {
                start = now;
                r = read_record(run, run->warmup + i);
                now = now_nsec();
                histogram_add(&run->latency, now - start);
        }
        run->nsec = now - begin;
        if (r >= 0)
                r = counters_take(run->disk, &after);
        if (r >= 0)
                run->counters = counters_difference(&after, &before);
        return r;
}

static int open_file(Run *run, const char *path) {
        struct stat st;

        run->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (run->fd < 0 || fstat(run->fd, &st) < 0)
                return log_error(-errno, "%s: %s", path, strerror(errno));
        run->records = (uint64_t) st.st_size / run->record;
        if (run->records == 0)
                return log_error(-EINVAL, "%s: is shorter than a record", path);
        run->buffer = malloc(run->record);
        if (!run->buffer)
                return log_error(-ENOMEM, "out of memory");
        if (!run->mapped)
                return 0;
        run->map = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_SHARED, run->fd, 0);
        if (run->map == MAP_FAILED)
                return log_error(-errno, "%s: cannot be mapped: %s", path, strerror(errno));
        return 0;
}

static void print(const Run *run) {
        Figures figures = { .json = run->json };

        figures_rate(&figures, run->latency.n, run->nsec);
        figures_latencies(&figures, "", &run->latency);
        figures_reads(&figures, &run->counters);
        figures_waits(&figures, run->disk, &run->counters);
        figures_end(&figures);
}

static void help(void) {
        printf("%s FILE --ops=N [OPTIONS…]\n\n"
               "Reads records of a file in some order, and begins anew at its end.\n\n"
               "  --order=NAME         forward, backward, strides (each third record), random, or mixed:\n"
               "                       look-ups at random and, one time in %u, a run (forward)\n"
               "  --ops=N              measured reads\n"
               "  --warmup=N           reads before them (0)\n"
               "  --record=BYTES       size of a record (4096)\n"
               "  --run=N              records of a run (256)\n"
               "  --mapped             through a mapping, not by pread(2)\n"
               "  --print              print the numbers of records, and read nothing\n"
               "  --seed=N             of what is random (1)\n"
               "  --disk=NAME          also take the counters of /sys/class/block/NAME/stat\n"
               "  --json               one JSON object instead of text\n"
               "  --help               this text\n",
               program_invocation_short_name, RUN_ONE_IN);
}

static int parse_order(const char *text, void *target) {
        for (Order order = 0; order < _ORDER_MAX; order++)
                if (strcmp(order_names[order], text) == 0) {
                        *(Order *) target = order;
                        return 0;
                }
        return log_error(-EINVAL, "--order=%s: forward, backward, strides, random or mixed", text);
}

int main(int argc, char *argv[]) {
        static Run run = { .record = 4096, .run = 256, .seed = 1 };
        const Option options[] = {
                { "order",  .parse = parse_order, .target = &run.order },
                { "ops",    1, UINT64_C(1) << 40, &run.operations      },
                { "warmup", 0, UINT64_C(1) << 40, &run.warmup          },
                { "record", 1, UINT64_C(1) << 30, &run.record          },
                { "run",    1, UINT64_C(1) << 40, &run.run             },
                { "seed",   0, UINT64_MAX,        &run.seed            },
                { "mapped", .flag = &run.mapped                        },
                { "print",  .flag = &run.print                         },
                { "disk",   .text = &run.disk                          },
                { "json",   .flag = &run.json                          },
        };
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc - optind != 1 || run.operations == 0) {
                log_error(-EINVAL, "FILE and --ops= are needed; see --help");
                return EXIT_FAILURE;
        }
        random_seed(&run.random, run.seed);
        r = open_file(&run, argv[optind]);
        if (r >= 0)
                r = measure(&run);
        if (r < 0)
                return EXIT_FAILURE;
        if (!run.print)
                print(&run);
        return EXIT_SUCCESS;
}
