/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* The size of a cache as --size= has it: "10%" is a share of n_pages, "64M" bytes. */

/* Pages, rounded down; negative: that is no size. */
double cache_size_pages(const char *text, uint32_t n_pages);

/* The same in whole pages, from 1. -EINVAL (logged). */
int cache_size_parse(const char *text, uint32_t n_pages, uint32_t *ret);
