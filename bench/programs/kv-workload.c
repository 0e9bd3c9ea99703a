/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <string.h>

#include "bench-util.h"
#include "kv-workload.h"

#define READ [OPERATION_READ]
#define UPDATE [OPERATION_UPDATE]
#define INSERT [OPERATION_INSERT]
#define SCAN [OPERATION_SCAN]
#define MODIFY [OPERATION_MODIFY]

static const Workload workloads[] = {
        { "a",          DISTRIBUTION_ZIPFIAN, { READ = 50, UPDATE = 50 } },
        { "b",          DISTRIBUTION_ZIPFIAN, { READ = 95, UPDATE = 5  } },
        { "c",          DISTRIBUTION_ZIPFIAN, { READ = 100             } },
        { "d",          DISTRIBUTION_LATEST,  { READ = 95, INSERT = 5  } },
        { "e",          DISTRIBUTION_ZIPFIAN, { SCAN = 95, INSERT = 5  } },
        { "f",          DISTRIBUTION_ZIPFIAN, { READ = 50, MODIFY = 50 } },
        { "uniform",    DISTRIBUTION_UNIFORM, { READ = 100             } },
        { "uniform-rw", DISTRIBUTION_UNIFORM, { READ = 50, UPDATE = 50 } },

        /* Clusters 17, 18, 24, 34 and 52 of the traces of "A large scale analysis of hundreds of in-memory
         * cache clusters at Twitter" (OSDI 2020): mix and Zipf alpha from the table that was published with
         * them (github.com/twitter/cache-trace, stat/2020Mar.md); get and gets are reads, all else, named
         * there or not, an update.  Alpha is the slope at the curve's end.  The shift is calculated: with
         * it, a week of requests has that table's mean frequency and its part of objects that are asked for
         * only once; see test-kv-twitter.c. */
        { "twitter-17", DISTRIBUTION_SHIFTED, { READ = 99, UPDATE = 1  }, 2.1106, 0.00530  },
        { "twitter-18", DISTRIBUTION_SHIFTED, { READ = 97, UPDATE = 3  }, 2.0994, 0.00919  },
        { "twitter-24", DISTRIBUTION_SHIFTED, { READ = 99, UPDATE = 1  }, 1.3726, 0.000253 },
        { "twitter-34", DISTRIBUTION_SHIFTED, { READ = 94, UPDATE = 6  }, 1.1401, 0.00350  },
        { "twitter-52", DISTRIBUTION_SHIFTED, { READ = 93, UPDATE = 7  }, 1.2117, 0.000164 },
};

const Workload *workload_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(workloads); i++)
                if (strcmp(workloads[i].name, name) == 0)
                        return &workloads[i];

        return NULL;
}

bool workload_writes(const Workload *w) {
        assert(w);

        return w->percent[OPERATION_READ] + w->percent[OPERATION_SCAN] < 100;
}

const char *operation_name(OperationKind kind) {
        static const char *const names[_OPERATION_MAX] = {
                READ = "read", UPDATE = "update", INSERT = "insert", SCAN = "scan", MODIFY = "rmw",
        };

        assert(kind < _OPERATION_MAX);
        return names[kind];
}

void sequence_init(Sequence *s, const Workload *workload, const SequenceOptions *options) {
        uint64_t seed, records;

        assert(s);
        assert(workload);
        assert(options->thread < options->threads);

        *s = (Sequence) {
                .workload = workload,
                .records = options->records,
                .thread = options->thread,
                .threads = options->threads,
        };

        /* As YCSB does it: popularity is dealt out once, also to records that are yet to come, and twice as
         * many as are expected. */
        records = options->records;
        if (workload->distribution == DISTRIBUTION_ZIPFIAN)
                records += options->operations * workload->percent[OPERATION_INSERT] / 100 * 2;

        seed = options->seed * 1000003 + options->thread;
        if (workload->distribution == DISTRIBUTION_SHIFTED)
                popularity_init(&s->popularity, records, workload->alpha, workload->shift, seed);
        else
                zipf_init(&s->zipf, records, options->universe ?: records, options->theta, seed);
        random_seed(&s->kinds, seed ^ (UINT64_C(1) << 62));
        random_seed(&s->others, seed ^ (UINT64_C(2) << 62));
}

static OperationKind next_kind(Sequence *s) {
        uint64_t draw = random_below(&s->kinds, 100);
        unsigned kind = 0;

        while (draw >= s->workload->percent[kind])
                draw -= s->workload->percent[kind++];
        assert(kind < _OPERATION_MAX);
        return kind;
}

/* The number-th record that this thread inserts. */
static uint64_t own_record(const Sequence *s, uint64_t number) {
        return s->records + number * s->threads + s->thread;
}

/* The rank is how many records are newer; the oldest are followed by the newest. */
static uint64_t latest_record(Sequence *s) {
        uint64_t rank = zipf_rank(&s->zipf) % (s->records + s->inserted);

        return rank < s->inserted ? own_record(s, s->inserted - 1 - rank)
                                  : s->records - 1 - (rank - s->inserted);
}

/* Again, until it is one that is there already. */
static uint64_t zipfian_record(Sequence *s) {
        uint64_t record;

        do
                record = zipf_next(&s->zipf);
        while (record >= s->records + s->inserted);

        return record < s->records ? record : own_record(s, record - s->records);
}

static uint64_t next_record(Sequence *s) {
        switch (s->workload->distribution) {
        case DISTRIBUTION_ZIPFIAN:
                return zipfian_record(s);
        case DISTRIBUTION_LATEST:
                return latest_record(s);
        case DISTRIBUTION_UNIFORM:
                return random_below(&s->others, s->records);
        case DISTRIBUTION_SHIFTED:
                return popularity_next(&s->popularity);
        }

        assert(!"no such distribution");
        return 0;
}

Operation sequence_next(Sequence *s) {
        Operation operation = { .kind = next_kind(s) };

        if (operation.kind == OPERATION_INSERT)
                operation.record = own_record(s, s->inserted++);
        else
                operation.record = next_record(s);
        if (operation.kind == OPERATION_SCAN)
                operation.length = random_below(&s->others, WORKLOAD_SCAN_MAX) + 1;

        return operation;
}
