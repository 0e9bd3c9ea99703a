/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "model.h"
#include "process-list.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

static const char *const process_order_table[] = {
        [PROCESSES_BY_PID]    = "pid",
        [PROCESSES_BY_NAME]   = "name",
        [PROCESSES_BY_HITS]   = "hits",
        [PROCESSES_BY_MISSES] = "misses",
        [PROCESSES_BY_RATIO]  = "ratio",
        [PROCESSES_BY_BYTES]  = "bytes",
};

DEFINE_STRING_TABLE(process_order, ProcessOrder, _PROCESS_ORDER_MAX);

ProcessOrder process_order_from_key(char key) {
        for (ProcessOrder i = 0; i < _PROCESS_ORDER_MAX; i++)
                if (*process_order_table[i] == key)
                        return i;

        return _PROCESS_ORDER_INVALID;
}

uint64_t process_hits(const ProcessCounts *c) {
        return c->accesses - MIN(c->accesses, c->misses);
}

static int permille(const ProcessCounts *c) {
        return hit_permille(process_hits(c), c->misses);
}

/* ---- order */

static int compare_numbers(uint64_t a, uint64_t b) {
        return (b > a) - (b < a); /* the larger one first */
}

/* The worst of those that have one first. */
static int compare_ratios(const ProcessCounts *a, const ProcessCounts *b) {
        int x = permille(a), y = permille(b);

        return (x < 0 ? 1001 : x) - (y < 0 ? 1001 : y);
}

static int compare_processes(const void *x, const void *y, void *userdata) {
        const ProcessCounts *a = *(ProcessCounts *const *) x, *b = *(ProcessCounts *const *) y;
        int r = 0;

        switch (*(const ProcessOrder *) userdata) {

        case PROCESSES_BY_NAME:
                r = strcmp(a->name, b->name);
                break;
        case PROCESSES_BY_HITS:
                r = compare_numbers(process_hits(a), process_hits(b));
                break;
        case PROCESSES_BY_MISSES:
                r = compare_numbers(a->misses, b->misses) ?:
                    compare_numbers(process_hits(a), process_hits(b));
                break;
        case PROCESSES_BY_RATIO:
                r = compare_ratios(a, b);
                break;
        case PROCESSES_BY_BYTES:
                r = compare_numbers(a->bytes, b->bytes);
                break;
        default:
                break;
        }

        return r ?: (a->pid > b->pid) - (a->pid < b->pid);
}

GPtrArray *process_list_new(GHashTable *processes, ProcessOrder order) {
        GPtrArray *list = g_hash_table_get_values_as_ptr_array(processes);

        g_ptr_array_sort_with_data(list, compare_processes, &order);
        return list;
}

/* ---- output */

static void add_number(Table *t, uint64_t n, double seconds) {
        if (seconds > 0)
                table_add_scaled(t, n / seconds, 1000);
        else
                table_addf(t, "%" PRIu64, n);
}

Table *process_list_table(const GPtrArray *list, double seconds) {
        static const TableColumn totals[] = {
                { .header = "PID", .flags = COLUMN_RIGHT },
                { .header = "NAME", .flags = COLUMN_SHRINK },
                { .header = "HITS", .flags = COLUMN_RIGHT },
                { .header = "MISSES", .flags = COLUMN_RIGHT },
                { .header = "HIT%", .flags = COLUMN_RIGHT },
                { .header = "READ IN", .flags = COLUMN_RIGHT },
        }, rates[] = {
                { .header = "PID", .flags = COLUMN_RIGHT, .min_width = 7 },
                { .header = "NAME", .flags = COLUMN_SHRINK, .min_width = 15 },
                { .header = "HITS/s", .flags = COLUMN_RIGHT, .min_width = 7 },
                { .header = "MISSES/s", .flags = COLUMN_RIGHT },
                { .header = "HIT%", .flags = COLUMN_RIGHT, .min_width = 6 },
                { .header = "READ IN/s", .flags = COLUMN_RIGHT },
        };
        Table *t = table_new(seconds > 0 ? rates : totals, ELEMENTSOF(totals));

        for (guint i = 0; i < list->len; i++) {
                const ProcessCounts *c = list->pdata[i];

                table_addf(t, "%i", c->pid);
                table_add(t, c->name);
                add_number(t, process_hits(c), seconds);
                add_number(t, c->misses, seconds);
                table_add_permille(t, permille(c));
                table_add_scaled(t, seconds > 0 ? c->bytes / seconds : c->bytes, 1024);
        }

        return t;
}

int process_list_json(const GPtrArray *list, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL;

        for (guint i = 0; i < list->len; i++) {
                const ProcessCounts *c = list->pdata[i];
                g_autofree char *name = g_utf8_make_valid(c->name, -1);
                int r;

                r = sd_json_variant_append_arraybo(
                                &array,
                                SD_JSON_BUILD_PAIR_INTEGER("pid", c->pid),
                                SD_JSON_BUILD_PAIR_STRING("name", name),
                                SD_JSON_BUILD_PAIR_UNSIGNED("hits", process_hits(c)),
                                SD_JSON_BUILD_PAIR_UNSIGNED("misses", c->misses),
                                SD_JSON_BUILD_PAIR_UNSIGNED("bytes", c->bytes));
                if (r < 0)
                        return r;
        }

        if (!array) {
                int r = sd_json_variant_new_array(&array, NULL, 0);

                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(array);
        return 0;
}
