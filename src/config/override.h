/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "setting.h"

/* What an administrator set for single units, by "cachectl set" or over the bus: one file a unit, UNIT.conf,
 * with the syntax of a drop-in of the unit, in a directory of ours. It is stronger than the unit's own
 * files. The ones for the time until the next boot are stronger than those that stay. */
typedef enum OverrideKind {
        OVERRIDE_PERSISTENT, /* in /etc */
        OVERRIDE_RUNTIME,    /* in /run */
        _OVERRIDE_MAX,
} OverrideKind;

typedef struct UnitOverrides {
        GHashTable *units[_OVERRIDE_MAX]; /* name -> PolicySetting */
} UnitOverrides;

/* Where they are, a directory for each kind. */
extern const char *const unit_override_directories[_OVERRIDE_MAX];

void unit_overrides_done(UnitOverrides *o);
/* Reads all of a directory for each kind; NULL: there is nothing. */
UnitOverrides unit_overrides_load(const char *const *dirs);

/* NULL: nothing is set. */
const PolicySetting *unit_overrides_get(const UnitOverrides *o, OverrideKind kind, const char *unit);
/* Takes the setting over; one without assignments removes. */
void unit_overrides_put(UnitOverrides *o, OverrideKind kind, const char *unit, PolicySetting *setting);

/* "DIR/UNIT.conf" */
char *unit_override_path(const char *dir, const char *unit);
/* Nothing is set if there is no such file. */
void unit_override_read(const char *dir, OverrideKind kind, const char *unit, PolicySetting *ret);

/* The file's text for a setting. */
char *unit_override_format(const char *unit, OverrideKind kind, const PolicySetting *setting);
/* The setting that the daemon would read from it: with lines, and as far as the syntax can express it. */
void unit_override_parse(const char *dir, OverrideKind kind, const char *unit, const char *text,
                         PolicySetting *ret);
