/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>

#include <glib.h>

#include "cleanup.h"
#include "string-util.h"

#define WHITESPACE " \t\n\r"

char *endswith(const char *s, const char *suffix) {
        size_t n = strlen(s), k = strlen(suffix);

        if (n < k || !streq(s + n - k, suffix))
                return NULL;

        return (char *) s + n - k;
}

char *strstrip(char *s) {
        size_t n;

        s += strspn(s, WHITESPACE);
        n = strlen(s);
        while (n > 0 && strchr(WHITESPACE, s[n - 1]))
                n--;
        s[n] = 0;

        return s;
}

int free_and_strdup(char **p, const char *s) {
        char *t = NULL;

        if (streq_ptr(*p, s))
                return 0;

        if (s) {
                t = strdup(s);
                if (!t)
                        return -ENOMEM;
        }

        free(*p);
        *p = t;
        return 1;
}

int safe_atou64(const char *s, uint64_t *ret) {
        uint64_t v = 0;

        if (isempty(s))
                return -EINVAL;

        for (; *s; s++) {
                if (!isdigit((unsigned char) *s))
                        return -EINVAL;
                if (__builtin_mul_overflow(v, 10, &v) ||
                    __builtin_add_overflow(v, (uint64_t) (*s - '0'), &v))
                        return -ERANGE;
        }

        *ret = v;
        return 0;
}

int safe_atoi64(const char *s, int64_t *ret) {
        bool negative = s && s[0] == '-';
        uint64_t v;
        int r;

        r = safe_atou64(negative ? s + 1 : s, &v);
        if (r < 0)
                return r;
        if (v > (uint64_t) INT64_MAX + negative)
                return -ERANGE;

        *ret = negative ? (int64_t) (0 - v) : (int64_t) v;
        return 0;
}

bool utf8_is_valid_n(const char *s, size_t n) {
        return g_utf8_validate_len(s, n, NULL);
}

bool policy_name_is_valid(const char *s) {
        size_t n = 0;

        if (isempty(s))
                return false;

        for (; *s; s++, n++)
                if (!isalnum((unsigned char) *s) && *s != '-' && *s != '_')
                        return false;

        return n <= POLICY_NAME_MAX;
}
