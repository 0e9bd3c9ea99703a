/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The text form, a line an access:
 *
 *      [OP] [FILE] WHERE [thread=NAME] [class=CLASS] [manager=NAME]
 *
 * OP is r (read, the default), w (write), a (read ahead) or d (deleted, truncated); FILE any word; WHERE is
 * PAGE or PAGE+COUNT, or in bytes @OFFSET or @OFFSET+LENGTH. In words, blanks and what is not printable are
 * written \xHH, and \ is \\. */

#include <ctype.h>
#include <inttypes.h>

#include "shared/string-util.h"
#include "trace-reader.h"
#include "trace-text.h"

#define WHITESPACE " \t"

static const struct {
        char letter;
        uint8_t flags;
} ops[] = {
        { 'r', 0 },
        { 'w', TRACE_WRITE },
        { 'a', TRACE_READAHEAD },
        { 'd', TRACE_REMOVE },
};

static const char *const class_names[] = {
        [TRACE_CLASS_NONE] = "none",
        [TRACE_CLASS_SCAN] = "scan",
        [TRACE_CLASS_BACKGROUND] = "background",
};

#define OP_MASK (TRACE_WRITE | TRACE_READAHEAD | TRACE_REMOVE)

/* ---- parsing */

/* Undoes the escaping of a word, in place. */
static bool unescape(char *s) {
        char *to = s;

        for (; *s; s++) {
                if (*s != '\\') {
                        *to++ = *s;
                        continue;
                }
                if (*++s == '\\')
                        *to++ = '\\';
                else if (*s == 'x' && isxdigit((unsigned char) s[1]) && isxdigit((unsigned char) s[2])) {
                        *to = (char) (g_ascii_xdigit_value(s[1]) << 4 | g_ascii_xdigit_value(s[2]));
                        if (!*to++)
                                return false;
                        s += 2;
                } else
                        return false;
        }

        *to = 0;
        return true;
}

static bool parse_op(const char *word, uint8_t *ret) {
        for (size_t i = 0; i < ELEMENTSOF(ops); i++)
                if (word[0] == ops[i].letter && !word[1]) {
                        *ret = ops[i].flags;
                        return true;
                }

        return false;
}

static const char *parse_class(const char *word, TraceTextAccess *a) {
        for (size_t i = 0; i < ELEMENTSOF(class_names); i++)
                if (streq(word, class_names[i])) {
                        a->flags = (uint8_t) ((a->flags & ~TRACE_CLASS_MASK) | i << TRACE_CLASS_SHIFT);
                        return NULL;
                }

        return "the class is none of none, scan and background";
}

static const char *parse_where(char *word, TraceTextAccess *a) {
        char *plus = strchr(word, '+');
        int r;

        a->in_bytes = *word == '@';
        word += a->in_bytes;
        a->n = 1;

        if (plus) {
                *plus++ = 0;
                r = trace_parse_number(plus, &a->n);
                if (r < 0)
                        return r == -ERANGE ? "the length has more than 64 bits" :
                                              "the length behind + is no number";
                if (a->n == 0)
                        return "the length is 0";
        }

        r = trace_parse_number(word, &a->page);
        if (r < 0)
                return r == -ERANGE ? "the place has more than 64 bits" :
                        "the place is none of PAGE, PAGE+COUNT, @OFFSET and @OFFSET+LENGTH";
        return NULL;
}

const char *trace_text_parse(char *line, TraceTextAccess *ret) {
        const char *problem, *class = NULL;
        char *words[3], *word, *state = NULL, *value;
        size_t n = 0, i = 0;

        *ret = (TraceTextAccess) {};

        for (word = strtok_r(line, WHITESPACE, &state); word; word = strtok_r(NULL, WHITESPACE, &state))
                if ((value = startswith(word, "thread="))) {
                        if (!unescape(value))
                                return "the name of the thread is not escaped correctly";
                        ret->thread = value;
                } else if ((value = startswith(word, "manager="))) {
                        if (!unescape(value))
                                return "the name of the manager is not escaped correctly";
                        ret->manager = value;
                } else if ((value = startswith(word, "class=")))
                        class = value;
                else if (ret->thread || class || ret->manager)
                        return "only thread=, class= and manager= can come behind those";
                else if (n == ELEMENTSOF(words))
                        return "too many words; a line is [OP] [FILE] WHERE [thread=NAME] [class=CLASS] "
                               "[manager=NAME]";
                else
                        words[n++] = word;

        if (n > 1 && parse_op(words[0], &ret->flags))
                i = 1;
        if (n - i > 2)
                return "the operation is none of r, w, a and d";
        if (n - i == 0)
                return "the place in the file is missing";

        if (n - i == 2) {
                if (!unescape(words[i]))
                        return "the name of the file is not escaped correctly";
                ret->file = words[i++];
        }

        problem = parse_where(words[i], ret);
        if (!problem && class)
                problem = parse_class(class, ret);
        return problem;
}

bool trace_is_text(const char *line) {
        char *copy = g_strdup(line);
        TraceTextAccess a;
        bool is;

        is = !trace_text_parse(copy, &a);
        g_free(copy);
        return is;
}

int trace_read_text(TraceReader *r) {
        char *line;
        int k;

        /* The file without a name is one of its own; no name is empty. */
        (void) trace_reader_number(r, "");

        while ((k = trace_input_take_line(r->input, &line)) > 0) {
                TraceTextAccess a;
                const char *problem;
                uint32_t file;

                line = strstrip(line);
                if (!*line || *line == '#')
                        continue;

                problem = trace_text_parse(line, &a);
                if (problem)
                        return trace_input_fail(r->input, EBADMSG, "%s", problem);

                if (!(a.flags & TRACE_CLASS_MASK))
                        a.flags |= trace_thread_class(r->options, a.thread);

                k = trace_reader_set_manager(r, a.manager);
                if (k < 0)
                        return k;
                file = a.file ? trace_reader_number(r, a.file) : 0;
                k = a.in_bytes ? trace_reader_add_bytes(r, file, a.page, a.n, a.flags) :
                                 trace_reader_add_pages(r, file, a.page, a.n, a.flags);
                if (k < 0)
                        return k;
        }

        return k;
}

/* ---- writing */

static void write_word(FILE *f, const char *s) {
        for (; *s; s++)
                if (*s == '\\')
                        fputs("\\\\", f);
                else if ((unsigned char) *s <= ' ' || *s == 0x7f)
                        fprintf(f, "\\x%02x", (unsigned char) *s);
                else
                        fputc(*s, f);
}

int trace_text_write(FILE *f, const TraceTextAccess *a) {
        unsigned class = (a->flags & TRACE_CLASS_MASK) >> TRACE_CLASS_SHIFT;

        assert(f);
        assert(a);
        assert(a->n > 0);

        for (size_t i = 0; i < ELEMENTSOF(ops); i++)
                if ((a->flags & OP_MASK) == ops[i].flags)
                        fprintf(f, "%c ", ops[i].letter);
        if (a->file) {
                write_word(f, a->file);
                fputc(' ', f);
        }
        fprintf(f, "%s%" PRIu64, a->in_bytes ? "@" : "", a->page);
        if (a->n > 1)
                fprintf(f, "+%" PRIu64, a->n);
        if (a->thread) {
                fputs(" thread=", f);
                write_word(f, a->thread);
        }
        if (class != TRACE_CLASS_NONE)
                fprintf(f, " class=%s", class_names[class]);
        if (a->manager) {
                fputs(" manager=", f);
                write_word(f, a->manager);
        }
        fputc('\n', f);

        return ferror(f) ? -EIO : 0;
}
