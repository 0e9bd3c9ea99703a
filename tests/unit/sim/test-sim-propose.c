/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

#include <stdlib.h>

static struct cachebpf_evict new_request(uint32_t nr_wanted) {
        return (struct cachebpf_evict) { .nr_wanted = nr_wanted, .visits_left = CACHEBPF_MAX_VISITS };
}

static void assert_candidates(const struct cachebpf_evict *evict, const char *folios) {
        char found[64] = "";

        assert_int_equal(evict->nr_folios, evict->nr_proposed);
        for (uint32_t i = 0; i < evict->nr_folios; i++)
                found[i] = '0' + pfn_of(evict->candidates[i].folio) - 1;
        assert_string_equal(found, folios);
}

static void test_evict(void **state) {
        _test_host_ h = test_host_begin(4);
        struct cachebpf_evict evict = new_request(2);

        assert_int_equal(bpf_cachebpf_evict(&evict, folio(3)), 0);
        assert_int_equal(bpf_cachebpf_evict(&evict, folio(1)), -ENOSPC); /* taken, and that was the last */
        assert_int_equal(bpf_cachebpf_evict(&evict, folio(2)), -ENOSPC);
        assert_candidates(&evict, "31");
}

static void test_rank(void **state) {
        _test_host_ h = test_host_begin(8);
        struct cachebpf_evict evict = new_request(3);

        bpf_cachebpf_rank(&evict, folio(0), 5);
        bpf_cachebpf_rank(&evict, folio(1), -5);
        bpf_cachebpf_rank(&evict, folio(2), 5);
        assert_candidates(&evict, "102");
        bpf_cachebpf_rank(&evict, folio(3), 5); /* of equal ones those that were first stay */
        assert_candidates(&evict, "102");
        bpf_cachebpf_rank(&evict, folio(4), 4);
        assert_candidates(&evict, "140");
        bpf_cachebpf_rank(&evict, folio(5), INT64_MIN);
        bpf_cachebpf_rank(&evict, folio(6), INT64_MAX);
        assert_candidates(&evict, "514");

        /* what was proposed without a score precedes all */
        evict = new_request(3);
        bpf_cachebpf_rank(&evict, folio(0), 7);
        bpf_cachebpf_rank(&evict, folio(1), 8);
        assert_int_equal(bpf_cachebpf_evict(&evict, folio(2)), -ENOSPC);
        assert_candidates(&evict, "012");
}

static int compare(const void *a, const void *b) {
        int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

        return (x > y) - (x < y);
}

/* However many are offered, the request holds the lowest. */
static void test_rank_many(void **state) {
        _test_host_ h = test_host_begin(1000);
        struct cachebpf_evict evict = new_request(32);
        int64_t scores[1000];

        for (unsigned i = 0; i < 1000; i++) {
                scores[i] = (int32_t) bpf_get_prandom_u32();
                bpf_cachebpf_rank(&evict, folio(i), scores[i]);
        }
        qsort(scores, 1000, sizeof(*scores), compare);
        assert_int_equal(evict.nr_proposed, 32);
        for (unsigned i = 0; i < 32; i++)
                assert_true(evict.candidates[i].score == scores[i]);
}

static uint32_t list_with_accesses(const char *accesses) {
        char folios[16] = "";

        for (size_t i = 0; accesses[i]; i++) {
                folios[i] = '0' + i;
                folio(i)->accesses = accesses[i] - '0';
        }
        return list_of(0, folios);
}

/* What nobody has used yet is passed over by three requests, as far as these may. */
static void test_unread(void **state) {
        _test_host_ h = test_host_begin(4);
        uint32_t list = list_with_accesses("0101");
        struct cachebpf_evict evict;

        folio(0)->unread = folio(2)->unread = UNREAD_NEW;
        for (unsigned i = 0; i < 3; i++) {
                evict = new_request(4);
                evict.unread_left = 10;
                for (unsigned j = 0; j < 4; j++) {
                        evict.nr_folios = evict.nr_proposed = 0;
                        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 4, CACHEBPF_BY_ACCESSES), 0);
                        assert_candidates(&evict, "13");
                        assert_int_equal(evict.unread_left, 8);
                }
        }
        evict = new_request(4);
        evict.unread_left = 10;
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 4, CACHEBPF_BY_ACCESSES), 0);
        assert_candidates(&evict, "0123");

        folio(0)->unread = folio(2)->unread = UNREAD_NEW;
        evict = new_request(4);
        evict.unread_left = 1;
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 4, CACHEBPF_BY_ACCESSES), 0);
        assert_candidates(&evict, "123");
}

static void test_rank_list(void **state) {
        _test_host_ h = test_host_begin(9);
        struct cachebpf_evict evict = new_request(2);
        uint32_t list = list_with_accesses("543298765");

        /* of the first six the lowest two; they have gone to the tail */
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 6, CACHEBPF_BY_ACCESSES), 0);
        assert_candidates(&evict, "32");
        assert_list(list, "678012345");
        assert_int_equal(evict.visits_left, CACHEBPF_MAX_VISITS - 6);

        /* more than there are: in the end the order is the same */
        evict = new_request(2);
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 100, CACHEBPF_BY_ACCESSES), 0);
        assert_candidates(&evict, "32");
        assert_list(list, "678012345");
        assert_int_equal(evict.visits_left, CACHEBPF_MAX_VISITS - 9);

        assert_int_equal(bpf_cachebpf_rank_list(&evict, 99, 6, CACHEBPF_BY_ACCESSES), -ENOENT);
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 6, 2), -EINVAL);
}

static void test_rank_list_budget(void **state) {
        _test_host_ h = test_host_begin(9);
        struct cachebpf_evict evict = new_request(2);
        uint32_t list = list_with_accesses("987654321");

        evict.visits_left = 4;
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 9, CACHEBPF_BY_ACCESSES), 0);
        assert_candidates(&evict, "32");
        assert_list(list, "456780123");
        assert_int_equal(evict.visits_left, 0);
}

/* The first of the policy's numbers, with a sign. */
static void test_rank_list_by_data(void **state) {
        _test_host_ h = test_host_begin(4);
        struct cachebpf_evict evict = new_request(2);
        uint32_t list = list_of(0, "0123");

        folio(0)->data[0] = 3;
        folio(1)->data[0] = -1;
        folio(2)->data[0] = 0;
        folio(3)->data[0] = -7;
        assert_int_equal(bpf_cachebpf_rank_list(&evict, list, 4, CACHEBPF_BY_DATA), 0);
        assert_candidates(&evict, "31");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_evict),
                cmocka_unit_test(test_rank),
                cmocka_unit_test(test_rank_many),
                cmocka_unit_test(test_unread),
                cmocka_unit_test(test_rank_list),
                cmocka_unit_test(test_rank_list_budget),
                cmocka_unit_test(test_rank_list_by_data),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
