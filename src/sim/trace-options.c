/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>
#include <stdio.h>

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

static int parse_bool(const char *value, bool *ret) {
        if (streq(value, "yes") || streq(value, "true") || streq(value, "1"))
                *ret = true;
        else if (streq(value, "no") || streq(value, "false") || streq(value, "0"))
                *ret = false;
        else
                return -EINVAL;

        return 0;
}

static int parse_column(const char *value, unsigned *ret) {
        uint64_t column;

        if (safe_atou64(value, &column) < 0 || column == 0 || column > 1000)
                return -EINVAL;

        *ret = (unsigned) column;
        return 0;
}

static int parse_delimiter(const char *value, char *ret) {
        if (streq(value, "comma"))
                *ret = ',';
        else if (streq(value, "tab") || streq(value, "\\t"))
                *ret = '\t';
        else if (streq(value, "space"))
                *ret = ' ';
        else if (strlen(value) == 1)
                *ret = *value;
        else
                return -EINVAL;

        return 0;
}

static int parse_action(const char *value, char *ret) {
        if (strlen(value) != 1 || !strchr("QDCIG", *value))
                return -EINVAL;

        *ret = *value;
        return 0;
}

/* What a key expects, for the message; NULL if there is no such key for the format. */
static const char *apply(TraceFormat format, TraceOptions *o, const char *key, const char *value, int *ret) {
        bool csv = format == TRACE_FORMAT_CSV, header;
        bool threads = format == TRACE_FORMAT_TEXT || format == TRACE_FORMAT_BLKPARSE ||
                       format == TRACE_FORMAT_RECORD;

        if ((csv || format == TRACE_FORMAT_ORACLE_GENERAL) && streq(key, "ignore-obj-size")) {
                *ret = parse_bool(value, &o->ignore_obj_size);
                return "yes or no";
        }
        if (csv && streq(key, "obj-id-col")) {
                *ret = parse_column(value, &o->obj_id_col);
                return "the number of a column, from 1";
        }
        if (csv && streq(key, "obj-size-col")) {
                *ret = parse_column(value, &o->obj_size_col);
                return "the number of a column, from 1";
        }
        if (csv && streq(key, "offset-col")) {
                *ret = parse_column(value, &o->offset_col);
                return "the number of a column, from 1";
        }
        if (csv && streq(key, "op-col")) {
                *ret = parse_column(value, &o->op_col);
                return "the number of a column, from 1";
        }
        if (csv && streq(key, "delimiter")) {
                *ret = parse_delimiter(value, &o->delimiter);
                return "one character, comma, tab or space";
        }
        if (csv && streq(key, "has-header")) {
                *ret = parse_bool(value, &header);
                o->has_header = *ret < 0 ? -1 : header;
                return "yes or no";
        }
        if (threads && streq(key, "scan-threads")) {
                *ret = free_and_strdup(&o->scan_threads, value);
                return "patterns of threads' names";
        }
        if (threads && streq(key, "background-threads")) {
                *ret = free_and_strdup(&o->background_threads, value);
                return "patterns of threads' names";
        }
        if (format == TRACE_FORMAT_BLKPARSE && streq(key, "action")) {
                *ret = parse_action(value, &o->action);
                return "one of Q, G, I, D, C";
        }
        if (format == TRACE_FORMAT_RECORD && streq(key, "partial")) {
                *ret = parse_bool(value, &o->partial);
                return "yes or no";
        }

        return NULL;
}

void trace_options_done(TraceOptions *options) {
        options->scan_threads = mfree(options->scan_threads);
        options->background_threads = mfree(options->background_threads);
}

int trace_format_parse(const char *s, TraceFormat *ret, TraceOptions *options, char **ret_error) {
        _cleanup_free_ char *copy = NULL;
        TraceFormat format;
        char *rest, *key;

        assert(s);
        assert(ret);
        assert(options);
        assert(ret_error);

        *ret_error = NULL;
        copy = strdup(s);
        if (!copy)
                return -ENOMEM;

        rest = copy;
        format = trace_format_from_string(strsep(&rest, ":"));
        if (format < 0) {
                if (asprintf(ret_error,
                             "\"%s\" is no form of traces; there are auto, text, oracleGeneral, csv, "
                             "blkparse and record", copy) < 0)
                        return -ENOMEM;
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
                if (r == -ENOMEM)
                        return r;

                if (expected)
                        r = asprintf(ret_error, "%s: \"%s\" takes %s, not \"%s\"", format_names[format], key,
                                     expected, value);
                else
                        r = asprintf(ret_error, "%s: there is no setting \"%s\" of the form KEY=VALUE",
                                     format_names[format], key);
                return r < 0 ? -ENOMEM : -EINVAL;
        }

        *ret = format;
        return 0;
}

/* Whether one of the patterns, separated by blanks, fits. */
static bool matches(const char *patterns, const char *name) {
        _cleanup_free_ char *copy = strdup(strempty(patterns));
        char *state = NULL;

        for (char *p = copy ? strtok_r(copy, " \t", &state) : NULL; p; p = strtok_r(NULL, " \t", &state))
                if (fnmatch(p, name, 0) == 0)
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
