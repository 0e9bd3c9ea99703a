/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-json.h>
#include <systemd/sd-varlink.h>

#include "shared/macro.h"

/* The objects a method of the daemon lists, in the order in which they will be shown. */
typedef struct ObjectList {
        sd_json_variant **items;
        size_t n;
} ObjectList;

void object_list_done(ObjectList *l);

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
extern const ObjectKind object_kind_policy;

/* Asks for the named objects, all of them if "names" is empty. A name may be a glob pattern. Names
 * without an object are logged and counted in *ret_unknown, the others are returned nevertheless; an
 * object named twice is returned once. */
int objects_fetch(
                sd_varlink *link,
                const ObjectKind *kind,
                char **names,
                size_t n_names,
                ObjectList *ret,
                size_t *ret_unknown);

/* Keeps only the objects that match one of the names or patterns; no name at all keeps everything.
 * -ENOMEM is not logged. */
int objects_filter(const ObjectKind *kind, ObjectList *l, char **names, size_t n_names);

/* Keeps only the objects that have one of these very names. */
void objects_keep(const ObjectKind *kind, ObjectList *l, char **names, size_t n_names);

/* Whether objects_filter() would keep an object of that name. */
int objects_name_matches(const ObjectKind *kind, const char *name, char **names, size_t n_names);

const char *object_name(const ObjectKind *kind, sd_json_variant *v);

/* A new JSON array of the objects. */
int objects_to_json(const ObjectList *l, sd_json_variant **ret);
