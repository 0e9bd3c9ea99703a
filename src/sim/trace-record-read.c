/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <endian.h>
#include <inttypes.h>

#include "trace-reader.h"
#include "trace-record.h"

static const uint8_t op_flags[] = { 0, TRACE_WRITE, TRACE_READAHEAD, TRACE_REMOVE };

typedef struct RecordFile {
        uint64_t number;
        uint64_t next_page; /* behind the last access */
} RecordFile;

typedef struct RecordReader {
        TraceReader *reader;
        GArray *files;
        GArray *classes;     /* of each thread: bits of Trace.flags */
        GPtrArray *managers; /* their names */
        uint64_t file, thread; /* of the last access; UINT64_MAX: there was none */
        uint64_t n_accesses, n_lost;
} RecordReader;

bool trace_is_record(const uint8_t *p, size_t n) {
        return n >= RECORD_MAGIC_SIZE && memcmp(p, RECORD_MAGIC, RECORD_MAGIC_SIZE) == 0;
}

static int read_header(TraceInput *in) {
        uint32_t version, page_size;
        const uint8_t *p;
        int r;

        r = trace_input_take(in, RECORD_HEADER_SIZE, "header", &p);
        if (r < 0)
                return r;
        if (r == 0 || !trace_is_record(p, RECORD_HEADER_SIZE))
                return trace_input_fail(in, EBADMSG, "this is no recording of \"cachectl record\"");

        memcpy(&version, p + 8, sizeof(version));
        memcpy(&page_size, p + 12, sizeof(page_size));
        if (le32toh(version) != RECORD_VERSION)
                return trace_input_fail(in, EBADMSG,
                                        "the recording has version %" PRIu32 ", only version %u can be "
                                        "read", le32toh(version), RECORD_VERSION);
        if (le32toh(page_size) != TRACE_PAGE_SIZE)
                return trace_input_fail(in, EBADMSG,
                                        "the recording has pages of %" PRIu32 " bytes, only %u can be "
                                        "simulated", le32toh(page_size), TRACE_PAGE_SIZE);
        return 0;
}

static int read_file(RecordReader *rr) {
        TraceInput *in = rr->reader->input;
        uint64_t device, inode, generation;
        int r;

        r = trace_input_take_varint(in, "the device of a file", &device);
        if (r > 0)
                r = trace_input_take_varint(in, "the inode of a file", &inode);
        if (r > 0)
                r = trace_input_take_varint(in, "the generation of a file", &generation);
        if (r > 0) {
                /* as in text form */
                g_autofree char *name = g_strdup_printf("%" PRIu64 ":%" PRIu64 "/%" PRIu64 ".%" PRIu64,
                                                        device >> 20, device & 0xfffff, inode, generation);
                RecordFile file = { .number = trace_reader_number(rr->reader, name) };

                g_array_append_val(rr->files, file);
        }
        return r;
}

/* Takes a length and so many bytes, of which there can be max. "what" is whose name it is. */
static int read_name(TraceInput *in, const char *what, unsigned max, char *ret) {
        const uint8_t *p;
        uint64_t n;
        int r;

        r = trace_input_take_varint(in, what, &n);
        if (r < 0)
                return r;
        if (n > max)
                return trace_input_fail(in, EBADMSG, "%s has %" PRIu64 " bytes, more than %u", what, n, max);

        r = trace_input_take(in, n, what, &p);
        if (r < 0)
                return r;
        if (r == 0)
                return trace_input_fail(in, EBADMSG, "the file is cut off in %s", what);
        memcpy(ret, p, n);
        ret[n] = 0;
        return 1;
}

static int read_thread(RecordReader *rr) {
        TraceInput *in = rr->reader->input;
        char name[RECORD_NAME_MAX + 1];
        uint64_t tid;
        uint8_t class;
        int r;

        r = trace_input_take_varint(in, "the id of a thread", &tid);
        if (r > 0)
                r = read_name(in, "the name of a thread", RECORD_NAME_MAX, name);
        if (r < 0)
                return r;

        class = trace_thread_class(rr->reader->options, name);
        g_array_append_val(rr->classes, class);
        return 1;
}

static int read_manager(RecordReader *rr) {
        char name[RECORD_MANAGER_MAX + 1];
        int r;

        r = read_name(rr->reader->input, "the name of a manager", RECORD_MANAGER_MAX, name);
        if (r > 0)
                g_ptr_array_add(rr->managers, g_strdup(name));
        return r;
}

/* Whose this access is, and those after it. */
static int read_other_manager(RecordReader *rr) {
        uint64_t n;
        int r;

        r = trace_input_take_varint(rr->reader->input, "a manager", &n);
        if (r < 0)
                return r;
        if (n > rr->managers->len)
                return trace_input_fail(rr->reader->input, EBADMSG,
                                        "an access names a manager that was not introduced");
        return trace_reader_set_manager(rr->reader, n > 0 ? rr->managers->pdata[n - 1] : NULL);
}

/* Takes the number of a file or thread, which must have been introduced. */
static int read_reference(RecordReader *rr, bool same, const char *what, guint n, uint64_t *ref) {
        int r;

        if (!same) {
                r = trace_input_take_varint(rr->reader->input, what, ref);
                if (r < 0)
                        return r;
        }
        if (*ref >= n)
                return trace_input_fail(rr->reader->input, EBADMSG,
                                        "an access names %s that was not introduced",
                                        what);
        return 0;
}

static int read_access(RecordReader *rr, uint8_t tag) {
        TraceInput *in = rr->reader->input;
        uint64_t page, n_pages = 1, nsec;
        RecordFile *file;
        int r;

        if (tag & ~(RECORD_ACCESS | RECORD_ACCESS_BITS))
                return trace_input_fail(in, EBADMSG, "an access has the unknown bits 0x%x",
                                        tag & ~(RECORD_ACCESS | RECORD_ACCESS_BITS));

        r = read_reference(rr, tag & RECORD_SAME_FILE, "a file", rr->files->len, &rr->file);
        if (r >= 0)
                r = read_reference(rr, tag & RECORD_SAME_THREAD, "a thread", rr->classes->len, &rr->thread);
        if (r >= 0 && tag & RECORD_OTHER_MANAGER)
                r = read_other_manager(rr);
        if (r >= 0)
                r = trace_input_take_varint(in, "the page of an access", &page);
        if (r >= 0 && !(tag & RECORD_ONE_PAGE))
                r = trace_input_take_varint(in, "the length of an access", &n_pages);
        if (r >= 0)
                r = trace_input_take_varint(in, "the time of an access", &nsec);
        if (r < 0)
                return r;

        file = &g_array_index(rr->files, RecordFile, rr->file);
        page = file->next_page + (uint64_t) record_unfold(page);
        file->next_page = page + n_pages;
        rr->n_accesses++;
        return trace_reader_add_pages(rr->reader, file->number, page, n_pages,
                                      op_flags[tag & RECORD_OP_MASK] |
                                      g_array_index(rr->classes, uint8_t, rr->thread));
}

static int read_end(RecordReader *rr) {
        TraceInput *in = rr->reader->input;
        uint64_t accesses, lost;
        const uint8_t *p;
        int r;

        r = trace_input_take_varint(in, "the number of accesses", &accesses);
        if (r > 0)
                r = trace_input_take_varint(in, "the number of lost events", &lost);
        if (r < 0)
                return r;
        if (accesses != rr->n_accesses || lost != rr->n_lost)
                return trace_input_fail(in, EBADMSG,
                                        "the recording says it has %" PRIu64 " accesses and lost %" PRIu64
                                        ", but %" PRIu64 " and %" PRIu64 " were found", accesses, lost,
                                        rr->n_accesses, rr->n_lost);

        r = trace_input_take(in, 1, "byte", &p);
        return r > 0 ? trace_input_fail(in, EBADMSG, "something follows the end of the recording") : r;
}

/* Returns 1 if there may be more, 0 at the end. */
static int read_item(RecordReader *rr) {
        TraceInput *in = rr->reader->input;
        const uint8_t *p;
        uint64_t lost;
        int r;

        r = trace_input_take(in, 1, "item", &p);
        if (r < 0)
                return r;
        if (r == 0)
                return trace_input_fail(in, EBADMSG, "the recording was cut off after %" PRIu64 " accesses; "
                                        "record:partial=yes reads those", rr->n_accesses);

        if (*p & RECORD_ACCESS) {
                r = read_access(rr, *p);
                return r < 0 ? r : 1;
        }

        switch (*p) {
        case RECORD_FILE:
                return read_file(rr);
        case RECORD_THREAD:
                return read_thread(rr);
        case RECORD_MANAGER:
                return read_manager(rr);
        case RECORD_LOST:
                r = trace_input_take_varint(in, "the number of lost events", &lost);
                if (r > 0)
                        rr->n_lost += lost;
                return r;
        case RECORD_END:
                return read_end(rr);
        default:
                return trace_input_fail(in, EBADMSG, "an item of the unknown kind %u", *p);
        }
}

int trace_read_record(TraceReader *reader) {
        RecordReader rr = {
                .reader = reader,
                .files = g_array_new(FALSE, FALSE, sizeof(RecordFile)),
                .classes = g_array_new(FALSE, FALSE, sizeof(uint8_t)),
                .managers = g_ptr_array_new_with_free_func(g_free),
                .file = UINT64_MAX,
                .thread = UINT64_MAX,
        };
        int r;

        r = read_header(reader->input);
        if (r >= 0)
                do
                        r = read_item(&rr);
                while (r > 0);

        g_array_unref(rr.files);
        g_array_unref(rr.classes);
        g_ptr_array_unref(rr.managers);

        if (r == -EBADMSG && reader->options->partial && rr.n_accesses > 0) {
                free(trace_input_take_error(reader->input));
                r = 0;
        }
        return r;
}
