/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "options.h"

/* What --help puts together, in this order. */
typedef enum VerbGroup {
        VERB_GROUP_LOOK,
        VERB_GROUP_CHANGE,
        VERB_GROUP_WATCH,
        VERB_GROUP_TRY,
        _VERB_GROUP_MAX,
} VerbGroup;

typedef struct Verb {
        const char *name;
        VerbGroup group;
        const char *arguments; /* as shown by --help; "" for none */
        size_t min_arguments;
        size_t max_arguments;
        OptionMask options; /* those that mean something for it, besides --help */
        const char *summary; /* one line */
        const char *details; /* for "cachectl VERB --help" */

        /* Returns the exit status, or a negative errno after the reason was logged. */
        int (*run)(char **arguments, size_t n_arguments);
} Verb;

#define VERB_ANY_NUMBER SIZE_MAX

/* In the order of their groups. The first is the one that runs if none is named. */
extern const Verb verbs[];
extern const size_t n_verbs;

const Verb *verb_find(const char *name);

int verb_status(char **arguments, size_t n_arguments);
int verb_list(char **arguments, size_t n_arguments);
int verb_stats(char **arguments, size_t n_arguments);
int verb_top(char **arguments, size_t n_arguments);
int verb_monitor(char **arguments, size_t n_arguments);
int verb_policies(char **arguments, size_t n_arguments);
int verb_new_policy(char **arguments, size_t n_arguments);
int verb_record(char **arguments, size_t n_arguments);
int verb_advise(char **arguments, size_t n_arguments);
int verb_size(char **arguments, size_t n_arguments);
int verb_simulate(char **arguments, size_t n_arguments);
int verb_files(char **names, size_t n_names);
int verb_threads(char **arguments, size_t n_arguments);
int verb_classify(char **arguments, size_t n_arguments);
int verb_show(char **arguments, size_t n_arguments);
int verb_set(char **arguments, size_t n_arguments);
int verb_hold(char **arguments, size_t n_arguments);
int verb_run(char **arguments, size_t n_arguments);
int verb_reset(char **arguments, size_t n_arguments);
int verb_forget(char **arguments, size_t n_arguments);
int verb_reload(char **arguments, size_t n_arguments);
int verb_verify(char **arguments, size_t n_arguments);
int verb_features(char **arguments, size_t n_arguments);
int verb_version(char **arguments, size_t n_arguments);
int verb_help(char **arguments, size_t n_arguments);

/* "verb" is NULL for the help of the whole program. */
int show_help(const Verb *verb);
int show_version(void);
