/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The skeleton of a policy. What is written is in skeleton/, with the names left open. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit-codes.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "skeleton.h"
#include "verbs.h"

/* What C takes for itself, as far as a policy could be called like that. */
static const char *const keywords[] = {
        "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
        "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "register",
        "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "true", "typedef",
        "union", "unsigned", "void", "volatile", "while",
        /* variables of the skeleton */
        "chances", "queue",
};

static int check_name(const char *name) {
        if (!policy_name_is_valid(name))
                return log_error_errno(EINVAL,
                                       "A policy is named by at most %u letters, digits, '-' and '_', "
                                       "not \"%s\".", POLICY_NAME_MAX, name);
        if (!g_ascii_isalpha(*name))
                return log_error_errno(EINVAL,
                                       "The name of a new policy begins with a letter, as it becomes the "
                                       "name of a variable; \"%s\" does not.", name);
        for (size_t i = 0; i < ELEMENTSOF(keywords); i++)
                if (streq(name, keywords[i]))
                        return log_error_errno(EINVAL,
                                               "A policy cannot be called \"%s\": the word has a meaning in "
                                               "its source.", name);

        return 0;
}

/* @NAME@ is the name of the policy, "get-scan", and @ID@ that of a variable in C, "get_scan". */
static char *fill_in(const char *skeleton, const char *name) {
        g_autofree char *id = g_strdelimit(g_strdup(name), "-", '_');
        GString *text = g_string_new(skeleton);

        g_string_replace(text, "@NAME@", name, 0);
        g_string_replace(text, "@ID@", id, 0);
        return g_string_free(text, FALSE);
}

static int write_file(const char *path, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST)
                return log_error_errno(EEXIST, "%s exists already; give another directory with --output=.",
                                       path);
        if (fd < 0)
                return log_error_errno(errno, "Cannot make %s: %m", path);

        r = write_all(fd, text, strlen(text));
        if (r < 0) {
                (void) unlink(path);
                return log_error_errno(r, "Cannot write %s: %m", path);
        }

        return 0;
}

int verb_new_policy(char **arguments, size_t n_arguments) {
        g_autofree char *source_path = NULL, *make_path = NULL, *source = NULL, *make = NULL;
        const char *name = arguments[0], *directory = arg_output ?: name;
        int r;

        if (check_name(name) < 0)
                return EXIT_USAGE;

        source = fill_in(policy_skeleton, name);
        make = fill_in(makefile_skeleton, name);
        source_path = g_strdup_printf("%s/%s.bpf.c", directory, name);
        make_path = g_strdup_printf("%s/Makefile", directory);

        if (g_mkdir_with_parents(directory, 0777) < 0)
                return log_error_errno(errno, "Cannot make the directory %s: %m", directory);

        /* Both or none: what was not asked for would be in the way next time. */
        r = write_file(make_path, make);
        if (r < 0)
                return r;
        r = write_file(source_path, source);
        if (r < 0) {
                (void) unlink(make_path);
                return r;
        }

        if (!arg_quiet)
                printf("Wrote %s and %s.\n"
                       "\"make -C %s\" builds the policy, "
                       "\"make -C %s install\" installs it for cachebpfd.\n",
                       source_path, make_path, directory, directory);
        return EXIT_SUCCESS;
}
