/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* BPF maps: the variable that libbpf would make a map of has the types of key and value, and its numbers as
 * sizes of arrays; its first member, a pointer that BPF never looks at, leads to the map here, made on first
 * use.
 *
 * Known: hash and array (per processor, too: there is one), LRU hash (exact, where the kernel's is
 * approximate), task storage, ring buffer. */

#include <linux/types.h>
#include <stddef.h>

#include "host-helpers.h"

#define __uint(name, val) int (*name)[val]
#define __type(name, val) __typeof__(val) *name
#define __array(name, val) __typeof__(val) *name[]

typedef struct SimMap SimMap;

/* *slot, where the map is noted, must be NULL. Ends the run if there is no such type of map. */
SIM_API SimMap *sim_map_new(void **slot, const char *name, __u32 type, size_t key_size, size_t value_size,
                            size_t max_entries);

#define SIM_UINT(map, name) (sizeof(*(map)->name) / sizeof(int))

#define SIM_MAP_OF(map, key_size, value_size, max_entries)                              \
        ((map)->type ? (SimMap *) (map)->type :                                         \
                       sim_map_new((void **) &(map)->type, #map, SIM_UINT(map, type),   \
                                   key_size, value_size, max_entries))

#define SIM_KEYED(map)                                                                  \
        SIM_MAP_OF(map, sizeof(*(map)->key), sizeof(*(map)->value), SIM_UINT(map, max_entries))
#define SIM_STORAGE(map) SIM_MAP_OF(map, sizeof(*(map)->key), sizeof(*(map)->value), 0)
#define SIM_RINGBUF(map) SIM_MAP_OF(map, 0, 0, SIM_UINT(map, max_entries))

/* Keys and values have to be of the map's types, which only the verifier would find out. */
#define SIM_CHECK(map, member, pointer) ((void) sizeof((pointer) == (map)->member))

#define bpf_map_lookup_elem(map, k)                                                     \
        (SIM_CHECK(map, key, k), (__typeof__((map)->value)) sim_map_lookup(SIM_KEYED(map), k))
#define bpf_map_update_elem(map, k, v, flags)                                           \
        (SIM_CHECK(map, key, k), SIM_CHECK(map, value, v), sim_map_update(SIM_KEYED(map), k, v, flags))
#define bpf_map_delete_elem(map, k) (SIM_CHECK(map, key, k), sim_map_delete(SIM_KEYED(map), k))

#define bpf_for_each_map_elem(map, callback, ctx, flags)                                \
        sim_map_for_each(SIM_KEYED(map), (SimMapCallback) (callback), ctx)

#define bpf_task_storage_get(map, task, v, flags)                                       \
        ((__typeof__((map)->value)) sim_task_storage_get(SIM_STORAGE(map), task, v, flags))
#define bpf_task_storage_delete(map, task) sim_task_storage_delete(SIM_STORAGE(map), task)

#define bpf_ringbuf_reserve(map, size, flags) sim_ringbuf_reserve(SIM_RINGBUF(map), size)
#define bpf_ringbuf_submit(data, flags) sim_ringbuf_submit(data)
#define bpf_ringbuf_discard(data, flags) sim_ringbuf_discard(data)
#define bpf_ringbuf_output(map, data, size, flags) sim_ringbuf_output(SIM_RINGBUF(map), data, size)

/* As the helpers: values stay where they are until they are deleted; -EEXIST, -ENOENT, -E2BIG, -EINVAL. */
SIM_API void *sim_map_lookup(SimMap *map, const void *key);
SIM_API long sim_map_update(SimMap *map, const void *key, const void *value, __u64 flags);
SIM_API long sim_map_delete(SimMap *map, const void *key);

/* Hashes only. The callback may delete what it is called for, and ends the loop by returning something else
 * than 0. Returns how often it was called. */
typedef long (*SimMapCallback)(void *map, const void *key, void *value, void *ctx);
SIM_API long sim_map_for_each(SimMap *map, SimMapCallback callback, void *ctx);

struct task_struct;

/* A map called cachebpf_threads has the class of each task from the beginning. */
SIM_API void *sim_task_storage_get(SimMap *map, struct task_struct *task, const void *value, __u64 flags);
SIM_API long sim_task_storage_delete(SimMap *map, struct task_struct *task);

/* NULL, -EAGAIN: it is full. What was submitted is consumed after the callback, by the program
 * <policy>_reconfigure if the ring buffer is called cachebpf_events. */
SIM_API void *sim_ringbuf_reserve(SimMap *map, __u64 size);
SIM_API void sim_ringbuf_submit(void *data);
SIM_API void sim_ringbuf_discard(void *data);
SIM_API long sim_ringbuf_output(SimMap *map, const void *data, __u64 size);
