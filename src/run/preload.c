/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What "cachectl run" has programs load in front of the C library: they tell policies of the files that
 * they open, and of what they have read, without knowing it. Each function does what that of the same name
 * does which comes next, and leaves errno as that has left it.
 *
 * A program may call these in signal handlers, between vfork() and exec(), in the constructor of a library,
 * or in its own malloc(): nothing here takes memory or locks. Children of vfork() write to what is their
 * parent's, which then knows less of its own files. */

/* Both open() and open64() are defined here, as functions, so they must be two names without a check. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "done.h"
#include "lib/cachebpf.h"
#include "rules.h"

/* as well a macro */
#undef fread_unlocked

#define _public_ __attribute__((__visibility__("default")))

/* What programs call that were compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buffer, size_t n, size_t size);
ssize_t __pread_chk(int fd, void *buffer, size_t n, off_t at, size_t size);
ssize_t __pread64_chk(int fd, void *buffer, size_t n, off64_t at, size_t size);
size_t __fread_chk(void *buffer, size_t buffer_size, size_t size, size_t n, FILE *f);
size_t __fread_unlocked_chk(void *buffer, size_t buffer_size, size_t size, size_t n, FILE *f);

/* ---- what comes next */

#define FUNCTIONS(_)                                                                                        \
        _(open) _(open64) _(__open_2) _(__open64_2) _(openat) _(openat64) _(__openat_2) _(__openat64_2)     \
        _(creat) _(creat64) _(fopen) _(fopen64) _(freopen) _(freopen64)                                     \
        _(mkstemp) _(mkstemp64) _(mkostemp) _(mkostemp64)                                                   \
        _(mkstemps) _(mkstemps64) _(mkostemps) _(mkostemps64)                                               \
        _(read) _(__read_chk) _(pread) _(pread64) _(__pread_chk) _(__pread64_chk)                           \
        _(readv) _(preadv) _(preadv64) _(preadv2) _(preadv64v2)                                             \
        _(fread) _(fread_unlocked) _(__fread_chk) _(__fread_unlocked_chk)                                   \
        _(sendfile) _(sendfile64) _(copy_file_range)                                                        \
        _(close) _(fclose) _(dup) _(dup2) _(dup3)

#define NUMBER(name) NUMBER_##name,
#define STRING(name) #name,
enum { FUNCTIONS(NUMBER) N_FUNCTIONS };
static const char *const names[] = { FUNCTIONS(STRING) };
static void *_Atomic found[N_FUNCTIONS];

static void *next(int number) {
        void *function = atomic_load_explicit(found + number, memory_order_relaxed);

        if (!function) {
                function = dlsym(RTLD_NEXT, names[number]);
                atomic_store_explicit(found + number, function, memory_order_relaxed);
        }
        return function;
}

#define NEXT(name) ((typeof(&name)) next(NUMBER_##name))

/* ---- files that are opened */

static RunRules rules;
static enum { NEW, READING, READY } _Atomic rules_state = NEW;

/* NULL if it is not the time yet. */
static const RunRules *get_rules(void) {
        typeof(rules_state) expected = NEW;
        const char *text;

        if (atomic_load_explicit(&rules_state, memory_order_acquire) == READY)
                return &rules;
        if (!atomic_compare_exchange_strong(&rules_state, &expected, READING))
                return NULL;

        text = getenv(RUN_ENVIRONMENT);
        (void) run_rules_parse(&rules, text ?: "");
        atomic_store_explicit(&rules_state, READY, memory_order_release);
        return &rules;
}

__attribute__((__constructor__)) static void prepare(void) {
        for (int i = 0; i < N_FUNCTIONS; i++)
                (void) next(i);
        (void) get_rules();
}

static bool has_pages(int fd, DoneFile *ret) {
        struct stat64 st;

        if (fstat64(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
                return false;

        *ret = (DoneFile) { st.st_dev, st.st_ino };
        return true;
}

static int opened(int fd, const char *path, int flags) {
        const RunRules *r = get_rules();
        RunMatch match = {};
        DoneFile file = {};
        int saved = errno, priority;

        if (fd < 0)
                return fd;

        if (r && path && !(flags & (O_DIRECTORY | O_PATH))) {
                match = run_rules_match(r, path);
                if ((match.has_priority || match.done) && !has_pages(fd, &file))
                        match = (RunMatch) {};
        }

        /* To ask costs less than to say it again, of all that is cached of the file. */
        if (match.has_priority && cachebpf_get_priority(fd, &priority) >= 0 && priority != match.priority)
                (void) cachebpf_set_priority(fd, match.priority);
        done_follow(fd, match.done ? &file : NULL);

        errno = saved;
        return fd;
}

static FILE *stream_opened(FILE *f, const char *path) {
        if (f)
                (void) opened(fileno(f), path, 0);
        return f;
}

#define TAKE_MODE(mode, flags)                                                                              \
        do {                                                                                                \
                if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {                              \
                        va_list ap;                                                                         \
                        va_start(ap, flags);                                                                \
                        mode = va_arg(ap, mode_t);                                                          \
                        va_end(ap);                                                                         \
                }                                                                                           \
        } while (0)

#define OPEN(name)                                                                                          \
        _public_ int name(const char *path, int flags, ...) {                                               \
                mode_t mode = 0;                                                                            \
                TAKE_MODE(mode, flags);                                                                     \
                return opened(NEXT(name)(path, flags, mode), path, flags);                                  \
        }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                        \
        _public_ int name(int dir, const char *path, int flags, ...) {                                      \
                mode_t mode = 0;                                                                            \
                TAKE_MODE(mode, flags);                                                                     \
                return opened(NEXT(name)(dir, path, flags, mode), path, flags);                             \
        }
OPENAT(openat)
OPENAT(openat64)

#define OPEN_2(name)                                                                                        \
        _public_ int name(const char *path, int flags) {                                                    \
                return opened(NEXT(name)(path, flags), path, flags);                                        \
        }
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                                                      \
        _public_ int name(int dir, const char *path, int flags) {                                           \
                return opened(NEXT(name)(dir, path, flags), path, flags);                                   \
        }
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define CREAT(name)                                                                                         \
        _public_ int name(const char *path, mode_t mode) {                                                  \
                return opened(NEXT(name)(path, mode), path, 0);                                             \
        }
CREAT(creat)
CREAT(creat64)

#define FOPEN(name)                                                                                         \
        _public_ FILE *name(const char *path, const char *mode) {                                           \
                return stream_opened(NEXT(name)(path, mode), path);                                         \
        }
FOPEN(fopen)
FOPEN(fopen64)

static void stream_finish(FILE *f) {
        int saved = errno;

        if (f)
                done_finish(fileno(f));
        errno = saved;
}

#define FREOPEN(name)                                                                                       \
        _public_ FILE *name(const char *path, const char *mode, FILE *f) {                                  \
                stream_finish(f);                                                                           \
                return stream_opened(NEXT(name)(path, mode, f), path);                                      \
        }
FREOPEN(freopen)
FREOPEN(freopen64)

/* Files with a name of their own: the template becomes the path. */
#define TEMPORARY(name, declared, given)                                                                    \
        _public_ int name declared {                                                                        \
                return opened(NEXT(name) given, template, 0);                                               \
        }
TEMPORARY(mkstemp, (char *template), (template))
TEMPORARY(mkstemp64, (char *template), (template))
TEMPORARY(mkostemp, (char *template, int flags), (template, flags))
TEMPORARY(mkostemp64, (char *template, int flags), (template, flags))
TEMPORARY(mkstemps, (char *template, int suffix), (template, suffix))
TEMPORARY(mkstemps64, (char *template, int suffix), (template, suffix))
TEMPORARY(mkostemps, (char *template, int suffix, int flags), (template, suffix, flags))
TEMPORARY(mkostemps64, (char *template, int suffix, int flags), (template, suffix, flags))

/* ---- what is read */

/* By the position of the descriptor, which other threads may have moved: then it is less that is given
 * back. */
static void has_read_here(int fd, int64_t n, int64_t slack) {
        int saved = errno;
        int64_t end = lseek64(fd, 0, SEEK_CUR);

        if (end >= n)
                done_has_read(fd, end, n, slack);
        else
                done_follow(fd, NULL); /* it is something else by now, which has no positions */
        errno = saved;
}

static ssize_t has_read(int fd, ssize_t n) {
        if (n >= 0 && done_file(fd))
                has_read_here(fd, n, 0);
        return n;
}

static ssize_t has_read_at(int fd, int64_t at, ssize_t n) {
        if (n >= 0 && at >= 0 && done_file(fd))
                done_has_read(fd, at + n, n, 0);
        return at >= 0 ? n : has_read(fd, n);
}

static size_t stream_has_read(FILE *f, size_t size, size_t n) {
        int saved = errno, fd = fileno(f);

        errno = saved;
        if (done_file(fd) && !done_from_buffer(fd, f->_IO_read_ptr, size * n))
                has_read_here(fd, (int64_t) (size * n), BUFSIZ);
        return n;
}

#define READ(name, declared, given)                                                                         \
        _public_ ssize_t name declared {                                                                    \
                return has_read(fd, NEXT(name) given);                                                      \
        }
READ(read, (int fd, void *buffer, size_t n), (fd, buffer, n))
READ(__read_chk, (int fd, void *buffer, size_t n, size_t size), (fd, buffer, n, size))
READ(readv, (int fd, const struct iovec *parts, int n), (fd, parts, n))

#define READ_AT(name, declared, given)                                                                      \
        _public_ ssize_t name declared {                                                                    \
                return has_read_at(fd, at, NEXT(name) given);                                               \
        }
READ_AT(pread, (int fd, void *buffer, size_t n, off_t at), (fd, buffer, n, at))
READ_AT(pread64, (int fd, void *buffer, size_t n, off64_t at), (fd, buffer, n, at))
READ_AT(__pread_chk, (int fd, void *buffer, size_t n, off_t at, size_t size), (fd, buffer, n, at, size))
READ_AT(__pread64_chk, (int fd, void *buffer, size_t n, off64_t at, size_t size), (fd, buffer, n, at, size))
READ_AT(preadv, (int fd, const struct iovec *parts, int n, off_t at), (fd, parts, n, at))
READ_AT(preadv64, (int fd, const struct iovec *parts, int n, off64_t at), (fd, parts, n, at))
READ_AT(preadv2, (int fd, const struct iovec *parts, int n, off_t at, int flags), (fd, parts, n, at, flags))
READ_AT(preadv64v2, (int fd, const struct iovec *parts, int n, off64_t at, int flags),
        (fd, parts, n, at, flags))

#define FREAD(name, declared, given)                                                                        \
        _public_ size_t name declared {                                                                     \
                return stream_has_read(f, size, NEXT(name) given);                                          \
        }
FREAD(fread, (void *buffer, size_t size, size_t n, FILE *f), (buffer, size, n, f))
FREAD(fread_unlocked, (void *buffer, size_t size, size_t n, FILE *f), (buffer, size, n, f))
FREAD(__fread_chk, (void *buffer, size_t buffer_size, size_t size, size_t n, FILE *f),
      (buffer, buffer_size, size, n, f))
FREAD(__fread_unlocked_chk, (void *buffer, size_t buffer_size, size_t size, size_t n, FILE *f),
      (buffer, buffer_size, size, n, f))

/* Where nothing was read the kernel says whether there is a position at all. */
#define HAS_SENT(in, at, n)                                                                                 \
        ((at) ? has_read_at(in, (n) > 0 && done_file(in) ? *(at) - (n) : 0, n) : has_read(in, n))

#define SENDFILE(name, type)                                                                                \
        _public_ ssize_t name(int out, int in, type *at, size_t n) {                                        \
                ssize_t r = NEXT(name)(out, in, at, n);                                                     \
                return HAS_SENT(in, at, r);                                                                 \
        }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

_public_ ssize_t copy_file_range(int in, off64_t *at, int out, off64_t *to, size_t n, unsigned flags) {
        ssize_t r = NEXT(copy_file_range)(in, at, out, to, n, flags);

        return HAS_SENT(in, at, r);
}

/* ---- descriptors that end, and that become others */

_public_ int close(int fd) {
        done_finish(fd);
        return NEXT(close)(fd);
}

_public_ int fclose(FILE *f) {
        stream_finish(f);
        return NEXT(fclose)(f);
}

_public_ int dup(int fd) {
        int r = NEXT(dup)(fd);

        done_follow(r, done_file(fd));
        return r;
}

_public_ int dup2(int fd, int other) {
        done_finish(other);
        if (NEXT(dup2)(fd, other) < 0)
                return -1;
        done_follow(other, done_file(fd));
        return other;
}

_public_ int dup3(int fd, int other, int flags) {
        done_finish(other);
        if (NEXT(dup3)(fd, other, flags) < 0)
                return -1;
        done_follow(other, done_file(fd));
        return other;
}
