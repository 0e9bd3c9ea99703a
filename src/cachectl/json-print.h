/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "shared/cleanup.h"

/* What verbs share that build their JSON themselves, of numbers with fractions. */

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct json_object *, json_object_put);

/* With six digits. */
struct json_object *json_ratio(double ratio);

/* Prints the object as --json= says, through the pager. Returns EXIT_SUCCESS. */
int json_print(struct json_object *o);
