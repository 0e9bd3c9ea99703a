/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* The memory that programs can have without swapping, in bytes: what is free, and what the kernel can take
 * from its caches. The file is /proc/meminfo but for tests. UINT64_MAX: not known. */
uint64_t meminfo_read_available(const char *file);
