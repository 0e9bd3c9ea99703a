/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench-util.h"
#include "options.h"

/* Random reads of one page, or advice, and what one costs the processor. In the laboratory a nanosecond of
 * processor time is an instruction, so that this counts instructions.
 *
 * A hit: the part of the file that is read from was cached before. A miss: the part is several times as
 * large as the memory of the cgroup, and nearly every read evicts something. Planned: the same, but the
 * kernel is not told that reads are at random, so that each has a plan made of what is read ahead.
 *
 * Advice says which pages go first, as cachebpf-policy(7) has it: of some blocks after the other, all of
 * which were read before, that they go into another level. */

#define PAGE_SIZE 4096U
#define BLOCK_SIZE 8192U
#define MAX_THREADS 64U

typedef struct Kind {
        const char *name;
        bool cached;            /* all that is read or told of */
        bool planned;
        int advice;
} Kind;

static const Kind kinds[] = {
        { "hit",       .cached = true                       },
        { "miss"                                            },
        { "planned",   .planned = true                      },
        { "temporary", .cached = true, .advice = 0x43420500 }, /* to level -1 */
        { "priority",  .cached = true, .advice = 0x43420120 }, /* to level 1 */
};

static struct {
        const char *file;
        uint64_t bytes;
        uint64_t operations;
        uint64_t warmup;
        uint64_t calm;
        uint64_t calm_reads;    /* before each pause */
        uint64_t threads;
        uint64_t blocks;
        const Kind *kind;
} arg = {
        .bytes = UINT64_C(64) << 20,
        .operations = 50000,
        .warmup = 30000,
        .calm_reads = 128,
        .threads = 1,
        .blocks = 1,
};

static int fd = -1;
static pthread_barrier_t measured;

struct reader {
        pthread_t thread;
        uint64_t random;
        int result;
};

/* xorshift64: the same places in every run */
static uint64_t next_random(uint64_t *state) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

static int read_page(uint64_t page) {
        static __thread char buffer[PAGE_SIZE];
        ssize_t n;

        n = pread(fd, buffer, PAGE_SIZE, (off_t) (page * PAGE_SIZE));
        return n == PAGE_SIZE ? 0 : n < 0 ? -errno : -EIO;
}

static int read_randomly(struct reader *r, uint64_t operations) {
        uint64_t pages = arg.bytes / PAGE_SIZE;
        int ret = 0;

        for (uint64_t i = 0; i < operations && ret == 0; i++)
                ret = read_page(next_random(&r->random) % pages);
        return ret;
}

static int advise(uint64_t operations) {
        uint64_t length = arg.blocks * BLOCK_SIZE;

        /* posix_fadvise() is not meant to have answers */
        for (uint64_t i = 0; i < operations; i++)
                if (syscall(SYS_fadvise64, fd, (off_t) (i * length), (off_t) length, arg.kind->advice) != 0)
                        return -errno;
        return 0;
}

/* Some reads before each pause, by default thousands a second, until a daemon that looks on has seen what
 * there is to see. */
static int read_calmly(struct reader *r) {
        const struct timespec pause = { .tv_nsec = 10000000 };
        uint64_t end = now_nsec() + arg.calm * NSEC_PER_SEC;
        int ret = 0;

        while (now_nsec() < end && ret == 0) {
                ret = read_randomly(r, arg.calm_reads);
                (void) nanosleep(&pause, NULL);
        }
        return ret;
}

static int warm_up(struct reader *r) {
        int ret = 0;

        if (!arg.kind->cached)
                return read_randomly(r, arg.warmup / arg.threads);
        for (unsigned pass = 0; pass < 2; pass++)
                for (uint64_t page = 0; page < arg.bytes / PAGE_SIZE && ret == 0; page++)
                        ret = read_page(page);
        return ret == 0 ? read_calmly(r) : ret;
}

static void *reader_main(void *p) {
        struct reader *r = p;

        r->result = warm_up(r);
        pthread_barrier_wait(&measured); /* all are warm: the clock is read */
        pthread_barrier_wait(&measured);
        if (r->result == 0)
                r->result = arg.kind->advice ? advise(arg.operations) :
                                               read_randomly(r, arg.operations / arg.threads);
        return NULL;
}

static int measure(void) {
        struct reader readers[MAX_THREADS] = {};
        uint64_t cpu, wall;
        const char *what;
        int ret = 0;

        pthread_barrier_init(&measured, NULL, (unsigned) arg.threads + 1);
        for (unsigned i = 0; i < arg.threads; i++) {
                readers[i].random = UINT64_C(88172645463325252) + i * UINT64_C(0x9e3779b97f4a7c15);
                ret = pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]);
                if (ret != 0)
                        return log_error(-ret, "Cannot start a thread: %s", strerror(ret));
        }

        pthread_barrier_wait(&measured);
        wall = now_nsec();
        cpu = clock_nsec(CLOCK_PROCESS_CPUTIME_ID);
        pthread_barrier_wait(&measured);
        for (unsigned i = 0; i < arg.threads; i++) {
                pthread_join(readers[i].thread, NULL);
                if (readers[i].result < 0)
                        ret = readers[i].result;
        }
        cpu = clock_nsec(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        wall = now_nsec() - wall;
        if (ret < 0)
                return log_error(ret, "Cannot read or advise %s: %s", arg.file, strerror(-ret));

        what = arg.kind->advice ? "call" : "read";
        printf("{\"cpu_ns_per_%s\": %.1f, \"wall_ns_per_%s\": %.1f}\n",
               what, (double) cpu / (double) arg.operations, what, (double) wall / (double) arg.operations);
        return 0;
}

static void help(void) {
        printf("%s hit|miss|planned FILE [--bytes=N] [--operations=N] [--warmup=N] [--threads=N]\n"
               "          [--calm=SECONDS [--calm-reads=N]]\n"
               "%s temporary|priority FILE [--bytes=N] [--blocks=N]\n\n"
               "Reads pages of the first N bytes of FILE at random, or moves all of their blocks of 8 KiB\n"
               "into another level, N with each call, and prints the processor time of one read or call.\n",
               program_invocation_short_name, program_invocation_short_name);
}

static const Kind *find_kind(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (strcmp(name, kinds[i].name) == 0)
                        return &kinds[i];
        return NULL;
}

/* As options_parse(). */
static int parse_arguments(int argc, char *argv[]) {
        const Option options[] = {
                { "bytes",      PAGE_SIZE, UINT64_MAX / 2, &arg.bytes      },
                { "operations", 1,         UINT32_MAX,     &arg.operations },
                { "warmup",     0,         UINT32_MAX,     &arg.warmup     },
                { "calm",       0,         3600,           &arg.calm       },
                { "calm-reads", 1,         UINT32_MAX,     &arg.calm_reads },
                { "threads",    1,         MAX_THREADS,    &arg.threads    },
                { "blocks",     1,         UINT32_MAX,     &arg.blocks     },
        };
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r;
        if (argc - optind != 2)
                return log_error(-EINVAL, "What to read is missing; see --help");
        arg.kind = find_kind(argv[optind]);
        if (!arg.kind)
                return log_error(-EINVAL, "There is no such kind as \"%s\"; see --help", argv[optind]);
        arg.file = argv[optind + 1];
        if (arg.kind->advice) {
                arg.threads = 1;
                arg.operations = arg.bytes / (arg.blocks * BLOCK_SIZE);
                if (arg.operations == 0)
                        return log_error(-EINVAL, "There are fewer than %ju blocks", (uintmax_t) arg.blocks);
        }
        return 0;
}

int main(int argc, char *argv[]) {
        struct stat st;
        int r;

        r = parse_arguments(argc, argv);
        if (r != 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        fd = open(arg.file, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0) {
                log_error(-errno, "Cannot open %s: %s", arg.file, strerror(errno));
                return EXIT_FAILURE;
        }
        if ((uint64_t) st.st_size < arg.bytes) {
                log_error(-EINVAL, "%s has only %jd bytes", arg.file, (intmax_t) st.st_size);
                return EXIT_FAILURE;
        }
        if (!arg.kind->planned)
                (void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
        return measure() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
