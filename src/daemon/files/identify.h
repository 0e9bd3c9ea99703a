/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/kernel/backend.h"

/* The mount that was looked up last; ours is one for each search, since numbers of mounts are used again. */
typedef struct FileMount {
        int id;
        uint32_t device;
} FileMount;
#define FILE_MOUNT_NONE ((FileMount) { .id = -1 })

/* Which file policies mean. A file is not opened for that, which could wait, or be noticed: a descriptor of
 * O_PATH is enough. -EBADF: it is no regular file. */
int file_identify(int fd, FileMount *mount, PolicyFile *ret);
