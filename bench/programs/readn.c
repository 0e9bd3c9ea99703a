/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench-util.h"
#include "options.h"

/* ReadN of the ACFS paper (OSDI 1994, section 6.1): reads the first N blocks of a file several times, then
 * the next N, and so on.  LRU misses each block once if it has N; MRU misses nearly always. */

#define BLOCK_SIZE 8192U

static struct {
        uint64_t group, times, blocks, think_us, pace_us;
        bool forever;
} arg = { .times = 5 };

/* The time when the next block is to be read, if there is a pace. */
static void keep_pace(void) {
        static struct timespec next;

        if (next.tv_sec == 0)
                (void) clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_nsec += (long) arg.pace_us * 1000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}

static int read_block(int fd, uint64_t block) {
        const struct timespec pause = { .tv_nsec = (long) arg.think_us * 1000 };
        static char buffer[BLOCK_SIZE];
        ssize_t n;

        n = pread(fd, buffer, BLOCK_SIZE, (off_t) (block * BLOCK_SIZE));
        if (n != BLOCK_SIZE)
                return n < 0 ? -errno : -EIO;
        if (arg.think_us > 0)
                (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        if (arg.pace_us > 0)
                keep_pace();
        return 0;
}

static int read_groups(int fd) {
        int r;

        for (uint64_t first = 0; first < arg.blocks; first += arg.group)
                for (uint64_t pass = 0; pass < arg.times; pass++)
                        for (uint64_t i = first; i < first + arg.group && i < arg.blocks; i++) {
                                r = read_block(fd, i);
                                if (r < 0)
                                        return r;
                        }
        return 0;
}

static void help(void) {
        printf("%s FILE --group=N --blocks=N [--times=N] [--think-us=N] [--pace-us=N] [--forever]\n\n"
               "Reads groups of blocks of 8 KiB, each group several times in sequence; with a pause after\n"
               "each block, or a block in so much time, whether it comes from the disk or not.\n",
               program_invocation_short_name);
}

int main(int argc, char *argv[]) {
        const Option options[] = {
                { "group",    1, UINT32_MAX, &arg.group    },
                { "blocks",   1, UINT32_MAX, &arg.blocks   },
                { "times",    1, UINT32_MAX, &arg.times    },
                { "think-us", 0, 999999,     &arg.think_us },
                { "pace-us",  0, 999999,     &arg.pace_us  },
                { "forever",  .flag = &arg.forever         },
        };
        struct stat st;
        int fd, r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc - optind != 1 || arg.group == 0 || arg.blocks == 0) {
                log_error(-EINVAL, "FILE, --group= and --blocks= are needed; see --help");
                return EXIT_FAILURE;
        }

        fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0) {
                log_error(-errno, "Cannot open %s: %s", argv[optind], strerror(errno));
                return EXIT_FAILURE;
        }
        if ((uint64_t) st.st_size / BLOCK_SIZE < arg.blocks) {
                log_error(-EINVAL, "%s has only %jd blocks", argv[optind],
                          (intmax_t) st.st_size / BLOCK_SIZE);
                return EXIT_FAILURE;
        }

        do
                r = read_groups(fd);
        while (r >= 0 && arg.forever);
        if (r < 0)
                log_error(r, "Cannot read %s: %s", argv[optind], strerror(-r));
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
