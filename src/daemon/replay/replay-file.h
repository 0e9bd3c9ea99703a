/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording.h"

/* A recording as a file: a version, a checksum, and the rest by GLib's GVariant. It is taken as a whole
 * or not at all. */

/* Checks a file's content: paths are absolute, ranges in order and within the file, all within the bounds
 * of a recording. -EBADMSG: it is damaged or cut off, or no such file; -EPROTONOSUPPORT: of another
 * version. */
int replay_file_parse(const void *data, size_t size, Recording *ret);
/* Writes the right checksum into what looks like a file: for those who make or change one. */
void replay_file_seal(void *data, size_t size);

/* kept-file.h names and removes the files. -ENOENT: there is none; else as replay_file_parse(). */
int replay_file_load(int dir_fd, const char *name, Recording *ret);
int replay_file_save(int dir_fd, const char *name, const Recording *r);
