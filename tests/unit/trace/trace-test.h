/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "test-util.h"

#include "sim/trace-options.h"

/* Reads a trace that is a file with this content. */
int read_data(const void *data, size_t size, TraceFormat format, const TraceOptions *options, Trace **ret,
              char **ret_error);

/* Reads a trace that must be good. "options" is as on the command line ("csv:obj-id-col=1"). */
Trace *read_good(const char *options, const void *data, size_t size);

/* Reads one that must fail with this error;
 * "message" must be how the message goes on behind the file's name. */
void read_bad(const char *options, const void *data, size_t size, int error, const char *message);

/* The number of the object of each request,
 * and if "flags" is not NULL, the flags of each. Frees the trace. */
void check_trace(Trace *t, size_t n, const uint32_t objects[], const uint8_t flags[]);

#define good(options, text) read_good((options), (text), strlen(text))
#define bad(options, text, error, message) read_bad((options), (text), strlen(text), (error), (message))

#define OBJECTS(...) ELEMENTSOF(((const uint32_t[]) { __VA_ARGS__ })), (const uint32_t[]) { __VA_ARGS__ }
#define FLAGS(...) (const uint8_t[]) { __VA_ARGS__ }
