/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording.h"

#define FD_PATH_SIZE (STRLEN("/proc/self/fd/") + DECIMAL_STR_MAX(int))
/* By which a file descriptor can be opened once more. Returns ret. */
char *path_of_fd(int fd, char ret[static FD_PATH_SIZE]);

/* Opens what may be a file of a recording, by O_PATH: nothing is read, and no device or FIFO hears of it. No
 * part of the path may be a symbolic link. -EBADF: it is no regular file. */
int recorded_path_open(const char *path, struct stat *ret);
/* The same for a file of a recording that is located. -ESTALE: it is another one by now. */
int recorded_file_open(const RecordedFile *f);

/* Makes of paths in file systems those from the root directory, by what is mounted
 * ("/proc/self/mountinfo"), and notes how the files are now. Those that are not there are left out; so is
 * what is on file systems that are at the other end of a network, or are programs (FUSE). May hang, as
 * anything that looks at files. */
int recording_locate(Recording *r, const char *mountinfo);
