/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one option of a command line takes: a number from min to max, a word that parse() understands (it
 * returns 0, or a negative errno after a message that names the option), a text as it is, or nothing.
 * Exactly one of number, parse, text and flag is set. */
typedef struct Option {
        const char *name;
        uint64_t min, max;
        uint64_t *number;
        int (*parse)(const char *text, void *target);
        void *target;
        const char **text;
        bool *flag;
} Option;

/* Sets what the options name, and moves them before all other arguments, of which optind is the first.
 * Returns 0, 1 after --help, which calls help(), or -EINVAL after a message. */
int options_parse(int argc, char *argv[], const Option *options, size_t n, void (*help)(void));

/* For Option.parse: the skew of a Zipfian, --zipf=, a double. */
int option_theta(const char *text, void *target);

/* One of two things that a program does with the object it is given, and the option it needs for that. */
typedef struct Verb {
        const char *name;
        const char *needs;
        uint64_t value;         /* of that option; 0: it is missing */
} Verb;

/* Of "VERB OBJECT" behind the options: which of the verbs it is, or -EINVAL after a message, in which the
 * object is called "what". */
int options_verb(
                int argc,
                char *argv[],
                const Verb verbs[static 2],
                const char *what,
                const char **ret_object);
