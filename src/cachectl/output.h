/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>

#include "objects.h"
#include "table.h"

/* The end of every verb: prints what it found out, as --json= and --no-legend say, through the pager.
 * Returns EXIT_SUCCESS or a negative errno (logged). */

int output_json(sd_json_variant *v);
int output_json_objects(const GPtrArray *objects);

/* A list with header and, below it, a count: "1 unit listed." */
int output_table(const Table *t, const char *one, const char *many);

/* A table about one object, below its details; nothing if it is empty. */
void output_table_below(const Table *t);

/* The details of one object: names and values, the names lined up the same way in all of them. A value that
 * is NULL is left out, with its name. */
Table *details_new(void);
void details_add(Table *t, const char *name, const char *value);
void details_add_colored(Table *t, const char *name, TerminalColor color, const char *value);
void details_addf(Table *t, const char *name, const char *format, ...) _printf_(3, 4);
void details_print(const Table *t);
