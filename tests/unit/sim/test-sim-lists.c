/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

static void test_create(void **state) {
        _test_host_ h = test_host_begin(0);
        struct cachebpf_policy *p = &host.instance;

        assert_int_equal(bpf_cachebpf_list_create(p, 1 << 6), -EINVAL);
        assert_int_equal(bpf_cachebpf_list_create(p, 1 << 16), -EINVAL);
        assert_int_equal(bpf_cachebpf_list_create(p, CACHEBPF_LIST_USED_TAIL | LIST_USED_TO(1)), -EINVAL);
        assert_int_equal(bpf_cachebpf_list_create(p, CACHEBPF_LIST_NEW_HEAD | CACHEBPF_LIST_NEW_TAIL),
                         -EINVAL);
        assert_int_equal(bpf_cachebpf_list_create(p, CACHEBPF_LIST_USED_HEAD | CACHEBPF_LIST_USED_TAIL),
                         -EINVAL);

        assert_int_equal(bpf_cachebpf_list_create(p, 0), 1);
        assert_int_equal(host.new_list, 0);
        assert_int_equal(bpf_cachebpf_list_create(p, CACHEBPF_LIST_NEW_HEAD | CACHEBPF_LIST_USED_TAIL), 2);
        assert_int_equal(host.new_list, 2);
        assert_false(host.new_at_tail);
        assert_int_equal(bpf_cachebpf_list_create(p, CACHEBPF_LIST_NEW_TAIL), -EEXIST);

        assert_int_equal(bpf_cachebpf_list_create(p, LIST_USED_TO(1)), -EINVAL);
        assert_int_equal(bpf_cachebpf_list_create(p, CACHEBPF_LIST_USED_TAIL | LIST_USED_TO(1)), 3);
        for (int i = 4; i < 1023; i++)
                assert_int_equal(bpf_cachebpf_list_create(p, 0), i);
        assert_int_equal(bpf_cachebpf_list_create(p, 0), -ENOSPC);
}

static void test_add_move_del(void **state) {
        _test_host_ h = test_host_begin(4);
        struct cachebpf_policy *p = &host.instance;
        uint32_t a = list_of(0, "01"), b = list_of(0, "");

        assert_int_equal(bpf_cachebpf_list_add(p, folio(2), a, HEAD), 0);
        assert_list(a, "201");
        assert_int_equal(bpf_cachebpf_list_add(p, folio(2), a, HEAD), -EEXIST);
        assert_int_equal(bpf_cachebpf_list_add(p, folio(2), b, HEAD), -EEXIST);
        assert_int_equal(bpf_cachebpf_list_add(p, folio(3), 3, HEAD), -ENOENT);

        /* on the same list, to where it is, to another, and one that was on none */
        assert_int_equal(bpf_cachebpf_list_move(p, folio(0), a, TAIL), 0);
        assert_list(a, "210");
        assert_int_equal(bpf_cachebpf_list_move(p, folio(0), a, TAIL), 0);
        assert_int_equal(bpf_cachebpf_list_move(p, folio(2), a, HEAD), 0);
        assert_list(a, "210");
        assert_int_equal(bpf_cachebpf_list_move(p, folio(1), b, HEAD), 0);
        assert_int_equal(bpf_cachebpf_list_move(p, folio(3), b, HEAD), 0);
        assert_list(a, "20");
        assert_list(b, "31");
        assert_int_equal(bpf_cachebpf_list_move(p, folio(3), 3, HEAD), -ENOENT);

        /* what is deleted is on the list of those that are on none, and may be added again */
        assert_int_equal(bpf_cachebpf_list_del(p, folio(2)), 0);
        assert_list(a, "0");
        assert_list(0, "2");
        assert_int_equal(bpf_cachebpf_list_add(p, folio(2), b, TAIL), 0);
        assert_list(b, "312");
        assert_list(0, "");

        /* gone */
        folio(0)->cached = false;
        assert_int_equal(bpf_cachebpf_list_add(p, folio(0), a, TAIL), -ESTALE);
        assert_int_equal(bpf_cachebpf_list_move(p, folio(0), a, TAIL), -ESTALE);
        assert_int_equal(bpf_cachebpf_list_del(p, folio(0)), -ESTALE);

        assert_int_equal(bpf_cachebpf_list_len(p, 99), 0);
}

/* As mm/cachebpf/list.c does it. */
static void test_insert(void **state) {
        _test_host_ h = test_host_begin(400);
        struct cachebpf_policy *p = &host.instance;
        uint32_t list = list_of(0, "");

        assert_int_equal(bpf_cachebpf_list_insert(p, folio(0), 7, 128), -ENOENT);
        for (int i = 0; i < 300; i++) {
                folio(i)->data[0] = 1000 + (uint64_t) i;
                assert_int_equal(bpf_cachebpf_list_insert(p, folio(i), list, 1), 0);
        }

        /* from the head on, and equal ones as they come */
        for (int i = 300; i < 390; i++) {
                folio(i)->data[0] = (uint64_t) (int64_t) (i / 2 - 500);
                assert_int_equal(bpf_cachebpf_list_insert(p, folio(i), list, 128), 0);
                assert_int_equal(folio(i)->prev, i > 300 ? pfn_of(folio(i - 1)) : 0);
                assert_int_equal(folio(i)->next, pfn_of(folio(0)));
        }
        assert_int_equal(host.lists[list].head, pfn_of(folio(300)));

        /* not found: 5 from the tail, and 5 behind the last one */
        folio(390)->data[0] = 1100;
        assert_int_equal(bpf_cachebpf_list_insert(p, folio(390), list, 10), 0);
        assert_int_equal(folio(390)->prev, pfn_of(folio(4)));
        /* that is gone: 128 from the tail */
        assert_int_equal(bpf_cachebpf_list_del(p, folio(390)), 0);
        folio(391)->data[0] = 1100;
        assert_int_equal(bpf_cachebpf_list_insert(p, folio(391), list, UINT32_MAX), 0);
        assert_int_equal(folio(391)->next, pfn_of(folio(300 - 128)));
        assert_int_equal(host.lists[list].n_folios, 391);

        /* gone */
        folio(0)->cached = false;
        assert_int_equal(bpf_cachebpf_list_insert(p, folio(0), list, 128), -ESTALE);
}

static void test_data(void **state) {
        _test_host_ h = test_host_begin(2);

        assert_ptr_equal(bpf_cachebpf_data(folio(1), 16), folio(1)->data);
        assert_null(bpf_cachebpf_data(folio(1), 17));
}

static void test_key(void **state) {
        _test_host_ h = test_host_begin(3);

        host.callback = CALLBACK_ADDED;
        assert_int_equal(bpf_cachebpf_key(folio(2)), h.trace->keys[2]);
        assert_int_not_equal(bpf_cachebpf_key(folio(1)), bpf_cachebpf_key(folio(2)));
        host.callback = CALLBACK_REMOVED;
        assert_int_equal(bpf_cachebpf_key(folio(2)), h.trace->keys[2]);

        /* where the kernel does not know it any more */
        host.callback = CALLBACK_EVICT;
        assert_host_fails((void) bpf_cachebpf_key(folio(2)),
                          "bpf_cachebpf_key() must not be called in evict_folios");
        assert_host_fails((void) bpf_cachebpf_list_create(&host.instance, 0), "bpf_cachebpf_list_create()");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_create),
                cmocka_unit_test(test_add_move_del),
                cmocka_unit_test(test_insert),
                cmocka_unit_test(test_data),
                cmocka_unit_test(test_key),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
