// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server of FUSE, with as much of its protocol as reading one file takes.
 * What it is for is the way in which it answers a read: with pages that the
 * kernel may move into the page cache in place of those it had put there.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <linux/fuse.h>

#include "fuse.h"

/* any directory will do: nobody else sees it */
#define MOUNT_POINT	"/mnt"
#define FILE_NODE	2
#define FILE_NAME	"f"
/* pages of one read: they have to fit into a pipe, behind the header */
#define MAX_PAGES	32
#define REQUEST_SIZE	(64 * 1024)

struct server {
	int			dev;
	int			source;
	enum fuse_pages		pages;
	size_t			size;
	int			pipe[2];
};

struct request {
	struct fuse_in_header	header;
	union {
		struct fuse_init_in	init;
		struct fuse_read_in	read;
		char			bytes[REQUEST_SIZE - sizeof(struct fuse_in_header)];
	};
};

static bool answer(struct server *s, uint64_t unique, int error, const void *data, size_t size)
{
	struct {
		struct fuse_out_header	header;
		char			data[512];
	} out = {
		.header = { .len = sizeof(out.header) + size, .error = error, .unique = unique },
	};

	if (size)
		memcpy(out.data, data, size);
	/* ENOENT: the request was interrupted, and nobody waits */
	return write(s->dev, &out, out.header.len) == out.header.len || errno == ENOENT;
}

static struct fuse_attr attributes(struct server *s, uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr) {
		.ino = node, .nlink = 1, .blksize = PAGE,
		.mode = is_file ? S_IFREG | 0644 : S_IFDIR | 0755,
		.size = is_file ? s->size : 0,
		.blocks = is_file ? s->size / 512 : 0,
	};
}

/* Fill the pipe with @size bytes of the file from @pos on. */
static bool fill_pipe(struct server *s, loff_t pos, size_t size)
{
	char page[PAGE];
	ssize_t n;

	for (; size; size -= n) {
		if (s->pages == STOLEN)
			n = splice(s->source, &pos, s->pipe[1], NULL, size, 0);
		else if (pread(s->source, page, PAGE, pos) == PAGE)
			n = write(s->pipe[1], page, PAGE);
		else
			n = -1;
		if (n <= 0)
			return false;
		if (s->pages == FRESH)
			pos += n;
	}
	return true;
}

static bool answer_read(struct server *s, const struct request *request)
{
	size_t size = request->read.size;
	struct fuse_out_header header = { .unique = request->header.unique };
	static char *scratch;

	if (request->read.offset + size > s->size)
		size = s->size - request->read.offset;
	header.len = sizeof(header) + size;
	if (write(s->pipe[1], &header, sizeof(header)) != sizeof(header) ||
	    !fill_pipe(s, request->read.offset, size))
		return false;

	/* what is on its way to an LRU list cannot be stolen: this empties the per-CPU batches */
	if (!scratch)
		scratch = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	scratch[0] = 1;
	madvise(scratch, PAGE, MADV_DONTNEED);
	return splice(s->pipe[0], NULL, s->dev, NULL, header.len, SPLICE_F_MOVE) == header.len;
}

static bool serve(struct server *s, const struct request *request)
{
	uint64_t unique = request->header.unique, node = request->header.nodeid;
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = MAX_PAGES * PAGE, .max_write = PAGE, .time_gran = 1,
		.flags = FUSE_MAX_PAGES, .max_pages = MAX_PAGES,
	};
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE, .entry_valid = 3600, .attr_valid = 3600,
		.attr = attributes(s, FILE_NODE),
	};
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attributes(s, node) };
	struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (request->header.opcode) {
	case FUSE_INIT:
		return answer(s, unique, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		if (strcmp(request->bytes, FILE_NAME))
			return answer(s, unique, -ENOENT, NULL, 0);
		return answer(s, unique, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return answer(s, unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return answer(s, unique, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return answer_read(s, request);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return answer(s, unique, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return true;
	default:
		return answer(s, unique, -ENOSYS, NULL, 0);
	}
}

/* Until the file system is unmounted. */
static int run(struct server *s)
{
	static struct request request;
	ssize_t n;

	for (;;) {
		n = read(s->dev, &request, sizeof(request));
		if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(request.header))
			return errno != ENODEV;
		if (!serve(s, &request)) {
			diag("FUSE server: request %u: %s", request.header.opcode, strerror(errno));
			return 1;
		}
	}
}

struct file *fuse_mount(const struct file *source, enum fuse_pages pages)
{
	struct server s = {
		.dev = open("/dev/fuse", O_RDWR | O_CLOEXEC),
		.source = open(source->path, O_RDONLY | O_CLOEXEC),
		.pages = pages,
		.size = source->nr_pages * PAGE,
	};
	struct file *file = malloc(sizeof(*file));
	char options[128];

	REQUIRE(s.dev >= 0);
	REQUIRE(s.source >= 0 && file && !pipe(s.pipe));
	REQUIRE(fcntl(s.pipe[1], F_SETPIPE_SZ, 2 * MAX_PAGES * PAGE) > 0);
	REQUIRE(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", s.dev);
	REQUIRE(!mount("cachebpf-selftest", MOUNT_POINT, "fuse", MS_NOSUID | MS_NODEV, options));

	fflush(stdout);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(run(&s));
	}
	close(s.dev);
	*file = *source;
	snprintf(file->path, sizeof(file->path), MOUNT_POINT "/" FILE_NAME);
	return file;
}
