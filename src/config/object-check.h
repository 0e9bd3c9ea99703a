/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Whether libbpf may be given an object file: 0, or -ENOEXEC. libbpf 1.5 looks whether what the file says of
 * programs and variables is inside of their sections, but not whether its sums overflow, and so can be led
 * anywhere. What is refused here is a file that is cut off, or that has anything 2 GiB from where it
 * belongs; the rest libbpf finds out. */
int policy_elf_check(const void *data, size_t size);
