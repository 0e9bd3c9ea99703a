/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls libcachebpf at random, each time with something that cannot be: a level, a range, a replacement, a
 * descriptor, or no place for the answer.
 *
 * wild-advice FILE NUMBER SEED
 *
 * Prints how many calls failed, the errors, and the time. The exit status is 1 if one did not fail, or
 * changed what it was to return. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cachebpf.h>

#define UNTOUCHED 4711

static uint64_t state;

/* xorshift64 */
static uint64_t draw(void) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
}

static int good_level(void) {
        return (int) (draw() % 5) - 1;
}

static int bad_level(void) {
        int level = draw() % 2 ? (int) draw() : (int) (draw() % 64) - 32;

        return level >= CACHEBPF_PRIORITY_MIN && level <= CACHEBPF_PRIORITY_MAX ? 4 : level;
}

static int64_t any(void) {
        return (int64_t) draw();
}

static int64_t negative(void) {
        return any() | INT64_MIN;
}

/* All that is no file with pages. */
static int bad_fds[6];

static int bad_fd(void) {
        return draw() % 4 == 0 ? (int) (draw() | UINT64_C(1) << 31) : bad_fds[draw() % 6];
}

static int make_bad_fds(const char *path) {
        int pair[2];

        if (pipe2(pair, O_CLOEXEC) < 0)
                return -1;
        bad_fds[0] = -1;
        bad_fds[1] = pair[0];
        bad_fds[2] = open(path, O_PATH | O_CLOEXEC);
        bad_fds[3] = memfd_create("x", MFD_CLOEXEC);
        bad_fds[4] = open("/dev/null", O_RDWR | O_CLOEXEC);
        bad_fds[5] = 4000; /* there is none */
        return bad_fds[2] < 0 || bad_fds[3] < 0 || bad_fds[4] < 0 ? -1 : 0;
}

static int call(int fd) {
        enum cachebpf_replacement replacement = (enum cachebpf_replacement) UNTOUCHED;
        int level = UNTOUCHED, r;

        switch (draw() % 10) {
        case 0:
                return cachebpf_set_priority(fd, bad_level());
        case 1:
                return cachebpf_set_priority(bad_fd(), good_level());
        case 2:
                r = cachebpf_get_priority(bad_fd(), &level);
                return level == UNTOUCHED ? r : 0;
        case 3:
                return cachebpf_get_priority(fd, NULL);
        case 4:
                return cachebpf_set_replacement(bad_level(), (enum cachebpf_replacement) (draw() % 2));
        case 5:
                return cachebpf_set_replacement(good_level(), (enum cachebpf_replacement) (2 + draw() % 9));
        case 6:
                r = cachebpf_get_replacement(bad_level(), &replacement);
                return replacement == (enum cachebpf_replacement) UNTOUCHED ? r : 0;
        case 7:
                return cachebpf_set_temporary_priority(bad_fd(), any(), any(), good_level());
        case 8:
                return cachebpf_set_temporary_priority(fd, any(), any(), bad_level());
        default:
                return draw() % 2 ? cachebpf_set_temporary_priority(fd, negative(), any(), good_level()) :
                                    cachebpf_set_temporary_priority(fd, any(), negative(), good_level());
        }
}

int main(int argc, char *argv[]) {
        static unsigned long errors[4096];
        struct timespec begin, end;
        unsigned long n = 0, failed = 0;
        int fd;

        if (argc != 4)
                return 2;
        fd = open(argv[1], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || make_bad_fds(argv[1]) < 0) {
                perror("wild-advice");
                return 2;
        }
        state = strtoull(argv[3], NULL, 10) * 2 + 1;

        (void) clock_gettime(CLOCK_MONOTONIC, &begin);
        for (unsigned long all = strtoul(argv[2], NULL, 10); n < all; n++) {
                int r = call(fd);

                if (r < 0 && r > -4096) {
                        failed++;
                        errors[-r]++;
                }
        }
        (void) clock_gettime(CLOCK_MONOTONIC, &end);

        printf("%lu calls, %lu failed", n, failed);
        for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
                if (errors[i] > 0)
                        printf(", %s %lu", strerrorname_np((int) i), errors[i]);
        printf(", in %.1f s\n", (double) (end.tv_sec - begin.tv_sec) +
               (double) (end.tv_nsec - begin.tv_nsec) / 1e9);
        return failed < n;
}
