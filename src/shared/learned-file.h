/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "macro.h"

/* What a policy has learned, between its map and a file: entries of key and value, whose meaning only the
 * policy knows. A file is taken as a whole or not at all: it has a version, a checksum, and says of which
 * policy it is, and of what map. It takes the place of the one before in one step. */

/* Of all entries of a unit together. */
#define LEARNED_SIZE_MAX (16U << 20)
#define LEARNED_LABEL_SIZE 32U

/* Numbers of the kernel, as a map was created with them. */
typedef struct LearnedShape {
        uint32_t type;
        uint32_t key_size;
        uint32_t value_size;
        uint32_t max_entries;
} LearnedShape;

typedef struct Learned {
        char label[LEARNED_LABEL_SIZE]; /* of whom: another label means another meaning */
        LearnedShape shape;
        uint32_t n_entries;
        uint8_t *entries;               /* of each the key, and the value right behind it */
} Learned;

/* Room for all entries of a map; it has none yet. -E2BIG: that is too much to be kept. */
int learned_init(Learned *l, const char *label, const LearnedShape *shape);
void learned_done(Learned *l);
#define _cleanup_learned_ _cleanup_(learned_done)

static inline size_t learned_entry_size(const LearnedShape *s) {
        return (size_t) s->key_size + s->value_size;
}

/* Whether a map of one shape can have what was in one of the other: the same but for the size of a hash. */
bool learned_shape_fits(const LearnedShape *a, const LearnedShape *b);

/* SHA-256 of everything that a file would have. */
#define LEARNED_SUM_SIZE 32U
void learned_sum(const Learned *l, uint8_t ret[static LEARNED_SUM_SIZE]);

/* Checks a file's content. -EBADMSG: it is damaged or cut off, or no such file; -EPROTONOSUPPORT: of another
 * version; -EMEDIUMTYPE: of another policy than the label's. */
int learned_parse(const void *data, size_t size, const char *label, Learned *ret);
/* Writes the right checksum into what looks like a file: for those who make or change one. */
void learned_seal(void *data, size_t size);

/* What is wrong, as a part of a sentence: the file ... */
const char *learned_strerror(int error);

/* kept-file.h names and removes the files. -ENOENT: there is none; else as learned_parse(). */
int learned_load(int dir_fd, const char *name, const char *label, Learned *ret);
int learned_save(int dir_fd, const char *name, const Learned *l);
