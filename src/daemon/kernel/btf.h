/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether the kernel's type information (BTF) describes what policies need. It is made when the kernel is
 * built, by a pahole that may not fit; without it no policy can be loaded. Returns 0, or 1 and a sentence
 * about what is wrong, or -ENOMEM. */
int kernel_btf_check(const char *path, char **ret_problem);
