/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The driver against sequences that were worked out by hand. The policy here is FIFO; it notes in a journal
 * what it is told: + added, = used again, - removed (~ not by reclaim), ? asked for so many pages. */

#include "sim-test.h"

#include <stdio.h>

static char journal[512];
static uint32_t queue, other;
static Trace *trace;

__attribute__((__format__(__printf__, 1, 2))) static void note(const char *format, ...) {
        size_t n = strlen(journal);
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(journal + n, sizeof(journal) - n, format, ap);
        va_end(ap);
}

/* As in trace_of(): for objects that are requested in this order for the first time. */
static char letter(const struct cachebpf_folio *f) {
        return 'a' + pfn_of(f) - 1;
}

__s32 CACHEBPF_SLEEPABLE_OP(t_init, struct cachebpf_policy *policy)
{
        return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

void CACHEBPF_OP(t_added, struct cachebpf_policy *policy, struct cachebpf_folio *f, __u32 why)
{
        assert_int_equal(f->accesses, 0);
        assert_int_equal(f->list, queue);
        assert_int_equal(f->data[0], 0);
        f->data[0] = 99;
        note("+%c%s", letter(f),
             why & CACHEBPF_ADDED_WORKINGSET ? "w" : why & CACHEBPF_ADDED_REFAULT ? "r" : "");
}

void CACHEBPF_OP(t_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
        note("=%c%u", letter(f), f->accesses);
}

void CACHEBPF_OP(t_removed, struct cachebpf_policy *policy, struct cachebpf_folio *f, __u32 why)
{
        assert_int_equal(f->list, queue);
        note("%c%c", why == CACHEBPF_REMOVED_RECLAIM ? '-' : '~', letter(f));
}

void CACHEBPF_OP(t_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
        struct cachebpf_folio *f;

        note("?%u", evict->nr_wanted);
        assert_int_equal(evict->nid, 0);
        for_each_folio(f, evict, queue, 0, CACHEBPF_ITER_ROTATE)
                if (bpf_cachebpf_evict(evict, f))
                        break;
}

#define HEARS_ALL                                       \
        .policy_init = t_init,                          \
        .folio_added = t_added,                         \
        .folio_accessed = t_accessed,                   \
        .folio_removed = t_removed

CACHEBPF_POLICY(t_fifo, "", "", HEARS_ALL, .evict_folios = t_evict);

static SimStats run(const struct cachebpf_ops *ops, const char *letters, uint32_t capacity, uint32_t batch) {
        CacheSettings settings = { .capacity = capacity, .batch = batch, .admission = true };
        SimPolicy policy = { .name = "test", .ops = ops };
        SimStats stats;

        journal[0] = 0;
        trace = trace_of(letters);
        assert_int_equal(cache_run(&policy, trace, &settings, &stats), 0);
        trace_free(trace);
        return stats;
}

static void test_hits_and_misses(void **state) {
        SimStats s = run(&t_fifo_ops, "abaca", 2, 1);

        assert_string_equal(journal, "+a+b=a2?1-a+c?1-b+ar");
        assert_int_equal(s.requests, 5);
        assert_int_equal(s.misses, 4);
        assert_int_equal(s.cold_misses, 3);
        assert_int_equal(s.added, 4);
        assert_int_equal(s.refaults, 1);
        assert_int_equal(s.evicted, 2);
        assert_int_equal(s.evict_calls, 2);
        assert_int_equal(s.evict_asked, 2);
        assert_int_equal(s.evict_proposed, 2);
        assert_int_equal(s.evict_fallback, 0);

        /* all fits */
        s = run(&t_fifo_ops, "abcabc", 3, 1);
        assert_string_equal(journal, "+a+b+c=a2=b2=c2");
        assert_int_equal(s.evict_calls, 0);
}

/* What comes before it counts is seen by the policy, and by nobody else. */
static void test_warm_up(void **state) {
        SimPolicy policy = { .name = "test", .ops = &t_fifo_ops };
        SimStats s;

        journal[0] = 0;
        trace = trace_of("abcabd");
        assert_int_equal(cache_run(&policy, trace,
                                   &(CacheSettings) { .capacity = 3, .batch = 1, .warm_up = 3 }, &s), 0);
        trace_free(trace);
        assert_string_equal(journal, "+a+b+c=a2=b2?1-a+d");
        assert_int_equal(s.requests, 3);
        assert_int_equal(s.misses, 1);
        assert_int_equal(s.cold_misses, 1);
}

static void test_batch(void **state) {
        SimStats s = run(&t_fifo_ops, "abcdeab", 4, 2);

        assert_string_equal(journal, "+a+b+c+d?2-a-b+e+ar?2-c-d+br");
        assert_int_equal(s.evicted, 4);

        /* no more than there is */
        (void) run(&t_fifo_ops, "abc", 2, 32);
        assert_string_equal(journal, "+a+b?2-a-b+c");
}

/* Readahead is no use; nor is the first one after it, which is the miss. */
static void test_readahead(void **state) {
        SimStats s = run(&t_fifo_ops, ">a>baab>a", 2, 1);

        assert_string_equal(journal, "+a+b=a2");
        assert_int_equal(s.readahead, 3);
        assert_int_equal(s.requests, 3);
        assert_int_equal(s.misses, 2);
        assert_int_equal(s.cold_misses, 2);

        /* evicted before it was used */
        s = run(&t_fifo_ops, ">abca", 2, 1);
        assert_string_equal(journal, "+a+b?1-a+c?1-b+ar");
        assert_int_equal(s.misses, 3);
}

static void test_removal(void **state) {
        SimStats s = run(&t_fifo_ops, "ab!a!acda", 2, 1);

        /* what was truncated is no refault */
        assert_string_equal(journal, "+a+b~a+c?1-b+d?1-c+a");
        assert_int_equal(s.truncated, 1);
        assert_int_equal(s.requests, 5);
}

/* ---- a policy that does not propose enough */

static uint32_t n_lazy;

void CACHEBPF_OP(t_lazy_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
        struct cachebpf_folio *f;

        note("?%u", evict->nr_wanted);
        if (n_lazy == 0)
                return;
        n_lazy--;
        for_each_folio(f, evict, queue, 1, 0)
                bpf_cachebpf_evict(evict, f);
}

/* The same folio again and again: nonsense that reclaim must survive. */
void CACHEBPF_OP(t_double_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
        struct cachebpf_folio *f;

        note("?%u", evict->nr_wanted);
        for_each_folio(f, evict, queue, 1, 0)
                while (bpf_cachebpf_evict(evict, f) == 0)
                        ;
}

static void test_fallback(void **state) {
        static const struct cachebpf_ops lazy = { HEARS_ALL, .evict_folios = t_lazy_evict };
        static const struct cachebpf_ops twice = { HEARS_ALL, .evict_folios = t_double_evict };
        SimStats s;

        /* proposes the oldest, then nothing: of the two that remain stock reclaim takes the older one */
        n_lazy = 1;
        s = run(&lazy, "abcdef", 4, 2);
        assert_string_equal(journal, "+a+b+c+d?2-a?1-b+e+f");
        assert_int_equal(s.evict_asked, 2);
        assert_int_equal(s.evict_proposed, 1);
        assert_int_equal(s.evict_fallback, 1);
        assert_int_equal(s.evicted, 2);

        s = run(&twice, "abcde", 4, 3);
        assert_string_equal(journal, "+a+b+c+d?3-a?2-b?1-c+e");
        assert_int_equal(s.rejected, 3);
        assert_int_equal(s.evict_fallback, 0);
}

/* ---- a policy without say, and lists in the order of use */

__s32 CACHEBPF_SLEEPABLE_OP(t_used_init, struct cachebpf_policy *policy)
{
        return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL | CACHEBPF_LIST_USED_TAIL);
}

static void test_used_lists(void **state) {
        static const struct cachebpf_ops lru = {
                .policy_init = t_used_init,
                .folio_removed = t_removed,
                .evict_folios = t_evict,
        };

        (void) run(&lru, "abcabdef", 3, 1);
        assert_string_equal(journal, "?1-c?1-a?1-b");
}

static void test_stock_reclaim(void **state) {
        static const struct cachebpf_ops noop = { HEARS_ALL, .flags = CACHEBPF_F_STOCK_RECLAIM };
        SimStats s;

        /* a and b were used twice: they are active, and c goes. When it comes back as soon as that, it would
         * still be there in place of an active one; one later, it would not. */
        s = run(&noop, "abcabdec", 4, 1);
        assert_string_equal(journal, "+a+b+c=a2=b2+d-c+e-d+cw");
        s = run(&noop, "abcabdefc", 4, 1);
        assert_string_equal(journal, "+a+b+c=a2=b2+d-c+e-d+f-e+cr");
        assert_int_equal(s.evict_calls, 0);
        assert_int_equal(s.evict_fallback, 0);
        assert_int_equal(s.evicted, 3);
}

/* In a large cache the active list may be longer than the inactive one, and keeps a to d. A small one is a
 * sample of a large one if it is told so. */
static void test_stock_sample(void **state) {
        static const struct cachebpf_ops noop = { HEARS_ALL, .flags = CACHEBPF_F_STOCK_RECLAIM };
        SimPolicy policy = { .name = "test", .ops = &noop };
        SimStats s = run(&noop, "aabbccddefghijkla", 6, 1);

        assert_int_equal(s.misses, 13);

        trace = trace_of("aabbccddefghijkla");
        assert_int_equal(cache_run(&policy, trace,
                                   &(CacheSettings) { .capacity = 6, .batch = 1, .scale = 1 << 20 }, &s), 0);
        trace_free(trace);
        assert_int_equal(s.misses, 12);
}

/* ---- lists that the policy chooses */

__s32 CACHEBPF_SLEEPABLE_OP(t_two_init, struct cachebpf_policy *policy)
{
        int r = list_create(policy, &queue, 0);

        return r ?: list_create(policy, &other, 0);
}

void CACHEBPF_OP(t_two_added, struct cachebpf_policy *policy, struct cachebpf_folio *f, __u32 why)
{
        assert_int_equal(f->list, UINT16_MAX);
        if (letter(f) == 'a')
                bpf_cachebpf_list_add(policy, f, other, TAIL);
        /* others are on no list, and must not be lost */
}

void CACHEBPF_OP(t_two_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
        struct cachebpf_folio *f;

        note("?%llu,%llu,%llu", bpf_cachebpf_list_len(policy, 0), bpf_cachebpf_list_len(policy, queue),
             bpf_cachebpf_list_len(policy, other));
        for_each_folio(f, evict, 0, 0, 0)
                if (bpf_cachebpf_evict(evict, f))
                        break;
}

static void test_unlisted(void **state) {
        static const struct cachebpf_ops two = {
                .policy_init = t_two_init,
                .folio_added = t_two_added,
                .evict_folios = t_two_evict,
        };
        SimStats s = run(&two, "abcda", 3, 1);

        assert_string_equal(journal, "?2,0,1");
        assert_int_equal(s.misses, 4);
}

/* ---- the count of accesses belongs to the policy, too */

void CACHEBPF_OP(t_ageing_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
        note("=%c%u", letter(f), f->accesses);
        f->accesses = f->accesses == 2 ? 0 : UINT16_MAX;
}

static void test_access_count(void **state) {
        static const struct cachebpf_ops ageing = {
                .policy_init = t_init,
                .folio_accessed = t_ageing_accessed,
                .evict_folios = t_evict,
        };
        SimStats s = run(&ageing, "aaaaaa", 1, 1);

        /* 2, made 0; 1 counts as its first and is not told; 2, made 0; … */
        assert_string_equal(journal, "=a2=a2=a2");
        assert_int_equal(s.misses, 1);
}

void CACHEBPF_OP(t_saturating_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
        f->accesses = UINT16_MAX;
        note("=%c", letter(f));
}

static void test_access_count_saturates(void **state) {
        static const struct cachebpf_ops saturating = {
                .policy_init = t_init,
                .folio_accessed = t_saturating_accessed,
                .evict_folios = t_evict,
        };

        (void) run(&saturating, "aaaa", 1, 1);
        assert_string_equal(journal, "=a=a=a");
}

/* ---- admission, by class of task */

bool CACHEBPF_OP(t_admit, struct cachebpf_policy *policy, struct cachebpf_admission *admission)
{
        note("%c%s", admission->flags & CACHEBPF_ADMISSION_WRITE ? 'w' : 'r',
             admission->flags & CACHEBPF_ADMISSION_READAHEAD ? "a" : "");
        return bpf_get_current_task_btf()->pid != 2;
}

static void test_admission(void **state) {
        static const struct cachebpf_ops filter = { HEARS_ALL, .evict_folios = t_evict,
                                                    .admit_folio = t_admit };
        SimStats s = run(&filter, "a+b1c1a1c>d", 3, 1);

        /* c is rejected twice; a is cached and nobody is asked */
        assert_string_equal(journal, "r+aw+br=a2rra+d");
        assert_int_equal(s.admit_asked, 5);
        assert_int_equal(s.admit_rejected, 2);
        assert_int_equal(s.misses, 4);
        assert_int_equal(s.added, 3);

        /* off */
        journal[0] = 0;
        trace = trace_of("a1c");
        assert_int_equal(cache_run(&(SimPolicy) { .name = "test", .ops = &filter }, trace,
                                   &(CacheSettings) { .capacity = 3, .batch = 1 }, &s), 0);
        trace_free(trace);
        assert_string_equal(journal, "+a+b");
        assert_int_equal(s.admit_asked, 0);
}

/* ---- reconfiguration */

static struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, 4096);
} cachebpf_events;

void CACHEBPF_OP(t_event_added, struct cachebpf_policy *policy, struct cachebpf_folio *f, __u32 why)
{
        __u32 record = 1;

        note("+%c", letter(f));
        if (letter(f) != 'b')
                bpf_ringbuf_output(&cachebpf_events, &record, sizeof(record), 0);
        note(".");
}

static int t_reconfigure(void *ctx) {
        note("R");
        return 0;
}

static void test_reconfigure(void **state) {
        static const struct cachebpf_ops ops = {
                .policy_init = t_init,
                .folio_added = t_event_added,
                .evict_folios = t_evict,
        };
        SimPolicy policy = { .name = "test", .ops = &ops, .reconfigure = t_reconfigure };
        SimStats s;

        journal[0] = 0;
        trace = trace_of("abc");
        assert_int_equal(cache_run(&policy, trace, &(CacheSettings) { .capacity = 3, .batch = 1 }, &s), 0);
        trace_free(trace);
        assert_string_equal(journal, "+a.R+b.+c.R");
        assert_int_equal(s.reconfigurations, 2);

        /* without the program, nothing happens */
        s = run(&ops, "abc", 3, 1);
        assert_string_equal(journal, "+a.+b.+c.");
        assert_int_equal(s.reconfigurations, 0);
}

/* ---- what cannot start */

__s32 CACHEBPF_SLEEPABLE_OP(t_refusing_init, struct cachebpf_policy *policy)
{
        return -EOPNOTSUPP;
}

static void test_refusal(void **state) {
        static const struct cachebpf_ops ops = { .policy_init = t_refusing_init, .evict_folios = t_evict };
        static const struct cachebpf_ops none = { .policy_init = t_init };
        SimPolicy policy = { .name = "test", .ops = &ops };
        SimStats s;

        trace = trace_of("abc");
        assert_int_equal(cache_run(&policy, trace, &(CacheSettings) { .capacity = 3, .batch = 1 }, &s),
                         -EOPNOTSUPP);
        policy.ops = &none;
        assert_host_fails((void) cache_run(&policy, trace, &(CacheSettings) { .capacity = 3, .batch = 1 },
                                           &s), "no evict_folios");
        trace_free(trace);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hits_and_misses),
                cmocka_unit_test(test_warm_up),
                cmocka_unit_test(test_batch),
                cmocka_unit_test(test_readahead),
                cmocka_unit_test(test_removal),
                cmocka_unit_test(test_fallback),
                cmocka_unit_test(test_used_lists),
                cmocka_unit_test(test_stock_reclaim),
                cmocka_unit_test(test_stock_sample),
                cmocka_unit_test(test_unlisted),
                cmocka_unit_test(test_access_count),
                cmocka_unit_test(test_access_count_saturates),
                cmocka_unit_test(test_admission),
                cmocka_unit_test(test_reconfigure),
                cmocka_unit_test(test_refusal),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
