/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What managers say, one by one: acfs from within. What comes of it is check-acfs's. */

#include "acfs-host.h"

#include <errno.h>

static void test_speak(void **state) {
        _test_host_ h = begin();

        assert_int_equal(say(1, ADVICE_GET_PRIORITY, 1, 0), LEVEL_DEFAULT);
        assert_int_equal(say(1, ADVICE_GET_REPLACEMENT, 1, 0), 0);
        assert_null(manager(1));

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 2, 1), 0);
        assert_int_equal(say(1, ADVICE_GET_REPLACEMENT, 2, 0), 1);
        assert_int_equal(say(2, ADVICE_GET_REPLACEMENT, 2, 0), 0);
        assert_int_equal(name_file(1, 7, 3), CACHEBPF_ADVICE_WALK);
        assert_int_equal(manager(1)->mru, 1 << 2);
        assert_int_equal(manager(1)->nr_files, 1);

        /* the same again changes nothing */
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 2, 1), 0);
        assert_int_equal(name_file(1, 7, 3), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(1, 7, 4), CACHEBPF_ADVICE_WALK);
        assert_int_equal(manager(1)->mru, 1 << 2);
        assert_int_equal(manager(1)->nr_files, 1);
        assert_int_equal(nr_managers, 1);
        assert_int_equal(name_file(1, 7, LEVEL_DEFAULT), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(1, 7, LEVEL_DEFAULT), CACHEBPF_ADVICE_WALK);
        assert_int_equal(manager(1)->nr_files, 0);
}

static void test_speak_for(void **state) {
        _test_host_ h = begin();
        struct managers_say said = { .manager = 2, .ino = 7, .dev = 1 };

        said.advice = number(ADVICE_SET_PRIORITY, 4, 0);
        assert_int_equal(managers_say(&said), 0);
        said.advice = number(ADVICE_GET_PRIORITY, 0, 0);
        assert_int_equal(managers_say(&said), 4);
        said.advice = number(ADVICE_SET_REPLACEMENT, 0, 2);
        assert_int_equal(managers_say(&said), -EINVAL);
        said.advice = number(ADVICE_SET_TEMPORARY, 0, 0);
        assert_int_equal(managers_say(&said), -EINVAL);
        said.advice = 4;
        assert_int_equal(managers_say(&said), -EINVAL);

        said.manager = TRACE_MAX_MANAGERS + 2;
        said.advice = number(ADVICE_SET_REPLACEMENT, 0, 1);
        assert_int_equal(managers_say(&said), -ENOENT);
}

static void test_slots(void **state) {
        _test_host_ h = begin();

        for (__u64 id = 1; id <= NR_MANAGERS; id++)
                assert_int_equal(name_file(id, id, 3), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(NR_MANAGERS + 1, 1, 3), -ENOSPC);
        assert_null(manager(NR_MANAGERS + 1));

        /* those who are gone make room, with what they have said, one after the other */
        host.gone[5 - 1] = host.gone[9 - 1] = true;
        assert_int_equal(name_file(NR_MANAGERS + 1, 1, 2), CACHEBPF_ADVICE_WALK);
        assert_null(manager(5));
        assert_non_null(manager(9));
        assert_int_equal(say(5, ADVICE_GET_PRIORITY, 0, 0), LEVEL_DEFAULT);
        assert_int_equal(manager(NR_MANAGERS + 1)->slot, 4);
        assert_int_equal(say(NR_MANAGERS + 2, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        assert_int_equal(manager(NR_MANAGERS + 2)->slot, 8);
        assert_null(manager(9));
        assert_int_equal(say(NR_MANAGERS + 3, ADVICE_SET_REPLACEMENT, 1, 1), -ENOSPC);
        assert_int_equal(say(NR_MANAGERS, ADVICE_SET_REPLACEMENT, 1, 1), 0);
}

static void test_first_at_once(void **state) {
        _test_host_ h = begin();
        struct manager none = { .slot = OTHERS };
        __u64 id = 1;

        /* another thread has begun, and has no slot yet */
        assert_int_equal(bpf_map_update_elem(&cachebpf_managers, &id, &none, BPF_NOEXIST), 0);
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), -EAGAIN);
        assert_int_equal(nr_managers, 0);
        come(0);
        assert_int_equal(folio(0)->list, list_of_others());
}

static void test_files(void **state) {
        _test_host_ h = begin();

        for (uint64_t ino = 1; ino <= NR_FILES; ino++)
                assert_int_equal(name_file(1, ino, 3), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(1, NR_FILES + 1, 3), -ENOSPC);
        assert_int_equal(name_file(1, NR_FILES, 2), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(2, 1, 3), CACHEBPF_ADVICE_WALK);

        /* what was not named makes no room, however often it is taken back */
        for (int i = 0; i < 3; i++)
                assert_int_equal(name_file(1, NR_FILES + 1, LEVEL_DEFAULT), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(1, NR_FILES + 1, 3), -ENOSPC);
        assert_int_equal(manager(1)->nr_files, NR_FILES);
        assert_int_equal(name_file(1, 1, LEVEL_DEFAULT), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(1, NR_FILES + 1, 3), CACHEBPF_ADVICE_WALK);
        assert_int_equal(name_file(1, 1, 3), -ENOSPC);
}

static void test_pages(void **state) {
        _test_host_ h = begin();
        uint32_t lists;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        assert_int_equal(name_file(2, 1, 4), CACHEBPF_ADVICE_WALK);
        for (unsigned i = 0; i < N_FOLIOS; i++)
                come(i);
        assert_int_equal(pages(1, LEVEL_DEFAULT), 4);
        assert_int_equal(pages(2, 4), 4);
        assert_list(lists_of(1, 4) + USED, "4567");

        /* to another level, lent, and back */
        put(p, folio(4), lists_of(1, 2));
        lists = lists_of(0, LEVEL_DEFAULT);
        lend(p, folio(0), lists_of(0, 0), lists);
        lend(p, folio(0), lists_of(0, 3), lists);
        assert_int_equal(pages(2, 4), 3);
        assert_int_equal(pages(2, 2), 1);
        assert_int_equal(pages(1, LEVEL_DEFAULT), 4);
        put(p, folio(0), lists_of(0, 2));
        assert_int_equal(pages(1, LEVEL_DEFAULT), 3);
        assert_int_equal(pages(1, 2), 1);

        /* gone, from wherever they were */
        lend(p, folio(1), lists_of(0, 0), lists);
        leave(0, CACHEBPF_REMOVED_TRUNCATE);
        leave(1, CACHEBPF_REMOVED_TRUNCATE);
        leave(2, CACHEBPF_REMOVED_INVALIDATE);
        assert_int_equal(pages(1, LEVEL_DEFAULT), 1);
        assert_int_equal(pages(1, 2), 0);
}

/* Pages of one who is gone, in the levels of one who says MRU: by that they would stay for ever. */
static void test_inherited(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;

        for (uint64_t id = 2; id <= NR_MANAGERS + 1; id++)
                assert_int_equal(say(id, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        for (unsigned i = 4; i < 8; i++)
                come(i);
        host.gone[2 - 1] = true;
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        assert_int_equal(manager(1)->slot, 0);
        assert_true(manager(1)->inherits);
        for (unsigned i = 0; i < 4; i++)
                come(i);
        assert_list(lists_of(0, LEVEL_DEFAULT) + USED, "45670123");

        for (unsigned i = 4; i < 8; i++) {
                evict = request(1);
                acfs_evict(p, &evict);
                assert_int_equal(evict.nr_folios, 1);
                assert_ptr_equal(evict.candidates[0].folio, folio(i));
                leave(i, CACHEBPF_REMOVED_RECLAIM);
        }
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(3));
        assert_int_equal(pages(1, LEVEL_DEFAULT), 4);
}

/* Of several who are gone one makes room; what the others had goes before all that is newer. */
static void test_gone_pay(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;

        /* slot 0 is that of 3, slot 1 that of 2, which has pages */
        assert_int_equal(say(3, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        assert_int_equal(say(2, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        for (uint64_t id = 4; id <= NR_MANAGERS + 1; id++)
                assert_int_equal(say(id, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        for (unsigned i = 4; i < 8; i++)
                come(i);
        host.gone[2 - 1] = host.gone[3 - 1] = true;
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        assert_int_equal(manager(1)->slot, 0);
        for (unsigned i = 0; i < 4; i++)
                come(i);

        evict = request(4);
        acfs_evict(p, &evict);
        assert_int_equal(evict.nr_folios, 4);
        for (unsigned i = 0; i < 4; i++)
                assert_ptr_equal(evict.candidates[i].folio, folio(4 + i));
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_speak),
                cmocka_unit_test(test_speak_for),
                cmocka_unit_test(test_slots),
                cmocka_unit_test(test_first_at_once),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_inherited),
                cmocka_unit_test(test_gone_pay),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
