/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests of acfs, and uses, that come between each other: acfs from within. */

#include "acfs-host.h"

/* Requests that preempt each other have memory of their own each, and all gets free again. */
static void test_nested(void **state) {
        _test_host_ h = begin();
        struct places *one, *two;
        struct cachebpf_evict evict;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        come(0);
        come(4);
        one = take_places();
        two = take_places();
        assert_non_null(one);
        assert_non_null(two);
        assert_ptr_not_equal(one, two);
        one->taken = 0;
        assert_ptr_equal(take_places(), one);
        take_places();
        assert_non_null(take_places());

        /* there is no more: then it is the others' turn */
        assert_null(take_places());
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(4));
        one->taken = 0;
        evict = request(1);
        acfs_evict(p, &evict);
        assert_int_equal(one->taken, 0);
        assert_ptr_equal(evict.candidates[0].folio, folio(0));
}

/* Between the look at A and the swap another processor uses it, or proposes it: it is left where it is. */
static void test_swap_too_late(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict other;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        assert_int_equal(say(2, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        has_pages(manager(2), 0, LENT);
        for (unsigned i = 4; i < 8; i++)
                come(i);
        lend(p, folio(4), lists_of(1, 0), lists_of(1, LEVEL_DEFAULT));
        host_use(folio(4));
        levels_swap(p, manager(2), folio(4), folio(7));
        assert_int_equal(folio(4)->list, returned);

        other = request(1);
        (void) propose(p, &other, folio(5), 0, 0);
        levels_swap(p, manager(2), folio(5), folio(7));
        assert_int_equal(folio(5)->list, leaving);

        for (unsigned i = 4; i < 8; i++)
                leave(i, CACHEBPF_REMOVED_RECLAIM);
        assert_int_equal(pages(2, LEVEL_DEFAULT), 0);
        assert_int_equal(pages(1, 0), 0);
}

/* What one request proposes another one does not take back while that is under way; but not for ever. */
static void test_two_requests(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;
        __u64 made = placeholders_made;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        for (unsigned i = 0; i < 4; i++)
                come(i);
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(3));

        under_way++;
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(2));
        assert_int_equal(folio(3)->list, leaving);
        leave(3, CACHEBPF_REMOVED_RECLAIM);
        assert_int_equal(placeholders_made, made + 1);

        for (unsigned i = 2; i < MAX_CROWDED; i++) {
                evict = request(1);
                acfs_evict(p, &evict);
        }
        assert_int_equal(folio(2)->list, leaving);
        evict = request(1);
        acfs_evict(p, &evict);
        assert_int_not_equal(folio(2)->list, leaving);
        under_way--;
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nested),
                cmocka_unit_test(test_swap_too_late),
                cmocka_unit_test(test_two_requests),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
