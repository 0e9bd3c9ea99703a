/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "macro.h"

/* The settings besides CachePolicy=, all of them lists of words. */
typedef enum PolicyKey {
        POLICY_KEY_OPTIONS,      /* CachePolicyOptions=NAME=VALUE… */
        POLICY_KEY_SCAN_THREADS, /* CacheScanThreads=GLOB… */
        POLICY_KEY_ADMISSION,    /* CacheAdmission=BOOLEAN or CLASS… */
        _POLICY_KEY_MAX,
} PolicyKey;

/* A word of a setting as it was written, and where. */
typedef struct PolicyWord {
        char *text;
        char *file;
        unsigned line;
} PolicyWord;

typedef struct PolicyWords {
        bool set;      /* some line decided, maybe by an empty value */
        GArray *words; /* of PolicyWord; NULL: none */
} PolicyWords;

/* What configuration says about one unit, and which lines said it. Nothing here has been checked: that takes the
 * policy object, see policy-config.h. */
typedef struct PolicySetting {
        bool set;      /* some line with CachePolicy= decided */
        char *policy;  /* as written, maybe not even a valid name; NULL: the stock policy */
        char *file;
        unsigned line;
        PolicyWords more[_POLICY_KEY_MAX];
} PolicySetting;

void policy_setting_done(PolicySetting *s);

/* Whether a key of a configuration file is one of ours, with "X-" in front of it or without. */
bool policy_setting_is_key(const char *key);
/* Whether one of them occurs in a text at all. */
bool policy_setting_is_mentioned(const char *text, size_t size);
/* Records an assignment to such a key. An empty value resets: CachePolicy= to the stock policy, lists to nothing. */
int policy_setting_assign(PolicySetting *s, const char *key, const char *value, const char *file, unsigned line);

/* Any key was assigned to. */
bool policy_setting_is_set(const PolicySetting *s);
int policy_setting_copy(PolicySetting *dest, const PolicySetting *src);
/* What is stronger is put over dest: CachePolicy= replaces everything, any other key only itself. */
int policy_setting_overlay(PolicySetting *dest, const PolicySetting *stronger);
bool policy_setting_equal(const PolicySetting *a, const PolicySetting *b);

guint policy_words_count(const PolicyWords *w);
const PolicyWord *policy_words_get(const PolicyWords *w, guint i);

#define _cleanup_policy_setting_ _cleanup_(policy_setting_done)
