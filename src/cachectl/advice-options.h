/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* What programs, or managers of a trace, are to say. All log what is wrong, and return 0 or -EINVAL. */

/* LEVEL:lru|mru of --level= */
int parse_level_option(const char *text, int *ret_level, bool *ret_mru);

/* PATTERN=PRIORITY of --files= */
int parse_files_option(const char *text, char **ret_pattern, int *ret_priority);
