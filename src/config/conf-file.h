/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "shared/macro.h"

/* systemd's own limit for one (continued) line, and ours for one file. */
#define CONF_LINE_MAX (1U * 1024U * 1024U)
#define CONF_FILE_MAX (16U * 1024U * 1024U)

/* More files than this in the directories of one list are a mistake, not a configuration. */
#define CONF_FILES_MAX 4096U

/* One "key=value" of a file in unit file syntax. The line is where the assignment begins. */
typedef struct ConfAssignment {
        const char *file;
        unsigned line;
        const char *section;
        const char *key;
        const char *value;
} ConfAssignment;

/* Called for each assignment in order; a negative return ends the parsing and is passed on. */
typedef int (*conf_assignment_func_t)(const ConfAssignment *a, void *userdata);

/* Parses a text (NUL-terminated, size bytes without it) that came from the file of that name: sections,
 * '#' and ';' comments, continuation lines, byte order mark. What cannot be understood is reported with file
 * and line at the given log level, and skipped. The text is modified. */
int conf_parse_text(const char *file, char *text, size_t size, int level,
                    conf_assignment_func_t func, void *userdata);

/* Finds "*.conf" in directories, given from highest to lowest priority: a name found first hides the same
 * name in later ones; an empty file or a link to /dev/null hides it without taking its place. Paths, in the
 * order of names. */
GPtrArray *conf_files_list(const char *const *dirs);
