/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* Which part of a unit's pages is the sample: one of so many, a power of two. */

/* Of a cache so many pages are in the sample, or up to twice as many; all, if there are less. */
#define RATE_PAGES 1024U
/* More events a second, or that part of them lost, make the sample smaller, until it has so few pages; fewer
 * of which none was lost make it larger again. */
#define RATE_EVENTS_MAX 20000U
#define RATE_LOST_PART 8U
#define RATE_EVENTS_FEW 5000U
#define RATE_PAGES_MIN 256U

/* For a cache of n_pages. */
uint32_t rate_of(uint64_t n_pages);

/* The rate was one_in, and the unit had so many events in that time, with those that were lost. Returns what
 * it is to be now. */
uint32_t rate_adapt(uint32_t one_in, uint64_t n_pages, uint64_t events, uint64_t lost, uint64_t usec);

/* How many pages the cache of a shadow has: 1 to SHADOW_CAPACITY_MAX. */
uint32_t rate_capacity(uint32_t one_in, uint64_t n_pages);
