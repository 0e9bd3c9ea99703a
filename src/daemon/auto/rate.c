/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "rate.h"
#include "shared/macro.h"
#include "shared/shadow-message.h"

/* The kernel has 32 bits for it. */
#define ONE_IN_MAX (UINT32_C(1) << 31)

static_assert(2 * RATE_PAGES <= SHADOW_CAPACITY_MAX, "a sample fits a shadow");

uint32_t rate_of(uint64_t n_pages) {
        return UINT32_C(1) << (g_bit_storage(CLAMP(n_pages / RATE_PAGES, 1U, ONE_IN_MAX)) - 1);
}

uint32_t rate_adapt(uint32_t one_in, uint64_t n_pages, uint64_t events, uint64_t lost, uint64_t usec) {
        uint64_t a_second = events / MAX(usec / USEC_PER_SEC, 1U);

        if ((a_second > RATE_EVENTS_MAX || lost > events / RATE_LOST_PART) && one_in < ONE_IN_MAX &&
            n_pages / one_in / 2 >= RATE_PAGES_MIN)
                return one_in * 2;
        if (a_second < RATE_EVENTS_FEW && lost == 0 && one_in > rate_of(n_pages))
                return one_in / 2;
        return one_in;
}

uint32_t rate_capacity(uint32_t one_in, uint64_t n_pages) {
        return (uint32_t) MAX(MIN(n_pages / one_in, SHADOW_CAPACITY_MAX), 1U);
}
