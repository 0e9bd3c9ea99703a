/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives back what a program has read of some files. Of each descriptor one range is remembered that was
 * read without a gap; whole blocks of it are given back as it grows, the rest when the program goes
 * elsewhere, or is done with the file. No locks, no memory: a call that comes in between does nothing. */

/* A number may come to stand for another file in many ways that are not seen. This tells whether it has. */
typedef struct DoneFile {
        uint64_t device, inode;
} DoneFile;

/* From now on the number stands for another file: one of those, or, with NULL, for none. */
void done_follow(int fd, const DoneFile *file);

/* NULL if it stands for none. */
const DoneFile *done_file(int fd);

/* The program has got n bytes before the position end, and of those before that at most slack, which the C
 * library has read besides. No bytes: this is the end of the file. */
void done_has_read(int fd, int64_t end, int64_t n, int64_t slack);

/* A stream has got n bytes, the last ones before that place of its buffer. True if all of them were there
 * already: then nothing was read. */
bool done_from_buffer(int fd, const char *end, size_t n);

/* It may be closed now. */
void done_finish(int fd);
