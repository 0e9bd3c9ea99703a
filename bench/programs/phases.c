/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench-util.h"
#include "counters.h"
#include "options.h"
#include "zipf.h"

/* Reads pages of a file in one way, then in another one, then as at first, but other pages are popular. Each
 * phase goes on for some time, so that a policy can be chosen for it, and for some reads after that, which
 * are measured. */

#define PAGE_SIZE 4096U

typedef struct Phase {
        const char *name;
        bool loop;              /* the first pages one after the other, else Zipfian */
        unsigned turn;          /* the most popular page is another one: so many quarters of the file on */
} Phase;

static const Phase phases[] = {
        { "zipfian" },
        { "loop", .loop = true },
        { "zipfian of others", .turn = 2 },
};

static struct {
        uint64_t loop, lead, reads, seed;
        double theta;
        const char *disk;
        bool print;
} arg = { .loop = 1, .reads = 1, .seed = 1, .theta = 0.99 };

typedef struct Reader {
        int fd;
        uint64_t pages;         /* of the file */
        Zipf zipf;
        uint64_t at;            /* in the loop */
} Reader;

static int read_next(Reader *r, const Phase *phase) {
        static char buffer[PAGE_SIZE];
        uint64_t page;
        ssize_t n;

        if (phase->loop)
                page = r->at++ % arg.loop;
        else
                page = (zipf_next(&r->zipf) + phase->turn * r->pages / 4) % r->pages;
        if (arg.print) {
                printf("%" PRIu64 "\n", page);
                return 0;
        }
        n = pread(r->fd, buffer, PAGE_SIZE, (off_t) (page * PAGE_SIZE));
        if (n != PAGE_SIZE) {
                int e = n < 0 ? -errno : -EIO;

                return log_error(e, "Cannot read page %" PRIu64 ": %s", page, strerror(-e));
        }
        return 0;
}

/* One line of JSON. Times are of CLOCK_MONOTONIC, in seconds. */
static int run_phase(Reader *reader, const Phase *phase) {
        uint64_t begin = now_nsec(), measured, seconds, n_lead = 0;
        Counters before, after;
        int r;

        for (; now_nsec() - begin < arg.lead * NSEC_PER_SEC; n_lead++) {
                r = read_next(reader, phase);
                if (r < 0)
                        return r;
        }

        r = counters_take(arg.disk, &before);
        if (r < 0)
                return r;
        measured = now_nsec();
        for (uint64_t i = 0; i < arg.reads; i++) {
                r = read_next(reader, phase);
                if (r < 0)
                        return r;
        }
        seconds = now_nsec() - measured;
        r = counters_take(arg.disk, &after);
        if (r < 0)
                return r;

        after = counters_difference(&after, &before);
        printf("{\"phase\": \"%s\", \"begin\": %.6f, \"lead_reads\": %" PRIu64 ", \"reads\": %" PRIu64 ", ",
               phase->name, (double) begin / NSEC_PER_SEC, n_lead, arg.reads);
        printf("\"seconds\": %.9f, \"disk_reads\": %" PRIu64 ", \"disk_bytes\": %" PRIu64 "}\n",
               (double) seconds / NSEC_PER_SEC, after.disk_reads, after.disk_bytes);
        fflush(stdout);
        return 0;
}

static void help(void) {
        printf("%s FILE --loop=PAGES --reads=N [--lead=SECONDS] [--zipf=THETA] [--seed=N] [--disk=NAME]\n"
               "        [--print]\n\n"
               "Reads pages of the file: Zipfian, in a loop over the first ones, and Zipfian again, with\n"
               "other pages that are popular. Prints what the last reads of each phase took; with\n"
               "--print, the numbers of the pages, which are not read then.\n",
               program_invocation_short_name);
}

int main(int argc, char *argv[]) {
        const Option options[] = {
                { "loop",  1, UINT32_MAX, &arg.loop                    },
                { "reads", 1, UINT32_MAX, &arg.reads                   },
                { "lead",  0, 3600,       &arg.lead                    },
                { "seed",  0, UINT32_MAX, &arg.seed                    },
                { "zipf",  .parse = option_theta, .target = &arg.theta },
                { "disk",  .text = &arg.disk                           },
                { "print", .flag = &arg.print                          },
        };
        Reader reader = {};
        struct stat st;
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc - optind != 1) {
                log_error(-EINVAL, "FILE is needed; see --help");
                return EXIT_FAILURE;
        }

        reader.fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
        if (reader.fd < 0 || fstat(reader.fd, &st) < 0) {
                log_error(-errno, "Cannot open %s: %s", argv[optind], strerror(errno));
                return EXIT_FAILURE;
        }
        reader.pages = (uint64_t) st.st_size / PAGE_SIZE;
        if (reader.pages < arg.loop || reader.pages < 2) {
                log_error(-EINVAL, "%s has only %" PRIu64 " pages", argv[optind], reader.pages);
                return EXIT_FAILURE;
        }
        /* what is read ahead would be another load */
        (void) posix_fadvise(reader.fd, 0, 0, POSIX_FADV_RANDOM);
        zipf_init(&reader.zipf, reader.pages, reader.pages, arg.theta, arg.seed);
        for (size_t i = 0; i < ELEMENTSOF(phases); i++) {
                r = run_phase(&reader, &phases[i]);
                if (r < 0)
                        return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
