// SPDX-License-Identifier: GPL-2.0-only
/* Disks of memory (null_blk) that take their time, and have errors if they are to. */
#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>

#include "selftest.h"

#define CONFIGFS	"/sys/kernel/config"
#define DISKS		CONFIGFS "/nullb"
#define PREFIX		"selftest-"

static void configure(const char *name, const char *attribute, unsigned long value)
{
	char path[256], text[32];

	snprintf(path, sizeof(path), DISKS "/%s/%s", name, attribute);
	snprintf(text, sizeof(text), "%lu", value);
	REQUIRE(!write_text(path, text));
}

/* The path of a new disk of @mib MiB that answers after @us microseconds, full of zeroes. */
char *disk_new(const char *name, unsigned long mib, unsigned long us)
{
	char dir[256], full[64], *path;

	if (access(DISKS, F_OK))
		REQUIRE_EQ(mount("none", CONFIGFS, "configfs", 0, NULL), 0);
	snprintf(full, sizeof(full), PREFIX "%s", name);
	snprintf(dir, sizeof(dir), DISKS "/%s", full);
	REQUIRE_EQ(mkdir(dir, 0755), 0);
	configure(full, "size", mib);
	configure(full, "memory_backed", 1);
	/* by a timer, or at once */
	configure(full, "irqmode", us ? 2 : 0);
	configure(full, "completion_nsec", us * 1000);
	configure(full, "power", 1);

	REQUIRE(asprintf(&path, "/dev/%s", full) > 0);
	return path;
}

static void run(const char *program, const char *disk)
{
	char command[256];

	snprintf(command, sizeof(command), "%s %s >/dev/null", program, disk);
	REQUIRE_EQ(system(command), 0);
}

/*
 * Mount it with ext4, for this process and its children alone.  Returns where:
 * any directory will do, nobody else sees it.  With a journal a number of an
 * inode that was deleted is used again at once, without one after minutes.
 */
const char *disk_mount(const char *disk, bool journal)
{
	/* with a seed its UUID can be changed */
	run(journal ? "mkfs.ext4 -q -b 4096 -O metadata_csum_seed" : "mkfs.ext4 -q -b 4096 -O ^has_journal", disk);
	REQUIRE(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	REQUIRE(!mount(disk, "/mnt", "ext4", MS_NOATIME, NULL));
	return "/mnt";
}

/* Let it have errors, or none any more, in the @block of 4096 bytes. */
void disk_set_bad(const char *disk, unsigned long block, bool bad)
{
	char path[256], text[64];

	snprintf(path, sizeof(path), DISKS "/%s/badblocks", strrchr(disk, '/') + 1);
	snprintf(text, sizeof(text), "%c%lu-%lu", bad ? '+' : '-', block * 8, block * 8 + 7);
	REQUIRE_EQ(write_text(path, text), 0);
}

/* Until the test is over. */
void disk_swap_on(const char *disk)
{
	run("mkswap -q", disk);
	REQUIRE(!swapon(disk, 0));
}

/* Take away what tests have left. */
void disks_cleanup(void)
{
	DIR *dir = opendir(DISKS);
	struct dirent *entry;
	char path[512];

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		swapoff(path);
		snprintf(path, sizeof(path), DISKS "/%s/power", entry->d_name);
		write_text(path, "0");
		snprintf(path, sizeof(path), DISKS "/%s", entry->d_name);
		rmdir(path);
	}
	if (dir)
		closedir(dir);
}
