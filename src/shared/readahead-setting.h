/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A setting is the pages that a window has at most, or 0: nothing is read ahead; or one of these. The same
 * as in bpf/lib/readahead.bpf.h. */
#define READAHEAD_SETTING_STOCK UINT32_MAX
#define READAHEAD_SETTING_ADAPTIVE (UINT32_MAX - 1)

/* "stock", "adaptive", "off", or a size in bytes, with K, M, G or T as systemd takes them: a multiple of the
 * page size, and 2M at most. -EINVAL: none of these. */
int readahead_setting_from_string(const char *s, size_t page_size, uint32_t *ret);
