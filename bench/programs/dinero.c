/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "options.h"

/* A simulator of processor caches that reads its trace once for each cache, as the one of the ACFS paper
 * does: lines of 32, 64 and 128 bytes, 1 to 4 ways.  A line of the trace is what the processor does (0 reads
 * data, 1 writes data, 2 fetches an instruction) and a hexadecimal address. */

#define CACHE_SIZE (16U << 10)
#define WAYS_MAX 4U
#define SETS_MAX (CACHE_SIZE / 32)
#define BUFFER_SIZE 8192

static struct {
        uint64_t make;
} arg;

static struct {
        uint64_t line[WAYS_MAX];        /* the latest first; number 0 is none */
} sets[SETS_MAX];

static bool use(unsigned line_size, unsigned ways, uint64_t address) {
        uint64_t line = address / line_size + 1, *of = sets[line % (CACHE_SIZE / line_size / ways)].line;
        unsigned i;
        bool hit;

        for (i = 0; i < ways - 1 && of[i] != line; i++)
                ;
        hit = of[i] == line;
        memmove(of + 1, of, i * sizeof(*of));
        of[0] = line;
        return hit;
}

static int simulate(const char *path, unsigned line_size, unsigned ways) {
        uint64_t address = 0, uses = 0, misses = 0;
        static char buffer[BUFFER_SIZE];
        bool within = false;
        ssize_t n;
        int fd;

        memset(sets, 0, sizeof(sets));
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return log_error(-errno, "Cannot open %s: %s", path, strerror(errno));
        while ((n = read(fd, buffer, sizeof(buffer))) > 0)
                for (ssize_t i = 0; i < n; i++) {
                        char c = buffer[i];

                        if (c == '\n') {
                                uses++;
                                misses += !use(line_size, ways, address);
                                within = false;
                        } else if (c == ' ') {
                                within = true;
                                address = 0;
                        } else if (within) {
                                address = address << 4 | (uint64_t) (c - (c <= '9' ? '0' : 'a' - 10));
                        }
                }
        close(fd);
        if (n < 0)
                return log_error(-errno, "Cannot read %s: %s", path, strerror(errno));
        printf("%u bytes a line, %u way(s): %" PRIu64 " of %" PRIu64 " missed\n", line_size, ways, misses,
               uses);
        return 0;
}

static uint64_t draw(uint64_t *random, uint64_t n) {
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (*random >> 33) % n;
}

/* What a processor does in loops and calls, and a stack and a heap. */
static void make_trace(uint64_t bytes) {
        uint64_t random = 1, at = 0x400000;

        while (bytes > 0) {
                int n;

                at = draw(&random, 8) > 0 ? at + 4 : 0x400000 + draw(&random, 1 << 14) * 4;
                n = printf("2 %" PRIx64 "\n", at);
                if (draw(&random, 3) == 0)
                        n += printf("%" PRIu64 " %" PRIx64 "\n", draw(&random, 2),
                                    draw(&random, 2) > 0 ? 0x7fff000 - draw(&random, 64) * 4 :
                                                           0x10000000 + draw(&random, 1 << 15) * 8);
                bytes -= (uint64_t) n < bytes ? (uint64_t) n : bytes;
        }
}

static void help(void) {
        printf("%s TRACE | --make=BYTES\n\n"
               "Simulates caches of a processor, reading TRACE for each; or prints a trace.\n",
               program_invocation_short_name);
}

int main(int argc, char *argv[]) {
        const Option options[] = { { "make", 1, UINT32_MAX, &arg.make } };
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (arg.make > 0) {
                make_trace(arg.make);
                return EXIT_SUCCESS;
        }
        if (argc - optind != 1) {
                log_error(-EINVAL, "A trace is needed; see --help");
                return EXIT_FAILURE;
        }
        for (unsigned line_size = 32; line_size <= 128; line_size *= 2)
                for (unsigned ways = 1; ways <= 4; ways++)
                        if (ways != 3 && simulate(argv[optind], line_size, ways) < 0)
                                return EXIT_FAILURE;
        return EXIT_SUCCESS;
}
