/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of admission have in common; in admission.c. */
#ifndef ADMISSION_H
#define ADMISSION_H

#include "selftest.h"
#include "states.h"

/* as in bpf/cachebpf.bpf.h */
enum { REFAULT = 1, ADOPTED = 2, ADMITTED = 4 };
enum { READ = 1, WRITE = 2, READAHEAD = 4, FAULT = 8, REUSE = 16 };

extern const char *cg;
extern struct admission_state *state;
extern struct bpf_link *attachment;

/* Attach the policy @map of admission.bpf.c to @cg. */
void attach(const char *map, enum admission_mode mode);
/* To a new cgroup. */
void set_up(const char *map, const char *name, enum admission_mode mode);
/* Pages with all of @wanted and none of @unwanted that the policy was asked about. */
unsigned long long asked(unsigned int wanted, unsigned int unwanted);
/* The sum of what came is what went and what is there. */
void check_books(void);

/* To be run in a cgroup, with a file: all of it; the first bytes of each page. */
int read_sequential(void *file);
int read_beginnings(void *file);

#endif /* ADMISSION_H */
