/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Does what a trace says, under whatever policy there is, and tells how many pages were not cached:
 *
 *      replay FILE TRACE STAT KEY [STEP]
 *
 * TRACE has the number of a page a line. FILE, which is made, is a hole: a page of it is read without a
 * disk, into the page cache as from one. STAT is a file of the cgroup that this runs in, KEY a line of it
 * which tells how much is cached: "managed_pages" of memory.cachebpf.stat, or "file" of memory.stat. The
 * output is the number of misses, and the mean of KEY from the second quarter of the trace on, when the
 * cache is full.
 *
 * It stops itself (SIGSTOP) after each STEP requests, until somebody lets it go on.
 *
 * mincore(2) says what is cached without being a use of it, and on every kernel. */

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_SIZE 4096U
#define SAMPLE_EVERY 1000U

static uint32_t *read_trace(const char *path, size_t *ret_n, uint32_t *ret_n_pages) {
        FILE *f = fopen(path, "re");
        size_t n = 0, n_allocated = 0;
        uint32_t *pages = NULL, page, n_pages = 0;

        if (!f)
                error(EXIT_FAILURE, errno, "%s", path);
        while (fscanf(f, "%" SCNu32, &page) == 1) {
                if (n == n_allocated) {
                        n_allocated = n_allocated > 0 ? n_allocated * 2 : 1024;
                        pages = reallocarray(pages, n_allocated, sizeof(*pages));
                        if (!pages)
                                error(EXIT_FAILURE, errno, "%s", path);
                }
                pages[n++] = page;
                if (page >= n_pages)
                        n_pages = page + 1;
        }
        if (n == 0 || !feof(f))
                error(EXIT_FAILURE, 0, "%s: line %zu is not the number of a page", path, n + 1);
        fclose(f);

        *ret_n = n;
        *ret_n_pages = n_pages;
        return pages;
}

static int make_file(const char *path, off_t size) {
        cpu_set_t cpu;
        int fd, r;

        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, size) < 0)
                error(EXIT_FAILURE, errno, "%s", path);
        r = posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
        if (r > 0)
                error(EXIT_FAILURE, r, "%s: posix_fadvise", path);

        /* each processor keeps the pages that it has added last from being evicted */
        CPU_ZERO(&cpu);
        CPU_SET(0, &cpu);
        if (sched_setaffinity(0, sizeof(cpu), &cpu) < 0)
                error(EXIT_FAILURE, errno, "sched_setaffinity");
        return fd;
}

static uint64_t look_up(const char *path, const char *key) {
        FILE *f = fopen(path, "re");
        char name[128];
        uint64_t value;

        if (!f)
                error(EXIT_FAILURE, errno, "%s", path);
        while (fscanf(f, "%127s %" SCNu64, name, &value) == 2)
                if (strcmp(name, key) == 0) {
                        fclose(f);
                        return value;
                }
        error(EXIT_FAILURE, 0, "%s: it has no line '%s'", path, key);
        return 0;
}

int main(int argc, char **argv) {
        static char buffer[PAGE_SIZE];
        uint64_t misses = 0, sum = 0, n_samples = 0;
        uint32_t *pages, n_pages;
        unsigned char cached;
        char *map;
        size_t n, step;
        int fd;

        if (argc != 5 && argc != 6)
                error(2, 0, "usage: replay FILE TRACE STAT KEY [STEP]");
        step = argc == 6 ? strtoul(argv[5], NULL, 10) : SIZE_MAX;
        if (step == 0)
                error(2, 0, "%s: it is no number of requests", argv[5]);

        pages = read_trace(argv[2], &n, &n_pages);
        fd = make_file(argv[1], (off_t) n_pages * PAGE_SIZE);
        map = mmap(NULL, (size_t) n_pages * PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
                error(EXIT_FAILURE, errno, "%s: mmap", argv[1]);

        for (size_t i = 0; i < n; i++) {
                off_t offset = (off_t) pages[i] * PAGE_SIZE;

                if (mincore(map + offset, PAGE_SIZE, &cached) < 0)
                        error(EXIT_FAILURE, errno, "%s: mincore", argv[1]);
                misses += !(cached & 1);
                if (pread(fd, buffer, PAGE_SIZE, offset) != PAGE_SIZE)
                        error(EXIT_FAILURE, errno, "%s: read", argv[1]);
                if (i >= n / 4 && i % SAMPLE_EVERY == 0) {
                        sum += look_up(argv[3], argv[4]);
                        n_samples++;
                }
                if ((i + 1) % step == 0)
                        (void) raise(SIGSTOP);
        }
        printf("%" PRIu64 " %" PRIu64 "\n", misses, n_samples > 0 ? sum / n_samples : 0);
        return EXIT_SUCCESS;
}
