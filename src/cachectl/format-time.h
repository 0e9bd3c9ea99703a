/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* "Sat 2026-11-21 12:00:01 UTC" in the local time zone; "n/a" if there is no such time. */
char *format_timestamp(uint64_t usec);

/* "3min 2s ago", "1 day 4h ago": the two leading units; "in 5s" for a time to come. */
char *format_relative(uint64_t usec, uint64_t now_usec);

/* Parses a number of seconds, or of what follows it: ms, s, min, h. -EINVAL, -ERANGE. */
int parse_time_span(const char *s, uint64_t *ret_usec);
