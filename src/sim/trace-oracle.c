/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libCacheSim's oracleGeneral: little-endian records of 24 bytes without padding and without a header,
 *
 *      u32 time, u64 object, u32 size in bytes, i64 next access
 *
 * where "next access" is the number of the request that asks for the object again, -1 (or the largest
 * number) if none does. The simulator finds that out by itself, here it only tells the form from others. */

#include <endian.h>
#include <inttypes.h>

#include "trace-reader.h"

#define RECORD_SIZE 24U
#define LOOK_AT 1000U /* records, to recognise the form */

typedef struct Record {
        uint32_t time;
        uint64_t object;
        uint32_t size;
        int64_t next;
} Record;

static Record parse(const uint8_t *p) {
        Record r;

        memcpy(&r.time, p, 4);
        memcpy(&r.object, p + 4, 8);
        memcpy(&r.size, p + 12, 4);
        memcpy(&r.next, p + 16, 8);

        return (Record) {
                .time = le32toh(r.time),
                .object = le64toh(r.object),
                .size = le32toh(r.size),
                .next = (int64_t) le64toh((uint64_t) r.next),
        };
}

/* Time does not run backwards, and the next access comes later:
 * other data does not keep to that for long. */
bool trace_is_oracle_general(const uint8_t *p, size_t n) {
        uint32_t time = 0;

        if (n < RECORD_SIZE)
                return false;

        for (size_t i = 0; i < LOOK_AT && (i + 1) * RECORD_SIZE <= n; i++) {
                Record r = parse(p + i * RECORD_SIZE);

                if (r.time < time)
                        return false;
                if (r.next != -1 && r.next != INT64_MAX &&
                    (r.next <= (int64_t) i || r.next > TRACE_MAX_REQUESTS))
                        return false;
                time = r.time;
        }

        return true;
}

int trace_read_oracle_general(TraceReader *r) {
        const uint8_t *p;
        int k;

        while ((k = trace_input_take(r->input, RECORD_SIZE, "record", &p)) > 0) {
                Record record = parse(p);

                /* Some traces have requests of size 0,
                 * for what was not there; libCacheSim skips them too. */
                if (record.size == 0)
                        continue;

                k = trace_reader_add_object(r, record.object, record.size, 0);
                if (k < 0)
                        return k;
        }

        return k;
}
