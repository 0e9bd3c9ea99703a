/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the tests of the simulator share. */

#include <math.h>

#include "../test-util.h"

#include "sim/cache.h"
#include "sim/host-state.h"
#include "sim/trace.h"

/* A trace with a request for each letter; the first letter is object 0 and so on. What precedes a letter
 * makes it something else: '!' a removal, '>' readahead, '+' a write, '1' or '2' the class of the task. */
Trace *trace_of(const char *letters);

/* A host without policy, in the callback policy_init, with n folios that are cached and on no list.
 * Forgotten at the end of the scope. */
typedef struct TestHost {
        Trace *trace;
} TestHost;

TestHost test_host_begin(uint32_t n);
void test_host_end(TestHost *h);
#define _test_host_ __attribute__((__cleanup__(test_host_end), __unused__)) TestHost

static inline struct cachebpf_folio *folio(uint32_t i) {
        return host.folios + i + 1;
}

/* Creates a list, and puts folios on it, at its tail: "012". */
uint32_t list_of(uint32_t flags, const char *folios);

/* The list is as long as it says, linked in both directions, and all folios know that they are on it. */
void assert_list(uint32_t list, const char *folios);

/* SplitMix64, by S. Vigna (public domain): the same numbers for a seed, which goes on. */
static inline uint64_t sim_draw(uint64_t *seed) {
        uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* One of n pages, about by Zipf with exponent 1. */
static inline uint32_t sim_draw_zipf(uint32_t n, uint64_t *seed) {
        return (uint32_t) pow(n, (sim_draw(seed) >> 11) / 9007199254740992.0);
}

/* The code must fail with a message that contains the text. */
#define assert_host_fails(code, text)                                   \
        do {                                                            \
                fail_message[0] = 0;                                    \
                host_set_fail_handler(fail_and_jump);                   \
                if (setjmp(fail_jump) == 0)                             \
                        code;                                           \
                host_set_fail_handler(NULL);                            \
                if (!strstr(fail_message, text))                        \
                        fail_msg("no \"%s\" in: %s", text, fail_message); \
        } while (false)

extern jmp_buf fail_jump;
extern char fail_message[256];
void fail_and_jump(const char *message);
