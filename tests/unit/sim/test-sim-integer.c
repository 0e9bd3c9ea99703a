/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bpf/lib/integer.bpf.h against what it has to be. */

#include "sim-test.h"

#include <inttypes.h>
#include <math.h>

#include "lib/integer.bpf.h"

#define N_RANDOM 1000000U
#define MOST (UINT64_MAX >> 1)

/* Numbers of all lengths, below MOST. */
static uint64_t draw(void) {
        static uint64_t seed = 1;

        /* Knuth's MMIX, whose upper bits are the better ones */
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (seed ^ seed >> 32) >> (1 + (seed >> 20) % 63) & (MOST - 1);
}

static void check_isqrt(uint64_t x) {
        unsigned __int128 k = isqrt(x);

        if (k * k > x || (k + 1) * (k + 1) <= x)
                fail_msg("isqrt(%" PRIu64 ") is %" PRIu64, x, (uint64_t) k);
}

/* long double has the 64 bits that this takes; and no power of e is near an integer of this size. */
static void check_ilog(uint64_t x) {
        uint64_t k = ilog(x);

        if (expl(k) > x || expl(k + 1) <= x)
                fail_msg("ilog(%" PRIu64 ") is %" PRIu64, x, k);
}

static void test_isqrt(void **state) {
        for (uint64_t x = 0; x < 1000; x++)
                check_isqrt(x);
        for (uint64_t k = UINT64_C(3037000499); k > 1; k = k / 3 * 2) {
                check_isqrt(k * k - 1);
                check_isqrt(k * k);
                check_isqrt(k * k + 1);
        }
        check_isqrt(MOST);
        for (uint32_t i = 0; i < N_RANDOM; i++)
                check_isqrt(draw());
}

static void test_ilog(void **state) {
        assert_int_equal(ilog(0), 0);
        for (uint64_t x = 1; x < 1000; x++)
                check_ilog(x);
        for (unsigned k = 1; k <= 43; k++) {
                uint64_t power = ceill(expl(k));

                assert_int_equal(ilog(power - 1), k - 1);
                assert_int_equal(ilog(power), k);
        }
        assert_int_equal(ilog(MOST), 43);
        for (uint32_t i = 0; i < N_RANDOM; i++)
                check_ilog(draw() + 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_isqrt),
                cmocka_unit_test(test_ilog),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
