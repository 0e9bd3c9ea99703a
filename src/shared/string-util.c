/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>
#include <glib.h>

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

int safe_atou64_base(const char *s, int base, uint64_t *ret) {
        uint64_t v = 0;

        if (isempty(s))
                return -EINVAL;

        for (; *s; s++) {
                int digit = g_ascii_xdigit_value(*s);

                if (digit < 0 || digit >= base)
                        return -EINVAL;
                if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v))
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

char **strv_split(const char *s) {
        GPtrArray *words = g_ptr_array_new();

        for (s += strspn(s, WHITESPACE); *s; s += strspn(s, WHITESPACE)) {
                size_t n = strcspn(s, WHITESPACE);

                g_ptr_array_add(words, g_strndup(s, n));
                s += n;
        }

        g_ptr_array_add(words, NULL);
        return (char **) g_ptr_array_free(words, FALSE);
}

int parse_boolean(const char *s) {
        static const char *const words[][2] = {
                { "no", "yes" }, { "false", "true" }, { "off", "on" }, { "0", "1" }, { "n", "y" },
                { "f", "t" },
        };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                for (int b = 0; b < 2; b++)
                        if (strcasecmp(s, words[i][b]) == 0)
                                return b;

        return -EINVAL;
}

bool utf8_is_valid_n(const char *s, size_t n) {
        return g_utf8_validate_len(s, n, NULL);
}

bool policy_name_is_valid(const char *s) {
        size_t n = 0;

        if (isempty(s))
                return false;

        for (; *s; s++, n++)
                if (!g_ascii_isalnum(*s) && *s != '-' && *s != '_')
                        return false;

        return n <= POLICY_NAME_MAX;
}
