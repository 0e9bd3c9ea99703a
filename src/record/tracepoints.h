/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/btf.h>
#include <stdbool.h>

/* Whether the kernel has a tracepoint, and says so. "btf": what the kernel says of itself; NULL: nothing. */
bool tracepoint_exists(const struct btf *btf, const char *name);

/* Returns -abs(error); *ret_error gets what failed, with what libbpf said of it or the error's name. */
int tracepoints_fail(int error, const char *what, char **ret_error);

/* Programs on the tracepoints of the page cache were not taken, with that error: if the kernel lacks one of
 * the usual things, returns -EOPNOTSUPP, and *ret_error, which is replaced, names it; else returns the error. */
int tracepoints_explain(int error, const struct btf *btf, char **ret_error);
