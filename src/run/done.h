/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Gives back what a program has read of some files. Of each descriptor one range is remembered that was
 * read without a gap; whole blocks of it are given back as it grows, the rest when the program goes
 * elsewhere, or is done with the file. No locks, no memory: a call that comes in between does nothing. */

/* From now on the number stands for another file, which is one of those, or is not. */
void done_follow(int fd, bool on);

bool done_follows(int fd);

/* The program has got n bytes before the position end, and of those before that at most slack, which the C
 * library has read besides. No bytes: this is the end of the file. */
void done_has_read(int fd, int64_t end, int64_t n, int64_t slack);

/* It will be closed. */
void done_finish(int fd);
