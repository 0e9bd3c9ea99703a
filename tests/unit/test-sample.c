/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The BPF program that passes samples on, compiled for this machine, on a ring buffer that is played. */

#include "test-util.h"

#include <glib.h>

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

static void *find_unit(void *map, const void *key);
static void *reserve(void *ring, uint64_t size, uint64_t flags);
static void submit(void *data, uint64_t flags);
static uint64_t query(void *ring, uint64_t flags);
static uint64_t read_clock(void);

#define bpf_map_lookup_elem find_unit
#define bpf_ringbuf_reserve reserve
#define bpf_ringbuf_submit submit
#define bpf_ringbuf_query query
#define bpf_ktime_get_ns read_clock
#include "daemon/auto/sample.bpf.c"

enum { FLOODER, QUIET, N_UNITS = 10 };

static struct sample_unit sampled[N_UNITS];
static struct sample_event record;
static uint64_t n_read, n_written, now, n_clock, n_passed[N_UNITS];
static bool woken;

static void *find_unit(void *map, const void *key) {
        uint64_t cgroup = *(const uint64_t *) key;

        assert_ptr_equal(map, &units);
        return cgroup < N_UNITS ? sampled + cgroup : NULL;
}

static void *reserve(void *ring, uint64_t size, uint64_t flags) {
        assert_ptr_equal(ring, &events);
        assert_int_equal(size + 8, SAMPLE_RECORD_SIZE);
        if (n_written - n_read + SAMPLE_RECORD_SIZE > SAMPLE_RING_SIZE)
                return NULL;
        n_written += SAMPLE_RECORD_SIZE;
        return &record;
}

static void submit(void *data, uint64_t flags) {
        assert_ptr_equal(data, &record);
        n_passed[record.cgroup]++;
        woken = woken || flags == BPF_RB_FORCE_WAKEUP;
}

static uint64_t query(void *ring, uint64_t flags) {
        return flags == BPF_RB_CONS_POS ? n_read : flags == BPF_RB_PROD_POS ? n_written : n_written - n_read;
}

static uint64_t read_clock(void) {
        n_clock++;
        return now;
}

static int setup(void **state) {
        memset(sampled, 0, sizeof(sampled));
        memset(n_passed, 0, sizeof(n_passed));
        n_read = n_written = n_clock = 0;
        now = SAMPLE_PERIOD_NSEC; /* the machine has run for some time */
        woken = false;
        return 0;
}

static void use(uint64_t unit, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                (void) sample((unsigned long long[]) { 1, unit, i, false });
}

/* What the daemon does when it is woken. */
static void read_if_woken(void) {
        if (woken)
                n_read = n_written;
        woken = false;
}

static void test_passes(void **state) {
        (void) sample((unsigned long long[]) { 1, QUIET, 47, true });
        assert_int_equal(record.cgroup, QUIET);
        assert_int_equal(record.key, 47);
        assert_true(record.gone);
        (void) sample((unsigned long long[]) { 1, N_UNITS, 47, true });
        assert_int_equal(n_written, SAMPLE_RECORD_SIZE);
}

/* However long the daemon does not read. */
static void test_flood(void **state) {
        for (unsigned i = 0; i < 1000; i++) {
                use(FLOODER, 1000);
                use(QUIET, 1);
                now += SAMPLE_PERIOD_NSEC;
        }
        assert_int_equal(sampled[QUIET].n_lost, 0);
        assert_int_equal(n_passed[QUIET], 1000);
        assert_int_equal(n_passed[FLOODER], 2 * SAMPLE_BUDGET);
        assert_int_equal(sampled[FLOODER].n_lost, 1000000 - 2 * SAMPLE_BUDGET);
        assert_true(n_written <= SAMPLE_RING_SIZE / 16 + 1000 * SAMPLE_RECORD_SIZE);
}

/* And however many do that. */
static void test_floods(void **state) {
        for (unsigned i = 0; i < 100; i++) {
                for (uint64_t unit = 0; unit < N_UNITS; unit++)
                        use(unit, unit == QUIET ? 1 : 5000);
                now += SAMPLE_PERIOD_NSEC;
        }
        assert_int_equal(sampled[QUIET].n_lost, 0);
        assert_int_equal(n_passed[QUIET], 100);
}

/* However fast it reads: that is work, too. */
static void test_period(void **state) {
        for (unsigned i = 0; i < 10; i++) {
                for (unsigned k = 0; k < 100; k++) {
                        use(FLOODER, 1000);
                        n_read = n_written;
                }
                now += SAMPLE_PERIOD_NSEC;
        }
        assert_in_range(n_passed[FLOODER], 10 * SAMPLE_BUDGET, 11 * SAMPLE_BUDGET);
}

/* A unit that has spent its budget does not wait for a daemon that nobody wakes. */
static void test_woken(void **state) {
        for (unsigned i = 0; i < 100; i++) {
                use(FLOODER, SAMPLE_BUDGET);
                read_if_woken();
                now += SAMPLE_PERIOD_NSEC;
        }
        assert_int_equal(sampled[FLOODER].n_lost, 0);
}

/* What is slow costs no look at a clock but for one event in so many, and loses nothing. */
static void test_slow(void **state) {
        for (unsigned i = 0; i < 10 * SAMPLE_BUDGET; i++) {
                use(QUIET, 1);
                read_if_woken();
                now += SAMPLE_PERIOD_NSEC / 1000;
        }
        assert_int_equal(sampled[QUIET].n_lost, 0);
        assert_in_range(n_clock, 1, 10);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_passes, setup),
                cmocka_unit_test_setup(test_flood, setup),
                cmocka_unit_test_setup(test_floods, setup),
                cmocka_unit_test_setup(test_period, setup),
                cmocka_unit_test_setup(test_woken, setup),
                cmocka_unit_test_setup(test_slow, setup),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
