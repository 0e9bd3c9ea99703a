/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "terminal.h"
#include "text.h"

/* Steps over one character. Returns the columns it takes; *ret_valid says whether it was valid UTF-8 (an
 * invalid byte is a character of its own). */
static unsigned text_step(const char *s, size_t *ret_length, gunichar *ret_char, bool *ret_valid) {
        gunichar c;

        assert(s);
        assert(*s);

        /* Nearly all text, and a thousand units have much of it. */
        if (g_ascii_isprint(*s)) {
                *ret_length = 1;
                *ret_char = (unsigned char) *s;
                *ret_valid = true;
                return 1;
        }

        c = g_utf8_get_char_validated(s, -1);
        if (c == (gunichar) -1 || c == (gunichar) -2) {
                *ret_length = 1;
                *ret_char = 0;
                *ret_valid = false;
                return 1;
        }

        *ret_length = (size_t) (g_utf8_next_char(s) - s);
        *ret_char = c;
        *ret_valid = true;

        if (g_unichar_iszerowidth(c))
                return 0;
        return g_unichar_iswide(c) ? 2 : 1;
}

size_t text_width(const char *s) {
        size_t width = 0;

        assert(s);

        while (*s) {
                size_t length;
                gunichar c;
                bool valid;

                width += text_step(s, &length, &c, &valid);
                s += length;
        }

        return width;
}

static bool character_is_safe(gunichar c) {
        if (c < 0x80)
                return g_ascii_isprint(c);

        switch (g_unichar_type(c)) {

        case G_UNICODE_CONTROL:
        case G_UNICODE_FORMAT:
        case G_UNICODE_SURROGATE:
        case G_UNICODE_LINE_SEPARATOR:
        case G_UNICODE_PARAGRAPH_SEPARATOR:
                return false;

        default:
                return true;
        }
}

char *text_escape(const char *s) {
        char *copy, *t;

        assert(s);

        copy = malloc(strlen(s) * strlen("\\xNN") + 1);
        if (!copy)
                return NULL;

        t = copy;
        while (*s) {
                size_t length;
                gunichar c;
                bool valid;

                (void) text_step(s, &length, &c, &valid);

                if (valid && character_is_safe(c))
                        t = mempcpy(t, s, length);
                else
                        for (size_t i = 0; i < length; i++)
                                t += sprintf(t, "\\x%02x", (unsigned char) s[i]);
                s += length;
        }

        *t = 0;
        return copy;
}

/* Length in bytes of the longest beginning that takes at most "width" columns. */
static size_t head_length(const char *s, size_t width) {
        const char *p = s;

        while (*p) {
                size_t length;
                gunichar c;
                bool valid;
                unsigned w;

                w = text_step(p, &length, &c, &valid);
                if (w > width)
                        break;

                width -= w;
                p += length;
        }

        return (size_t) (p - s);
}

/* The longest end that takes at most "width" columns: what is left once enough columns were skipped from
 * the start. */
static const char *tail_start(const char *s, size_t width) {
        size_t total = text_width(s);

        while (*s && total > width) {
                size_t length;
                gunichar c;
                bool valid;

                total -= text_step(s, &length, &c, &valid);
                s += length;
        }

        /* Do not begin with a mark that belonged to the character before. */
        while (*s) {
                size_t length;
                gunichar c;
                bool valid;

                if (text_step(s, &length, &c, &valid) > 0)
                        break;
                s += length;
        }

        return s;
}

char *text_ellipsize(const char *s, size_t width, unsigned percent) {
        const char *ellipsis, *tail;
        size_t head_width, head, room;
        char *copy;

        assert(s);
        assert(percent <= 100);

        if (text_width(s) <= width)
                return strdup(s);

        ellipsis = terminal_utf8() ? "…" : "...";
        if (text_width(ellipsis) >= width)
                return strndup(ellipsis, head_length(ellipsis, width));

        room = width - text_width(ellipsis);
        head_width = room * percent / 100;
        head = head_length(s, head_width);
        tail = tail_start(s + head, room - head_width);

        if (asprintf(&copy, "%.*s%s%s", (int) head, s, ellipsis, tail) < 0)
                return NULL;
        return copy;
}
