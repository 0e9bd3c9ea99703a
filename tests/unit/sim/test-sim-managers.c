/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What managers say, one by one: acfs from within. What comes of it is check-acfs's. */

#include "sim-test.h"

#include <errno.h>

#include "acfs.bpf.c"

#define N_FOLIOS 8

static struct cachebpf_policy *p = &host.instance;

static int32_t number(enum advice what, unsigned level, unsigned more) {
        return ADVICE | (int32_t) what << 8 | (int32_t) (level << 4 | more);
}

static int32_t say_of(uint64_t id, const struct cachebpf_file *file, int32_t advice) {
        struct manager *m = manager_of(id);

        return hear(m, id, file, level_of(m, id, file), advice);
}

static int32_t say(uint64_t id, enum advice what, unsigned level, unsigned more) {
        struct cachebpf_file file = { .ino = 1, .dev = 1 };

        return say_of(id, &file, number(what, level, more));
}

static int32_t name_file(uint64_t id, uint64_t ino, unsigned level) {
        struct cachebpf_file file = { .ino = ino, .dev = 1 };

        return say_of(id, &file, number(ADVICE_SET_PRIORITY, level, 0));
}

static struct manager *manager(__u64 id) {
        return bpf_map_lookup_elem(&cachebpf_managers, &id);
}

static int64_t pages(uint64_t id, uint32_t level) {
        uint32_t i = manager(id)->slot * NR_LEVELS + level;

        return *(int64_t *) bpf_map_lookup_elem(&cachebpf_pages, &i);
}

static struct note *note_of(uint32_t i) {
        return (struct note *) folio(i)->data;
}

/* A host on which the policy has begun; folios 0 to 3 are manager 1's, the others manager 2's. */
static TestHost begin(void) {
        TestHost h = test_host_begin(N_FOLIOS);

        nr_managers = 0;
        others = (struct manager) { .slot = OTHERS };
        assert_int_equal(acfs_init(p), 0);
        for (unsigned i = 0; i < N_FOLIOS; i++)
                folio(i)->manager = i < 4 ? 0 : 1;
        host.callback = CALLBACK_ADDED;
        return h;
}

static void come_as(uint32_t i, uint16_t accesses, uint32_t why) {
        Callback callback = host.callback;

        host.callback = CALLBACK_ADDED;
        folio(i)->cached = true;
        folio(i)->accesses = accesses;
        folio(i)->list = NO_LIST;
        acfs_added(p, folio(i), why);
        host.callback = callback;
}

/* As a miss does. */
static void come(uint32_t i) {
        come_as(i, 1, 0);
}

static void leave(uint32_t i, uint32_t why) {
        Callback callback = host.callback;

        host.callback = CALLBACK_REMOVED;
        acfs_removed(p, folio(i), why);
        host_delist(folio(i));
        folio(i)->cached = false;
        host.callback = callback;
}

static struct cachebpf_evict request(uint32_t n) {
        host.callback = CALLBACK_EVICT;
        return (struct cachebpf_evict) { .nr_wanted = n, .visits_left = CACHEBPF_MAX_VISITS };
}

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

        /* those who are gone make room, with what they have said */
        host.gone[5 - 1] = host.gone[9 - 1] = true;
        assert_int_equal(name_file(NR_MANAGERS + 1, 1, 2), CACHEBPF_ADVICE_WALK);
        assert_null(manager(5));
        assert_null(manager(9));
        assert_int_equal(say(5, ADVICE_GET_PRIORITY, 0, 0), LEVEL_DEFAULT);
        assert_int_equal(manager(NR_MANAGERS + 1)->slot, 4);
        assert_int_equal(say(NR_MANAGERS + 2, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        assert_int_equal(manager(NR_MANAGERS + 2)->slot, 8);
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

static void test_lent(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict, other;
        struct candidates found;
        uint32_t home, low;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        home = lists_of(0, LEVEL_DEFAULT);
        low = lists_of(0, 0);
        has_pages(manager(1), 0, LENT);
        for (unsigned i = 0; i < 4; i++)
                come(i);

        /* until its next use */
        lend(p, folio(2), low, home);
        assert_list(low + LENT, "2");
        host_use(folio(2));
        assert_list(low + LENT, "");
        evict = request(1);
        levels_take_back(p, &evict);
        assert_list(home + USED, "0132");

        /* of two requests the first has it, and it is still known where it belongs */
        lend(p, folio(3), low, home);
        assert_int_equal(managers_find_oldest(&evict, manager(1), &found), 0);
        assert_int_equal(found.lowest.number, 3 + 1);
        assert_int_equal(found.lowest.list, low + LENT);
        assert_int_equal(found.all.number, 0 + 1);
        assert_true(propose(p, &evict, folio(3), 5, 0xfff7));
        other = request(1);
        assert_false(propose(p, &other, folio(3), 6, 0));
        assert_int_equal(other.nr_proposed, 0);
        assert_int_equal(proposed_home(note_of(3)), home);
        assert_int_equal((uint32_t) note_of(3)->place, 5);
        assert_list(leaving, "3");

        /* it did not go: that is as good as a use, but does not make it the next one where that would be */
        take_back(p, &evict);
        assert_list(home + USED, "0123");
        assert_list(leaving, "");
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        lend(p, folio(3), low, home);
        assert_true(propose(p, &(struct cachebpf_evict) { .nr_wanted = 1 }, folio(3), 0, 0));
        take_back(p, &evict);
        assert_list(home + SWAPPED, "3");
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        assert_int_equal(pages(1, LEVEL_DEFAULT), 4);

        /* it stays in the stead of another: with the place of that one, and still lent */
        lend(p, folio(3), low, home);
        levels_swap(p, manager(1), folio(3), folio(2));
        assert_list(low + LENT, "3");
        assert_int_equal(note_of(3)->last_use, note_of(2)->last_use);
        host_use(folio(3));
        evict = request(1);
        levels_take_back(p, &evict);
        assert_list(home + USED, "0123");
        assert_int_equal(pages(1, LEVEL_DEFAULT), 4);

        evict = request(1);
        lend(p, folio(3), low, home);
        assert_true(propose(p, &evict, folio(3), 0, 0));
        leave(3, CACHEBPF_REMOVED_RECLAIM);
        assert_int_equal(pages(1, LEVEL_DEFAULT), 3);
}

/* MRU passes over what was read ahead for nobody yet, but not over what was written and not read. */
static void test_written(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        come(0);
        come_as(1, 0, CACHEBPF_ADDED_WRITTEN);
        come_as(2, 0, 0);
        evict = request(1);
        acfs_evict(p, &evict);
        assert_int_equal(evict.nr_folios, 1);
        assert_ptr_equal(evict.candidates[0].folio, folio(1));
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

static bool has_one_list(const struct manager *m) {
        return m->lists == 1U << (LEVEL_DEFAULT * NR_LISTS + USED);
}

/* Lists beside those in the order of use are looked at only as long as something is there. */
static void test_one_order(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;

        come(0);
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        come(1);
        come(2);
        assert_true(has_one_list(manager(1)));
        evict = request(1);
        assert_ptr_equal(owner_of(p, &others, folio(0)), manager(1));
        assert_list(lists_of(0, LEVEL_DEFAULT) + SWAPPED, "0");
        assert_false(has_one_list(manager(1)));
        levels_forget_empty(p, manager(1));
        assert_false(has_one_list(manager(1)));

        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(0));
        leave(0, CACHEBPF_REMOVED_RECLAIM);
        for (unsigned i = 1; i <= 2; i++) {
                evict = request(1);
                acfs_evict(p, &evict);
                assert_true(has_one_list(manager(1)));
                assert_ptr_equal(evict.candidates[0].folio, folio(i));
                leave(i, CACHEBPF_REMOVED_RECLAIM);
        }
        assert_int_equal(pages(1, LEVEL_DEFAULT), 0);
}

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

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_speak),
                cmocka_unit_test(test_speak_for),
                cmocka_unit_test(test_slots),
                cmocka_unit_test(test_first_at_once),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_lent),
                cmocka_unit_test(test_written),
                cmocka_unit_test(test_inherited),
                cmocka_unit_test(test_one_order),
                cmocka_unit_test(test_nested),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
