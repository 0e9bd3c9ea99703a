// SPDX-License-Identifier: GPL-2.0-only
/* Disks of memory (null_blk) that take their time. */
#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>

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

/* The path of a new disk of @mib MiB that answers after @us microseconds; it is full of zeroes. */
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
	/* by a timer */
	configure(full, "irqmode", 2);
	configure(full, "completion_nsec", us * 1000);
	configure(full, "power", 1);

	REQUIRE(asprintf(&path, "/dev/%s", full) > 0);
	return path;
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
		snprintf(path, sizeof(path), DISKS "/%s/power", entry->d_name);
		write_text(path, "0");
		snprintf(path, sizeof(path), DISKS "/%s", entry->d_name);
		rmdir(path);
	}
	if (dir)
		closedir(dir);
}
