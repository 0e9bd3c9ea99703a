/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy-setting.h"

/* The section of a unit's files that carries its resource settings ("Slice" for "x.slice"), or NULL if
 * units of that type have no policy of their own. */
const char *unit_name_to_section(const char *unit);

/* Reads CachePolicy= and its companions (policy-setting.h) from a unit's fragment (may be NULL or empty) and its
 * drop-ins, in the order PID 1 gives. Files that vanished are skipped. */
int unit_file_read_setting(const char *unit, const char *fragment, char **dropins, PolicySetting *ret);
