/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* systemd's unit file syntax, as its manual defines it in systemd.syntax(7). systemd's own parser is not a
 * library, and GKeyFile refuses half of the syntax (';' comments, continuations, repeated keys), so this is
 * the one reader for unit files and for policies.d: users meet one syntax. */

#include "conf-file.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"

#define UTF8_BOM "\xef\xbb\xbf"

typedef struct ConfParser {
        const char *file;
        int level;
        char *section;       /* NULL outside of any section and in one whose header is broken */
        bool section_broken;
        conf_assignment_func_t func;
        void *userdata;
} ConfParser;

static void parse_section(ConfParser *p, unsigned line, char *s) {
        char *e = endswith(s, "]");

        p->section = mfree(p->section);
        p->section_broken = !e || e == s + 1;
        if (p->section_broken) {
                log_syntax(p->level, p->file, line, "Invalid section header '%s', ignoring the section.", s);
                return;
        }

        *e = 0;
        p->section = g_strdup(s + 1);
}

static int parse_logical_line(ConfParser *p, unsigned line, char *s) {
        char *e;

        s += strspn(s, " \t\n\r");
        if (!*s)
                return 0;

        if (!utf8_is_valid_n(s, strlen(s))) {
                log_syntax(p->level, p->file, line, "Line is not valid UTF-8, ignoring.");
                return 0;
        }

        if (*s == '[') {
                parse_section(p, line, strstrip(s));
                return 0;
        }

        e = strchr(s, '=');
        if (!e || e == s) {
                log_syntax(p->level, p->file, line, "Missing %s'=', ignoring line.",
                           e ? "key name before " : "");
                return 0;
        }
        if (p->section_broken)
                return 0;
        if (!p->section) {
                log_syntax(p->level, p->file, line, "Assignment outside of any section, ignoring.");
                return 0;
        }

        *e = 0;
        return p->func(&(const ConfAssignment) {
                               .file = p->file,
                               .line = line,
                               .section = p->section,
                               .key = strstrip(s),
                               .value = strstrip(e + 1),
                       },
                       p->userdata);
}

/* Ends the physical line at *pos with a NUL, moves *pos behind it and returns its start; NULL at the end.
 * As for systemd, a carriage return or a NUL byte also ends a line. */
static char *next_line(char **pos, const char *end) {
        char *s = *pos, *e;

        if (s >= end)
                return NULL;

        for (e = s; e < end && *e && *e != '\n' && *e != '\r'; e++)
                ;

        *pos = e + 1;
        if (e + 1 < end && e[0] == '\r' && e[1] == '\n')
                (*pos)++;
        *e = 0; /* e may be the terminating NUL of the text, never more */

        return s;
}

/* An odd number of backslashes at the end continues the line; the last one then stands for a space. */
static bool strip_continuation(char *s) {
        size_t n = strlen(s), k = 0;

        while (k < n && s[n - 1 - k] == '\\')
                k++;
        if (k % 2 == 0)
                return false;

        s[n - 1] = ' ';
        return true;
}

static int parse_lines(ConfParser *p, char *text, size_t size) {
        _cleanup_gstring_ GString *joined = g_string_new(NULL);
        unsigned line = 0, first = 0;
        char *pos = text, *s;
        int r;

        while ((s = next_line(&pos, text + size))) {
                const char *c = s + strspn(s, " \t");
                bool continued = joined->len > 0;

                line++;

                /* Comments are skipped wherever they are, also between the parts of a continued line. */
                if (*c == '#' || *c == ';')
                        continue;

                if (strlen(s) + joined->len > CONF_LINE_MAX) {
                        log_syntax(p->level, p->file, line, "Line too long, ignoring the rest of the file.");
                        return 0;
                }

                if (!continued)
                        first = line;

                if (strip_continuation(s)) {
                        g_string_append(joined, s);
                        continue;
                }

                if (continued) {
                        g_string_append(joined, s);
                        s = joined->str;
                }

                r = parse_logical_line(p, first, s);
                if (r < 0)
                        return r;

                g_string_truncate(joined, 0);
        }

        return joined->len > 0 ? parse_logical_line(p, first, joined->str) : 0;
}

int conf_parse_text(const char *file, char *text, size_t size, int level,
                    conf_assignment_func_t func, void *userdata) {
        ConfParser p = {
                .file = file,
                .level = level,
                .func = func,
                .userdata = userdata,
        };
        int r;

        assert(file);
        assert(text);
        assert(func);

        if (size >= STRLEN(UTF8_BOM) && startswith(text, UTF8_BOM)) {
                text += STRLEN(UTF8_BOM);
                size -= STRLEN(UTF8_BOM);
        }

        r = parse_lines(&p, text, size);
        free(p.section);
        return r;
}
