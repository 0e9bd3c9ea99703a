/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

struct value {
        uint32_t n;
        uint8_t byte;
};

static struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, 2);
        __type(key, uint64_t);
        __type(value, struct value);
} hash;

static struct {
        __uint(type, BPF_MAP_TYPE_LRU_HASH);
        __uint(max_entries, 3);
        __type(key, uint32_t);
        __type(value, uint32_t);
} lru;

static struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, 4);
        __type(key, uint32_t);
        __type(value, struct value);
} array;

static struct {
        __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, uint32_t);
} storage, cachebpf_threads;

static struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, 64);
} ring, cachebpf_events;

static struct {
        __uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
        __uint(max_entries, 2);
        __type(key, uint64_t);
        __type(value, uint64_t);
} bloom;

static void test_hash(void **state) {
        _test_host_ h = test_host_begin(1);
        uint64_t one = 1, two = 2, three = 3;
        struct value v = { .n = 7, .byte = 8 }, *at;

        assert_null(bpf_map_lookup_elem(&hash, &one));
        assert_int_equal(bpf_map_update_elem(&hash, &one, &v, BPF_EXIST), -ENOENT);
        assert_int_equal(bpf_map_update_elem(&hash, &one, &v, BPF_ANY), 0);
        assert_int_equal(bpf_map_update_elem(&hash, &one, &v, BPF_NOEXIST), -EEXIST);
        assert_int_equal(bpf_map_update_elem(&hash, &one, &v, 99), -EINVAL);

        at = bpf_map_lookup_elem(&hash, &one);
        assert_int_equal(at->n, 7);
        assert_int_equal(at->byte, 8);
        at->n++;
        assert_int_equal(bpf_map_update_elem(&hash, &two, &v, BPF_NOEXIST), 0);
        assert_ptr_equal(bpf_map_lookup_elem(&hash, &one), at); /* stays where it is */
        assert_int_equal(at->n, 8);

        assert_int_equal(bpf_map_update_elem(&hash, &three, &v, BPF_ANY), -E2BIG);
        assert_int_equal(bpf_map_update_elem(&hash, &two, &v, BPF_ANY), 0); /* is in it already */
        assert_int_equal(bpf_map_delete_elem(&hash, &one), 0);
        assert_int_equal(bpf_map_delete_elem(&hash, &one), -ENOENT);
        assert_int_equal(bpf_map_update_elem(&hash, &three, &v, BPF_ANY), 0);
}

static long see(void *map, const uint64_t *key, struct value *value, void *seen) {
        *(uint64_t *) seen += *key * 10 + value->n;
        return *key == 3 ? 1 : bpf_map_delete_elem(&hash, key);
}

static void test_for_each(void **state) {
        _test_host_ h = test_host_begin(1);
        struct value v = { .n = 1 };
        uint64_t seen = 0, three = 3;

        assert_int_equal(bpf_for_each_map_elem(&hash, see, &seen, 0), 0);
        for (uint64_t key = 1; key <= 2; key++)
                assert_int_equal(bpf_map_update_elem(&hash, &key, &v, BPF_ANY), 0);
        assert_int_equal(bpf_for_each_map_elem(&hash, see, &seen, 0), 2);
        assert_int_equal(seen, 32);
        assert_int_equal(bpf_map_update_elem(&hash, &three, &v, BPF_ANY), 0);
        assert_int_equal(bpf_for_each_map_elem(&hash, see, &seen, 0), 1);
        assert_int_equal(bpf_for_each_map_elem(&hash, see, &seen, 0), 1);
        assert_host_fails((void) bpf_for_each_map_elem(&array, see, &seen, 0),
                          "cannot be used with the map array");
}

static void test_lru(void **state) {
        _test_host_ h = test_host_begin(1);

        for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(bpf_map_update_elem(&lru, &i, &i, BPF_ANY), 0);
        for (uint32_t i = 0; i < 2; i++) /* 2 is the least recently used now */
                assert_int_equal(*bpf_map_lookup_elem(&lru, &i), i);

        for (uint32_t i = 3; i < 5; i++) /* in place of 2, then of 0 */
                assert_int_equal(bpf_map_update_elem(&lru, &i, &i, BPF_ANY), 0);
        for (uint32_t i = 0; i < 5; i++)
                assert_int_equal(!!bpf_map_lookup_elem(&lru, &i), i == 1 || i >= 3);

        for (uint32_t i = 1; i < 5; i++)
                assert_int_equal(bpf_map_delete_elem(&lru, &i), i == 2 ? -ENOENT : 0);
}

static void test_array(void **state) {
        _test_host_ h = test_host_begin(1);
        uint32_t last = 3, beyond = 4;
        struct value v = { .n = 7 };

        assert_int_equal(bpf_map_lookup_elem(&array, &last)->n, 0);
        assert_int_equal(bpf_map_update_elem(&array, &last, &v, BPF_ANY), 0);
        assert_int_equal(bpf_map_lookup_elem(&array, &last)->n, 7);
        assert_int_equal(bpf_map_update_elem(&array, &last, &v, BPF_NOEXIST), -EEXIST);
        assert_null(bpf_map_lookup_elem(&array, &beyond));
        assert_int_equal(bpf_map_update_elem(&array, &beyond, &v, BPF_ANY), -E2BIG);
        assert_int_equal(bpf_map_delete_elem(&array, &last), -EINVAL);
}

static void test_storage(void **state) {
        _test_host_ h = test_host_begin(1);
        struct task_struct *normal = bpf_get_current_task_btf(), *scan;
        uint32_t seven = 7;

        host.task_class = 1;
        scan = bpf_get_current_task_btf();
        assert_ptr_not_equal(scan, normal);
        assert_string_equal(scan->comm, "scan");

        assert_null(bpf_task_storage_get(&storage, scan, NULL, 0));
        assert_int_equal(*bpf_task_storage_get(&storage, scan, &seven, BPF_LOCAL_STORAGE_GET_F_CREATE), 7);
        assert_int_equal(*bpf_task_storage_get(&storage, scan, NULL, 0), 7);
        assert_int_equal(*bpf_task_storage_get(&storage, normal, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE), 0);
        assert_int_equal(bpf_task_storage_delete(&storage, scan), 0);
        assert_int_equal(bpf_task_storage_delete(&storage, scan), -ENOENT);

        /* the classes that the daemon gave to threads */
        assert_int_equal(*bpf_task_storage_get(&cachebpf_threads, scan, NULL, 0), 1);
        host.task_class = 0;
        assert_null(bpf_task_storage_get(&cachebpf_threads, normal, NULL, 0));
}

static void test_ring_buffer(void **state) {
        _test_host_ h = test_host_begin(1);
        uint64_t record = 5;
        void *data;

        assert_false(host.events);
        data = bpf_ringbuf_reserve(&ring, 24, 0); /* 32 with its header, of 64 */
        assert_non_null(data);
        assert_null(bpf_ringbuf_reserve(&ring, 32, 0));
        bpf_ringbuf_discard(data, 0);
        assert_false(host.events);

        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(bpf_ringbuf_output(&ring, &record, sizeof(record), 0), 0);
        assert_int_equal(bpf_ringbuf_output(&ring, &record, sizeof(record), 0), -EAGAIN);
        assert_true(host.events);
        assert_false(maps_consume_events()); /* nobody waits for those of this one */
        assert_false(host.events);

        data = bpf_ringbuf_reserve(&cachebpf_events, 0, 0);
        assert_non_null(data);
        bpf_ringbuf_submit(data, 0);
        assert_true(maps_consume_events());
        assert_false(maps_consume_events());
}

/* What a policy leaves behind is nobody's. */
static void test_forgotten(void **state) {
        uint64_t one = 1;
        struct value v = {};

        {
                _test_host_ h = test_host_begin(1);

                assert_int_equal(bpf_map_update_elem(&hash, &one, &v, BPF_ANY), 0);
        }
        {
                _test_host_ h = test_host_begin(1);

                assert_null(bpf_map_lookup_elem(&hash, &one));
        }
}

static void test_misuse(void **state) {
        _test_host_ h = test_host_begin(1);
        uint64_t one = 1;
        uint32_t two = 2;

        assert_host_fails((void) bpf_map_lookup_elem(&bloom, &one), "no maps of type 30, such as bloom");
        (void) bpf_map_lookup_elem(&array, &two);
        assert_host_fails((void) bpf_ringbuf_reserve(&array, 8, 0),
                          "bpf_ringbuf_reserve() cannot be used with the map array");
        assert_host_fails((void) bpf_task_storage_get(&array, bpf_get_current_task_btf(), NULL, 0),
                          "bpf_task_storage_get() cannot be used with the map array");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hash),
                cmocka_unit_test(test_for_each),
                cmocka_unit_test(test_lru),
                cmocka_unit_test(test_array),
                cmocka_unit_test(test_storage),
                cmocka_unit_test(test_ring_buffer),
                cmocka_unit_test(test_forgotten),
                cmocka_unit_test(test_misuse),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
