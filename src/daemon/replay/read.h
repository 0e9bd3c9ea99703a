/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording.h"

typedef struct ReplayCounts {
        uint32_t n_files;       /* that were read ahead, and so many pages of them */
        uint32_t n_passed_over; /* they are others by now, or cannot be opened */
        uint64_t n_pages;
        uint64_t n_ranges;
        bool full;              /* there is no more room */
} ReplayCounts;

/* Has the kernel read what is recorded, as far as it is not cached, about in that order. The pages are
 * charged to the control group of the caller. What is on file systems that may hang by now is passed over
 * (mountinfo is "/proc/self/mountinfo"). room() says how many bytes there still are for that; half of
 * what it says first is left to others. */
int recording_read(const Recording *recording, const char *mountinfo, uint64_t (*room)(void *userdata),
                   void *userdata, ReplayCounts *ret);
