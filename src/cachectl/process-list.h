/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <systemd/sd-json.h>

#include "record/processes.h"
#include "table.h"

/* How "--by=process" shows the hits and misses of processes. */

typedef enum ProcessOrder {
        PROCESSES_BY_PID,
        PROCESSES_BY_NAME,
        PROCESSES_BY_HITS,
        PROCESSES_BY_MISSES,
        PROCESSES_BY_RATIO,
        PROCESSES_BY_BYTES,
        _PROCESS_ORDER_MAX,
        _PROCESS_ORDER_INVALID = -EINVAL,
} ProcessOrder;

const char *process_order_to_string(ProcessOrder order);
ProcessOrder process_order_from_string(const char *s);

/* By the first letter: a key that is pressed. */
ProcessOrder process_order_from_key(char key);

/* Accesses that found their page. The kernel counts an access before its miss: never less than 0. */
uint64_t process_hits(const ProcessCounts *c);

/* The ProcessCounts of a hash table, which they stay part of. The largest numbers, the worst ratio, and the
 * first names come first. */
GPtrArray *process_list_new(GHashTable *processes, ProcessOrder order);

/* A table of the numbers, or if "seconds" is not 0 of how many they are a second. */
Table *process_list_table(const GPtrArray *list, double seconds);

/* An array of objects with pid, name, hits, misses and bytes. */
int process_list_json(const GPtrArray *list, sd_json_variant **ret);
