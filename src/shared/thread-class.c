/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "macro.h"
#include "thread-class.h"

static const char *const names[_THREAD_CLASS_MAX] = {
        [THREAD_CLASS_NORMAL] = "normal",
        [THREAD_CLASS_SCAN] = "scan",
        [THREAD_CLASS_BACKGROUND] = "background",
};

const char *thread_class_to_string(ThreadClass c) {
        return c >= 0 && c < _THREAD_CLASS_MAX ? names[c] : NULL;
}

ThreadClass thread_class_from_string(const char *s) {
        for (ThreadClass c = 0; c < _THREAD_CLASS_MAX; c++)
                if (streq(s, names[c]))
                        return c;

        return _THREAD_CLASS_INVALID;
}
