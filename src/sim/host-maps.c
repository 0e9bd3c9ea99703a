/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* BPF maps. Hashes are GLib's: what they hold are entries
 * that have key and value behind them, in one piece. */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "host-state.h"
#include "shared/string-util.h"

#define THREADS_MAP "cachebpf_threads"
#define EVENTS_MAP "cachebpf_events"
#define LEARNED_MAP "cachebpf_learned"

typedef struct Entry {
        GList link; /* LRU hash: of all entries */
        SimMap *map;
        const void *key;
        /* what is in the hash: its own key, and value; absent in a key that is only looked up */
        max_align_t value[];
} Entry;

struct SimMap {
        const char *name; /* the variable's */
        void **slot;
        uint32_t type;
        size_t key_size, value_size, max_entries;
        SimMap *next;

        GHashTable *entries; /* hashes, task storage */
        GQueue order;        /* LRU hash: least recently used last */
        uint8_t *array;
        size_t n_queued; /* ring buffer: bytes in use */
        bool submitted;
};

static SimMap *maps;

static guint entry_hash(gconstpointer p) {
        const Entry *e = p;
        const uint8_t *b = e->key;
        uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

        for (size_t i = 0; i < e->map->key_size; i++)
                h = (h ^ b[i]) * UINT64_C(0x100000001b3);
        return h ^ h >> 32;
}

static gboolean entry_equal(gconstpointer a, gconstpointer b) {
        const Entry *x = a, *y = b;

        return memcmp(x->key, y->key, x->map->key_size) == 0;
}

static size_t value_room(const SimMap *m) {
        return (m->value_size + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

static Entry *entry_new(SimMap *m, const void *key) {
        Entry *e = g_malloc0(sizeof(Entry) + value_room(m) + m->key_size);
        void *own_key = (char *) e->value + value_room(m);

        memcpy(own_key, key, m->key_size);
        e->map = m;
        e->key = own_key;
        e->link.data = e;
        return e;
}

static Entry *entry_find(SimMap *m, const void *key) {
        Entry wanted = { .map = m, .key = key };

        return g_hash_table_lookup(m->entries, &wanted);
}

static bool is_array(uint32_t type) {
        return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_lru(const SimMap *m) {
        return m->type == BPF_MAP_TYPE_LRU_HASH || m->type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool is_known(uint32_t type) {
        return is_array(type) || type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH ||
               type == BPF_MAP_TYPE_LRU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
               type == BPF_MAP_TYPE_TASK_STORAGE || type == BPF_MAP_TYPE_RINGBUF;
}

static void check_kind(const SimMap *m, bool is, const char *function) {
        if (!is)
                host_fail("%s() cannot be used with the map %s of type %u", function, m->name, m->type);
}

static void check_keyed(const SimMap *m, const char *function) {
        check_kind(m, m->entries || m->array, function);
}

static LearnedShape shape_of(const SimMap *m) {
        return (LearnedShape) {
                .type = m->type,
                .key_size = m->key_size,
                .value_size = m->value_size,
                .max_entries = m->max_entries,
        };
}

static void fill(SimMap *m, const Learned *l) {
        LearnedShape shape = shape_of(m);
        const uint8_t *e = l->entries;

        if (!learned_shape_fits(&shape, &l->shape))
                host_fail("what it has learned is for another map than %s", m->name);

        for (uint32_t i = 0; i < l->n_entries; i++, e += learned_entry_size(&l->shape))
                (void) sim_map_update(m, e, e + m->key_size, BPF_ANY);
}

SimMap *sim_map_new(void **slot, const char *name, __u32 type, size_t key_size, size_t value_size,
                    size_t max_entries) {
        SimMap *m;

        name = startswith(name, "&") ?: name;
        if (!is_known(type))
                host_fail("the simulator knows no maps of type %u, such as %s", type, name);

        m = g_new(SimMap, 1);
        *m = (SimMap) {
                .name = name,
                .slot = slot,
                .type = type,
                .key_size = key_size,
                .value_size = value_size,
                .max_entries = max_entries,
                .next = maps,
        };

        if (is_array(type))
                m->array = g_malloc0_n(max_entries, value_room(m));
        else if (type != BPF_MAP_TYPE_RINGBUF)
                m->entries = g_hash_table_new_full(entry_hash, entry_equal, g_free, NULL);

        maps = m;
        *slot = m;
        if (host.learned && streq(name, LEARNED_MAP))
                fill(m, host.learned);
        return m;
}

void maps_done(void) {
        while (maps) {
                SimMap *m = maps;

                maps = m->next;
                *m->slot = NULL;
                if (m->entries)
                        g_hash_table_unref(m->entries);
                g_free(m->array);
                g_free(m);
        }
}

/* ---- hashes and arrays */

static void *array_at(SimMap *m, const void *key) {
        uint32_t i;

        memcpy(&i, key, sizeof(i));
        return i < m->max_entries ? m->array + i * value_room(m) : NULL;
}

static void touch(SimMap *m, Entry *e) {
        if (!is_lru(m))
                return;

        g_queue_unlink(&m->order, &e->link);
        g_queue_push_head_link(&m->order, &e->link);
}

static void entry_remove(SimMap *m, Entry *e) {
        if (is_lru(m))
                g_queue_unlink(&m->order, &e->link);
        g_hash_table_remove(m->entries, e);
}

void *sim_map_lookup(SimMap *m, const void *key) {
        Entry *e;

        check_keyed(m, "bpf_map_lookup_elem");
        if (is_array(m->type))
                return array_at(m, key);

        e = entry_find(m, key);
        if (!e)
                return NULL;
        touch(m, e);
        return e->value;
}

long sim_map_update(SimMap *m, const void *key, const void *value, __u64 flags) {
        Entry *e;

        check_keyed(m, "bpf_map_update_elem");
        if (flags > BPF_EXIST)
                return -EINVAL;
        if (is_array(m->type)) {
                void *at = array_at(m, key);

                if (!at)
                        return -E2BIG;
                if (flags == BPF_NOEXIST)
                        return -EEXIST;
                memcpy(at, value, m->value_size);
                return 0;
        }

        e = entry_find(m, key);
        if (e && flags == BPF_NOEXIST)
                return -EEXIST;
        if (!e && flags == BPF_EXIST)
                return -ENOENT;

        if (!e) {
                if (g_hash_table_size(m->entries) >= m->max_entries) {
                        if (!is_lru(m) || m->max_entries == 0)
                                return -E2BIG;
                        entry_remove(m, m->order.tail->data);
                }
                e = entry_new(m, key);
                if (is_lru(m))
                        g_queue_push_head_link(&m->order, &e->link);
                g_hash_table_add(m->entries, e);
        } else
                touch(m, e);

        memcpy(e->value, value, m->value_size);
        return 0;
}

long sim_map_delete(SimMap *m, const void *key) {
        Entry *e;

        check_keyed(m, "bpf_map_delete_elem");
        if (is_array(m->type))
                return -EINVAL;

        e = entry_find(m, key);
        if (!e)
                return -ENOENT;
        entry_remove(m, e);
        return 0;
}

long sim_map_for_each(SimMap *m, SimMapCallback callback, void *ctx) {
        g_autoptr(GList) entries = NULL;
        long n = 0;

        check_kind(m, m->entries && m->key_size > 0, "bpf_for_each_map_elem");
        entries = g_hash_table_get_keys(m->entries);
        for (GList *l = entries; l; l = l->next) {
                Entry *e = l->data;

                n++;
                if (callback(m, e->key, e->value, ctx))
                        break;
        }
        return n;
}

/* ---- what is learned */

void maps_know(const Learned *l) {
        uint64_t sum[LEARNED_SUM_SIZE / sizeof(uint64_t)];

        host.learned = l && l->entries ? l : NULL;
        if (!host.learned)
                return;

        /* or each run would draw the numbers that the one before it drew */
        learned_sum(l, (uint8_t *) sum);
        host.random ^= sum[0];
}

static void append(Learned *l, const void *key, const void *value) {
        uint8_t *e = l->entries + l->n_entries++ * learned_entry_size(&l->shape);

        memcpy(e, key, l->shape.key_size);
        memcpy(e + l->shape.key_size, value, l->shape.value_size);
}

int maps_learned(Learned *l) {
        _cleanup_learned_ Learned new = {};
        LearnedShape shape;
        SimMap *m = maps;
        int r;

        while (m && !streq(m->name, LEARNED_MAP))
                m = m->next;
        if (!m)
                return -ENOENT;

        check_keyed(m, "--learned");
        shape = shape_of(m);
        r = learned_init(&new, host.policy->name, &shape);
        if (r < 0)
                return r;

        for (uint32_t i = 0; m->array && i < m->max_entries; i++)
                append(&new, &i, m->array + i * value_room(m));
        if (m->entries) {
                g_autoptr(GList) entries = g_hash_table_get_keys(m->entries);

                for (GList *e = entries; e; e = e->next)
                        append(&new, ((Entry *) e->data)->key, ((Entry *) e->data)->value);
        }

        host.learned = NULL;
        learned_done(l);
        *l = TAKE_STRUCT(new);
        return 0;
}

/* ---- task storage: the key is the address of the task */

void *sim_task_storage_get(SimMap *m, struct task_struct *task, const void *value, __u64 flags) {
        Entry *e;

        check_kind(m, m->type == BPF_MAP_TYPE_TASK_STORAGE, "bpf_task_storage_get");
        if (!task)
                return NULL;

        m->key_size = sizeof(task);
        e = entry_find(m, &task);
        /* what the daemon knows of threads */
        if (!e && streq(m->name, THREADS_MAP) && host.task_class != 0 &&
            task == bpf_get_current_task_btf()) {
                e = entry_new(m, &task);
                memcpy(e->value, &host.task_class, MIN(sizeof(host.task_class), m->value_size));
                g_hash_table_add(m->entries, e);
        }
        if (!e && flags & BPF_LOCAL_STORAGE_GET_F_CREATE) {
                e = entry_new(m, &task);
                if (value)
                        memcpy(e->value, value, m->value_size);
                g_hash_table_add(m->entries, e);
        }
        return e ? e->value : NULL;
}

long sim_task_storage_delete(SimMap *m, struct task_struct *task) {
        Entry *e;

        check_kind(m, m->type == BPF_MAP_TYPE_TASK_STORAGE, "bpf_task_storage_delete");

        m->key_size = sizeof(task);
        e = entry_find(m, &task);
        if (!e)
                return -ENOENT;
        entry_remove(m, e);
        return 0;
}

/* ---- ring buffers: nobody reads the records, what counts is that there are some */

typedef struct Record {
        SimMap *map;
        size_t size;
        max_align_t data[];
} Record;

/* What a record takes in the kernel: a header of 8 bytes, rounded up to 8. */
static size_t record_room(size_t size) {
        return (size + 8 + 7) & ~(size_t) 7;
}

void *sim_ringbuf_reserve(SimMap *m, __u64 size) {
        Record *r;

        check_kind(m, m->type == BPF_MAP_TYPE_RINGBUF, "bpf_ringbuf_reserve");
        if (size > m->max_entries || m->n_queued + record_room(size) > m->max_entries)
                return NULL;

        m->n_queued += record_room(size);
        r = g_malloc0(sizeof(Record) + size);
        r->map = m;
        r->size = size;
        return r->data;
}

static Record *record_of(void *data) {
        return (Record *) ((char *) data - offsetof(Record, data));
}

void sim_ringbuf_submit(void *data) {
        Record *r = record_of(data);

        r->map->submitted = true;
        host.events = true;
        g_free(r);
}

void sim_ringbuf_discard(void *data) {
        Record *r = record_of(data);

        r->map->n_queued -= record_room(r->size);
        g_free(r);
}

long sim_ringbuf_output(SimMap *m, const void *data, __u64 size) {
        void *room;

        check_kind(m, m->type == BPF_MAP_TYPE_RINGBUF, "bpf_ringbuf_output");
        room = sim_ringbuf_reserve(m, size);
        if (!room)
                return -EAGAIN;
        memcpy(room, data, size);
        sim_ringbuf_submit(room);
        return 0;
}

bool maps_consume_events(void) {
        bool events = false;

        for (SimMap *m = maps; m; m = m->next)
                if (m->submitted) {
                        events = events || streq(m->name, EVENTS_MAP);
                        m->submitted = false;
                        m->n_queued = 0;
                }
        host.events = false;
        return events;
}
