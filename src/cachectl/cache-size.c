/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache-size.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "sim/trace.h"

double cache_size_pages(const char *text, uint32_t n_pages) {
        static const char units[] = "KMGT";
        double value, factor = 1.0 / TRACE_PAGE_SIZE;
        const char *unit;
        char *end;

        assert(text);

        /* "inf", "0x10" and signs are numbers for strtod() */
        if (!g_ascii_isdigit(text[0]) || strspn(text, "0123456789.") + 1 < strlen(text))
                return -1;
        value = g_ascii_strtod(text, &end);
        if (streq(end, "%"))
                factor = n_pages / 100.0;
        else if (*end) {
                unit = strchr(units, *end);
                if (!unit || end[1])
                        return -1;
                for (const char *u = units; u <= unit; u++)
                        factor *= 1024;
        }
        return floor(value * factor + 1e-9);
}

int cache_size_parse(const char *text, uint32_t n_pages, uint32_t *ret) {
        double pages = cache_size_pages(text, n_pages);

        assert(ret);

        if (pages < 0)
                return log_error_errno(EINVAL,
                                       "Option --size=: \"%s\" is no size; "
                                       "it can be a percentage of the pages in the "
                                       "trace (10%%), or bytes (64M, with K, M, G or T).", text);
        if (pages < 1)
                return log_error_errno(EINVAL, "Option --size=: \"%s\" is less than one page of %u bytes%s.",
                                       text, TRACE_PAGE_SIZE,
                                       endswith(text, "%") ? ", of those in the trace" : "");
        if (pages > UINT32_MAX)
                return log_error_errno(EINVAL, "Option --size=: \"%s\" is more than %" PRIu32 " pages.",
                                       text, UINT32_MAX);

        *ret = pages;
        return 0;
}
