/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "shared/file-util.h"
#include "shared/meminfo.h"
#include "shared/string-util.h"

static int on_meminfo(const char *key, const char *value, void *userdata) {
        g_autofree char *kib = g_strndup(value, strcspn(value, " "));
        uint64_t n;

        if (streq(key, "MemAvailable:") && safe_atou64(kib, &n) >= 0)
                *(uint64_t *) userdata = n << 10;
        return 0;
}

uint64_t meminfo_read_available(const char *file) {
        g_autofree char *text = NULL;
        uint64_t available = UINT64_MAX;

        if (g_file_get_contents(file, &text, NULL, NULL))
                (void) flat_keyed_foreach(text, on_meminfo, &available);
        return available;
}
