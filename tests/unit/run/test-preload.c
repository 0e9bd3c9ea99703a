/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The functions that "cachectl run" puts in front of those of the C library, with the kernel's part of
 * posix_fadvise() played. They are linked, which puts them there as well. */

/* Both open() and open64() are to be called. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test-util.h"
#include "run/rules.h"

enum { SET_PRIORITY = 1, GET_PRIORITY, SET_TEMPORARY = 5 };

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buffer, size_t n, size_t size);
ssize_t __pread_chk(int fd, void *buffer, size_t n, off_t at, size_t size);
ssize_t __pread64_chk(int fd, void *buffer, size_t n, off64_t at, size_t size);
size_t __fread_chk(void *buffer, size_t buffer_size, size_t size, size_t n, FILE *f);
size_t __fread_unlocked_chk(void *buffer, size_t buffer_size, size_t size, size_t n, FILE *f);

/* ---- the kernel */

#define N_SAID 65536

static struct Said {
        int fd, what, level;
        int64_t start, len;
} said[N_SAID];
static atomic_int n_said; /* but for GET_PRIORITY */
static int error;         /* 0: it listens */
static int level_now;     /* of all files */

static long advise(long fd, long start, long len, long advice) {
        int what = (int) advice >> 8 & 0xff, level = (int) (advice >> 4 & 0xf) - 1, i;

        if (error != 0) {
                errno = error;
                return -1;
        }
        if (what == GET_PRIORITY)
                return level_now + 1;

        i = atomic_fetch_add(&n_said, 1);
        assert_true(i < N_SAID);
        said[i] = (struct Said) { (int) fd, what, level, start, len };
        return 0;
}

long syscall(long number, ...) {
        static long (*next)(long, ...) = NULL;
        long a[6];
        va_list ap;

        va_start(ap, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(ap, long);
        va_end(ap);

        if (number == SYS_fadvise64)
                return advise(a[0], a[1], a[2], a[3]);
        if (!next)
                next = (long (*)(long, ...)) dlsym(RTLD_NEXT, "syscall");
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int n_seeks;

off64_t lseek64(int fd, off64_t offset, int whence) {
        n_seeks++;
        return syscall(SYS_lseek, fd, offset, whence);
}

/* ---- the files: "level" has a priority, what is read of "done" is given back, "other" is nothing */

#define KIB 1024
#define SIZE (160 * KIB)

static char *dir;
static char buffer[2 * SIZE];

static void forget(void) {
        n_said = 0;
        error = 0;
        level_now = 0;
}

static int setup(void **state) {
        dir = test_dir_make();
        assert_int_equal(chdir(dir), 0);
        free(test_file_write(dir, "level", buffer, SIZE));
        free(test_file_write(dir, "done", buffer, SIZE));
        free(test_file_write(dir, "other", buffer, SIZE));
        assert_int_equal(mkdir("level.d", 0755), 0);
        assert_int_equal(mkfifo("level.fifo", 0644), 0);
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

static void assert_said(int i, int what, int level, int64_t start, int64_t len) {
        assert_true(i < n_said);
        assert_int_equal(said[i].what, what);
        assert_int_equal(said[i].level, level);
        assert_int_equal(said[i].start, start);
        assert_int_equal(said[i].len, len);
}

static void assert_given_back(int i, int64_t start, int64_t end) {
        assert_said(i, SET_TEMPORARY, -1, start, end - start);
}

/* ---- opening */

static int by_open(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }
static int by_open64(const char *path) { return open64(path, O_RDONLY | O_CLOEXEC); }
static int by_open_create(const char *path) { return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); }
static int by_open64_create(const char *path) { return open64(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); }
static int by_open_2(const char *path) { return __open_2(path, O_RDONLY | O_CLOEXEC); }
static int by_open64_2(const char *path) { return __open64_2(path, O_RDONLY | O_CLOEXEC); }
static int by_openat(const char *path) { return openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC); }
static int by_openat64(const char *path) { return openat64(AT_FDCWD, path, O_RDONLY | O_CLOEXEC); }
static int by_openat_create(const char *path) { return openat(AT_FDCWD, path, O_WRONLY | O_CREAT, 0600); }
static int by_openat_2(const char *path) { return __openat_2(AT_FDCWD, path, O_RDONLY | O_CLOEXEC); }
static int by_openat64_2(const char *path) { return __openat64_2(AT_FDCWD, path, O_RDONLY | O_CLOEXEC); }

/* Of a stream that is closed then. */
static int fd_of(FILE *f) {
        int fd;

        assert_non_null(f);
        fd = dup(fileno(f));
        assert_int_equal(fclose(f), 0);
        return fd;
}

static FILE *null(void) { return fopen("/dev/null", "re"); }
static int by_fopen(const char *path) { return fd_of(fopen(path, "re")); }
static int by_fopen64(const char *path) { return fd_of(fopen64(path, "re")); }
static int by_freopen(const char *path) { return fd_of(freopen(path, "re", null())); }
static int by_freopen64(const char *path) { return fd_of(freopen64(path, "re", null())); }

static int (*const openers[])(const char *) = {
        by_open, by_open64, by_open_create, by_open64_create, by_open_2, by_open64_2, by_openat, by_openat64,
        by_openat_create, by_openat_2, by_openat64_2, by_fopen, by_fopen64, by_freopen, by_freopen64,
};

static void test_open(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(openers); i++) {
                int fd;

                forget();
                errno = 4711;
                fd = openers[i]("level");
                assert_true(fd >= 0);
                assert_int_equal(n_said, 1);
                assert_said(0, SET_PRIORITY, 2, 0, 0);
                assert_int_equal(close(fd), 0);
                assert_int_equal(n_said, 1);

                /* What is known already is not said again, */
                level_now = 2;
                assert_int_equal(close(openers[i]("./level")), 0);
                /* nor anything about others, */
                assert_int_equal(close(openers[i]("other")), 0);
                assert_int_equal(n_said, 1);
                /* or to nobody, and it is not noticed. */
                for (error = 1; error < 132; error++) {
                        errno = 4711;
                        assert_int_equal(close(openers[i]("level")), 0);
                        assert_int_equal(errno, 4711);
                }
        }

        errno = 0;
        assert_int_equal(by_open("level/none"), -1);
        assert_int_equal(errno, ENOTDIR);
        errno = 0;
        assert_null(fopen("none", "re"));
        assert_int_equal(errno, ENOENT);
}

/* New files, with the mode that was asked for. */
static void test_create(void **state) {
        struct stat st;
        int fd;

        (void) umask(022);
        forget();
        fd = open("new.level", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(close(fd), 0);
        assert_int_equal(close(creat("new.level", 0600)), 0);
        assert_int_equal(close(creat64("new.level", 0600)), 0);
        assert_int_equal(n_said, 3);

        fd = open(".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0604);
        if (fd >= 0) { /* not all file systems can */
                assert_int_equal(fstat(fd, &st), 0);
                assert_int_equal(st.st_mode & 07777, 0604);
                assert_int_equal(close(fd), 0);
        }
        assert_int_equal(n_said, 3);
}

static void test_temporary(void **state) {
        char t[8][32];

        for (int i = 0; i < 8; i++)
                strcpy(t[i], "sort-XXXXXX.level");
        for (int i = 0; i < 4; i++)
                t[i][strlen("sort-XXXXXX")] = 0;
        forget();
        assert_int_equal(close(mkstemp(t[0])), 0);
        assert_int_equal(close(mkstemp64(t[1])), 0);
        assert_int_equal(close(mkostemp(t[2], O_CLOEXEC)), 0);
        assert_int_equal(close(mkostemp64(t[3], O_CLOEXEC)), 0);
        assert_int_equal(n_said, 4);
        assert_int_equal(close(mkstemps(t[4], 6)), 0);
        assert_int_equal(close(mkstemps64(t[5], 6)), 0);
        assert_int_equal(close(mkostemps(t[6], 6, O_CLOEXEC)), 0);
        assert_int_equal(close(mkostemps64(t[7], 6, O_CLOEXEC)), 0);
        assert_int_equal(n_said, 8);
        for (int i = 0; i < 8; i++)
                assert_said(i, SET_PRIORITY, i < 4 ? -1 : 2, 0, 0);
}

/* What has no pages has no priority. */
static void test_no_files(void **state) {
        forget();
        assert_int_equal(close(open("level.d", O_RDONLY | O_DIRECTORY)), 0);
        assert_int_equal(close(open("level.d", O_RDONLY)), 0);
        assert_int_equal(close(open("level.fifo", O_RDWR | O_NONBLOCK)), 0);
        assert_int_equal(close(open("level", O_PATH)), 0);
        assert_int_equal(n_said, 0);
}

/* ---- reading */

static ssize_t by_read(int fd, size_t n, off_t at) { return read(fd, buffer, n); }
static ssize_t by_read_chk(int fd, size_t n, off_t at) { return __read_chk(fd, buffer, n, SIZE); }
static ssize_t by_pread(int fd, size_t n, off_t at) { return pread(fd, buffer, n, at); }
static ssize_t by_pread64(int fd, size_t n, off_t at) { return pread64(fd, buffer, n, at); }
static ssize_t by_pread_chk(int fd, size_t n, off_t at) { return __pread_chk(fd, buffer, n, at, SIZE); }
static ssize_t by_pread64_chk(int fd, size_t n, off_t at) { return __pread64_chk(fd, buffer, n, at, SIZE); }

static ssize_t by_parts(int fd, size_t n, off_t at, int how) {
        struct iovec parts[] = {
                { buffer, n / 2 },
                { buffer + SIZE, n - n / 2 },
        };

        return how == 0 ? readv(fd, parts, 2) :
               how == 1 ? preadv(fd, parts, 2, at) :
               how == 2 ? preadv64(fd, parts, 2, at) :
               how == 3 ? preadv2(fd, parts, 2, at, 0) :
               how == 4 ? preadv64v2(fd, parts, 2, at, 0) :
                          preadv2(fd, parts, 2, -1, 0);
}

static ssize_t by_readv(int fd, size_t n, off_t at) { return by_parts(fd, n, at, 0); }
static ssize_t by_preadv(int fd, size_t n, off_t at) { return by_parts(fd, n, at, 1); }
static ssize_t by_preadv64(int fd, size_t n, off_t at) { return by_parts(fd, n, at, 2); }
static ssize_t by_preadv2(int fd, size_t n, off_t at) { return by_parts(fd, n, at, 3); }
static ssize_t by_preadv64v2(int fd, size_t n, off_t at) { return by_parts(fd, n, at, 4); }
static ssize_t by_preadv2_here(int fd, size_t n, off_t at) { return by_parts(fd, n, at, 5); }

static int out = -1;

static ssize_t by_sendfile(int fd, size_t n, off_t at) { return sendfile(out, fd, NULL, n); }
static ssize_t by_sendfile_at(int fd, size_t n, off_t at) { return sendfile(out, fd, &at, n); }
static ssize_t by_sendfile64_at(int fd, size_t n, off_t at) { return sendfile64(out, fd, &at, n); }
static ssize_t by_copy(int fd, size_t n, off_t at) { return copy_file_range(fd, NULL, out, NULL, n, 0); }
static ssize_t by_copy_at(int fd, size_t n, off_t at) { return copy_file_range(fd, &at, out, NULL, n, 0); }

static ssize_t (*const readers[])(int, size_t, off_t) = {
        by_read, by_read_chk, by_pread, by_pread64, by_pread_chk, by_pread64_chk, by_readv, by_preadv,
        by_preadv64, by_preadv2, by_preadv64v2, by_preadv2_here, by_sendfile, by_sendfile_at,
        by_sendfile64_at, by_copy, by_copy_at,
};

/* Whole pages as soon as it is a block, the rest at the end of the file, in whatever pieces it was read. */
static void test_read(void **state) {
        static const size_t pieces[] = { 8 * KIB, 10000, 33, 128 * KIB };

        for (size_t i = 0; i < ELEMENTSOF(readers); i++)
                for (size_t k = 0; k < ELEMENTSOF(pieces); k++) {
                        int64_t at = 0;
                        ssize_t n;
                        int fd;

                        forget();
                        out = open("copy", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
                        fd = open("done", O_RDONLY | O_CLOEXEC);
                        assert_int_equal(n_said, 0);
                        while (errno = 4711, (n = readers[i](fd, pieces[k], at)) > 0)
                                at += n;
                        assert_int_equal(n, 0);
                        assert_int_equal(errno, 4711);
                        assert_int_equal(at, SIZE);
                        assert_true(n_said >= 2 && n_said <= 3);
                        at = 0;
                        for (int j = 0; j < n_said; j++) {
                                assert_given_back(j, at, at + said[j].len);
                                assert_int_equal(said[j].fd, fd);
                                assert_int_equal(said[j].len % 4096, 0);
                                at += said[j].len;
                        }
                        assert_int_equal(at, SIZE);
                        assert_int_equal(close(fd), 0);
                        assert_int_equal(close(out), 0);
                        assert_true(n_said <= 3); /* it was all there is */
                }
}

/* Positions that the kernel cannot write to are not read. */
static void test_wrong_position(void **state) {
        int fd = open("done", O_RDONLY | O_CLOEXEC), to = creat("copy", 0600);

        assert_int_equal(sendfile(to, fd, (off_t *) 8, 10), -1);
        assert_int_equal(sendfile64(to, fd, (off64_t *) 8, 10), -1);
        assert_int_equal(copy_file_range(fd, (off64_t *) 8, to, NULL, 10, 0), -1);
        assert_int_equal(errno, EFAULT);
        assert_int_equal(close(fd) | close(to), 0);
}

/* Here and there. */
static void test_random(void **state) {
        int fd;

        forget();
        fd = open("done", O_RDONLY | O_CLOEXEC);
        assert_int_equal(pread(fd, buffer, 100, 40000), 100);
        assert_int_equal(pread(fd, buffer, 100, 40100), 100);
        assert_int_equal(n_said, 0);
        assert_int_equal(pread(fd, buffer, 100, 4096), 100);
        assert_int_equal(n_said, 1);
        assert_given_back(0, 40000, 40200);
        assert_int_equal(lseek(fd, 80 * KIB, SEEK_SET), 80 * KIB);
        assert_int_equal(read(fd, buffer, 64 * KIB), 64 * KIB);
        assert_given_back(1, 4096, 4196);
        assert_given_back(2, 80 * KIB, 144 * KIB);
        /* What was used once more is given back once more. */
        assert_int_equal(pread(fd, buffer, 8 * KIB, 136 * KIB), 8 * KIB);
        assert_int_equal(close(fd), 0);
        assert_given_back(3, 136 * KIB, 144 * KIB);
        assert_int_equal(n_said, 4);
}

/* What the library of stdio has read is more than what it was asked for. */
static void test_streams(void **state) {
        FILE *f;

        for (int how = 0; how < 5; how++) {
                int64_t at = 0;

                f = how & 1 ? fopen("done", "re") : fopen64("done", "re");
                forget();
                while ((how < 2  ? fread(buffer, 100, 10, f) :
                        how == 2 ? fread_unlocked(buffer, 1, 100 * KIB, f) :
                        how == 3 ? __fread_chk(buffer, sizeof(buffer), 3, 5000, f) :
                                   __fread_unlocked_chk(buffer, sizeof(buffer), 7, 7, f)) > 0)
                        ;
                assert_true(n_said >= 2);
                assert_int_equal(fclose(f), 0);
                for (int j = 0; j < n_said; j++) {
                        assert_given_back(j, at, at + said[j].len);
                        at += said[j].len;
                }
                assert_int_equal(at, SIZE);
        }

        /* What a program knows the size of it need not have read. What is written will perhaps be read. */
        forget();
        f = fopen("done", "re");
        assert_int_equal(fseek(f, 0, SEEK_END), 0);
        assert_int_equal(fclose(f), 0);
        f = fopen("new.done", "we");
        assert_int_equal(fwrite(buffer, 1, SIZE, f), SIZE);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(n_said, 0);

        /* While the buffer has what is wanted nothing is asked. After a jump it is. */
        f = fopen("done", "re");
        n_seeks = 0;
        while (fread(buffer, 4, 1, f) > 0)
                ;
        assert_in_range(n_seeks, 3, SIZE / 4096 + 2);
        assert_int_equal(fseek(f, 50 * KIB, SEEK_SET), 0);
        assert_int_equal(fread(buffer, 4, 1, f), 1);
        assert_int_equal(fclose(f), 0);
        assert_in_range(50 * KIB, said[n_said - 1].start, said[n_said - 1].start + said[n_said - 1].len);

        f = fmemopen(buffer, 1, "r");
        errno = 4711;
        assert_int_equal(fclose(f), 0); /* it has no descriptor */
        assert_int_equal(errno, 4711);
}

/* ---- descriptors */

static void test_descriptors(void **state) {
        int fd, copy, pair[2];

        /* A copy is the same file. */
        forget();
        fd = open("done", O_RDONLY | O_CLOEXEC);
        copy = dup(fd);
        assert_int_equal(close(fd), 0);
        assert_int_equal(read(copy, buffer, 64 * KIB), 64 * KIB);
        assert_int_equal(n_said, 1);
        assert_int_equal(dup2(copy, 100), 100);
        assert_int_equal(dup3(copy, 101, O_CLOEXEC), 101);
        assert_int_equal(pread(100, buffer, 4 * KIB, 0), 4 * KIB);
        assert_int_equal(pread(101, buffer, 4 * KIB, 4 * KIB), 4 * KIB);
        assert_int_equal(dup2(copy, copy), copy);
        assert_int_equal(pread(copy, buffer, 4 * KIB, 8 * KIB), 4 * KIB);

        /* A number that is used again is another one: what was read comes first. */
        fd = open("other", O_RDONLY | O_CLOEXEC);
        assert_int_equal(dup2(fd, 100), 100);
        assert_given_back(1, 0, 4 * KIB);
        assert_int_equal(said[1].fd, 100);
        assert_int_equal(dup3(fd, 101, O_CLOEXEC), 101);
        assert_given_back(2, 4 * KIB, 8 * KIB);
        assert_int_equal(close(copy), 0);
        assert_given_back(3, 8 * KIB, 12 * KIB);
        assert_int_equal(read(100, buffer, SIZE), SIZE);
        assert_int_equal(close(100), 0);
        assert_int_equal(close(101), 0);
        assert_int_equal(close(fd), 0);
        assert_int_equal(n_said, 4);

        /* Also if nobody has seen its end, nor where the other begins. */
        fd = open("done", O_RDONLY | O_CLOEXEC);
        copy = open("other", O_RDONLY | O_CLOEXEC);
        assert_int_equal(syscall(SYS_close, fd), 0);
        assert_int_equal(fcntl(copy, F_DUPFD_CLOEXEC, fd), fd);
        assert_int_equal(dup2(fd, 100), 100);
        assert_int_equal(read(fd, buffer, SIZE), SIZE);
        assert_int_equal(pread(100, buffer, SIZE, 0), SIZE);
        assert_int_equal(close(fd) | close(100), 0);
        fd = open("done", O_RDONLY | O_CLOEXEC);
        assert_int_equal(syscall(SYS_close, fd), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(pair[0], fd);
        assert_int_equal(write(pair[1], "x", 1), 1);
        errno = 4711;
        assert_int_equal(read(fd, buffer, 1), 1);
        assert_int_equal(errno, 4711);
        assert_int_equal(close(pair[0]) | close(pair[1]), 0);
        assert_int_equal(n_said, 4);

        /* It stays what it is if nothing came in its place. */
        fd = open("done", O_RDONLY | O_CLOEXEC);
        assert_int_equal(dup2(1000, fd), -1);
        assert_int_equal(dup3(1000, fd, 0), -1);
        assert_int_equal(errno, EBADF);
        assert_int_equal(read(fd, buffer, 64 * KIB), 64 * KIB);
        assert_given_back(4, 0, 64 * KIB);
        assert_int_equal(close(fd) | close(copy), 0);
        assert_int_equal(n_said, 5);

        errno = 0;
        assert_int_equal(close(-1), -1);
        assert_int_equal(errno, EBADF);
        errno = 0;
        assert_int_equal(read(1 << 30, buffer, 1), -1);
        assert_int_equal(errno, EBADF);
}

/* Then it need not be said for each block. */
static void test_nobody_listens(void **state) {
        int fd;

        forget();
        fd = open("done", O_RDONLY | O_CLOEXEC);
        error = EOPNOTSUPP;
        errno = 4711;
        assert_int_equal(read(fd, buffer, 64 * KIB), 64 * KIB);
        assert_int_equal(errno, 4711);
        error = 0;
        assert_int_equal(read(fd, buffer, 64 * KIB), 64 * KIB);
        assert_int_equal(close(fd), 0);
        assert_int_equal(n_said, 0);
}

/* ---- who calls */

static void *read_all(void *p) {
        int fd = *(int *) p;
        static _Thread_local char mine[4096];

        for (int64_t at = 0; at < SIZE; at += 4096)
                if (pread(fd, mine, sizeof(mine), at) != sizeof(mine))
                        return (void *) 1;
        return NULL;
}

static int signal_fd;

static void on_signal(int signal) {
        char c;

        if (pread(signal_fd, &c, 1, 5) != 1 || close(open("done", O_RDONLY | O_CLOEXEC)) < 0)
                abort();
}

/* Threads, signal handlers and children at the same time. */
static void test_threads(void **state) {
        pthread_t threads[4];
        void *result;
        int fd, status;

        forget();
        fd = signal_fd = open("done", O_RDONLY | O_CLOEXEC);
        assert_true(signal(SIGUSR1, on_signal) != SIG_ERR);
        assert_null(read_all(&fd));
        for (int round = 0; round < 50; round++) {
                pid_t child;

                for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                        assert_int_equal(pthread_create(threads + i, NULL, read_all, &fd), 0);
                child = fork();
                if (child == 0)
                        _exit(read_all(&fd) || close(fd) < 0 || close(open("done", O_RDONLY)) < 0);
                for (int i = 0; i < 20; i++)
                        assert_int_equal(raise(SIGUSR1), 0);
                child = vfork();
                if (child == 0) {
                        (void) close(fd);
                        _exit(0);
                }
                for (size_t i = 0; i < ELEMENTSOF(threads); i++) {
                        assert_int_equal(pthread_join(threads[i], &result), 0);
                        assert_null(result);
                }
                while (wait(&status) > 0)
                        assert_int_equal(status, 0);
        }
        assert_int_equal(close(fd), 0);
        assert_true(n_said > 0);
        for (int i = 0; i < n_said; i++) {
                assert_int_equal(said[i].what, SET_TEMPORARY);
                assert_true(said[i].start >= 0 && said[i].len > 0 && said[i].start + said[i].len <= SIZE);
        }
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open),
                cmocka_unit_test(test_create),
                cmocka_unit_test(test_temporary),
                cmocka_unit_test(test_no_files),
                cmocka_unit_test(test_read),
                cmocka_unit_test(test_wrong_position),
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_streams),
                cmocka_unit_test(test_descriptors),
                cmocka_unit_test(test_nobody_listens),
                cmocka_unit_test(test_threads),
        };

        /* It is read once, in the beginning. */
        if (!getenv(RUN_ENVIRONMENT)) {
                (void) setenv(RUN_ENVIRONMENT,
                              "2 level\n2 *.level\n-1 sort-*\n2 sort-*.level\ndone done\ndone *.done", true);
                (void) execv("/proc/self/exe", argv);
                return EXIT_FAILURE;
        }

        return cmocka_run_group_tests_name("run-preload", tests, setup, teardown);
}
