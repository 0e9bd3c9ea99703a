/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* One line of a trace in text form; cachebpf-trace(5) describes it. */
typedef struct TraceTextAccess {
        const char *file;   /* NULL: the one that has no name */
        uint64_t page;      /* or, if in_bytes, the offset of the first byte */
        uint64_t n;         /* pages or bytes, at least 1 */
        uint8_t flags;      /* TRACE_*; 0: a read */
        const char *thread; /* its name; NULL: unknown */
        const char *manager; /* likewise */
        int in_bytes;
} TraceTextAccess;

/* Parses a line that is neither empty nor a comment, in place: the strings of *ret are in it. Returns NULL
 * or what is wrong. */
const char *trace_text_parse(char *line, TraceTextAccess *ret);

/* The first line of a file that "record" writes; any file may do without. */
#define TRACE_TEXT_HEADER "# cachebpf trace"

/* Writes a line. 0, or -errno of the stream. */
int trace_text_write(FILE *f, const TraceTextAccess *a);
