/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "advice-options.h"
#include "lib/cachebpf.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"

static int parse_number(const char *option, const char *text, int *ret) {
        int64_t number;

        if (safe_atoi64(text, &number) < 0 ||
            number < CACHEBPF_PRIORITY_MIN || number > CACHEBPF_PRIORITY_MAX)
                return log_error_errno(EINVAL,
                                       "Option --%s=: levels are numbers from %i to %i, not \"%s\".",
                                       option, CACHEBPF_PRIORITY_MIN, CACHEBPF_PRIORITY_MAX, text);
        *ret = (int) number;
        return 0;
}

int parse_level_option(const char *text, int *ret_level, bool *ret_mru) {
        const char *colon = strchr(text, ':');
        _cleanup_free_ char *level = NULL;

        if (!colon || (!streq(colon, ":lru") && !streq(colon, ":mru")))
                return log_error_errno(EINVAL, "Option --level= takes LEVEL:lru or LEVEL:mru, not \"%s\".",
                                       text);
        *ret_mru = streq(colon, ":mru");
        level = g_strndup(text, colon - text);
        return parse_number("level", level, ret_level);
}

int parse_files_option(const char *text, char **ret_pattern, int *ret_priority) {
        const char *equals = strrchr(text, '=');
        int r;

        if (!equals)
                return log_error_errno(EINVAL, "Option --files= takes PATTERN=PRIORITY, not \"%s\".", text);
        r = parse_number("files", equals + 1, ret_priority);
        if (r < 0)
                return r;
        *ret_pattern = g_strndup(text, equals - text);
        return 0;
}
