/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdarg.h>
#include <syslog.h>

#include "macro.h"

typedef enum LogTarget {
        LOG_TARGET_AUTO,    /* the journal when stderr is connected to it, stderr otherwise */
        LOG_TARGET_CONSOLE, /* stderr */
        LOG_TARGET_JOURNAL,
        LOG_TARGET_NULL,
        _LOG_TARGET_MAX,
        _LOG_TARGET_INVALID = -EINVAL,
} LogTarget;

/* The structured part of a journal entry; each member may be NULL (or 0). */
typedef struct LogFields {
        const char *message_id;
        const char *unit;
        const char *cgroup;
        const char *policy;
        const char *state;
        const char *reason;
        const char *config_file;
        unsigned config_line;
        const char *program;
        unsigned cookie;
        const char *manager;
} LogFields;

void log_set_target(LogTarget target);
LogTarget log_get_target(void);
const char *log_target_to_string(LogTarget target);
LogTarget log_target_from_string(const char *s);

void log_set_max_level(int level);
int log_get_max_level(void);
const char *log_level_to_string(int level);
int log_level_from_string(const char *s);

/* Whatever is logged is told to the hook as well; NULL: to none. */
typedef void (*log_hook_t)(int level, const LogFields *fields, const char *message, void *userdata);
void log_set_hook(log_hook_t hook, void *userdata);

#define LOG_FIELDS(...) (&(const LogFields) { __VA_ARGS__ })

/* All return -error (0 when error is 0), so that "return log_error_errno(r, ...)" works. */
int log_internal(int level, int error, const LogFields *fields,
                 const char *file, int line, const char *func, const char *format, ...) _printf_(7, 8);
int log_internalv(int level, int error, const LogFields *fields,
                  const char *file, int line, const char *func, const char *format, va_list ap)
        _printf_(7, 0);

#define log_full_fields(level, error, fields, ...) \
        log_internal(level, error, fields, __FILE__, __LINE__, __func__, __VA_ARGS__)
#define log_full_errno(level, error, ...) log_full_fields(level, error, NULL, __VA_ARGS__)
#define log_full(level, ...) ((void) log_full_errno(level, 0, __VA_ARGS__))

#define log_debug(...) log_full(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_full(LOG_INFO, __VA_ARGS__)
#define log_notice(...) log_full(LOG_NOTICE, __VA_ARGS__)
#define log_warning(...) log_full(LOG_WARNING, __VA_ARGS__)
#define log_error(...) log_full(LOG_ERR, __VA_ARGS__)

#define log_debug_errno(error, ...) log_full_errno(LOG_DEBUG, error, __VA_ARGS__)
#define log_warning_errno(error, ...) log_full_errno(LOG_WARNING, error, __VA_ARGS__)
#define log_error_errno(error, ...) log_full_errno(LOG_ERR, error, __VA_ARGS__)

#define log_oom() log_error_errno(-ENOMEM, "Out of memory.")

/* A complaint about a line of a configuration file: "FILE:LINE: text". */
#define log_syntax(level, config_file_, config_line_, format, ...)                              \
        ((void) log_full_fields(level, 0,                                                       \
                                LOG_FIELDS(.config_file = (config_file_),                       \
                                           .config_line = (config_line_)),                      \
                                "%s:%u: " format, (config_file_), (unsigned) (config_line_),    \
                                ##__VA_ARGS__))
