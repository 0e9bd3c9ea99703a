/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sd_journal_sendv() gets the code location in our own fields, not this file's. */
#define SD_JOURNAL_SUPPRESS_LOCATION 1

#include <glib.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <systemd/sd-journal.h>

#include "cleanup.h"
#include "log.h"
#include "string-util.h"

#define LOG_LINE_MAX 2048

static LogTarget log_target = LOG_TARGET_AUTO;
static int log_max_level = LOG_INFO;
static log_hook_t log_hook;
static void *log_hook_userdata;

static const char *const log_target_table[] = {
        [LOG_TARGET_AUTO] = "auto",
        [LOG_TARGET_CONSOLE] = "console",
        [LOG_TARGET_JOURNAL] = "journal",
        [LOG_TARGET_NULL] = "null",
};

DEFINE_STRING_TABLE(log_target, LogTarget, _LOG_TARGET_MAX);

static const char *const log_level_table[] = {
        [LOG_EMERG] = "emerg", [LOG_ALERT] = "alert",   [LOG_CRIT] = "crit", [LOG_ERR] = "err",
        [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice", [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

DEFINE_STRING_TABLE(log_level, int, LOG_DEBUG + 1);

/* PID 1 says in $JOURNAL_STREAM which device and inode it connected to the journal. */
static bool stderr_is_journal(void) {
        unsigned long long dev, ino;
        const char *e = getenv("JOURNAL_STREAM");
        struct stat st;

        if (!e || sscanf(e, "%llu:%llu", &dev, &ino) != 2 || fstat(STDERR_FILENO, &st) < 0)
                return false;

        return st.st_dev == dev && st.st_ino == ino;
}

void log_set_target(LogTarget target) {
        assert(target >= 0 && target < _LOG_TARGET_MAX);

        log_target = target == LOG_TARGET_AUTO && stderr_is_journal() ? LOG_TARGET_JOURNAL : target;
}

LogTarget log_get_target(void) {
        return log_target;
}

void log_set_max_level(int level) {
        assert(level >= LOG_EMERG && level <= LOG_DEBUG);

        log_max_level = level;
}

int log_get_max_level(void) {
        return log_max_level;
}

void log_set_hook(log_hook_t hook, void *userdata) {
        log_hook = hook;
        log_hook_userdata = userdata;
}

static void add_field(struct iovec *iov, size_t *n, const char *key, const char *value) {
        char *s;

        if (isempty(value) || asprintf(&s, "%s=%s", key, value) < 0)
                return;

        iov[(*n)++] = (struct iovec) { .iov_base = s, .iov_len = strlen(s) };
}

static void add_field_u(struct iovec *iov, size_t *n, const char *key, unsigned value) {
        char buf[DECIMAL_STR_MAX(unsigned)];

        (void) snprintf(buf, sizeof(buf), "%u", value);
        add_field(iov, n, key, buf);
}

static int write_to_journal(int level, int error, const LogFields *f,
                            const char *file, int line, const char *func, const char *message) {
        struct iovec iov[24];
        size_t n = 0;
        int r;

        add_field(iov, &n, "MESSAGE", message);
        add_field_u(iov, &n, "PRIORITY", level);
        add_field(iov, &n, "SYSLOG_IDENTIFIER", program_invocation_short_name);
        add_field(iov, &n, "CODE_FILE", file);
        add_field_u(iov, &n, "CODE_LINE", line);
        add_field(iov, &n, "CODE_FUNC", func);
        if (error > 0)
                add_field_u(iov, &n, "ERRNO", error);
        if (f) {
                add_field(iov, &n, "MESSAGE_ID", f->message_id);
                add_field(iov, &n, "UNIT", f->unit);
                add_field(iov, &n, "OBJECT_SYSTEMD_UNIT", f->unit); /* for journalctl -u, systemctl status */
                add_field(iov, &n, "CGROUP", f->cgroup);
                add_field(iov, &n, "POLICY", f->policy);
                add_field(iov, &n, "STATE", f->state);
                add_field(iov, &n, "REASON", f->reason);
                add_field(iov, &n, "CONFIG_FILE", f->config_file);
                if (f->config_line > 0)
                        add_field_u(iov, &n, "CONFIG_LINE", f->config_line);
                add_field(iov, &n, "PROGRAM", f->program);
                add_field(iov, &n, "MANAGER", f->manager);
                if (f->cookie > 0)
                        add_field_u(iov, &n, "COOKIE", f->cookie);
        }

        r = n > 0 ? sd_journal_sendv(iov, n) : -ENOMEM;
        for (size_t i = 0; i < n; i++)
                free(iov[i].iov_base);

        return r;
}

int log_internalv(int level, int error, const LogFields *fields,
                  const char *file, int line, const char *func, const char *format, va_list ap) {
        char buffer[LOG_LINE_MAX];
        g_autofree char *message = NULL;
        int saved = errno;

        error = abs(error);

        if (!log_hook && (level > log_max_level || log_target == LOG_TARGET_NULL))
                return -error;

        errno = error; /* for %m */
        (void) vsnprintf(buffer, sizeof(buffer), format, ap);
        /* A file may have any name, and a long line is cut anywhere; journal and bus want UTF-8. */
        message = g_utf8_make_valid(buffer, -1);

        if (log_hook)
                log_hook(level, fields, message, log_hook_userdata);

        if (level <= log_max_level && log_target != LOG_TARGET_NULL &&
            (log_target != LOG_TARGET_JOURNAL ||
             write_to_journal(level, error, fields, file, line, func, message) < 0))
                fprintf(stderr, "%s\n", message);

        errno = saved;
        return -error;
}

int log_internal(int level, int error, const LogFields *fields,
                 const char *file, int line, const char *func, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = log_internalv(level, error, fields, file, line, func, format, ap);
        va_end(ap);

        return r;
}
