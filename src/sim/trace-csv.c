/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Traces with a line a request and its parts in columns, as libCacheSim reads them: the object, its size in
 * bytes, the operation, whose it is. With a column for the offset, the object is a file or device and the
 * size a length: block traces such as those of Microsoft Research are read so. */

#include <inttypes.h>
#include <stdio.h>

#include "shared/string-util.h"
#include "trace-reader.h"

#define MAX_COLUMNS 1000U

typedef struct Csv {
        TraceReader *reader;
        TraceOptions columns; /* of which everything is known after the first line */
        bool columns_known;
        char *fields[MAX_COLUMNS];
        size_t n_fields;
} Csv;

/* Splits a line in place. A field may be in double quotes, with "" for one of them. */
static int split(Csv *c, char *line) {
        char delimiter = c->columns.delimiter;

        c->n_fields = 0;
        for (char *s = line;; s++) {
                char *field = s, *to = s;

                if (c->n_fields == MAX_COLUMNS)
                        return trace_input_fail(c->reader->input, EBADMSG, "more than %u columns",
                                                MAX_COLUMNS);

                if (*s == '"') {
                        for (s++; *s && (*s != '"' || s[1] == '"'); s++) {
                                s += *s == '"';
                                *to++ = *s;
                        }
                        if (!*s)
                                return trace_input_fail(c->reader->input, EBADMSG,
                                                        "the quote in column %zu does not end",
                                                        c->n_fields + 1);
                        s++;
                        if (*s && *s != delimiter)
                                return trace_input_fail(c->reader->input, EBADMSG,
                                                        "something follows the quote in column %zu",
                                                        c->n_fields + 1);
                } else
                        to = s += strcspn(s, (char[]) { delimiter, 0 });

                delimiter = *s ? c->columns.delimiter : 0;
                *to = 0;
                c->fields[c->n_fields++] = strstrip(field);
                if (!delimiter)
                        return 0;
        }
}

static char find_delimiter(const char *line) {
        for (const char *d = "\t;,|"; *d; d++)
                if (strchr(line, *d))
                        return *d;

        return strchr(line, ' ') ? ' ' : ',';
}

bool trace_is_csv(const char *line) {
        return *line != '{' && *line != '<' && find_delimiter(line) != ' ' && strpbrk(line, "\t;,|");
}

/* ---- which column is what */

static const struct {
        const char *name;
        size_t offset; /* of the number in TraceOptions */
} known_columns[] = {
#define COLUMN(name, member) { name, offsetof(TraceOptions, member) }
        COLUMN("obj_id", obj_id_col), COLUMN("obj-id", obj_id_col), COLUMN("object", obj_id_col),
        COLUMN("object_id", obj_id_col), COLUMN("id", obj_id_col), COLUMN("key", obj_id_col),
        COLUMN("obj_size", obj_size_col), COLUMN("obj-size", obj_size_col), COLUMN("size", obj_size_col),
        COLUMN("length", obj_size_col), COLUMN("offset", offset_col),
        COLUMN("op", op_col), COLUMN("operation", op_col), COLUMN("type", op_col),
        COLUMN("manager", manager_col), COLUMN("cgroup", manager_col), COLUMN("tenant", manager_col),
#undef COLUMN
};

/* Takes over what the names of the columns tell; true if there was one that is known. */
static bool read_header(Csv *c) {
        bool found = false;

        for (size_t i = 0; i < c->n_fields; i++)
                for (size_t j = 0; j < ELEMENTSOF(known_columns); j++) {
                        unsigned *column = (unsigned *) ((char *) &c->columns + known_columns[j].offset);

                        if (strcasecmp(c->fields[i], known_columns[j].name) != 0)
                                continue;
                        found = true;
                        if (*column == 0)
                                *column = (unsigned) i + 1;
                }

        return found;
}

/* Looks at the first line. Returns 1 if it is a header, 0 if it is a request already. */
static int find_columns(Csv *c) {
        TraceOptions *o = &c->columns;
        bool header = false;

        if (o->has_header != 0)
                header = read_header(c) || o->has_header > 0;

        if (o->obj_id_col == 0 && o->offset_col == 0) {
                if (c->n_fields == 2)
                        return trace_input_fail(c->reader->input, EBADMSG,
                                                "there are two columns, and nothing says "
                                                "which one is the object: csv:obj-id-col=2 would");
                o->obj_id_col = c->n_fields == 1 ? 1 : 2;
                if (o->obj_size_col == 0 && c->n_fields >= 3)
                        o->obj_size_col = 3; /* time, object, size: libCacheSim's usual order */
        }
        if (o->offset_col > 0 && o->obj_size_col == 0)
                return trace_input_fail(c->reader->input, EBADMSG,
                                        "there is a column for the offset, but none for "
                                        "the length: csv:obj-size-col= says which it is");

        c->columns_known = true;
        return header;
}

/* ---- requests */

static int number(Csv *c, unsigned column, const char *what, uint64_t *ret) {
        const char *s = c->fields[column - 1];
        int r;

        r = trace_parse_number(s, ret);
        if (r < 0)
                return trace_input_fail(c->reader->input, EBADMSG, "the %s in column %u is %s: \"%.40s\"",
                                        what, column, r == -ERANGE ? "larger than 64 bits" : "no number", s);
        return 0;
}

static int operation(Csv *c, uint8_t *ret) {
        static const struct {
                const char *names;
                uint8_t flags;
        } ops[] = {
                { " r read get gets rs ra head nop ", 0 },
                { " w write ws set add cas replace append prepend incr decr put update ", TRACE_WRITE },
                { " d delete del remove trim discard ", TRACE_REMOVE },
        };
        const char *s = c->fields[c->columns.op_col - 1];
        char word[24];

        (void) snprintf(word, sizeof(word), " %.20s ", s);
        for (char *p = word; *p; p++)
                *p = g_ascii_tolower(*p);

        for (size_t i = 0; i < ELEMENTSOF(ops); i++)
                if (strlen(s) <= 20 && !strchr(s, ' ') && strstr(ops[i].names, word)) {
                        *ret = ops[i].flags;
                        return 0;
                }

        return trace_input_fail(c->reader->input, EBADMSG,
                                "the operation in column %u is unknown: \"%.40s\"",
                                c->columns.op_col, s);
}

static int request(Csv *c) {
        const TraceOptions *o = &c->columns;
        unsigned last = MAX(MAX(MAX(o->obj_id_col, o->obj_size_col), MAX(o->offset_col, o->op_col)),
                            o->manager_col);
        uint64_t id = 0, size = 1, offset;
        uint8_t flags = 0;
        int r;

        if (c->n_fields < last)
                return trace_input_fail(c->reader->input, EBADMSG,
                                        "there %s %zu column%s, but column %u is needed",
                                        c->n_fields == 1 ? "is" : "are", c->n_fields,
                                        c->n_fields == 1 ? "" : "s",
                                        last);

        if (o->obj_size_col > 0) {
                r = number(c, o->obj_size_col, "size", &size);
                if (r < 0)
                        return r;
        }
        if (o->op_col > 0) {
                r = operation(c, &flags);
                if (r < 0)
                        return r;
        }

        if (o->manager_col > 0) {
                const char *manager = c->fields[o->manager_col - 1];

                r = trace_reader_set_manager(c->reader, isempty(manager) ? NULL : manager);
                if (r < 0)
                        return r;
        }

        if (o->offset_col > 0) {
                const char *file = o->obj_id_col > 0 ? c->fields[o->obj_id_col - 1] : "";

                r = number(c, o->offset_col, "offset", &offset);
                return r < 0 ? r :
                       trace_reader_add_bytes(c->reader, trace_reader_number(c->reader, file), offset,
                                              size, flags);
        }

        /* Names count from the other end, so that numbers may be mixed with them. */
        if (isempty(c->fields[o->obj_id_col - 1]))
                return trace_input_fail(c->reader->input, EBADMSG, "the object in column %u is empty",
                                        o->obj_id_col);
        if (trace_parse_number(c->fields[o->obj_id_col - 1], &id) < 0)
                id = UINT64_MAX - trace_reader_number(c->reader, c->fields[o->obj_id_col - 1]);

        /* Size 0 stands for what was not there; skipped, as by libCacheSim. */
        return size > 0 ? trace_reader_add_object(c->reader, id, size, flags) : 0;
}

static int read_line(Csv *c, char *line) {
        int r;

        if (!c->columns.delimiter)
                c->columns.delimiter = find_delimiter(line);

        r = split(c, line);
        if (r < 0)
                return r;

        if (!c->columns_known) {
                r = find_columns(c);
                if (r != 0)
                        return r;
        }

        return request(c);
}

int trace_read_csv(TraceReader *r) {
        Csv c = { .reader = r, .columns = *r->options };
        char *line;
        int k;

        while ((k = trace_input_take_line(r->input, &line)) > 0) {
                if (!line[strspn(line, " \t")] || *line == '#')
                        continue;

                k = read_line(&c, line);
                if (k < 0)
                        return k;
        }

        return k;
}
