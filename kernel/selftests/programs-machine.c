// SPDX-License-Identifier: GPL-2.0-only
/* Operations on the machine: the LRU, processors, memory. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "programs.h"

#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define CPU1		"/sys/devices/system/cpu/cpu1/online"
#define FAIR_SERVER1	"/sys/kernel/debug/sched/fair_server/cpu1/runtime"
#define MEMORY		"/sys/devices/system/memory"
#define NODE1		"/sys/devices/system/node/node1"

/* <numaif.h> belongs to a library that is not needed for more than this */
enum { MPOL_MF_MOVE_ALL = 4 };

int op_compact(const struct op *op)
{
	(void)op;
	return write_text("/proc/sys/vm/compact_memory", "1");
}

int op_drop(const struct op *op)
{
	char text[2] = { '1' + op->args[0] % 3 };

	return write_text("/proc/sys/vm/drop_caches", text);
}

static void each_limit(const char *file, bool lifted)
{
	char text[32];
	unsigned int i;

	for (i = 0; i < NR_CGROUPS; i++) {
		if (!shared->max[i])
			continue;
		if (lifted)
			snprintf(text, sizeof(text), "max");
		else
			snprintf(text, sizeof(text), "%uM", shared->max[i]);
		cg_write(cg_dir(i), file, text);
	}
}

int set_lru(bool lru_gen)
{
	return access(LRU_GEN, W_OK) ? 0 : write_text(LRU_GEN, lru_gen ? "7" : "0");
}

/*
 * Linux 6.12 says which LRU there is before it has moved the folios over: who
 * reclaims meanwhile looks at empty lists, and kills.  So nobody has a limit
 * meanwhile that he is killed for; see tests/vm/storm.sh.
 */
int op_lru(const struct op *op)
{
	int err;

	if (access(LRU_GEN, W_OK))
		return -EOPNOTSUPP;
	lock_machine();
	each_limit("memory.high", false);
	each_limit("memory.max", true);
	err = set_lru(op->args[0]);
	each_limit("memory.max", false);
	each_limit("memory.high", true);
	unlock_machine();
	return err;
}

/*
 * Linux 6.12 counts the fair server of a processor among its tasks, and looks
 * whether there are any left before it stops the server.  On a slow host the
 * server's timer comes just then, and the kernel warns "Dying CPU not properly
 * vacated".  Without a share of the time there is no server.
 */
void machine_prepare(void)
{
	if (!access(FAIR_SERVER1, W_OK))
		write_text(FAIR_SERVER1, "0");
}

int op_cpu(const struct op *op)
{
	int err;

	lock_machine();
	err = write_text(CPU1, "0");
	if (!err) {
		usleep(op->args[0] * 1000);
		err = write_text(CPU1, "1");
	}
	unlock_machine();
	return err;
}

/* The number of the block of memory that is @nr from the end; -1 without such a thing. */
static int memory_block(unsigned int nr)
{
	DIR *dir = opendir(MEMORY);
	struct dirent *entry;
	int last = -1, block;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "memory%d", &block) == 1 && block > last)
			last = block;
	if (dir)
		closedir(dir);
	return last < (int)nr ? -1 : last - (int)nr;
}

static int set_block(int block, const char *state)
{
	char path[128];

	snprintf(path, sizeof(path), MEMORY "/memory%d/state", block);
	return write_text(path, state);
}

int op_memory(const struct op *op)
{
	int block = memory_block(op->args[0]), err;

	if (block < 0)
		return -EOPNOTSUPP;
	lock_machine();
	err = set_block(block, "offline");
	if (!err) {
		usleep(op->args[1] * 1000);
		err = set_block(block, "online");
	}
	unlock_machine();
	return err;
}

/* What is mapped moves to the node that the last argument says. */
int op_node(const struct op *op)
{
	static void *pages[FILE_PAGES];
	static int nodes[FILE_PAGES], status[FILE_PAGES];
	size_t i, nr = op->args[2];
	volatile char *map;
	int fd, err = 0;

	if (access(NODE1, F_OK))
		return -EOPNOTSUPP;
	fd = open(model_path(op->args[0]), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	map = mmap(NULL, FILE_MAX, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -errno;
	for (i = 0; i < nr; i++) {
		pages[i] = (char *)map + (op->args[1] / PAGE + i) % FILE_PAGES * PAGE;
		nodes[i] = op->args[3];
	}
	if (syscall(SYS_move_pages, 0, nr, pages, nodes, status, MPOL_MF_MOVE_ALL) < 0)
		err = -errno;
	munmap((void *)map, FILE_MAX);
	return err;
}

int op_sleep(const struct op *op)
{
	usleep(op->args[0] * 1000);
	return 0;
}

/* What a worker that ended in the middle may have left. */
void machine_restore(void)
{
	unsigned int i;

	write_text(CPU1, "1");
	for (i = 0; i < 4; i++)
		if (memory_block(i) >= 0)
			set_block(memory_block(i), "online");
}
