/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

#include <stdio.h>

jmp_buf fail_jump;
char fail_message[256];

void fail_and_jump(const char *message) {
        (void) snprintf(fail_message, sizeof(fail_message), "%s", message);
        longjmp(fail_jump, 1);
}

Trace *trace_of(const char *letters) {
        uint8_t flags = 0;
        Trace *t;

        assert_int_equal(trace_new(&t), 0);
        for (; *letters; letters++) {
                switch (*letters) {
                case '!':
                        flags |= TRACE_REMOVE;
                        continue;
                case '>':
                        flags |= TRACE_READAHEAD;
                        continue;
                case '+':
                        flags |= TRACE_WRITE;
                        continue;
                case '1':
                case '2':
                        flags |= (*letters - '0') << TRACE_CLASS_SHIFT;
                        continue;
                }
                assert_int_equal(trace_add(t, *letters, flags), 0);
                flags = 0;
        }
        trace_seal(t);
        return t;
}

TestHost test_host_begin(uint32_t n) {
        static const struct cachebpf_ops ops;
        static const SimPolicy policy = { .name = "test", .ops = &ops };
        TestHost h = {};

        assert_int_equal(trace_new(&h.trace), 0);
        for (uint32_t i = 0; i < n; i++)
                assert_int_equal(trace_add(h.trace, i, 0), 0);
        trace_seal(h.trace);

        assert_int_equal(host_start(&policy, h.trace, MAX(n, 1U)), 0);
        host.callback = CALLBACK_INIT;
        for (uint32_t i = 0; i < n; i++) {
                folio(i)->cached = true;
                folio(i)->list = NO_LIST;
        }
        host.n_cached = n;
        return h;
}

void test_host_end(TestHost *h) {
        host_stop();
        trace_free(h->trace);
}

uint32_t list_of(uint32_t flags, const char *folios) {
        int list = bpf_cachebpf_list_create(&host.instance, flags);

        assert_true(list > 0);
        for (; *folios; folios++)
                assert_int_equal(bpf_cachebpf_list_add(&host.instance, folio(*folios - '0'), list, TAIL), 0);
        return list;
}

void assert_list(uint32_t list, const char *folios) {
        char order[64] = "", reverse[64] = "";
        uint32_t n = 0, pfn;

        for (pfn = host.lists[list].head; pfn; pfn = host.folios[pfn].next) {
                assert_int_equal(host.folios[pfn].list, list);
                order[n++] = '0' + pfn - 1;
        }
        assert_string_equal(order, folios);
        assert_int_equal(n, bpf_cachebpf_list_len(&host.instance, list));

        for (pfn = host.lists[list].tail; pfn; pfn = host.folios[pfn].prev)
                reverse[--n] = '0' + pfn - 1;
        assert_string_equal(reverse, folios);
}
