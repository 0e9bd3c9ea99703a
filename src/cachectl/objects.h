/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-json.h>
#include <systemd/sd-varlink.h>

#include "shared/macro.h"

/* How to list one kind of object. */
typedef struct ObjectKind {
        const char *noun;      /* as it begins a sentence */
        const char *method;
        const char *parameter; /* of the method: asks for one object */
        const char *wrapper;   /* the member of a reply that is the object; NULL: the reply itself is */
        const char *key;       /* the member of the object that holds its name */
        const char *hint;      /* what to do about a name that is unknown */
        bool units;            /* names without suffix are those of services */
} ObjectKind;

extern const ObjectKind object_kind_unit;
extern const ObjectKind object_kind_stats;
extern const ObjectKind object_kind_files;
extern const ObjectKind object_kind_policy;

/* An empty list: an array of sd_json_variant, in the order in which they will be shown. */
GPtrArray *objects_new(void);

/* Asks for the named objects, all of them if "names" is empty. A name may be a glob pattern. Names
 * without an object are logged and counted in *ret_unknown, the others are returned nevertheless; an
 * object named twice is returned once. */
int objects_fetch(
                sd_varlink *link,
                const ObjectKind *kind,
                char **names,
                size_t n_names,
                GPtrArray **ret,
                size_t *ret_unknown);

/* Asks for all objects, and keeps those that match one of the names or patterns; no name at all keeps
 * everything. */
int objects_fetch_matching(
                sd_varlink *link,
                const ObjectKind *kind,
                char **names,
                size_t n_names,
                GPtrArray **ret);

/* Whether objects_fetch_matching() would keep an object of that name. */
bool objects_name_matches(const ObjectKind *kind, const char *name, char **names, size_t n_names);

/* Keeps only the objects whose names are also those of others. */
void objects_keep(const ObjectKind *kind, GPtrArray *objects, const GPtrArray *others);

const char *object_name(const ObjectKind *kind, sd_json_variant *v);

/* A new JSON array of the objects. */
int objects_to_json(const GPtrArray *objects, sd_json_variant **ret);
