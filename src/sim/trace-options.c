/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>
#include <glib.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "trace-options.h"

static const char *const format_names[_TRACE_FORMAT_MAX] = {
        [TRACE_FORMAT_AUTO] = "auto",
        [TRACE_FORMAT_TEXT] = "text",
        [TRACE_FORMAT_ORACLE_GENERAL] = "oracleGeneral",
        [TRACE_FORMAT_CSV] = "csv",
        [TRACE_FORMAT_BLKPARSE] = "blkparse",
        [TRACE_FORMAT_RECORD] = "record",
};

const char *trace_format_to_string(TraceFormat format) {
        return format >= 0 && format < _TRACE_FORMAT_MAX ? format_names[format] : NULL;
}

TraceFormat trace_format_from_string(const char *s) {
        for (TraceFormat f = 0; s && f < _TRACE_FORMAT_MAX; f++)
                if (strcasecmp(format_names[f], s) == 0)
                        return f;

        return _TRACE_FORMAT_INVALID;
}

/* ---- settings */

static int parse_bool(const char *value, void *ret) {
        int b = parse_boolean(value);

        if (b >= 0)
                *(bool *) ret = b;
        return b;
}

static int parse_tristate(const char *value, void *ret) {
        return *(int *) ret = parse_boolean(value);
}

static int parse_column(const char *value, void *ret) {
        uint64_t column;

        if (safe_atou64(value, &column) < 0 || column == 0 || column > 1000)
                return -EINVAL;

        *(unsigned *) ret = (unsigned) column;
        return 0;
}

static int parse_delimiter(const char *value, void *ret) {
        char *delimiter = ret;

        if (streq(value, "comma"))
                *delimiter = ',';
        else if (streq(value, "tab") || streq(value, "\\t"))
                *delimiter = '\t';
        else if (streq(value, "space"))
                *delimiter = ' ';
        else if (strlen(value) == 1)
                *delimiter = *value;
        else
                return -EINVAL;

        return 0;
}

static int parse_action(const char *value, void *ret) {
        if (strlen(value) != 1 || !strchr("QDCIG", *value))
                return -EINVAL;

        *(char *) ret = *value;
        return 0;
}

static int parse_string(const char *value, void *ret) {
        g_set_str((char **) ret, value);
        return 0;
}

#define YES_OR_NO "yes or no"
#define COLUMN "the number of a column, from 1"
#define PATTERNS "patterns of threads' names"

enum {
        ORACLE   = 1 << TRACE_FORMAT_ORACLE_GENERAL,
        CSV      = 1 << TRACE_FORMAT_CSV,
        BLKPARSE = 1 << TRACE_FORMAT_BLKPARSE,
        RECORD   = 1 << TRACE_FORMAT_RECORD,
        /* those that know threads */
        THREADS  = 1 << TRACE_FORMAT_TEXT | BLKPARSE | RECORD,
};

static const struct {
        const char *key;
        unsigned formats; /* those that have it */
        int (*parse)(const char *value, void *ret);
        size_t offset; /* in TraceOptions */
        const char *expected;
} settings[] = {
        { "ignore-obj-size", CSV | ORACLE, parse_bool, offsetof(TraceOptions, ignore_obj_size), YES_OR_NO },
        { "obj-id-col", CSV, parse_column, offsetof(TraceOptions, obj_id_col), COLUMN },
        { "obj-size-col", CSV, parse_column, offsetof(TraceOptions, obj_size_col), COLUMN },
        { "offset-col", CSV, parse_column, offsetof(TraceOptions, offset_col), COLUMN },
        { "op-col", CSV, parse_column, offsetof(TraceOptions, op_col), COLUMN },
        { "manager-col", CSV, parse_column, offsetof(TraceOptions, manager_col), COLUMN },
        { "delimiter", CSV, parse_delimiter, offsetof(TraceOptions, delimiter),
          "one character, comma, tab or space" },
        { "has-header", CSV, parse_tristate, offsetof(TraceOptions, has_header), YES_OR_NO },
        { "scan-threads", THREADS, parse_string, offsetof(TraceOptions, scan_threads), PATTERNS },
        { "background-threads", THREADS, parse_string, offsetof(TraceOptions, background_threads),
          PATTERNS },
        { "action", BLKPARSE, parse_action, offsetof(TraceOptions, action), "one of Q, G, I, D, C" },
        { "partial", RECORD, parse_bool, offsetof(TraceOptions, partial), YES_OR_NO },
};

/* What a key expects, for the message; NULL if there is no such key for the format. */
static const char *apply(TraceFormat format, TraceOptions *o, const char *key, const char *value, int *ret) {
        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                if (settings[i].formats & 1U << format && streq(settings[i].key, key)) {
                        *ret = settings[i].parse(value, (char *) o + settings[i].offset);
                        return settings[i].expected;
                }

        return NULL;
}

void trace_options_done(TraceOptions *options) {
        options->scan_threads = mfree(options->scan_threads);
        options->background_threads = mfree(options->background_threads);
}

int trace_format_parse(const char *s, TraceFormat *ret, TraceOptions *options, char **ret_error) {
        g_autofree char *copy = g_strdup(s);
        char *rest = copy, *key;
        TraceFormat format;

        assert(s);
        assert(ret);
        assert(options);
        assert(ret_error);

        *ret_error = NULL;
        format = trace_format_from_string(strsep(&rest, ":"));
        if (format < 0) {
                *ret_error = g_strdup_printf("\"%s\" is no form of traces; there are auto, text, "
                                             "oracleGeneral, csv, blkparse and record", copy);
                return -EINVAL;
        }

        while ((key = strsep(&rest, ","))) {
                const char *expected = NULL;
                char *value = strchr(key, '=');
                int r = -EINVAL;

                if (value) {
                        *value++ = 0;
                        expected = apply(format, options, key, value, &r);
                }
                if (expected && r >= 0)
                        continue;

                *ret_error = expected ?
                        g_strdup_printf("%s: \"%s\" takes %s, not \"%s\"", format_names[format], key,
                                        expected, value) :
                        g_strdup_printf("%s: there is no setting \"%s\" of the form KEY=VALUE",
                                        format_names[format], key);
                return -EINVAL;
        }

        *ret = format;
        return 0;
}

/* Whether one of the patterns, separated by blanks, fits. */
static bool matches(const char *patterns, const char *name) {
        _cleanup_strv_free_ char **words = strv_split(strempty(patterns));

        for (char **p = words; *p; p++)
                if (fnmatch(*p, name, 0) == 0)
                        return true;

        return false;
}

uint8_t trace_thread_class(const TraceOptions *options, const char *thread) {
        if (!thread || (!options->scan_threads && !options->background_threads))
                return 0;
        if (matches(options->scan_threads, thread))
                return TRACE_CLASS_SCAN << TRACE_CLASS_SHIFT;
        if (matches(options->background_threads, thread))
                return TRACE_CLASS_BACKGROUND << TRACE_CLASS_SHIFT;
        return 0;
}
