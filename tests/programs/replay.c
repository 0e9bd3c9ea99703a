/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads single pages of a file, in an order that is the same each time: Zipfian, with scans in between.
 *
 *      replay --print                  the order, as a trace for "cachectl simulate"
 *      replay FILE [STAT]              does it; FILE is made if it does not exist
 *
 * With STAT, the memory.cachebpf.stat of the cgroup it runs in, it prints the mean of managed_pages while the
 * cache was full: how many pages the file really had. */

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../bench/zipf.h"

#define PAGE_SIZE 4096U
#define N_PAGES UINT64_C(81920)
#define N_REQUESTS 200000U
#define THETA 0.9
#define SEED 1

/* Each scan goes on where the last one ended. */
#define SCAN_EVERY 8000U
#define SCAN_LENGTH 2000U

/* Requests until the cache is full for sure, and between two looks at its size. */
#define WARM_AFTER 60000U
#define SAMPLE_EVERY 1000U

typedef struct Order {
        Zipf zipf;
        uint64_t scanned, last;
        unsigned n;
} Order;

static void order_init(Order *o) {
        *o = (Order) { .last = UINT64_MAX };
        zipf_init(&o->zipf, N_PAGES, N_PAGES, THETA, SEED);
}

static uint64_t order_next(Order *o) {
        uint64_t page;

        /* not the same page twice in a row: the kernel takes that for one use */
        do {
                if (o->n % SCAN_EVERY < SCAN_LENGTH)
                        page = o->scanned++ % N_PAGES;
                else
                        page = zipf_next(&o->zipf);
        } while (page == o->last);
        o->n++;
        return o->last = page;
}

static void print(void) {
        Order o;

        order_init(&o);
        for (unsigned i = 0; i < N_REQUESTS; i++)
                printf("%" PRIu64 "\n", order_next(&o));
}

/* Of a hole a page is read without a disk, into the page cache as from one. */
static int open_file(const char *path) {
        cpu_set_t cpu;
        int fd, r;

        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, N_PAGES * PAGE_SIZE) < 0)
                error(EXIT_FAILURE, errno, "%s", path);

        r = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (r == 0)
                r = posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
        if (r > 0)
                error(EXIT_FAILURE, r, "posix_fadvise");

        /* each processor keeps the pages that it has added last from being evicted */
        CPU_ZERO(&cpu);
        CPU_SET(0, &cpu);
        if (sched_setaffinity(0, sizeof(cpu), &cpu) < 0)
                error(EXIT_FAILURE, errno, "sched_setaffinity");
        return fd;
}

static uint64_t managed_pages(const char *path) {
        FILE *f = fopen(path, "re");
        char line[128];
        uint64_t n;

        if (!f)
                error(EXIT_FAILURE, errno, "%s", path);
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, "managed_pages %" SCNu64, &n) == 1) {
                        fclose(f);
                        return n;
                }
        error(EXIT_FAILURE, 0, "%s: no managed_pages", path);
        return 0;
}

static void play(const char *path, const char *stat) {
        static char buffer[PAGE_SIZE];
        uint64_t sum = 0, samples = 0;
        int fd = open_file(path);
        Order o;

        order_init(&o);
        for (unsigned i = 0; i < N_REQUESTS; i++) {
                if (pread(fd, buffer, PAGE_SIZE, order_next(&o) * PAGE_SIZE) != PAGE_SIZE)
                        error(EXIT_FAILURE, errno, "%s", path);
                if (stat && i >= WARM_AFTER && i % SAMPLE_EVERY == 0) {
                        sum += managed_pages(stat);
                        samples++;
                }
        }
        if (stat)
                printf("%" PRIu64 "\n", (sum + samples / 2) / samples);
        close(fd);
}

int main(int argc, char **argv) {
        if (argc == 2 && strcmp(argv[1], "--print") == 0)
                print();
        else if (argc == 2 || argc == 3)
                play(argv[1], argv[2]);
        else
                error(2, 0, "replay --print, or replay FILE [STAT]");
        return EXIT_SUCCESS;
}
