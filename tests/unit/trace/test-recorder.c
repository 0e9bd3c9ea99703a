/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What "record" makes of events of its BPF programs, and of kernels that it cannot use. Loading, attaching
 * and the ring are played. */

#include "test-util.h"

#include <errno.h>
#include <stdio.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "played-ring.h"
#include "record/recorder.h"
#include "sim/trace.h"

#include <linux/types.h>

#include "record/record-event.h"

/* ---- the kernel */

static struct {
        int load, attach;
        bool no_btf, no_trace_run, no_accesses, no_faults;
        bool added_loaded, fault_loaded; /* programs that are left out otherwise */
        bool detached;
        uint64_t accesses; /* on the first processor, and 1000 on the others */
        struct record_event events[8];
        size_t sizes[8], n_events;
} kernel;

int bpf_object__load_skeleton(struct bpf_object_skeleton *s) {
        struct bpf_program *p;

        if (kernel.load < 0)
                return kernel.load;
        bpf_object__for_each_program(p, *s->obj) {
                if (strstr(bpf_program__name(p), "add_to_page_cache"))
                        kernel.added_loaded = bpf_program__autoload(p);
                else if (strstr(bpf_program__name(p), "page_fault"))
                        kernel.fault_loaded = bpf_program__autoload(p);
        }
        return 0;
}

int bpf_object__attach_skeleton(struct bpf_object_skeleton *s) {
        return kernel.attach;
}

void bpf_object__detach_skeleton(struct bpf_object_skeleton *s) {
        kernel.detached = true;
}

struct btf *btf__load_vmlinux_btf(void) {
        struct btf *btf = kernel.no_btf ? NULL : btf__new_empty();

        if (!btf) {
                errno = ENOENT;
                return NULL;
        }
        if (!kernel.no_trace_run)
                assert_true(btf__add_func(btf, "bpf_trace_run2", BTF_FUNC_STATIC,
                                          btf__add_func_proto(btf, 0)) > 0);
        if (!kernel.no_accesses)
                assert_true(btf__add_typedef(btf, "btf_trace_mm_filemap_get_pages", 1) > 0);
        if (!kernel.no_faults)
                assert_true(btf__add_typedef(btf, "btf_trace_page_fault_user", 1) > 0);
        return btf;
}

/* As libbpf's: an error of a callback ends it, and the event is taken all the same. */
int ring_buffer__consume(struct ring_buffer *ring) {
        int r = 0;
        size_t i;

        for (i = 0; r >= 0 && i < kernel.n_events; i++)
                r = ring->on_sample(ring->ctx, &kernel.events[i], kernel.sizes[i]);
        kernel.n_events = 0;
        return r < 0 ? r : (int) i;
}

/* Each processor has its own counter. */
int bpf_map_lookup_elem(int fd, const void *key, void *value) {
        int n = libbpf_num_possible_cpus();

        if (kernel.accesses == 0)
                return -ENOENT;
        for (int cpu = 0; cpu < n; cpu++)
                ((uint64_t *) value)[cpu] = cpu == 0 ? kernel.accesses : 1000;
        return 0;
}

/* ---- who listens */

static char heard[1024];
static int answer;

static int on_access(const RecordAccess *a, void *userdata) {
        size_t n = strlen(heard);

        assert_ptr_equal(userdata, heard);
        (void) snprintf(heard + n, sizeof(heard) - n, "%s%s %u:%u.%u %u+%u %u %s %u", n > 0 ? "; " : "",
                        a->flags & TRACE_READAHEAD ? "ahead" :
                        a->flags & TRACE_WRITE     ? "write" :
                        a->flags & TRACE_REMOVE    ? "remove" : "read",
                        a->device, (unsigned) a->inode, a->generation, (unsigned) a->page,
                        (unsigned) a->n_pages, a->tid, a->thread, (unsigned) a->time);
        n = strlen(heard);
        if (a->manager)
                (void) snprintf(heard + n, sizeof(heard) - n, " of %s", a->manager);
        return answer;
}

static int setup(void **state) {
        memset(&kernel, 0, sizeof(kernel));
        *heard = 0;
        answer = 0;
        return 0;
}

static void event(enum record_kind kind, uint64_t page, uint64_t n_pages) {
        size_t i = kernel.n_events++;

        assert_true(i < ELEMENTSOF(kernel.events));
        kernel.sizes[i] = sizeof(struct record_event);
        kernel.events[i] = (struct record_event) {
                .time = 1000 + i,
                .inode = 7,
                .page = page,
                .n_pages = n_pages,
                .device = 8,
                .generation = 3,
                .tid = 42,
                .kind = kind,
                .thread = "reader",
        };
}

static RecorderSettings settings = {
        .cgroup_id = 17,
        .level = 2,
        .sample = 1,
        .func = on_access,
        .userdata = heard,
};

static Recorder *begin(bool readahead) {
        _cleanup_free_ char *error = NULL;
        Recorder *r = NULL;

        settings.readahead = readahead;
        assert_int_equal(recorder_new(&settings, &r, &error), 0);
        assert_null(error);
        assert_true(recorder_fd(r) >= 0);
        return r;
}

/* ---- events */

static void test_accesses(void **state) {
        _cleanup_(recorder_freep) Recorder *r = begin(false);

        assert_false(kernel.added_loaded);
        assert_true(kernel.fault_loaded);
        event(RECORD_READ, 5, 2);
        event(RECORD_WRITE, 6, 1);
        event(RECORD_GONE, 5, 9);
        assert_int_equal(recorder_process(r), 0);
        assert_string_equal(heard, "read 8:7.3 5+2 42 reader 1000; write 8:7.3 6+1 42 reader 1001; "
                            "remove 8:7.3 5+9 42 reader 1002");
        assert_int_equal(recorder_lost(r), 0);
        assert_false(kernel.detached);

        /* The rest comes when it stops. */
        event(RECORD_READ, 1, 1);
        *heard = 0;
        assert_int_equal(recorder_stop(r), 0);
        assert_true(kernel.detached);
        assert_string_equal(heard, "read 8:7.3 1+1 42 reader 1000");
}

/* Those of all processors. */
static void test_number_of_accesses(void **state) {
        _cleanup_(recorder_freep) Recorder *r = begin(false);

        assert_int_equal(recorder_accesses(r), 0);
        kernel.accesses = 7;
        assert_int_equal(recorder_accesses(r), 7 + 1000 * (libbpf_num_possible_cpus() - 1));
}

/* By the name of the control group, or its number if it is gone. */
static void test_managers(void **state) {
        _cleanup_(recorder_freep) Recorder *r = begin(false);

        for (unsigned i = 0; i < 4; i++) {
                event(RECORD_READ, 5, 1);
                kernel.events[i].manager = i % 2 ? UINT64_MAX : 0;
        }
        assert_int_equal(recorder_process(r), 0);
        assert_string_equal(heard, "read 8:7.3 5+1 42 reader 1000; read 8:7.3 5+1 42 reader 1001 of "
                            "18446744073709551615; read 8:7.3 5+1 42 reader 1002; read 8:7.3 5+1 42 "
                            "reader 1003 of 18446744073709551615");
}

/* What is no access, or too short for one, is passed over. */
static void test_strange_events(void **state) {
        _cleanup_(recorder_freep) Recorder *r = begin(false);

        event(RECORD_READ, 5, 0);
        event(RECORD_READ, 5, 1);
        kernel.sizes[1]--;
        event(RECORD_READ, 6, 1);
        kernel.sizes[2]++;
        assert_int_equal(recorder_process(r), 0);
        assert_string_equal(heard, "read 8:7.3 6+1 42 reader 1002");
}

static void test_listener_fails(void **state) {
        _cleanup_(recorder_freep) Recorder *r = begin(false);

        answer = -ENOSPC;
        event(RECORD_READ, 5, 1);
        event(RECORD_READ, 6, 1);
        assert_int_equal(recorder_process(r), -ENOSPC);
        assert_string_equal(heard, "read 8:7.3 5+1 42 reader 1000");
        event(RECORD_READ, 7, 1);
        assert_int_equal(recorder_stop(r), -ENOSPC);
}

static void test_readahead(void **state) {
        _cleanup_(recorder_freep) Recorder *r = begin(true);

        assert_true(kernel.added_loaded);
        event(RECORD_ADDED, 5, 1);
        event(RECORD_ADDED, 6, 1);
        event(RECORD_READ, 5, 1);
        assert_int_equal(recorder_process(r), 0);
        assert_string_equal(heard, "read 8:7.3 5+1 42 reader 1002; ahead 8:7.3 6+1 42 reader 1000");

        /* Without an access it was ahead of one that never came. */
        *heard = 0;
        event(RECORD_ADDED, 9, 1);
        assert_int_equal(recorder_stop(r), 0);
        assert_string_equal(heard, "ahead 8:7.3 9+1 42 reader 1000");

        *heard = 0;
        event(RECORD_GONE, 5, 1);
        assert_int_equal(recorder_process(r), 0);
        assert_string_equal(heard, "remove 8:7.3 5+1 42 reader 1000");
}

/* ---- kernels */

static void expect_failure(int error, const char *text) {
        _cleanup_free_ char *why = NULL;
        Recorder *r = NULL;

        settings.readahead = false;
        assert_int_equal(recorder_new(&settings, &r, &why), error);
        assert_null(r);
        assert_non_null(why);
        assert_string_equal(why, text);
}

static void test_old_kernels(void **state) {
        kernel.load = -EINVAL;
        kernel.no_accesses = true;
        expect_failure(-EOPNOTSUPP, "this kernel is older than 6.12 and has no tracepoints "
                       "for accesses to the page cache");
        kernel.no_trace_run = true;
        expect_failure(-EOPNOTSUPP,
                       "this kernel cannot run BPF programs on tracepoints (CONFIG_BPF_EVENTS)");
        kernel.no_btf = true;
        expect_failure(-EOPNOTSUPP, "this kernel does not describe itself (CONFIG_DEBUG_INFO_BTF)");
        /* Who may not is told so, whatever the kernel is. */
        kernel.load = -EPERM;
        expect_failure(-EPERM, "the kernel does not take the BPF programs: Operation not permitted");
}

static void test_refused(void **state) {
        kernel.load = -ENOMEM;
        expect_failure(-ENOMEM, "the kernel does not take the BPF programs: Cannot allocate memory");
        kernel.load = 0;
        kernel.attach = -EBUSY;
        expect_failure(-EBUSY,
                       "the BPF programs cannot be attached to the tracepoints: Device or resource busy");
}

/* Without the tracepoint for faults what is mapped is seen when it comes in. */
static void test_without_faults(void **state) {
        Recorder *r;

        kernel.no_faults = true;
        r = begin(false);
        assert_false(kernel.fault_loaded);
        recorder_free(r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_accesses, setup),
                cmocka_unit_test_setup(test_number_of_accesses, setup),
                cmocka_unit_test_setup(test_managers, setup),
                cmocka_unit_test_setup(test_strange_events, setup),
                cmocka_unit_test_setup(test_listener_fails, setup),
                cmocka_unit_test_setup(test_readahead, setup),
                cmocka_unit_test_setup(test_old_kernels, setup),
                cmocka_unit_test_setup(test_refused, setup),
                cmocka_unit_test_setup(test_without_faults, setup),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
