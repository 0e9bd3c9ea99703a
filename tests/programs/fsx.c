/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Exercises one file in random ways and compares all that is read with what must be there:
 *
 *         fsx [-s SEED] [-t SECONDS] [-n OPERATIONS] [-l MAX_BYTES] FILE
 *
 * Reads, writes, both through mappings too, truncation to both sides, holes, preallocation, fsync, and the
 * cache dropped, whole or in part, all at any offset and length. On a difference it says where, prints the
 * last operations, leaves what should have been there in FILE.good, and ends with status 1. */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096U
#define LOG_LENGTH 500

static const char *path;
static int fd = -1;
static size_t max_size = 4U << 20;
static unsigned char *shadow, *buffer;
static size_t size; /* of the file, as it should be */
static uint64_t seed, random_state;
static unsigned long number; /* of the operation */

static char history[LOG_LENGTH][80];

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...) {
        va_list ap;
        char *line = history[number % LOG_LENGTH];
        int n = snprintf(line, sizeof(history[0]), "%lu ", number);

        va_start(ap, format);
        vsnprintf(line + n, sizeof(history[0]) - n, format, ap);
        va_end(ap);
}

static void save_good(void) {
        char name[512];
        int out;

        snprintf(name, sizeof(name), "%s.good", path);
        out = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (out < 0 || write(out, shadow, size) != (ssize_t) size)
                perror(name);
        if (out >= 0)
                close(out);
}

static _Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void fail(const char *format, ...) {
        unsigned long first = number > LOG_LENGTH ? number - LOG_LENGTH + 1 : 1;
        va_list ap;

        fprintf(stderr, "fsx: %s, seed %" PRIu64 ", operation %lu: ", path, seed, number);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fprintf(stderr, "\nfsx: the last operations (offset + length; size):\n");
        for (unsigned long i = first; i <= number; i++)
                fprintf(stderr, "fsx:   %s\n", history[i % LOG_LENGTH]);
        save_good();
        exit(EXIT_FAILURE);
}

static uint64_t next_random(void) {
        uint64_t z = (random_state += 0x9e3779b97f4a7c15U); /* splitmix64 */

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
}

static size_t below(size_t n) {
        return n > 0 ? next_random() % n : 0;
}

/* Mostly a few pages, sometimes much; every other time whole pages. */
static void pick(size_t limit, size_t *ret_offset, size_t *ret_length) {
        size_t offset = below(limit), length = 1 + below(below(8) == 0 ? limit : 16 * PAGE);

        if (below(2) == 0) {
                offset -= offset % PAGE;
                length += PAGE - 1 - (length - 1) % PAGE;
        }
        *ret_offset = offset;
        *ret_length = length > limit - offset ? limit - offset : length;
}

static void compare(const unsigned char *got, size_t offset, size_t length, const char *how) {
        if (memcmp(got, shadow + offset, length) == 0)
                return;
        for (size_t i = 0; i < length; i++)
                if (got[i] != shadow[offset + i])
                        fail("%s: byte %zu (page %zu) is 0x%02x and should be 0x%02x", how, offset + i,
                             (offset + i) / PAGE, got[i], shadow[offset + i]);
}

/* What is written depends on the place and on the operation, so that stale data is always seen. */
static void fill(size_t offset, size_t length) {
        for (size_t i = 0; i < length; i++)
                shadow[offset + i] = (unsigned char) (number * 167 + (offset + i) / PAGE * 13 +
                                                      (offset + i));
}

static void grow_to(size_t end) {
        if (end <= size)
                return;
        memset(shadow + size, 0, end - size);
        size = end;
}

static void do_read(size_t offset, size_t length) {
        ssize_t n;

        note("read      %zu + %zu; %zu", offset, length, size);
        n = pread(fd, buffer, length, offset);
        if (n != (ssize_t) length)
                fail("read gave %zd: %s", n, n < 0 ? strerror(errno) : "short");
        compare(buffer, offset, length, "read");
}

static void do_write(size_t offset, size_t length) {
        ssize_t n;

        note("write     %zu + %zu; %zu", offset, length, size);
        if (offset > size)
                grow_to(offset);
        fill(offset, length);
        if (offset + length > size)
                size = offset + length;
        n = pwrite(fd, shadow + offset, length, offset);
        if (n != (ssize_t) length)
                fail("write gave %zd: %s", n, n < 0 ? strerror(errno) : "short");
}

static void do_map(size_t offset, size_t length, bool writing) {
        size_t start = offset - offset % PAGE;
        unsigned char *map;

        note("map%s  %zu + %zu; %zu", writing ? "write" : "read ", offset, length, size);
        map = mmap(NULL, offset - start + length, PROT_READ | (writing ? PROT_WRITE : 0), MAP_SHARED, fd,
                   start);
        if (map == MAP_FAILED)
                fail("mmap: %m");
        if (writing) {
                fill(offset, length);
                memcpy(map + (offset - start), shadow + offset, length);
                if (below(4) == 0 && msync(map, offset - start + length, MS_SYNC) < 0)
                        fail("msync: %m");
        } else
                compare(map + (offset - start), offset, length, "mapping");
        if (munmap(map, offset - start + length) < 0)
                fail("munmap: %m");
}

static void do_truncate(size_t new_size) {
        note("truncate  %zu; %zu", new_size, size);
        if (ftruncate(fd, new_size) < 0)
                fail("ftruncate: %m");
        grow_to(new_size);
        size = new_size;
}

static void do_punch(size_t offset, size_t length) {
        note("punch     %zu + %zu; %zu", offset, length, size);
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) < 0)
                fail("punch: %m");
        memset(shadow + offset, 0, length);
}

static void do_allocate(size_t offset, size_t length) {
        note("allocate  %zu + %zu; %zu", offset, length, size);
        if (fallocate(fd, 0, offset, length) < 0)
                fail("fallocate: %m");
        grow_to(offset + length);
}

static void do_sync(void) {
        note("fsync     %zu", size);
        if (fsync(fd) < 0)
                fail("fsync: %m");
}

static void do_drop(size_t offset, size_t length) {
        note("drop      %zu + %zu; %zu", offset, length, size);
        if (below(2) == 0 && fsync(fd) < 0)
                fail("fsync: %m");
        errno = posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED);
        if (errno != 0)
                fail("posix_fadvise: %m");
}

static void do_check_all(void) {
        struct stat st;

        note("check all %zu", size);
        if (fstat(fd, &st) < 0 || (size_t) st.st_size != size)
                fail("the size is %jd and should be %zu", (intmax_t) st.st_size, size);
        if (pread(fd, buffer, max_size, 0) != (ssize_t) size)
                fail("reading all of it: %m");
        compare(buffer, 0, size, "read of all");
}

/* What changes the file comes less often than what looks at it. */
static void one_operation(void) {
        size_t offset, length, room_offset, room_length;

        number++;
        pick(size, &offset, &length);
        pick(max_size, &room_offset, &room_length);
        switch (size > 0 ? below(32) : 31) {
        case 0 ... 8:
                do_read(offset, length);
                break;
        case 9 ... 13:
                do_map(offset, length, false);
                break;
        case 14 ... 17:
                do_map(offset, length, true);
                break;
        case 18 ... 19:
                do_truncate(below(3) == 0 ? below(max_size) :
                                            size - below(size < 64 * PAGE ? size : 64 * PAGE));
                break;
        case 20 ... 21:
                do_punch(offset, length);
                break;
        case 22:
                do_allocate(room_offset, room_length);
                break;
        case 23:
                do_sync();
                break;
        case 24 ... 25:
                do_drop(offset, below(2) == 0 ? 0 : length); /* 0: to the end */
                break;
        case 26:
                do_check_all();
                break;
        default:
                do_write(room_offset, room_length);
        }
}

static uint64_t seconds_now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return ts.tv_sec;
}

static uint64_t parse_number(const char *text) {
        char *end;
        uint64_t n = strtoull(text, &end, 10);

        if (*text == '\0' || *end != '\0') {
                fprintf(stderr, "fsx: '%s' is not a number\n", text);
                exit(2);
        }
        return n;
}

int main(int argc, char *argv[]) {
        uint64_t end = UINT64_MAX, limit = UINT64_MAX;
        int c;

        seed = time(NULL) ^ ((uint64_t) getpid() << 20);
        while ((c = getopt(argc, argv, "s:t:n:l:")) != -1)
                switch (c) {
                case 's':
                        seed = parse_number(optarg);
                        break;
                case 't':
                        end = seconds_now() + parse_number(optarg);
                        break;
                case 'n':
                        limit = parse_number(optarg);
                        break;
                case 'l':
                        max_size = parse_number(optarg);
                        break;
                default:
                        return 2;
                }
        if (end == UINT64_MAX && limit == UINT64_MAX)
                limit = 10000;
        if (optind != argc - 1 || max_size < PAGE) {
                fprintf(stderr, "usage: fsx [-s SEED] [-t SECONDS] [-n OPERATIONS] [-l MAX_BYTES] FILE\n");
                return 2;
        }
        path = argv[optind];
        random_state = seed;
        shadow = calloc(1, max_size);
        buffer = malloc(max_size);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (!shadow || !buffer || fd < 0) {
                perror(path);
                return 2;
        }

        while (number < limit && seconds_now() < end)
                one_operation();

        number++;
        do_check_all();
        do_drop(0, 0);
        number++;
        do_check_all();
        printf("fsx: %s: %lu operations, seed %" PRIu64 "\n", path, number, seed);
        return 0;
}
