/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libmount.h>

#include "recording.h"

#define FD_PATH_SIZE (STRLEN("/proc/self/fd/") + DECIMAL_STR_MAX(int))
/* By which a file descriptor can be opened once more. Returns ret. */
char *path_of_fd(int fd, char ret[static FD_PATH_SIZE]);

/* What is mounted ("/proc/self/mountinfo"), for those below. Freed by mnt_unref_table(). */
int mounts_read(const char *mountinfo, struct libmnt_table **ret);

/* Opens what may be a file of a recording, by O_PATH: nothing is read, and no device or FIFO hears of it. No
 * part of the path may be a symbolic link: -ENOTDIR. -EBADF: it is no regular file; -EXDEV: it is on a file
 * system that may hang, and was not looked at. */
int recorded_path_open(struct libmnt_table *mounts, const char *path, struct stat *ret);
/* The same for a file of a recording that is located. -ESTALE: it is another one by now. */
int recorded_file_open(struct libmnt_table *mounts, const RecordedFile *f);

/* Makes of paths in file systems those from the root directory, by what is mounted
 * ("/proc/self/mountinfo"), and notes how the files are now. Those that are not there are left out; so is
 * what is on file systems that are at the other end of a network, or are programs (FUSE). May hang, as
 * anything that looks at files. */
int recording_locate(Recording *recording, const char *mountinfo);

/* How many pages of a recording are of files that are as they were. */
uint64_t recording_count_current(const Recording *r, const char *mountinfo);
