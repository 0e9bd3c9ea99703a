/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

/* The content of a trace file, decompressed on the way if it is compressed by zstd: what the readers of the
 * various forms work on, line by line or record by record. It knows where it is, for messages. */
typedef struct TraceInput TraceInput;

/* Longer lines are an error: no form has them, and a binary file taken for text is found out soon. */
#define TRACE_LINE_MAX 65536U

/* "-" is the standard input. On failure *ret_error is a line for the user, or NULL. */
int trace_input_open(const char *path, TraceInput **ret, char **ret_error);

TraceInput *trace_input_free(TraceInput *in);
DEFINE_TRIVIAL_CLEANUP_FUNC(TraceInput *, trace_input_free);

const char *trace_input_name(const TraceInput *in);

/* The next bytes, without taking them: as many as there are up to "want" (at most TRACE_LINE_MAX). */
int trace_input_peek(TraceInput *in, size_t want, const uint8_t **ret, size_t *ret_n);

/* Takes the next n bytes (at most TRACE_LINE_MAX), valid until the next call. Returns 1, 0 at the end of the
 * file, -EBADMSG if the file ends after fewer bytes; "what" says in the message what was expected
 * ("record"). */
int trace_input_take(TraceInput *in, size_t n, const char *what, const uint8_t **ret);

/* Takes an integer of 7 bits a byte, the lowest first, the upper bit set in all but the last (LEB128). */
int trace_input_take_varint(TraceInput *in, const char *what, uint64_t *ret);

/* Takes a line, without its end ("\n" or "\r\n"), to be modified at will and valid until the next call.
 * Returns 1, 0 at the end of the file, -EBADMSG if it is too long or contains a NUL byte. */
int trace_input_take_line(TraceInput *in, char **ret);

/* Says that the line (or record) taken last is wrong:
 * the message begins with file and place. Returns -error. */
int trace_input_fail(TraceInput *in, int error, const char *format, ...) _printf_(3, 4);

/* The same for something that no place can be named for. */
int trace_input_fail_file(TraceInput *in, int error, const char *format, ...) _printf_(3, 4);

/* The message of the failure, to be freed by the caller; NULL if there is none. */
char *trace_input_take_error(TraceInput *in);
