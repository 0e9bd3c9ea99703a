/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How "advise" and "size" record a unit; what asks the kernel is played. */

#include "../test-util.h"

#include <errno.h>
#include <glib.h>

#include "cachectl/options.h"
#include "cachectl/record-loop.h"
#include "cachectl/sample.h"
#include "shared/cleanup.h"

static struct {
        RecorderSettings settings;
        int end;           /* what record_until_end() returns */
        unsigned n_warned; /* that the control group has gone */
        unsigned n_freed;
        uint64_t lost;
} played;

int record_find(const char *name, Cgroup *ret) {
        *ret = (Cgroup) { .name = g_strdup(name) };
        return 0;
}

int record_begin(const Cgroup *cgroup, RecorderSettings settings, Recorder **ret) {
        played.settings = settings;
        *ret = (Recorder *) &played;
        return 0;
}

int record_until_end(Recorder *recorder, const Cgroup *cgroup, uint64_t duration, RecordTick tick,
                     void *userdata) {
        RecordAccess a = { .inode = 7, .n_pages = 2, .thread = "t" };

        for (a.page = 0; a.page < 6; a.page += 2)
                assert_int_equal(played.settings.func(&a, played.settings.userdata), 0);
        assert_true(tick(userdata));
        return played.end;
}

void record_warn_gone(const Cgroup *cgroup) {
        played.n_warned++;
}

uint64_t recorder_accesses(const Recorder *r) {
        return 6;
}

uint64_t recorder_lost(const Recorder *r) {
        return played.lost;
}

Recorder *recorder_free(Recorder *r) {
        played.n_freed += r != NULL;
        return NULL;
}

static void test_recorded(void **state) {
        static const struct {
                int end;
                unsigned n_warned;
        } ends[] = { { 0, 0 }, { 1, 1 } };
        char *arguments[] = { (char *) "a.service" };

        arg_size = "1M";
        arg_quiet = true;
        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
                _cleanup_(sample_done) Sample s = {};

                memset(&played, 0, sizeof(played));
                played.end = ends[i].end;
                played.lost = 1;
                assert_int_equal(sample_take(arguments, 1, &s), 0);
                assert_int_equal(played.n_warned, ends[i].n_warned);
                assert_int_equal(played.n_freed, 1);
                assert_string_equal(s.name, "a.service");
                assert_int_equal(s.pages, 256);
                assert_int_equal(s.rate, 1);
                assert_int_equal(s.sampled, 6);
                assert_int_equal(s.lost, 1);
        }
}

static void test_failed(void **state) {
        char *arguments[] = { (char *) "a.service" };
        Sample s = {};

        memset(&played, 0, sizeof(played));
        played.end = -EIO;
        assert_int_equal(sample_take(arguments, 1, &s), -EIO);
        assert_int_equal(played.n_warned, 0);
        assert_int_equal(played.n_freed, 1);
        assert_null(s.trace);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_recorded),
                cmocka_unit_test(test_failed),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
