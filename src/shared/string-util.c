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

char **strv_split(const char *s) {
        _cleanup_strv_free_ char **l = NULL;
        size_t n = 0;

        for (;;) {
                size_t k;
                char **t;

                s += strspn(s, WHITESPACE);
                k = strcspn(s, WHITESPACE);

                t = reallocarray(l, n + 2, sizeof(char *));
                if (!t)
                        return NULL;
                l = t;
                l[n] = l[n + 1] = NULL;

                if (k == 0)
                        return TAKE_PTR(l);

                l[n] = strndup(s, k);
                if (!l[n++])
                        return NULL;
                s += k;
        }
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
                if (!isalnum((unsigned char) *s) && *s != '-' && *s != '_')
                        return false;

        return n <= POLICY_NAME_MAX;
}
