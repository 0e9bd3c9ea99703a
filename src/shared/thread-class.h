/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>

/* What a thread is there for, as policies see it: the numbers are those of enum cachebpf_thread_class in
 * threads.bpf.h, the words what users write. */
typedef enum ThreadClass {
        THREAD_CLASS_NORMAL,
        THREAD_CLASS_SCAN,       /* reads much, once */
        THREAD_CLASS_BACKGROUND, /* work that nobody waits for, such as compaction */
        _THREAD_CLASS_MAX,
        _THREAD_CLASS_INVALID = -EINVAL,
} ThreadClass;

const char *thread_class_to_string(ThreadClass c);
ThreadClass thread_class_from_string(const char *s);
