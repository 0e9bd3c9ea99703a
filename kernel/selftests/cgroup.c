// SPDX-License-Identifier: GPL-2.0-only
/* Control groups below a scratch one, their files, and processes in them. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "selftest.h"

#define CGROUPS	"/sys/fs/cgroup"

const char *scratch_cgroup = CGROUPS "/cachebpf-selftest";

int write_text(const char *path, const char *text)
{
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* NULL if it cannot be read; never freed */
char *read_text(const char *path)
{
	size_t size = 65536, len = 0;
	char *text;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = malloc(size);
	while (text && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += n;
	close(fd);
	if (text)
		text[len] = '\0';
	return text;
}

/* The value of a line "@key value", NULL without such a line. */
char *flat_key(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && *text) {
		if (!strncmp(text, key, len) && text[len] == ' ')
			return strndup(text + len + 1, strcspn(text + len + 1, "\n"));
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

static long long number(const char *text)
{
	return text ? strtoll(text, NULL, 10) : -1;
}

static void cg_path(char *path, size_t size, const char *cg, const char *file)
{
	snprintf(path, size, "%s/%s", cg, file);
}

char *cg_read(const char *cg, const char *file)
{
	char path[512];

	cg_path(path, sizeof(path), cg, file);
	return read_text(path);
}

int cg_write(const char *cg, const char *file, const char *text)
{
	char path[512];

	cg_path(path, sizeof(path), cg, file);
	return write_text(path, text);
}

long long cg_key(const char *cg, const char *file, const char *key)
{
	/* may be late by itself; to read this one collects what all processors have counted */
	if (!strcmp(file, "memory.stat"))
		free(cg_read(cg, "cpu.stat"));
	return number(flat_key(cg_read(cg, file), key));
}

long long cg_number(const char *cg, const char *file)
{
	return number(cg_read(cg, file));
}

char *cg_policy(const char *cg, const char *key)
{
	return flat_key(cg_read(cg, "memory.cachebpf.policy"), key);
}

long long cg_stat(const char *cg, const char *key)
{
	return cg_key(cg, "memory.cachebpf.stat", key);
}

long long kernel_stat(const char *key)
{
	return number(flat_key(read_text("/sys/kernel/cachebpf/stat"), key));
}

/* 0, or -EAGAIN if less than that could be reclaimed */
int cg_reclaim(const char *cg, unsigned long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", bytes);
	return cg_write(cg, "memory.reclaim", text);
}

/* @parent: NULL for the scratch cgroup */
char *cg_new(const char *parent, const char *name)
{
	char *path;

	if (!parent)
		parent = scratch_cgroup;
	REQUIRE(asprintf(&path, "%s/%s", parent, name) > 0);
	/* may be enabled already, or not be available here: the test will tell */
	cg_write(parent, "cgroup.subtree_control", "+memory");
	REQUIRE(!mkdir(path, 0755));
	return path;
}

int cg_remove(const char *cg)
{
	/* processes that have ended may take a moment to be gone */
	return EVENTUALLY(!rmdir(cg) || errno != EBUSY) && access(cg, F_OK) ? 0 : -EBUSY;
}

uint64_t cg_id(const char *cg)
{
	struct stat st;

	REQUIRE(!stat(cg, &st));
	return st.st_ino;
}

const char *cg_name(const char *cg)
{
	return strrchr(cg, '/') + 1;
}

static void remove_below(const char *cg)
{
	struct dirent *entry;
	char path[512];
	DIR *dir;

	dir = opendir(cg);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		cg_path(path, sizeof(path), cg, entry->d_name);
		remove_below(path);
		cg_remove(path);
	}
	if (dir)
		closedir(dir);
}

void cg_cleanup(void)
{
	cg_write(scratch_cgroup, "cgroup.kill", "1");
	remove_below(scratch_cgroup);
}

int cg_setup(void)
{
	write_text(CGROUPS "/cgroup.subtree_control", "+memory");
	if (mkdir(scratch_cgroup, 0755) && errno != EEXIST)
		return -errno;
	cg_cleanup();
	return cg_write(scratch_cgroup, "cgroup.subtree_control", "+memory");
}

/* Run @fn in a new process in @cg; its result, 0 to 255, is what cg_wait() returns. */
pid_t cg_start(const char *cg, int (*fn)(void *arg), void *arg)
{
	int fd = open(cg, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {
		.flags		= CLONE_INTO_CGROUP,
		.exit_signal	= SIGCHLD,
		.cgroup		= fd,
	};
	pid_t pid;

	REQUIRE(fd >= 0);
	fflush(stdout);
	/* to move there would wait for all who read under RCU, such as a policy that takes its time */
	pid = syscall(SYS_clone3, &args, sizeof(args));
	REQUIRE(pid >= 0);
	if (pid) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(fn(arg));
}

/* Its result; -EINTR if a signal ended it. */
int cg_wait(pid_t pid)
{
	int status;

	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int cg_run(const char *cg, int (*fn)(void *arg), void *arg)
{
	return cg_wait(cg_start(cg, fn, arg));
}

#define LRU_GEN	"/sys/kernel/mm/lru_gen/enabled"

const char *lru_name(bool lru_gen)
{
	return lru_gen ? "mglru" : "classic";
}

/* Run @fn with the one implementation or the other, and leave everything as it was. */
void with_lru(bool lru_gen, void (*fn)(bool lru_gen))
{
	const char *was = read_text(LRU_GEN);

	if (!was) {
		if (!lru_gen)
			fn(false);
		return;
	}
	REQUIRE(!write_text(LRU_GEN, lru_gen ? "7" : "0"));
	fn(lru_gen);
	REQUIRE(!write_text(LRU_GEN, strtoul(was, NULL, 16) & 1 ? "7" : "0"));
}

void with_both_lrus(void (*fn)(bool lru_gen))
{
	with_lru(false, fn);
	with_lru(true, fn);
}
