/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "config/setting.h"

/* What must hold of any setting that was read from files below directory, also when it meets a policy. */
void fuzz_check_setting(const PolicySetting *s, const char *directory);
