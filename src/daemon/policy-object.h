/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/libbpf.h>

#include "macro.h"

#define POLICY_OPS_TYPE "cachebpf_ops"

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct bpf_object *, bpf_object__close);

/* Opens a policy object file and finds its one struct_ops map; nothing enters the kernel. On failure a
 * sentence why goes to *ret_problem. */
int policy_object_open(const char *path, struct bpf_object **ret, struct bpf_map **ret_ops, char **ret_problem);

/* Gives the place of a data member in the map's initial value, which must have that size. */
int policy_object_find_member(struct bpf_object *obj, struct bpf_map *ops, const char *name, size_t size,
                              void **ret);
