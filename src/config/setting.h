/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "shared/macro.h"

/* The settings besides CachePolicy=, all of them lists of words. */
typedef enum PolicyKey {
        POLICY_KEY_OPTIONS,      /* CachePolicyOptions=NAME=VALUE… */
        POLICY_KEY_SCAN_THREADS, /* CacheScanThreads=GLOB… */
        POLICY_KEY_ADMISSION,    /* CacheAdmission=BOOLEAN or CLASS… */
        POLICY_KEY_READAHEAD,    /* CacheReadahead=stock, adaptive, off or SIZE */
        POLICY_KEY_FILES,        /* CacheFiles=PRIORITY PATTERN…, see cache-files.h */
        POLICY_KEY_LEVELS,       /* CacheLevel=LEVEL lru|mru */
        POLICY_KEY_LEARNING,     /* CacheLearning=BOOLEAN */
        POLICY_KEY_REPLAY,       /* CacheReplay=BOOLEAN */
        POLICY_KEY_CANDIDATES,   /* CacheCandidates=POLICY or POLICY:NAME=VALUE,…, see candidates.h */
        POLICY_KEY_AUTO_MARGIN,  /* CacheAutoMargin=POINTS of percent */
        _POLICY_KEY_MAX,
} PolicyKey;

/* Where a line comes from; later ones are stronger. */
typedef enum PolicyLayer {
        POLICY_LAYER_RULE,       /* policies.d */
        POLICY_LAYER_UNIT,       /* the unit's own files */
        POLICY_LAYER_PERSISTENT, /* set by an administrator, to stay */
        POLICY_LAYER_RUNTIME,    /* set by an administrator, until the next boot */
        POLICY_LAYER_HOLD,       /* held by a client, as long as it is there (daemon/control/hold.h) */
        _POLICY_LAYER_MAX,
} PolicyLayer;

const char *policy_layer_to_string(PolicyLayer layer);

/* "FILE:LINE" for printf(); what is in no file has line 0, which is not shown. */
#define SOURCE_FORMAT "%s%s%.0u"
#define SOURCE_ARGUMENTS(file, line) (file), (line) > 0 ? ":" : "", (line)

/* An assignment, whether it came to count for something or not. */
typedef struct PolicyLine {
        PolicyLayer layer;
        const char *key; /* without "X-" */
        char *value;
        char *file;
        unsigned line;
} PolicyLine;

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

/* What configuration says about one unit, and which lines said it. Nothing here has been checked: that takes
 * the policy object, see policy-config.h. */
typedef struct PolicySetting {
        bool set;      /* some line with CachePolicy= decided */
        char *policy;  /* as written, maybe not even a valid name; NULL: the stock policy */
        char *file;
        unsigned line;
        PolicyWords more[_POLICY_KEY_MAX];
        PolicyLayer layer; /* of what is assigned from now on */
        GPtrArray *lines;  /* of PolicyLine, from the weakest to the strongest; NULL: none */
} PolicySetting;

void policy_setting_done(PolicySetting *s);

/* Whether a key of a configuration file is one of ours, with "X-" in front of it or without. */
bool policy_setting_is_key(const char *key);
/* Which of the list of words it is; -ENOENT: none of them. */
int policy_setting_find_key(const char *key);
/* Whether it is none, but begins as they do, and not as systemd's CacheDirectory=: somebody misspelt one. */
bool policy_setting_is_misspelt(const char *key);
/* Whether one of them, or one that is misspelt, occurs in a text at all. */
bool policy_setting_is_mentioned(const char *text, size_t size);
/* Records an assignment to such a key; -ENOENT: it is none.
 * An empty value resets: CachePolicy= to the stock policy, lists to nothing. */
int policy_setting_assign(PolicySetting *s, const char *key, const char *value, const char *file,
                          unsigned line);

/* Any key was assigned to. */
bool policy_setting_is_set(const PolicySetting *s);
/* What is stronger is put over dest: each key replaces itself, and CachePolicy= also takes away the options,
 * which were for another policy, and if it was another one what was for its files. */
void policy_setting_overlay(PolicySetting *dest, const PolicySetting *stronger);
/* The stronger one replaces all of it. */
void policy_setting_replace(PolicySetting *dest, const PolicySetting *stronger);
/* Whether they mean the same, for the same reasons; lines that count for nothing make no difference. */
bool policy_setting_equal(const PolicySetting *a, const PolicySetting *b);
/* The policy that follows from another setting: assigned to, but not a line of its own. */
void policy_setting_imply(PolicySetting *s, const char *policy, const PolicyWord *from);

guint policy_setting_count_lines(const PolicySetting *s);
const PolicyLine *policy_setting_get_line(const PolicySetting *s, guint i);
/* All of them as KEY=VALUE; the caller's. */
char **policy_setting_get_assignments(const PolicySetting *s);
/* Where the last line with that key is; POLICY_LAYER_RULE if there is none. */
PolicyLayer policy_setting_get_layer(const PolicySetting *s, const char *key);
/* Whether a line of the setting has a part in it, or lost against later ones. */
bool policy_setting_line_counts(const PolicySetting *s, const PolicyLine *line);

/* The name of a key, CachePolicy= being the one before
 * the first: for lists of all of them. NULL: no more. */
const char *policy_setting_key_name(guint i);
/* What is assigned to the key of that number, in one line; NULL: nothing. */
char *policy_setting_get_value(const PolicySetting *s, guint i);

/* As if no line had assigned to it. */
void policy_setting_clear_policy(PolicySetting *s);
void policy_words_clear(PolicyWords *w);
guint policy_words_count(const PolicyWords *w);
const PolicyWord *policy_words_get(const PolicyWords *w, guint i);
/* The texts of all; the array is the caller's, the strings are not. */
char **policy_words_get_texts(const PolicyWords *w);

#define _cleanup_policy_setting_ _cleanup_(policy_setting_done)
