/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format-time.h"
#include "shared/macro.h"

char *format_timestamp(uint64_t usec) {
        time_t sec = (time_t) (usec / USEC_PER_SEC);
        char buffer[128];
        struct tm tm;

        /* %a in the language of the rest of the output, whatever the locale is: our own names. */
        static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };

        if (!localtime_r(&sec, &tm) ||
            strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M:%S %Z", &tm) == 0)
                return g_strdup("n/a");

        return g_strdup_printf("%s %s", days[tm.tm_wday], buffer);
}

static void format_span(uint64_t sec, char *buffer, size_t size) {
        static const struct {
                uint64_t sec;
                const char *one, *many;
        } units[] = {
                { 365 * 86400, " year", " years" },
                { 86400,       " day",  " days"  },
                { 3600,        "h",     "h"      },
                { 60,          "min",   "min"    },
                { 1,           "s",     "s"      },
        };
        size_t n = 0;

        buffer[0] = 0;
        for (size_t i = 0; i < ELEMENTSOF(units) && n < 2; i++) {
                uint64_t count = sec / units[i].sec;
                size_t length = strlen(buffer);

                if (count == 0) {
                        if (n > 0)
                                break; /* "1 day", not "1 day 5s" */
                        continue;
                }

                (void) snprintf(buffer + length, size - length, "%s%" PRIu64 "%s",
                                n > 0 ? " " : "", count, count == 1 ? units[i].one : units[i].many);
                sec %= units[i].sec;
                n++;
        }
}

char *format_relative(uint64_t usec, uint64_t now_usec) {
        bool future = usec > now_usec;
        uint64_t sec = (future ? usec - now_usec : now_usec - usec) / USEC_PER_SEC;
        char span[64];

        if (sec == 0)
                return g_strdup("just now");

        format_span(sec, span, sizeof(span));
        return g_strdup_printf(future ? "in %s" : "%s ago", span);
}

int parse_time_span(const char *s, uint64_t *ret_usec) {
        static const struct {
                const char *name;
                uint64_t usec;
        } units[] = {
                { "",    USEC_PER_SEC },
                { "s",   USEC_PER_SEC },
                { "ms",  USEC_PER_MSEC },
                { "min", 60 * USEC_PER_SEC },
                { "m",   60 * USEC_PER_SEC },
                { "h",   3600 * USEC_PER_SEC },
        };
        const char *unit = s + strspn(s, "0123456789");
        uint64_t n;

        if (unit == s)
                return -EINVAL;

        errno = 0;
        n = strtoull(s, NULL, 10);
        if (errno != 0)
                return -errno;

        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (streq(unit, units[i].name))
                        return __builtin_mul_overflow(n, units[i].usec, ret_usec) ? -ERANGE : 0;

        return -EINVAL;
}
