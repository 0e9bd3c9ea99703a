/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>

#include "objects.h"
#include "table.h"

/* The end of every verb: prints what it found out, as --json= and --no-legend say, through the pager.
 * Returns EXIT_SUCCESS or a negative errno (logged). */

int output_json(sd_json_variant *v);
int output_json_objects(const ObjectList *l);

/* A list with header and, below it, a count: "1 unit listed." */
int output_table(const Table *t, const char *one, const char *many);

/* The details of one object: a table of two columns, see details_new(). */
int output_details(const Table *t);

/* A table of names and values, the names lined up the same way in all of them. */
int details_new(Table **ret);
int details_add(Table *t, const char *name, const char *value);
int details_add_colored(Table *t, const char *name, TerminalColor color, const char *value);
int details_addf(Table *t, const char *name, const char *format, ...) _printf_(3, 4);
