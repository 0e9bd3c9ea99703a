/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <stdio.h>

#include <bpf/libbpf.h>

#include "bpf-log.h"
#include "cleanup.h"
#include "log.h"
#include "string-util.h"

/* libbpf's print hook has no user data; our programs have one thread. */
static char *last_warning;
static char *last_verifier;

/* The text is a program's whole verifier log between two marker lines; before the closing one come
 * statistics ("processed 12 insns ..."), before those the complaint. */
static char *verifier_complaint(const char *text) {
        _cleanup_strv_free_ char **lines = g_strsplit(text, "\n", -1);
        g_autofree char *program = NULL;
        const char *complaint = NULL;

        for (char **i = lines; *i; i++) {
                char *s = strstrip(*i), *q;

                if ((q = startswith(s, "libbpf: prog '"))) {
                        g_free(program);
                        program = g_strndup(q, strcspn(q, "'"));
                } else if (!isempty(s) && !startswith(s, "processed ") && !startswith(s, "-- ") &&
                           !startswith(s, "libbpf:") && !startswith(s, "verification time") &&
                           !startswith(s, "stack depth"))
                        complaint = s;
        }

        return complaint ? g_strconcat(strempty(program), program ? "(): " : "", complaint, NULL) : NULL;
}

static int _printf_(2, 0) bpf_log_print(enum libbpf_print_level level, const char *format, va_list ap) {
        _cleanup_free_ char *text = NULL;

        if (level == LIBBPF_DEBUG && log_get_max_level() < LOG_DEBUG)
                return 0;
        if (vasprintf(&text, format, ap) < 0)
                return 0;

        if (level == LIBBPF_WARN) {
                if (strstr(text, "BEGIN PROG LOAD LOG")) {
                        if (!last_verifier)
                                last_verifier = verifier_complaint(text);
                } else {
                        const char *s = startswith(text, "libbpf: ") ?: text;

                        free(last_warning);
                        last_warning = strndup(s, strcspn(s, "\n"));
                }
        }

        for (char *p = text, *line; (line = strsep(&p, "\n"));)
                if (!isempty(line))
                        log_debug("%s", line);

        return 0;
}

void bpf_log_setup(void) {
        (void) libbpf_set_print(bpf_log_print);
}

void bpf_log_reset(void) {
        last_warning = mfree(last_warning);
        last_verifier = mfree(last_verifier);
}

char *bpf_log_cause(void) {
        const char *s = last_verifier ?: last_warning;

        return s ? g_utf8_make_valid(s, -1) : NULL; /* it may quote the object */
}
