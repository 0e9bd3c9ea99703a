/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "macro.h"

/* Equal, where NULL only equals NULL. */
static inline bool streq_ptr(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static inline bool isempty(const char *s) {
        return !s || !s[0];
}

static inline const char *strempty(const char *s) {
        return s ?: "";
}

static inline const char *strna(const char *s) {
        return s ?: "n/a";
}

static inline const char *empty_to_null(const char *s) {
        return isempty(s) ? NULL : s;
}

/* The rest of s behind the prefix, or NULL. */
static inline char *startswith(const char *s, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(s, prefix, n) == 0 ? (char *) s + n : NULL;
}

/* The place in s where the suffix begins, or NULL. */
char *endswith(const char *s, const char *suffix);

/* Removes white space at both ends, in place. */
char *strstrip(char *s);

/* Digits only: no sign, no white space, no overflow. */
int safe_atou64_base(const char *s, int base, uint64_t *ret);

static inline int safe_atou64(const char *s, uint64_t *ret) {
        return safe_atou64_base(s, 10, ret);
}

/* The same, with "-" in front of a negative number. */
int safe_atoi64(const char *s, int64_t *ret);

/* True if the bytes are valid UTF-8 without NUL (overlong forms and surrogates are refused). */
bool utf8_is_valid_n(const char *s, size_t n);

/* The words of s, separated by white space. Free with strv_free(). */
char **strv_split(const char *s);

/* "yes", "true", "on", "1" and their opposites, as systemd takes them; -EINVAL for anything else. */
int parse_boolean(const char *s);

/* Defines NAME_to_string(), NULL for what is none of the values, and NAME_from_string(), -EINVAL for what is
 * none of their names, from an array NAME_table that has all of them. */
#define DEFINE_STRING_TABLE(name, type, n)                                              \
        static_assert(ELEMENTSOF(name##_table) == (n), "each value needs its name");    \
                                                                                        \
        const char *name##_to_string(type value) {                                      \
                return value >= 0 && value < (type) (n) ? name##_table[value] : NULL;   \
        }                                                                               \
                                                                                        \
        type name##_from_string(const char *s) {                                        \
                for (type value = 0; s && value < (type) (n); value++)                  \
                        if (streq(name##_table[value], s))                              \
                                return value;                                           \
                                                                                        \
                return -EINVAL;                                                         \
        }                                                                               \
        struct string_table_needs_a_semicolon

/* A policy is named by letters, digits, '-' and '_', and the kernel stores at most 15 characters. */
#define POLICY_NAME_MAX 15U
bool policy_name_is_valid(const char *s);
