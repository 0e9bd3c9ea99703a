/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <string.h>

#include "terminal.h"
#include "text.h"

/* One character; an invalid byte is one of its own. */
typedef struct Character {
        size_t length;  /* in bytes */
        unsigned width; /* in columns */
        bool safe;      /* to print */
} Character;

static bool is_safe(gunichar c) {
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

static Character character_at(const char *s) {
        gunichar c;

        /* Nearly all text, and a thousand units have much of it. */
        if (g_ascii_isprint(*s))
                return (Character) { .length = 1, .width = 1, .safe = true };

        c = g_utf8_get_char_validated(s, -1);
        if (c == (gunichar) -1 || c == (gunichar) -2)
                return (Character) { .length = 1, .width = 1 };

        return (Character) {
                .length = (size_t) (g_utf8_next_char(s) - s),
                .width = g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1,
                .safe = is_safe(c),
        };
}

size_t text_width(const char *s) {
        size_t width = 0;

        assert(s);

        while (*s) {
                Character c = character_at(s);

                width += c.width;
                s += c.length;
        }

        return width;
}

char *text_escape(const char *s) {
        GString *text;

        assert(s);

        text = g_string_sized_new(strlen(s));
        while (*s) {
                Character c = character_at(s);

                if (c.safe)
                        g_string_append_len(text, s, (gssize) c.length);
                else
                        for (size_t i = 0; i < c.length; i++)
                                g_string_append_printf(text, "\\x%02x", (unsigned char) s[i]);
                s += c.length;
        }

        return g_string_free(text, FALSE);
}

/* Length in bytes of the longest beginning that takes at most "width" columns. */
static size_t head_length(const char *s, size_t width) {
        const char *p = s;

        while (*p) {
                Character c = character_at(p);

                if (c.width > width)
                        break;

                width -= c.width;
                p += c.length;
        }

        return (size_t) (p - s);
}

/* The longest end that takes at most "width" columns: what is left once enough columns were skipped from
 * the start. */
static const char *tail_start(const char *s, size_t width) {
        size_t total = text_width(s);

        while (*s && total > width) {
                Character c = character_at(s);

                total -= c.width;
                s += c.length;
        }

        /* Do not begin with a mark that belonged to the character before. */
        while (*s && character_at(s).width == 0)
                s += character_at(s).length;

        return s;
}

char *text_ellipsize(const char *s, size_t width, unsigned percent) {
        const char *ellipsis, *tail;
        size_t head_width, head, room;

        assert(s);
        assert(percent <= 100);

        if (text_width(s) <= width)
                return g_strdup(s);

        ellipsis = terminal_utf8() ? "…" : "...";
        if (text_width(ellipsis) >= width)
                return g_strndup(ellipsis, head_length(ellipsis, width));

        room = width - text_width(ellipsis);
        head_width = room * percent / 100;
        head = head_length(s, head_width);
        tail = tail_start(s + head, room - head_width);

        return g_strdup_printf("%.*s%s%s", (int) head, s, ellipsis, tail);
}
