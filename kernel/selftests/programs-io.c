// SPDX-License-Identifier: GPL-2.0-only
/* Operations on files. */
#include <fcntl.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "programs.h"

/* For short: what the arguments of most operations say. */
struct range {
	unsigned int	file;
	size_t		from, to;
};

static struct range range_of(const struct op *op)
{
	struct range r = { .file = op->args[0], .from = op->args[1] };

	r.to = r.from + op->args[2] * PAGE;
	if (r.to > FILE_MAX)
		r.to = FILE_MAX;
	return r;
}

static int open_file(unsigned int file, int flags)
{
	return open(model_path(file), flags | O_CLOEXEC);
}

/* It may be away for a moment, and memory may be short; nothing else may happen. */
static int failed(const struct op *op, const char *what)
{
	int err = errno;

	if (err != ENOENT && err != ENOMEM)
		wrong("operation %d, %s: %s: %s", (int)(op - program->ops),
		      op_kinds[op->kind].name, what, strerror(err));
	return -(err ?: EIO);
}

static int read_by(const struct op *op, size_t each)
{
	struct range r = range_of(op);
	unsigned char bytes[PAGE];
	struct look look;
	int fd, err = 0;
	ssize_t nr;
	size_t page;

	look_file(&look, r.file);
	fd = open_file(r.file, O_RDONLY);
	if (fd < 0)
		return failed(op, "open");
	for (page = r.from / PAGE; page < r.to / PAGE && !err; page++) {
		look_page(&look, page);
		nr = pread(fd, bytes, each, page * PAGE);
		if (nr < 0)
			err = failed(op, "read");
		else if (each == PAGE)
			look_compare(&look, page, bytes, nr);
	}
	close(fd);
	return err;
}

int op_read(const struct op *op)
{
	return read_by(op, PAGE);
}

/* The beginning of each page: rejected folios are not used to their end. */
int op_bytes(const struct op *op)
{
	return read_by(op, 1);
}

int op_splice(const struct op *op)
{
	struct range r = range_of(op);
	unsigned char bytes[PAGE];
	struct look look;
	int fd, ends[2], err = 0;
	loff_t pos;
	ssize_t nr;
	size_t page;

	if (pipe2(ends, O_CLOEXEC))
		return failed(op, "pipe");
	look_file(&look, r.file);
	fd = open_file(r.file, O_RDONLY);
	for (page = r.from / PAGE; fd >= 0 && page < r.to / PAGE && !err; page++) {
		look_page(&look, page);
		pos = page * PAGE;
		nr = splice(fd, &pos, ends[1], NULL, PAGE, 0);
		if (nr > 0)
			nr = read(ends[0], bytes, nr);
		if (nr < 0)
			err = failed(op, "splice");
		else
			look_compare(&look, page, bytes, nr);
	}
	if (fd < 0)
		err = failed(op, "open");
	else
		close(fd);
	close(ends[0]);
	close(ends[1]);
	return err;
}

static sigjmp_buf beyond_end;

static void on_sigbus(int sig)
{
	siglongjmp(beyond_end, sig);
}

/* A file may shrink while somebody has it mapped; then that is how he hears of it. */
static void expect_sigbus(bool on)
{
	struct sigaction action = { .sa_handler = on ? on_sigbus : SIG_DFL };

	sigaction(SIGBUS, &action, NULL);
}

/* Through a mapping; the last argument: without the pages around */
int op_touch(const struct op *op)
{
	struct range r = range_of(op);
	static unsigned char bytes[PAGE];
	static struct look look;
	static volatile size_t page;
	static void *map;
	static int fd;

	look_file(&look, r.file);
	fd = open_file(r.file, O_RDONLY);
	if (fd < 0)
		return failed(op, "open");
	map = mmap(NULL, FILE_MAX, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		close(fd);
		return failed(op, "mmap");
	}
	if (op->args[3])
		madvise(map, FILE_MAX, MADV_RANDOM);
	expect_sigbus(true);
	for (page = r.from / PAGE; page < r.to / PAGE; page++) {
		look_page(&look, page);
		if (look.size <= page * PAGE)
			break;
		if (sigsetjmp(beyond_end, 1)) {
			if (look_holds(&look, page))
				wrong("file%u page %zu: SIGBUS", r.file, page);
			break;
		}
		memcpy(bytes, (char *)map + page * PAGE, PAGE);
		look_compare(&look, page, bytes,
			     look.size - page * PAGE < PAGE ? look.size - page * PAGE : PAGE);
	}
	expect_sigbus(false);
	munmap(map, FILE_MAX);
	close(fd);
	return 0;
}

int op_write(const struct op *op)
{
	struct range r = range_of(op);
	size_t at, nr, lowest, size = shared->files[r.file].size;
	ssize_t n = 0;
	int fd;

	fd = open_file(r.file, O_WRONLY);
	if (fd < 0)
		return failed(op, "open");
	/* what is skipped behind the end becomes zero, as it is in the copy */
	lowest = r.to > size && size < r.from ? size : r.from;
	change_begin(r.file, lowest, r.to);
	model_fill(r.file, r.from, r.to, program->seed + (op - program->ops) * 1000);
	for (at = r.from; at < r.to; at += n) {
		nr = r.to - at < 16 * PAGE ? r.to - at : 16 * PAGE;
		n = pwrite(fd, shared->files[r.file].content + at, nr, at);
		if (n <= 0)
			break;
	}
	close(fd);
	if (n <= 0 && at < r.to) {
		wrong("operation %d: write: %s", (int)(op - program->ops), strerror(errno));
		return -EIO;
	}
	if (r.to > size)
		model_resize(r.file, r.to);
	change_end(r.file, lowest, r.to);
	return 0;
}

/* Through a mapping; as far as the file goes. */
int op_store(const struct op *op)
{
	struct range r = range_of(op);
	char *map;
	int fd;

	if (r.to > shared->files[r.file].size)
		r.to = shared->files[r.file].size;
	if (r.from >= r.to)
		return -EINVAL;
	fd = open_file(r.file, O_RDWR);
	if (fd < 0)
		return failed(op, "open");
	map = mmap(NULL, FILE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return failed(op, "mmap");
	change_begin(r.file, r.from, r.to);
	model_fill(r.file, r.from, r.to, program->seed + (op - program->ops) * 1000);
	memcpy(map + r.from, shared->files[r.file].content + r.from, r.to - r.from);
	change_end(r.file, r.from, r.to);
	munmap(map, FILE_MAX);
	return 0;
}

int op_truncate(const struct op *op)
{
	unsigned int file = op->args[0];
	size_t size = op->args[1], old = shared->files[file].size;
	size_t from = size < old ? size : old;

	change_begin(file, from, FILE_MAX);
	if (truncate(model_path(file), size))
		return failed(op, "truncate");
	model_resize(file, size);
	change_end(file, from, FILE_MAX);
	return 0;
}

int op_punch(const struct op *op)
{
	struct range r = range_of(op);
	int fd, err = 0;

	fd = open_file(r.file, O_RDWR);
	if (fd < 0)
		return failed(op, "open");
	change_begin(r.file, r.from, r.to);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r.from, r.to - r.from))
		err = failed(op, "punch");
	close(fd);
	if (err)
		return err;
	model_zero(r.file, r.from, r.to);
	change_end(r.file, r.from, r.to);
	return 0;
}

int op_fsync(const struct op *op)
{
	int err = 0, fd = open_file(op->args[0], O_RDONLY);

	if (fd < 0)
		return failed(op, "open");
	if (fsync(fd))
		err = failed(op, "fsync");
	close(fd);
	return err;
}

static int advise(const struct op *op, int advice)
{
	struct range r = range_of(op);
	int err, fd = open_file(r.file, O_RDONLY);

	if (fd < 0)
		return failed(op, "open");
	err = -posix_fadvise(fd, r.from, r.to - r.from, advice);
	close(fd);
	return err;
}

int op_dontneed(const struct op *op)
{
	return advise(op, POSIX_FADV_DONTNEED);
}

int op_willneed(const struct op *op)
{
	return advise(op, POSIX_FADV_WILLNEED);
}

/*
 * To the policy of this cgroup, if it listens; the last argument: what it is to
 * answer, 0: when it has looked at the pages.
 */
int op_advise(const struct op *op)
{
	struct range r = range_of(op);
	int said, fd = open_file(r.file, O_RDONLY), answer = op->args[3];

	if (fd < 0)
		return failed(op, "open");
	/* CACHEBPF_ADVICE_OWN */
	said = syscall(SYS_fadvise64, fd, r.from, r.to - r.from, 0x43420000 | answer);
	if (said < 0)
		said = -errno;
	close(fd);
	if (said != answer && said != -EOPNOTSUPP && (answer || said != -EAGAIN))
		wrong("operation %d: advise: %d in place of %d", (int)(op - program->ops), said,
		      answer);
	return said < 0 ? said : 0;
}

/* Gone, and another one there, as large as the argument says and empty. */
int op_recreate(const struct op *op)
{
	unsigned int file = op->args[0];
	uint32_t *generation = &shared->files[file].generation;
	int fd;

	__atomic_store_n(generation, *generation + 1, __ATOMIC_SEQ_CST);
	change_begin(file, 0, FILE_MAX);
	if (unlink(model_path(file)))
		return failed(op, "unlink");
	fd = open(model_path(file), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, op->args[1]))
		return failed(op, "create");
	close(fd);
	model_resize(file, 0);
	model_resize(file, op->args[1]);
	model_zero(file, 0, FILE_MAX);
	change_end(file, 0, FILE_MAX);
	__atomic_store_n(generation, *generation + 1, __ATOMIC_SEQ_CST);
	return 0;
}
