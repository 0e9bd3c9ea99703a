/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>

#include "readahead-setting.h"
#include "string-util.h"

/* What the kernel reads at a time for a policy. */
#define WINDOW_BYTES_MAX (UINT64_C(2) << 20)

static int parse_size(const char *s, uint64_t *ret) {
        static const char units[] = "BKMGT";
        size_t n = strlen(s);
        const char *unit = n > 0 ? strchr(units, s[n - 1]) : NULL;
        g_autofree char *digits = g_strndup(s, unit ? n - 1 : n);
        uint64_t size;

        if (safe_atou64(digits, &size) < 0 || size > WINDOW_BYTES_MAX)
                return -EINVAL;

        *ret = unit ? size << 10 * (unit - units) : size;
        return 0;
}

int readahead_setting_from_string(const char *s, size_t page_size, uint32_t *ret) {
        static const struct {
                const char *name;
                uint32_t setting;
        } names[] = {
                { "stock",    READAHEAD_SETTING_STOCK    },
                { "adaptive", READAHEAD_SETTING_ADAPTIVE },
                { "off",      0                          },
        };
        uint64_t size;

        assert(s);
        assert(ret);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(s, names[i].name)) {
                        *ret = names[i].setting;
                        return 0;
                }

        if (parse_size(s, &size) < 0 || size == 0 || size > WINDOW_BYTES_MAX || size % page_size)
                return -EINVAL;

        *ret = size / page_size;
        return 0;
}
