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

/* Replaces *p by a copy of s (NULL allowed). Returns 1 if the value changed, 0 if it was equal. */
int free_and_strdup(char **p, const char *s);

/* Decimal digits only: no sign, no white space, no overflow. */
int safe_atou64(const char *s, uint64_t *ret);
int safe_atoi64(const char *s, int64_t *ret);

/* True if the bytes are valid UTF-8 without NUL (overlong forms and surrogates are refused). */
bool utf8_is_valid_n(const char *s, size_t n);

/* The words of s, separated by white space; NULL only when out of memory. Free with strv_free(). */
char **strv_split(const char *s);

/* "yes", "true", "on", "1" and their opposites, as systemd takes them; -EINVAL for anything else. */
int parse_boolean(const char *s);

/* A policy is named by letters, digits, '-' and '_', and the kernel stores at most 15 characters. */
#define POLICY_NAME_MAX 15U
bool policy_name_is_valid(const char *s);
