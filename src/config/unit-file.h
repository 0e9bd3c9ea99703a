/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "setting.h"

/* The section of a unit's files that carries its resource settings ("Slice" for "x.slice"), or NULL if
 * units of that type have no policy of their own. */
const char *unit_name_to_section(const char *unit);

/* The full name of the unit that a user means, as systemctl has it: a name without the suffix of a type of
 * unit is that of a service. Patterns stay as they are. To be freed. */
char *unit_name_mangle(const char *name);

/* Whether systemd could have a unit of that name, of a type that has a policy. Then the name is safe in a
 * path. It has up to 255 characters. */
bool unit_name_may_exist(const char *unit);
/* And whether it can have settings: "NAME.conf" is a file. */
#define UNIT_NAME_MAX (255U - STRLEN(".conf"))
bool unit_name_is_valid(const char *unit);

/* Reads CachePolicy= and its companions (setting.h) from a unit's fragment (may be NULL or empty) and
 * its drop-ins, in the order PID 1 gives. Files that vanished are skipped. -EINVAL: units of that type have
 * no policy of their own. */
int unit_file_read_setting(const char *unit, const char *fragment, char **dropins, PolicySetting *ret);

/* The same from one file, or from a text in memory as if it were that file, over what the setting has. The
 * text (NUL-terminated, size bytes without it) is modified. */
void unit_file_read(const char *unit, const char *path, PolicySetting *s);
void unit_file_parse(const char *unit, const char *path, char *text, size_t size, PolicySetting *s);
