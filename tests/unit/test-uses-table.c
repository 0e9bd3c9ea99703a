/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is taken out of a table of the kernel, and that nothing is left when the kernel refuses a step. */

#include "test-util.h"

#include <bpf/bpf.h>

#include "daemon/replay/uses-table.h"

typedef struct Key {
        uint64_t id;
        uint64_t number;
} Key;

typedef struct Entry {
        Key key;
        uint32_t value;
        uint32_t unused;
} Entry;

#define N_ENTRIES 3000U

/* ---- the table */

static GArray *table; /* of Entry */
static unsigned n_lookups, lookups_max; /* that succeed */
static uint32_t deletions_max;

int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, uint32_t *count,
                         const struct bpf_map_batch_opts *opts) {
        uint32_t first = 0, n;

        if (n_lookups++ >= lookups_max)
                return -ENOMEM;
        if (in)
                memcpy(&first, in, sizeof(first));
        n = MIN(*count, table->len - first);
        for (uint32_t i = 0; i < n; i++) {
                const Entry *e = &g_array_index(table, Entry, first + i);

                ((Key *) keys)[i] = e->key;
                ((uint64_t *) values)[i] = e->value;
        }
        *count = n;
        first += n;
        memcpy(out, &first, sizeof(first));
        return first == table->len ? -ENOENT : 0;
}

static int find(const Key *k) {
        for (guint i = 0; i < table->len; i++)
                if (memcmp(&g_array_index(table, Entry, i).key, k, sizeof(*k)) == 0)
                        return (int) i;
        return -ENOENT;
}

int bpf_map_delete_elem(int fd, const void *key) {
        int i = find(key);

        if (i >= 0)
                g_array_remove_index(table, (guint) i);
        return i < 0 ? i : 0;
}

int bpf_map_delete_batch(int fd, const void *keys, uint32_t *count, const struct bpf_map_batch_opts *opts) {
        for (uint32_t i = 0; i < *count; i++)
                if (i == deletions_max || bpf_map_delete_elem(fd, (const Key *) keys + i) < 0) {
                        *count = i;
                        return -EINTR;
                }
        return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next) {
        int i = key ? find(key) + 1 : 0;

        if (i >= (int) table->len)
                return -ENOENT;
        memcpy(next, &g_array_index(table, Entry, i).key, sizeof(Key));
        return 0;
}

/* ---- tests */

static int setup(void **state) {
        table = g_array_new(FALSE, FALSE, sizeof(Entry));
        for (uint32_t i = 0; i < N_ENTRIES; i++)
                g_array_append_val(table, ((Entry) { .key = { .id = 1 + i % 2, .number = i }, .value = i }));
        n_lookups = 0;
        lookups_max = deletions_max = UINT32_MAX;
        return 0;
}

static int teardown(void **state) {
        g_array_unref(table);
        return 0;
}

static int take(uint64_t id, GArray *ret) {
        return uses_table_take(/* fd= */ -EBADF, sizeof(Key), sizeof(uint64_t), id, ret);
}

/* None of that unit is left, and all of the other one. */
static void assert_left(uint64_t id) {
        assert_int_equal(table->len, N_ENTRIES / 2);
        for (guint i = 0; i < table->len; i++)
                assert_int_not_equal(g_array_index(table, Entry, i).key.id, id);
}

static void test_take(void **state) {
        g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(Entry));

        assert_int_equal(take(2, taken), 0);
        assert_left(2);
        assert_int_equal(taken->len, N_ENTRIES / 2);
        for (guint i = 0; i < taken->len; i++) {
                const Entry *e = &g_array_index(taken, Entry, i);

                assert_int_equal(e->key.id, 2);
                assert_int_equal(e->value, e->key.number);
        }

        assert_int_equal(take(3, taken), 0);
        assert_int_equal(taken->len, N_ENTRIES / 2);
}

/* The next recording is not to have them. */
static void test_not_read(void **state) {
        g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(Entry));

        lookups_max = 1;
        assert_int_equal(take(1, taken), -ENOMEM);
        assert_left(1);
}

/* All are known, which is what counts. */
static void test_not_deleted(void **state) {
        g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(Entry));

        deletions_max = 7;
        assert_int_equal(take(1, taken), 0);
        assert_int_equal(taken->len, N_ENTRIES / 2);
        assert_left(1);
}

#define TABLE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TABLE_TEST(test_take),
                TABLE_TEST(test_not_read),
                TABLE_TEST(test_not_deleted),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
