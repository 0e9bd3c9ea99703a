/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "string-util.h"
#include "thread-class.h"

static const char *const thread_class_table[] = {
        [THREAD_CLASS_NORMAL] = "normal",
        [THREAD_CLASS_SCAN] = "scan",
        [THREAD_CLASS_BACKGROUND] = "background",
};

DEFINE_STRING_TABLE(thread_class, ThreadClass, _THREAD_CLASS_MAX);
