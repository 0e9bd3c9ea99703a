/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A library to be preloaded: when a program has read all bytes of a block, by fread() or by a mapping, that
 * block goes first, until it is read again (cachebpf-policy(7), acfs).  That is what the ACFS paper has link
 * editor and sort say.  For programs with one thread. */

#define BLOCK_SIZE 4096
#define BLOCK_WORDS (BLOCK_SIZE / 64)
#define ADVICE_GIVE_BACK 0x43420500     /* set the level of what is cached of a range to -1 */
#define N_FILES 4096
#define N_MAPPINGS 64

typedef struct File {
        dev_t dev;
        ino_t ino;
        size_t size;
        uint64_t *seen;         /* a bit for each byte */
        int fd;                 /* of our own: the mapping may outlive the program's */
} File;

static File files[N_FILES];
static struct { void *address; size_t length; off_t offset; File *file; } mappings[N_MAPPINGS];

static void *next(const char *name) {
        void *found = dlsym(RTLD_NEXT, name);

        if (!found)
                abort();
        return found;
}

/* Null: it is not to be followed, as it is no regular file or there is no room. */
static File *find_file(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
                return NULL;

        for (size_t i = 0; i < N_FILES; i++) {
                File *f = files + (st.st_ino + i) % N_FILES;

                if (f->seen && f->dev == st.st_dev && f->ino == st.st_ino && f->size == (size_t) st.st_size)
                        return f;
                if (f->seen && (f->dev != st.st_dev || f->ino != st.st_ino))
                        continue;

                /* a new one; or it is longer, or another file in its place */
                free(f->seen);
                *f = (File) { st.st_dev, st.st_ino, (size_t) st.st_size, NULL, -1 };
                f->seen = calloc((f->size / BLOCK_SIZE + 1) * BLOCK_WORDS, sizeof(uint64_t));
                return f->seen ? f : NULL;
        }
        return NULL;
}

/* Whether the block has become complete. */
static bool note(File *f, size_t block, size_t from, size_t to) {
        size_t end = f->size - block * BLOCK_SIZE < BLOCK_SIZE ? f->size - block * BLOCK_SIZE : BLOCK_SIZE;
        uint64_t *seen = f->seen + block * BLOCK_WORDS;

        for (size_t i = from; i < to; i++)
                seen[i / 64] |= UINT64_C(1) << i % 64;
        for (size_t i = 0; i < end; i += 64) {
                uint64_t all = end - i >= 64 ? UINT64_MAX : (UINT64_C(1) << (end - i)) - 1;

                if ((seen[i / 64] & all) != all)
                        return false;
        }
        return true;
}

/* The bytes from "start" on have been read. */
static void done_with(int fd, File *f, size_t start, size_t length) {
        size_t end = start + length < f->size ? start + length : f->size;

        for (size_t at = start; at < end;) {
                size_t block = at / BLOCK_SIZE, from = at % BLOCK_SIZE;
                size_t to = end - block * BLOCK_SIZE < BLOCK_SIZE ? end - block * BLOCK_SIZE : BLOCK_SIZE;

                if (note(f, block, from, to))
                        (void) syscall(SYS_fadvise64, fd, (off_t) (block * BLOCK_SIZE), (off_t) BLOCK_SIZE,
                                       ADVICE_GIVE_BACK);
                at = (block + 1) * BLOCK_SIZE;
        }
}

typedef size_t (*ReadFunction)(void *, size_t, size_t, FILE *);

static size_t read_stream(ReadFunction function, void *buffer, size_t size, size_t n, FILE *stream) {
        off_t begin = ftello(stream);
        size_t done = function(buffer, size, n, stream);
        File *f = begin >= 0 ? find_file(fileno(stream)) : NULL;

        if (f)
                done_with(fileno(stream), f, (size_t) begin, done * size);
        return done;
}

size_t fread(void *buffer, size_t size, size_t n, FILE *stream) {
        static ReadFunction function;

        if (!function)
                function = next("fread");
        return read_stream(function, buffer, size, n, stream);
}

#undef fread_unlocked
size_t fread_unlocked(void *buffer, size_t size, size_t n, FILE *stream) {
        static ReadFunction function;

        if (!function)
                function = next("fread_unlocked");
        return read_stream(function, buffer, size, n, stream);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
        static void *(*function)(void *, size_t, int, int, int, off_t);
        void *mapped;

        if (!function)
                function = next("mmap");
        mapped = function(address, length, protection, flags, fd, offset);
        if (mapped == MAP_FAILED || fd < 0 || (flags & MAP_ANONYMOUS))
                return mapped;

        for (size_t i = 0; i < N_MAPPINGS; i++)
                if (!mappings[i].address) {
                        File *f = find_file(fd);

                        if (!f)
                                break;
                        if (f->fd < 0)
                                f->fd = dup(fd);
                        mappings[i].address = mapped;
                        mappings[i].length = length;
                        mappings[i].offset = offset;
                        mappings[i].file = f;
                        break;
                }
        return mapped;
}

/* The same on machines of 64 bits. */
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
                __attribute__((alias("mmap")));

int munmap(void *address, size_t length) {
        static int (*function)(void *, size_t);
        int r;

        if (!function)
                function = next("munmap");
        r = function(address, length);
        for (size_t i = 0; i < N_MAPPINGS; i++)
                if (mappings[i].address == address && address) {
                        File *f = mappings[i].file;

                        mappings[i].address = NULL;
                        if (f->fd >= 0)
                                done_with(f->fd, f, (size_t) mappings[i].offset, mappings[i].length);
                        break;
                }
        return r;
}
