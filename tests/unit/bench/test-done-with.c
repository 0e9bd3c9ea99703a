/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Which blocks the library gives back that is else preloaded: its system calls come here. */

#define BLOCK 4096
#define SIZE (2 * BLOCK + 100)

static unsigned n_calls;
static long latest;

/* Not that of the C library: the library's calls find this one first. */
long syscall(long number, ...) {
        long start, length, advice;
        va_list list;

        va_start(list, number);
        (void) va_arg(list, int);
        start = va_arg(list, long);
        length = va_arg(list, long);
        advice = va_arg(list, int);
        va_end(list);

        assert(number == SYS_fadvise64 && length == BLOCK && advice == 0x43420500);
        n_calls++;
        latest = start;
        return 0;
}

static void expect(unsigned calls, long start) {
        if (n_calls != calls || (calls > 0 && latest != start)) {
                fprintf(stderr, "%u calls, the latest for %ld; expected %u, %ld\n", n_calls, latest, calls,
                        start);
                exit(EXIT_FAILURE);
        }
        n_calls = 0;
}

static void read_at(FILE *f, long at, size_t n) {
        static char buffer[SIZE];

        assert(fseek(f, at, SEEK_SET) == 0);
        assert(fread(buffer, 1, n, f) == n);
}

int main(void) {
        FILE *f = tmpfile(), *other = tmpfile();
        void *mapped;

        assert(f && other);
        for (unsigned i = 0; i < SIZE; i++)
                assert(fputc('x', f) == 'x' && fputc('y', other) == 'y');
        assert(fflush(f) == 0 && fflush(other) == 0);

        read_at(f, 0, 100);
        read_at(f, 200, BLOCK);         /* all of the first block but 100 bytes */
        expect(0, 0);
        read_at(other, 100, 100);       /* of another file */
        expect(0, 0);
        read_at(f, 100, 100);
        expect(1, 0);
        read_at(f, 50, 10);             /* once more */
        expect(1, 0);

        read_at(f, 2 * BLOCK + 50, 50); /* a last block that is shorter */
        expect(0, 0);
        read_at(f, 2 * BLOCK, 50);
        expect(1, 2 * BLOCK);

        read_at(other, 0, SIZE);
        expect(3, 2 * BLOCK);

        mapped = mmap(NULL, BLOCK, PROT_READ, MAP_PRIVATE, fileno(f), BLOCK);
        assert(mapped != MAP_FAILED);
        expect(0, 0);
        assert(munmap(mapped, BLOCK) == 0);
        expect(1, BLOCK);
        return EXIT_SUCCESS;
}
