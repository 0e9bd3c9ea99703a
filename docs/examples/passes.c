/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a file several times, like a search in an index, and tells page cache policies that it does: then
 * what fits into the cache stays there, where LRU would find nothing of a file that is larger. See
 * libcachebpf(3).
 *
 *      cc -o passes passes.c $(pkg-config --cflags --libs libcachebpf)
 *      ./passes FILE NUMBER
 *
 * Prints for each time how many KiB came from the disk. To see a difference, let it run in a unit with a
 * policy that listens and less memory than the file has, as root:
 *
 *      systemctl set-property --runtime try.slice MemoryMax=64M
 *      cachectl set try.slice acfs
 *      systemd-run --pty --same-dir --slice=try.slice ./passes FILE 5 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cachebpf.h>

/* Of the five levels, -1 to 3, the lowest is given up first. What nothing was said of is on 0, such as the
 * program itself: a file that does not fit would push it out from above. */
#define LEVEL CACHEBPF_PRIORITY_MIN

static void tell(int fd) {
        int r;

        /* This file is given up before all else, */
        r = cachebpf_set_priority(fd, LEVEL);
        if (r >= 0)
                /* and of it what was read last, which will be needed last. */
                r = cachebpf_set_replacement(LEVEL, CACHEBPF_REPLACEMENT_MRU);

        /* On most machines nobody listens. The program does the same then, and waits longer for the disk. */
        if (r < 0)
                fprintf(stderr, "passes: without advice: %s\n", strerror(-r));
}

static long from_disk(void) {
        struct rusage usage;

        return getrusage(RUSAGE_SELF, &usage) < 0 ? 0 : usage.ru_inblock / 2;
}

static int read_all(int fd) {
        static char buffer[65536];
        off_t at = 0;
        ssize_t n;

        while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0)
                at += n;
        return n < 0 ? -errno : 0;
}

int main(int argc, char *argv[]) {
        int fd, r = 0;

        if (argc != 3) {
                fprintf(stderr, "Usage: %s FILE NUMBER\n", argv[0]);
                return 2;
        }

        fd = open(argv[1], O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
                perror(argv[1]);
                return 1;
        }

        tell(fd);
        for (int i = 0; i < atoi(argv[2]) && r >= 0; i++) {
                long before = from_disk();

                r = read_all(fd);
                printf("%ld\n", from_disk() - before);
        }
        if (r < 0)
                fprintf(stderr, "%s: %s\n", argv[1], strerror(-r));

        close(fd);
        return r < 0;
}
