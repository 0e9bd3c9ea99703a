/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <glib.h>

#include "shared/macro.h"

/* What an object has by these names is known to the daemon; nothing but the first is needed. */
#define POLICY_OPS_TYPE "cachebpf_ops"
#define POLICY_THREADS_MAP "cachebpf_threads"           /* classes of threads: one map for all objects */
#define POLICY_SCAN_THREADS "cachebpf_scan_threads"     /* constant: globs on thread names */
#define POLICY_REJECT_CLASSES "cachebpf_reject_classes" /* constant: bit mask, for the admission filter */
#define POLICY_COUNTERS_MAP ".data.counters"            /* the section of what it counts */
#define POLICY_FILTER_PROGRAM "cachebpf_admit"          /* the admission filter that all policies can have */
#define POLICY_READAHEAD "cachebpf_readahead"           /* constant: the setting of readahead */
#define POLICY_PLAN_PROGRAM "cachebpf_plan"             /* what all policies can plan readahead by, … */
#define POLICY_STREAMS_MAP ".bss.readahead"             /* … and what it notes, if it is to adapt */
#define POLICY_EVENTS_MAP "cachebpf_events"             /* ring buffer: "run my program", … */
#define POLICY_RECONFIGURE_SUFFIX "_reconfigure"        /* … the SEC("syscall") one of that name */
#define POLICY_LEARNED_MAP "cachebpf_learned"           /* what it learns: kept for its next instance, … */
#define POLICY_LEARNED_VERSION "cachebpf_learned_version" /* … constant: of the same number */
#define POLICY_SAY_PROGRAM "managers_say"               /* SEC("syscall"): somebody speaks for a manager */

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct bpf_object *, bpf_object__close);

/* Both: on failure a sentence why goes to *ret_problem. */

/* Reads a policy object file. */
int policy_object_read(const char *path, GBytes **ret, char **ret_problem);
/* Opens what was read from there and finds its one struct_ops map; nothing enters the kernel. */
int policy_object_open(const char *path, GBytes *object, struct bpf_object **ret, struct bpf_map **ret_ops,
                       char **ret_problem);

/* Gives the place of a data member in the map's initial value, which must have that size. */
int policy_object_find_member(struct bpf_object *obj, struct bpf_map *ops, const char *name, size_t size,
                              void **ret);

/* Gives the place of a constant ("const volatile", in .rodata) in the object's initial values, and its type
 * without modifiers: what is written there before the object is loaded is what the programs see. */
int policy_object_find_constant(struct bpf_object *obj, const char *name, const struct btf_type **ret_type,
                                void **ret, size_t *ret_size);

/* The program to run when the object asks for it; NULL if there is none or more than one. */
struct bpf_program *policy_object_find_reconfigure(struct bpf_object *obj);

/* The program by which the daemon speaks for managers; NULL: the policy does not listen. */
struct bpf_program *policy_object_find_say(struct bpf_object *obj);

/* The common admission filter, if that is what the
 * policy's admit_folio is, and the member that points to it. */
struct bpf_program *policy_object_find_filter(struct bpf_object *obj, struct bpf_map *ops,
                                              void **ret_member);

/* The same of the common plan_readahead(). */
struct bpf_program *policy_object_find_plan(struct bpf_object *obj, struct bpf_map *ops, void **ret_member);

/* object-check.c: whether libbpf may be given an object file: 0, or -ENOEXEC. libbpf 1.5 looks whether what
 * the file says of programs and variables is inside of their sections, but not whether its sums overflow,
 * and so can be led anywhere. What is refused here is a file that is cut off, or that has anything 2 GiB
 * from where it belongs; the rest libbpf finds out. */
int policy_elf_check(const void *data, size_t size);
