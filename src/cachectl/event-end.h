/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

/* An event loop that SIGINT, SIGTERM, and the end of a time (microseconds; UINT64_MAX: none) end with 0. */
int event_new_with_end(uint64_t duration, sd_event **ret);
