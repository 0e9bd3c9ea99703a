/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which page of a manager goes, and what that means for it: acfs from within. */

#include "acfs-host.h"

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
        assert_int_equal(proposed_home(note_of(3)->place), home);
        assert_int_equal((uint32_t) note_of(3)->place, 5);
        assert_list(leaving, "3");

        /* it did not go: that is as good as a use, but does not make it the next one where that would be */
        take_back_proposed(p, &evict, leaving);
        assert_list(home + USED, "0123");
        assert_list(leaving, "");
        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        lend(p, folio(3), low, home);
        assert_true(propose(p, &(struct cachebpf_evict) { .nr_wanted = 1 }, folio(3), 0, 0));
        take_back_proposed(p, &evict, leaving);
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

/* Who misses what went instead of a page that is lent pays next, though another's page is older. */
static void test_lent_pays(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;
        uint32_t home, high;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        home = lists_of(0, LEVEL_DEFAULT);
        high = lists_of(0, 4);
        come(0);
        come(4);
        come(1);
        lend(p, folio(0), high, home);
        has_pages(manager(1), 4, LENT);

        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(1));
        leave(1, CACHEBPF_REMOVED_RECLAIM);
        come(2);
        come(1);
        assert_list(high + LENT, "0");
        assert_int_equal(manager(1)->nr_wrong, 1);
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(2));

        /* that it is said again does not help; lent to another level, it may have been used before that */
        lend(p, folio(0), high, home);
        leave(2, CACHEBPF_REMOVED_RECLAIM);
        come(2);
        assert_int_equal(note_of(0)->last_use, PAYS);
        assert_int_equal(manager(1)->nr_wrong, 2);
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(1));
        lend(p, folio(0), lists_of(0, 3), home);
        leave(1, CACHEBPF_REMOVED_RECLAIM);
        come(1);
        assert_int_equal(note_of(0)->last_use, PAYS);
        assert_int_equal(manager(1)->nr_wrong, 2);

        /* it is lent still */
        host_use(folio(0));
        evict = request(1);
        levels_take_back(p, &evict);
        assert_list(home + USED, "210");
}

/* So does who uses meanwhile what had stayed; and of MRU that which was missed does not go again at once. */
static void test_owed(void **state) {
        _test_host_ h = begin();
        static const unsigned order[] = { 0, 4, 1, 2 };
        static const struct {
                unsigned goes;
                int owes;
        } then[] = { { 1, 0 }, { 4, 0 } };
        struct cachebpf_evict evict;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
                come(order[i]);
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(2));
        leave(2, CACHEBPF_REMOVED_RECLAIM);
        come(2);
        assert_int_equal(manager(1)->owes, 1);
        host_use(folio(0));

        for (size_t i = 0; i < sizeof(then) / sizeof(*then); i++) {
                evict = request(1);
                acfs_evict(p, &evict);
                assert_ptr_equal(evict.candidates[0].folio, folio(then[i].goes));
                assert_int_equal(manager(1)->owes, then[i].owes);
                leave(then[i].goes, CACHEBPF_REMOVED_RECLAIM);
        }
}

/* The same if what had stayed was lent: it is on its way back then. */
static void test_returned_owes(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict = request(1);
        uint32_t home, high;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        home = lists_of(0, LEVEL_DEFAULT);
        high = lists_of(0, 4);
        for (unsigned i = 0; i < 2; i++)
                come(i);
        lend(p, folio(0), high, home);
        has_pages(manager(1), 4, LENT);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(1));
        leave(1, CACHEBPF_REMOVED_RECLAIM);
        host_use(folio(0));
        assert_list(returned, "0");
        come(1);
        assert_int_equal(manager(1)->owes, 1);
        assert_int_equal(manager(1)->nr_wrong, 0);
        assert_list(home + SWAPPED, "0");
        assert_int_equal(pages(1, LEVEL_DEFAULT), 2);
}

/* Who is revoked pays what it owes, but decides nothing by that: nobody has to pay for what goes then. */
static void test_revoked_owes(void **state) {
        _test_host_ h = begin();
        static const unsigned order[] = { 0, 4, 1, 2 };
        struct cachebpf_evict evict = request(1);

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 1), 0);
        for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
                come(order[i]);
        acfs_evict(p, &evict);
        leave(2, CACHEBPF_REMOVED_RECLAIM);
        come(2);
        assert_int_equal(manager(1)->owes, 1);
        host_use(folio(0));

        manager(1)->revoked = 1;
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(1));
        assert_int_equal(manager(1)->owes, 0);
        assert_int_equal((uint32_t) note_of(1)->place, 0);
}

/* Who says nothing never owes: a page of theirs can only have the number of one that stayed. */
static void test_silent_owe_nothing(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict = request(1);

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        come(0);
        come(4);
        /* mapped and used, it does not go */
        assert_true(propose(p, &evict, folio(4), 0, 0));
        take_back_proposed(p, &evict, leaving);
        host.callback = CALLBACK_REMOVED;
        placeholder_make(p, folio(5), bpf_cachebpf_number(folio(4)), 0);
        remembers = true;
        come(5);
        assert_int_equal(others.owes, 0);

        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(0));
}

/* What was missed leaves its room in a bucket: the oldest is not forgotten for it. */
static void test_placeholder_room(void **state) {
        _test_host_ h = begin_with(3, 3);

        placeholder_make(p, folio(2), 7, 94);
        for (unsigned i = 0; i < 2 * PLACEHOLDERS_PER_BUCKET; i++) {
                placeholder_make(p, folio(1), 8 + i, i);
                assert_int_equal(placeholder_take(p, bpf_cachebpf_key(folio(1))),
                                 (uint64_t) i << 32 | (8 + i));
                assert_int_equal(placeholder_take(p, bpf_cachebpf_key(folio(1))), 0);
        }
        assert_int_equal(placeholder_take(p, bpf_cachebpf_key(folio(2))), (uint64_t) 94 << 32 | 7);
}

/* Who lends a new page, and then old ones, has old ones. */
static void test_lent_in_order(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;
        uint32_t home, high;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        home = lists_of(0, LEVEL_DEFAULT);
        high = lists_of(0, 4);
        for (unsigned i = 0; i < 3; i++)
                come(i);
        come(4);
        come(3);
        lend(p, folio(3), high, home);
        for (unsigned i = 0; i < 3; i++)
                lend(p, folio(i), high, home);
        lend(p, folio(0), high, home);
        has_pages(manager(1), 4, LENT);
        assert_list(high + LENT, "0123");

        evict = request(3);
        acfs_evict(p, &evict);
        for (unsigned i = 0; i < 3; i++)
                assert_ptr_equal(evict.candidates[i].folio, folio(i));
        assert_int_equal(pages(1, LEVEL_DEFAULT), 4);
}

/* A large page stays for as many pages as it has, not for the first small one. */
static void test_large_stays(void **state) {
        _test_host_ h = begin_with(8, 8);
        struct cachebpf_evict evict;
        uint32_t high;

        assert_int_equal(name_file(1, 1, 4), CACHEBPF_ADVICE_WALK);
        high = lists_of(0, 4);
        folio(0)->order = 2;
        come(0);
        assert_int_equal(name_file(1, 1, LEVEL_DEFAULT), CACHEBPF_ADVICE_WALK);
        for (unsigned i = 1; i < 8; i++)
                come(i);

        for (unsigned i = 1; i <= 4; i++) {
                assert_list(high + USED, "0");
                evict = request(1);
                acfs_evict(p, &evict);
                assert_ptr_equal(evict.candidates[0].folio, folio(i));
                leave(i, CACHEBPF_REMOVED_RECLAIM);
        }
        assert_list(high + SWAPPED, "0");

        /* and who has given too many pages has them to his credit */
        assert_int_equal(manager(1)->paid, 0);
        assert_true(pays_for(manager(1), 1, 4));
        assert_true(pays_for(manager(1), 4, 1));
        assert_false(pays_for(manager(1), 4, 3));
}

/* Decisions are known for long enough, however many pages stay. */
static void test_long_ago(void **state) {
        enum { N = 20000 };
        _test_host_ h = begin_with(N, N);
        struct cachebpf_evict evict;
        static const struct {
                uint64_t decisions;
                bool wrong;
        } since[] = { { 0, true }, { 5000, true }, { 25000, false }, { 70000, false }, { 300000, false } };

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 2, 1), 0);
        for (unsigned i = 0; i < N; i++) {
                come(i);
                put(p, folio(i), lists_of(0, 2));
        }
        has_pages(manager(1), 2, SWAPPED);

        for (size_t i = 0; i < sizeof(since) / sizeof(*since); i++) {
                uint64_t before = manager(1)->nr_wrong;
                uint32_t gone = N - 1 - i;

                evict = request(1);
                acfs_evict(p, &evict);
                assert_ptr_equal(evict.candidates[0].folio, folio(gone));
                leave(gone, CACHEBPF_REMOVED_RECLAIM);
                manager(1)->nr_decisions += since[i].decisions;
                come(gone);
                assert_int_equal(manager(1)->nr_wrong - before, since[i].wrong);
                leave(gone, CACHEBPF_REMOVED_TRUNCATE);
        }
}

/* How many decisions there were is noted in a few bits, but in single ones as long as few pages stay. */
static void test_noted(void **state) {
        static const uint64_t stayed[] = { 1, 255, 256, 1000, 5000, 60000, 1000000, 4000000 };
        uint64_t seed = 94;

        for (size_t i = 0; i < sizeof(stayed) / sizeof(*stayed); i++) {
                uint64_t unit = stayed[i] < 256 ? 0 : stayed[i] / 64;
                struct manager m = {};

                set_unit(&m, stayed[i]);
                for (int k = 0; k < 1000; k++) {
                        uint64_t since = sim_draw(&seed) % (7 * stayed[i] + 1);
                        uint16_t noted;

                        m.nr_decisions = sim_draw(&seed) % (UINT64_C(1) << 40);
                        noted = decisions_noted(&m);
                        m.nr_decisions += since;
                        if (since <= stayed[i])
                                assert_true(decisions_are_at_most(&m, noted, stayed[i]));
                        if (since > stayed[i] + unit)
                                assert_false(decisions_are_at_most(&m, noted, stayed[i]));
                        /* there were few, and nothing is known of so many */
                        assert_false(decisions_are_at_most(&m, noted, 16 * MAX(stayed[i], 256U)));
                }
        }
}

/* A page that is proposed while advice puts it into a level goes, though it has no place there. */
static void test_proposed_and_put(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 1, 0), 0);
        for (unsigned when = 0; when <= UINT16_MAX; when += UINT16_MAX / 5) {
                come(0);
                evict = request(1);
                assert_true(propose(p, &evict, folio(0), UINT32_MAX, when));
                /* the last step of put() */
                (void) bpf_cachebpf_list_insert(p, folio(0), lists_of(0, 2) + SWAPPED, NR_SORTED);
                has_pages(manager(1), 2, SWAPPED);

                evict = request(1);
                acfs_evict(p, &evict);
                assert_int_equal(evict.nr_folios, 1);
                assert_ptr_equal(evict.candidates[0].folio, folio(0));
                leave(0, CACHEBPF_REMOVED_RECLAIM);
        }
}

/* What is used between its proposal and the next request was kept: its manager decides once more. */
static void test_kept(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict = request(1);

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, LEVEL_DEFAULT, 1), 0);
        for (unsigned i = 0; i < 4; i++) {
                come(i);
                host_use(folio(i));
        }
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(3));
        assert_int_equal(note_of(0)->place, note_of(3)->last_use);
        host_use(folio(3));
        assert_list(kept, "3");

        /* the page that stayed gets the place of the one that goes in its stead, and nothing is wrong */
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(2));
        assert_int_equal(note_of(0)->place, note_of(2)->last_use);
        assert_list(kept, "");
        assert_int_equal(manager(1)->owes, 0);
        assert_int_equal(manager(1)->nr_wrong, 0);

        /* but it is not waited for a manager for ever: its oldest page goes then */
        host_use(folio(2));
        manager(1)->nr_kept = MAX_KEPT - 1;
        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(0));
        manager(1)->nr_recent = NR_DECISIONS - 1;
        (void) may_decide(manager(1), 0);
        assert_int_equal(manager(1)->nr_kept, 0);

        /* used when another request had it, and gone for all that */
        evict = request(1);
        acfs_evict(p, &evict);
        host_use(folio(1));
        assert_list(kept, "1");
        leave(1, CACHEBPF_REMOVED_RECLAIM);
        assert_int_equal(pages(1, LEVEL_DEFAULT), 3);
}

/* Of an MRU level whose pages all have other places, too, what was kept is the last one to be named. */
static void test_kept_again(void **state) {
        _test_host_ h = begin();
        uint32_t home = lists_of(0, LEVEL_DEFAULT);
        struct cachebpf_evict evict;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, LEVEL_DEFAULT, 1), 0);
        for (unsigned i = 0; i < 4; i++) {
                come(i);
                host_use(folio(i));
                put(p, folio(i), home);
        }
        has_pages(manager(1), LEVEL_DEFAULT, SWAPPED);
        for (unsigned i = 0; i < 3; i++) {
                evict = request(1);
                acfs_evict(p, &evict);
                assert_ptr_equal(evict.candidates[0].folio, folio(3 - i));
                if (i == 0)
                        host_use(folio(3));
                else
                        leave(3 - i, CACHEBPF_REMOVED_RECLAIM);
        }
}

/* Of an MRU level whose pages all have another place the newest one goes: that is a decision like others. */
static void test_revoked(void **state) {
        _test_host_ h = begin();
        struct cachebpf_evict evict;

        assert_int_equal(say(1, ADVICE_SET_REPLACEMENT, 2, 1), 0);
        for (unsigned i = 0; i < 4; i++) {
                come(i);
                put(p, folio(i), lists_of(0, 2));
        }
        has_pages(manager(1), 2, SWAPPED);

        evict = request(1);
        acfs_evict(p, &evict);
        assert_ptr_equal(evict.candidates[0].folio, folio(3));
        assert_int_equal(manager(1)->nr_decisions, 1);
        leave(3, CACHEBPF_REMOVED_RECLAIM);

        /* who has no say gives the oldest */
        manager(1)->revoked = 1;
        evict = request(2);
        acfs_evict(p, &evict);
        assert_int_equal(evict.nr_folios, 2);
        assert_ptr_equal(evict.candidates[0].folio, folio(1));
        assert_ptr_equal(evict.candidates[1].folio, folio(2));
        assert_int_equal(manager(1)->nr_decisions, 3);
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

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lent),
                cmocka_unit_test(test_written),
                cmocka_unit_test(test_lent_pays),
                cmocka_unit_test(test_owed),
                cmocka_unit_test(test_returned_owes),
                cmocka_unit_test(test_revoked_owes),
                cmocka_unit_test(test_silent_owe_nothing),
                cmocka_unit_test(test_placeholder_room),
                cmocka_unit_test(test_lent_in_order),
                cmocka_unit_test(test_large_stays),
                cmocka_unit_test(test_long_ago),
                cmocka_unit_test(test_noted),
                cmocka_unit_test(test_proposed_and_put),
                cmocka_unit_test(test_kept),
                cmocka_unit_test(test_kept_again),
                cmocka_unit_test(test_revoked),
                cmocka_unit_test(test_one_order),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
