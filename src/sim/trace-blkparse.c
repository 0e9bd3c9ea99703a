/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The text that blkparse(1) prints of what blktrace(8) recorded, in its default format:
 *
 *        8,0    3       11     0.009507758   697  Q   W 223490 + 8 [kjournald]
 *      device  cpu  number        time       pid  action  what  sector + sectors [process]
 *
 * One action counts, by default Q: the request as the file system made it, before the block layer merges or
 * splits any. A sector has 512 bytes. Discards remove pages; flushes and what else carries no data is left
 * out. */

#include <inttypes.h>
#include <stdio.h>

#include "shared/string-util.h"
#include "trace-reader.h"

#define SECTOR_SIZE 512U
#define WHITESPACE " \t"

typedef struct Event {
        const char *device;
        char *action;
        char *rest; /* what follows the action */
} Event;

/* The next word of the line, cut off; "" at its end. */
static char *next_word(char **line) {
        char *word = *line + strspn(*line, WHITESPACE), *end = word + strcspn(word, WHITESPACE);

        *line = *end ? end + 1 : end;
        *end = 0;
        return word;
}

static bool is_number(const char *s, const char *separators) {
        size_t digits = strspn(s, "0123456789");

        if (digits == 0)
                return false;
        s += digits;
        if (*s && *separators)
                return *s == *separators && is_number(s + 1, separators + 1);
        return !*s && !*separators;
}

/* The columns that all events have. */
static bool parse_event(char *line, Event *ret) {
        const char *device = next_word(&line), *cpu = next_word(&line), *number = next_word(&line),
                *at = next_word(&line), *pid = next_word(&line);
        char *action = next_word(&line);

        *ret = (Event) { .device = device, .action = action, .rest = line };
        return is_number(device, ",") && is_number(cpu, "") && is_number(number, "") && is_number(at, ".") &&
                is_number(pid, "") && g_ascii_isalpha(*action) && strlen(action) <= 2;
}

bool trace_is_blkparse(const char *line) {
        char *copy = g_strdup(line);
        Event e;
        bool is;

        is = parse_event(copy, &e);
        g_free(copy);
        return is;
}

/* "W", "RM", "FWFS", "D", …: the letter that says what is done, behind the F of a flush that comes first. */
static bool parse_what(const char *s, uint8_t *ret) {
        if (*s == 'F' && s[1])
                s++;

        switch (*s) {
        case 'R':
                *ret = 0;
                return true;
        case 'W':
                *ret = TRACE_WRITE;
                return true;
        case 'D':
                *ret = TRACE_REMOVE;
                return true;
        default:
                return false;
        }
}

static int read_event(TraceReader *r, Event *e) {
        const char *what = next_word(&e->rest), *sector = next_word(&e->rest), *plus, *length;
        uint64_t first, n;
        uint8_t flags;
        char *end;

        /* No data, or a command for the drive ("36 (12 00 …)"). */
        if (!parse_what(what, &flags) || *sector == '[' || *sector == '(' || !*sector)
                return 0;

        plus = next_word(&e->rest);
        if (*plus == '(')
                return 0;
        length = next_word(&e->rest);
        if (!streq(plus, "+") || trace_parse_number(sector, &first) < 0 ||
            trace_parse_number(length, &n) < 0)
                return trace_input_fail(r->input, EBADMSG, "behind \"%s %s\" comes no \"SECTOR + SECTORS\"",
                                        e->action, what);
        if (n == 0)
                return 0;
        if (first > UINT64_MAX / SECTOR_SIZE || n > UINT64_MAX / SECTOR_SIZE)
                return trace_input_fail(r->input, EBADMSG, "sector %s + %s is beyond 2^64 bytes", sector,
                                        length);

        e->rest += strspn(e->rest, WHITESPACE);
        end = strrchr(e->rest, ']');
        if (*e->rest == '[' && end) {
                *end = 0;
                flags |= trace_thread_class(r->options, e->rest + 1);
        }

        return trace_reader_add_bytes(r, trace_reader_number(r, e->device), first * SECTOR_SIZE,
                                      n * SECTOR_SIZE, flags);
}

int trace_read_blkparse(TraceReader *r) {
        const char action[] = { r->options->action, 0 };
        bool summary = false, events = false;
        char *line;
        int k;

        while ((k = trace_input_take_line(r->input, &line)) > 0) {
                Event e;

                line = strstrip(line);
                if (!*line)
                        continue;

                /* The totals at the end. */
                if (startswith(line, "CPU") || startswith(line, "Total ("))
                        summary = true;

                if (!parse_event(line, &e)) {
                        if (summary)
                                continue;
                        return trace_input_fail(r->input, EBADMSG,
                                                "this is no line of blkparse's default format: "
                                                "device, cpu, number, time, process, action");
                }

                events = true;
                if (!streq(e.action, action))
                        continue;

                k = read_event(r, &e);
                if (k < 0)
                        return k;
        }
        if (k < 0)
                return k;

        if (events && r->trace->n_requests == 0)
                return trace_input_fail_file(r->input, ENODATA,
                                             "no event of the trace is a read or write with the "
                                             "action %s; blkparse:action= chooses another", action);
        return 0;
}
