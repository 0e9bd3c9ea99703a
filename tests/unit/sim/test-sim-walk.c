/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

static struct cachebpf_evict new_request(void) {
        return (struct cachebpf_evict) { .nr_wanted = 32, .visits_left = CACHEBPF_MAX_VISITS };
}

static uint32_t number(const struct cachebpf_folio *f) {
        return pfn_of(f) - 1;
}

/* Walks, does nothing else, and notes what was visited. */
static void walk(uint32_t list, uint32_t nr_max, uint32_t flags, const char *visited) {
        struct cachebpf_evict evict = new_request();
        struct cachebpf_folio *f;
        char seen[64] = "";
        size_t n = 0;

        for_each_folio(f, &evict, list, nr_max, flags)
                seen[n++] = '0' + number(f);
        assert_string_equal(seen, visited);
        assert_null(host.lists[list].walks);
}

static void test_directions(void **state) {
        _test_host_ h = test_host_begin(10);
        uint32_t list = list_of(0, "0123456789");

        walk(list, 0, 0, "0123456789");
        walk(list, 3, 0, "012");
        walk(list, 0, CACHEBPF_ITER_REVERSE, "9876543210");
        walk(list, 99, 0, "0123456789");
        assert_list(list, "0123456789");

        walk(list, 3, CACHEBPF_ITER_ROTATE, "012");
        assert_list(list, "3456789012");
        walk(list, 2, CACHEBPF_ITER_ROTATE | CACHEBPF_ITER_REVERSE, "21");
        assert_list(list, "1234567890"); /* 2 went to the head first, then 1 */

        /* all of it, by more than one batch: in the end nothing has changed */
        walk(list, 0, CACHEBPF_ITER_ROTATE, "1234567890");
        assert_list(list, "1234567890");

        walk(99, 0, 0, "");
        walk(list, 0, 4, "");
}

static void test_break_rotates_what_was_offered(void **state) {
        _test_host_ h = test_host_begin(10);
        struct cachebpf_evict evict = new_request();
        uint32_t list = list_of(0, "0123456789");
        struct cachebpf_folio *f;

        for_each_folio(f, &evict, list, 0, CACHEBPF_ITER_ROTATE)
                if (number(f) == 4)
                        break;
        assert_list(list, "5678901234");
        assert_null(host.lists[list].walks);
}

/* What would not fit into 8 bits. */
static void test_many_lists(void **state) {
        _test_host_ h = test_host_begin(5);
        uint32_t list;

        for (int i = 1; i < 300; i++)
                (void) list_of(0, "");
        list = list_of(0, "01234");
        walk(list, 2, CACHEBPF_ITER_ROTATE, "01");
        assert_list(list, "23401");
}

/* What the policy has put elsewhere stays there, and is not rotated. */
static void test_moves_during_walk(void **state) {
        _test_host_ h = test_host_begin(10);
        struct cachebpf_evict evict = new_request();
        uint32_t list = list_of(0, "0123456789"), other = list_of(0, "");
        struct cachebpf_folio *f;

        for_each_folio(f, &evict, list, 4, CACHEBPF_ITER_ROTATE)
                if (number(f) % 2 == 0)
                        bpf_cachebpf_list_move(&host.instance, f, other, TAIL);
        assert_list(list, "45678913");
        assert_list(other, "02");

        /* to the end of the same list: each is offered once all the same */
        walk(list, 0, 0, "45678913");
        for_each_folio(f, &evict, list, 0, 0)
                bpf_cachebpf_list_move(&host.instance, f, list, TAIL);
        assert_list(list, "45678913");
}

/* The entry that a walk would read next is taken away: the walk goes on behind it. */
static void test_cursor_follows(void **state) {
        _test_host_ h = test_host_begin(10);
        struct cachebpf_evict evict = new_request();
        uint32_t list = list_of(0, "0123456789"), other = list_of(0, "");
        struct cachebpf_folio *f;
        char seen[64] = "";
        size_t n = 0;

        /* eight are read ahead: 8 is the next to read */
        for_each_folio(f, &evict, list, 0, 0) {
                if (number(f) == 0)
                        bpf_cachebpf_list_move(&host.instance, folio(8), other, TAIL);
                seen[n++] = '0' + number(f);
        }
        assert_string_equal(seen, "012345679");

        /* read ahead, and then moved away: offered nevertheless */
        n = 0;
        for_each_folio(f, &evict, list, 0, 0) {
                if (number(f) == 0)
                        bpf_cachebpf_list_move(&host.instance, folio(1), other, TAIL);
                seen[n++] = '0' + number(f);
        }
        assert_string_equal(seen, "012345679");
        assert_list(list, "02345679");
}

static void test_walk_in_walk(void **state) {
        _test_host_ h = test_host_begin(9);
        struct cachebpf_evict evict = new_request();
        uint32_t list = list_of(0, "012345678");
        struct cachebpf_folio *f, *g;
        uint32_t n = 0;

        for_each_folio(f, &evict, list, 0, 0)
                for_each_folio(g, &evict, list, 2, 0)
                        n++;
        assert_int_equal(n, 18);
        assert_null(host.lists[list].walks);
        /* the outer walk has looked at nine, each inner one at two */
        assert_int_equal(evict.visits_left, CACHEBPF_MAX_VISITS - 9 - 18);
}

static void test_budget(void **state) {
        _test_host_ h = test_host_begin(9);
        struct cachebpf_evict evict = new_request();
        uint32_t list = list_of(0, "012345678");
        struct cachebpf_folio *f;
        uint32_t n = 0;

        evict.visits_left = 12;
        for_each_folio(f, &evict, list, 0, 0)
                n++;
        assert_int_equal(n, 9);
        for_each_folio(f, &evict, list, 0, 0)
                n++;
        assert_int_equal(n, 12);
        assert_int_equal(evict.visits_left, 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_directions),
                cmocka_unit_test(test_break_rotates_what_was_offered),
                cmocka_unit_test(test_many_lists),
                cmocka_unit_test(test_moves_during_walk),
                cmocka_unit_test(test_cursor_follows),
                cmocka_unit_test(test_walk_in_walk),
                cmocka_unit_test(test_budget),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
