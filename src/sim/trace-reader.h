/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "trace-input.h"
#include "trace-options.h"
#include "trace.h"

/* What the readers of the various forms share. */

/* 4 GiB: no access has more, and a wrong length is found
 * out before it fills the memory. The fuzzers have less. */
#ifndef TRACE_MAX_PAGES
#  define TRACE_MAX_PAGES (UINT64_C(1) << 20)
#endif

typedef struct TraceReader {
        TraceInput *input;
        const TraceOptions *options;
        Trace *trace;
        GHashTable *names; /* of files, devices or objects; their numbers plus 1 */
} TraceReader;

/* Requests for pages page…page+n_pages-1 of a file. Fails with a message if the numbers are too large. */
int trace_reader_add_pages(TraceReader *r, uint64_t file, uint64_t page, uint64_t n_pages, uint8_t flags);

/* The same for a range of bytes; a size of 0 is refused. */
int trace_reader_add_bytes(TraceReader *r, uint64_t file, uint64_t offset, uint64_t size, uint8_t flags);

/* A request for an object of a key-value trace, which is as many pages as its size needs (but with the
 * option ignore-obj-size one). */
int trace_reader_add_object(TraceReader *r, uint64_t id, uint64_t size, uint8_t flags);

/* Whose the requests are that follow; NULL: nobody's in particular. Fails with a message if there are too
 * many managers. */
int trace_reader_set_manager(TraceReader *r, const char *name);

/* Numbers names from 0 in the order they come up. */
uint32_t trace_reader_number(TraceReader *r, const char *name);

/* Parses the whole string: decimal, or hexadecimal with 0x in front. */
int trace_parse_number(const char *s, uint64_t *ret);

int trace_read_text(TraceReader *r);
int trace_read_oracle_general(TraceReader *r);
int trace_read_csv(TraceReader *r);
int trace_read_blkparse(TraceReader *r);
int trace_read_record(TraceReader *r);

/* Whether the beginning of a file looks like that form. Those of text forms get its first telling line. */
bool trace_is_record(const uint8_t *p, size_t n);
bool trace_is_oracle_general(const uint8_t *p, size_t n);
bool trace_is_text(const char *line);
bool trace_is_blkparse(const char *line);
bool trace_is_csv(const char *line);
