/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "trace.h"

/* How to read a trace, where its form leaves that open. On the command line
 * "FORMAT:KEY=VALUE,KEY=VALUE…". */
typedef struct TraceOptions {
        bool ignore_obj_size; /* oracleGeneral, csv: each object is one page, whatever its size */

        /* csv: columns from 1; 0: found by the header, or not there */
        unsigned obj_id_col;
        unsigned obj_size_col;
        unsigned offset_col; /* of bytes; the object is then a file or device, the size a length */
        unsigned op_col;
        unsigned manager_col;
        char delimiter; /* 0: found out */
        int has_header; /* negative: found out */

        char action;  /* blkparse: the action that counts */
        bool partial; /* record: a recording that was cut off is read as far as it goes */

        /* text, blkparse, record: threads' names as glob(7) patterns, separated by blanks, to give threads a
         * class that have none; NULL: none */
        char *scan_threads;
        char *background_threads;
} TraceOptions;

#define TRACE_OPTIONS_DEFAULT (TraceOptions) { .has_header = -1, .action = 'Q' }

void trace_options_done(TraceOptions *options);

/* Parses "FORMAT" or "FORMAT:KEY=VALUE,…" on top of what *options holds. -EINVAL with *ret_error set. */
int trace_format_parse(const char *s, TraceFormat *ret, TraceOptions *options, char **ret_error);

/* Reads a trace, compressed or not. "options" may be NULL. On failure *ret_error is one line that says which
 * file and which line or offset is wrong and what was expected there, to be freed by the caller.
 * -EBADMSG: the content is malformed; -ENODATA: it has no requests; else what reading the file gave. */
int trace_read(const char *path, TraceFormat format, const TraceOptions *options, Trace **ret,
               char **ret_error);

/* The bits of Trace.flags for a thread of that name (NULL: unknown). */
uint8_t trace_thread_class(const TraceOptions *options, const char *thread);
