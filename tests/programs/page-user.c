/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Uses the pages of a file for some time, in all ways but one after the other: single bytes, mappings,
 * advice, and memory that is locked or given up.
 *
 *      page-user SECONDS SEED FILE
 *
 * The name under which it is called is the name of its thread, by which policies can classify it. What it
 * reads it compares with what it has read there before: the status is 1 if that has changed. Prints how much
 * it did. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
/* Pages that one step uses, at most. */
#define MOST 512UL

typedef struct File {
        int fd;
        unsigned long n_pages;
        unsigned char *first; /* first byte of each page, as it was read at the beginning */
} File;

static unsigned long draw(unsigned long below) {
        return (unsigned long) random() % below;
}

static int compare(const File *f, unsigned long page, unsigned char c) {
        if (f->first[page] == c)
                return 0;

        printf("page %lu begins with %u in place of %u\n", page, c, f->first[page]);
        return -EIO;
}

static int read_bytes(const File *f, unsigned long begin, unsigned long n) {
        for (unsigned long i = begin; i < begin + n; i++) {
                unsigned char c;
                ssize_t k;
                int r;

                k = pread(f->fd, &c, 1, (off_t) (i * PAGE));
                if (k != 1)
                        return k < 0 ? -errno : -EIO;
                r = compare(f, i, c);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int use_mapping(const File *f, unsigned long begin, unsigned long n) {
        static const int advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                                      MADV_POPULATE_READ };
        unsigned char *map;
        int r = 0;

        map = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, f->fd, (off_t) (begin * PAGE));
        if (map == MAP_FAILED)
                return -errno;

        (void) madvise(map, n * PAGE, advice[draw(sizeof(advice) / sizeof(advice[0]))]);
        if (draw(8) == 0)
                (void) mlock(map, n * PAGE);
        for (unsigned long i = 0; i < n && r == 0; i++)
                r = compare(f, begin + i, map[i * PAGE]);
        if (draw(4) == 0)
                (void) madvise(map, n * PAGE, draw(2) ? MADV_PAGEOUT : MADV_COLD);

        (void) munmap(map, n * PAGE);
        return r;
}

/* What policies alone understand: acfs does, and answers as it likes, others do not listen. */
static int advise_policy(const File *f, unsigned long begin, unsigned long n) {
        static const int right[] = { EOPNOTSUPP, EAGAIN, ENOSPC, EINVAL };
        long number = 0x43420000 | (long) draw(8) << 8 | (long) draw(6) << 4 | (long) draw(2);

        if (syscall(SYS_fadvise64, f->fd, begin * PAGE, draw(8) ? n * PAGE : 0, number) >= 0)
                return 0;
        for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++)
                if (errno == right[i])
                        return 0;
        return -errno;
}

static int advise(const File *f, unsigned long begin, unsigned long n) {
        static const int advice[] = { POSIX_FADV_NORMAL,   POSIX_FADV_RANDOM,   POSIX_FADV_SEQUENTIAL,
                                      POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED, POSIX_FADV_NOREUSE };

        return -posix_fadvise(f->fd, (off_t) (begin * PAGE), (off_t) (n * PAGE),
                              advice[draw(sizeof(advice) / sizeof(advice[0]))]);
}

static int file_open(const char *path, File *ret) {
        File f = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
        struct stat st;

        if (f.fd < 0 || fstat(f.fd, &st) < 0)
                return -errno;

        f.n_pages = (unsigned long) st.st_size / PAGE;
        f.first = f.n_pages > 0 ? malloc(f.n_pages) : NULL;
        if (!f.first)
                return f.n_pages > 0 ? -ENOMEM : -EINVAL;

        for (unsigned long i = 0; i < f.n_pages; i++)
                if (pread(f.fd, f.first + i, 1, (off_t) (i * PAGE)) != 1)
                        return errno > 0 ? -errno : -EIO;

        *ret = f;
        return 0;
}

int main(int argc, char **argv) {
        unsigned long n_steps = 0;
        File f = {};
        time_t end;
        int r;

        if (argc != 4) {
                fprintf(stderr, "usage: %s SECONDS SEED FILE\n", argv[0]);
                return 2;
        }

        srandom((unsigned) atoi(argv[2]));
        end = time(NULL) + atoi(argv[1]);
        r = file_open(argv[3], &f);
        while (r == 0 && time(NULL) < end) {
                unsigned long begin = draw(f.n_pages), n = 1 + draw(MOST);

                if (n > f.n_pages - begin)
                        n = f.n_pages - begin;
                switch (draw(4)) {
                case 0:
                        r = draw(2) ? advise(&f, begin, n) : advise_policy(&f, begin, n);
                        break;
                case 1:
                        r = use_mapping(&f, begin, n);
                        break;
                default:
                        r = read_bytes(&f, begin, n);
                }
                n_steps++;
        }

        if (r < 0) {
                fprintf(stderr, "%s: step %lu: %s\n", argv[3], n_steps, strerror(-r));
                return 1;
        }

        printf("steps %lu\n", n_steps);
        return 0;
}
