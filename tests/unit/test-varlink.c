/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What clients of varlink are answered, as text. Holds, Monitor and threads have tests of their own. */

#include "varlink-fixture.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"

static char *dir, *directories[_OVERRIDE_MAX];
static GString *heard;

static int setup(void **state) {
        dir = test_dir_make();
        assert_true(asprintf(directories + OVERRIDE_PERSISTENT, "%s/etc", dir) > 0);
        assert_true(asprintf(directories + OVERRIDE_RUNTIME, "%s/run", dir) > 0);
        heard = g_string_new(NULL);
        (void) fixture_setup(state);
        fixture->manager->paths.overrides = (const char *const *) directories;
        server_start();

        (void) add_unit("a.slice", "lfu", 1);
        (void) add_unit("b.slice", "nosuch", 2);
        (void) add_unit("plain.slice", NULL, 3);
        run();
        return 0;
}

static int teardown(void **state) {
        server_stop();
        (void) fixture_teardown(state);
        g_string_free(heard, TRUE);
        test_dir_remove(dir);
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                free(directories[k]);
        return 0;
}

static void on_reply(sd_json_variant *parameters, void *userdata) {
        _cleanup_free_ char *text = NULL;

        assert_true(sd_json_variant_format(parameters, 0, &text) >= 0);
        g_string_append_printf(heard, "%s ", text);
}

/* All replies, one after the other; the last may be the name of an error, and what is wrong. */
static const char *call(send_t send, const char *method, const char *parameters) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        _cleanup_free_ char *name = NULL;
        Connection c = {};

        assert_true(asprintf(&name, CACHEBPF_VARLINK_INTERFACE ".%s", method) > 0);
        assert_int_equal(sd_json_parse(parameters, 0, &v, NULL, NULL), 0);
        g_string_truncate(heard, 0);
        connection_call(&c, send, name, v, on_reply, NULL);
        assert_int_equal(c.ended, !c.error);
        if (c.error)
                g_string_append_printf(heard, "%s %s", c.error, strempty(c.problem));
        connection_done(&c);
        return heard->str;
}

#define one(method, parameters) call(sd_varlink_invoke, method, parameters)
#define all(method) call(sd_varlink_observe, method, "{}")

#define assert_contains(text, part)                                     \
        do {                                                            \
                const char *_text = (text);                             \
                if (!strstr(_text, part))                               \
                        fail_msg("no \"%s\" in: %s", part, _text);      \
        } while (false)

/* There is no polkit here that others could ask. */
#define NEEDS_ROOT()          \
        if (geteuid() != 0)   \
        skip()

static void test_units(void **state) {
        const char *text = all("ListUnits");

        assert_contains(text, "{\"unit\":{\"unit\":\"a.slice\",");
        assert_contains(text, "{\"unit\":{\"unit\":\"b.slice\",");
        assert_null(strstr(text, "plain.slice"));

        text = one("ListUnits", "{\"unit\":\"a.slice\"}");
        assert_contains(text, "\"configured\":\"lfu\",\"effective\":\"lfu\",\"verified\":\"lfu\","
                              "\"state\":\"attached\",\"source\":\"/etc/x.slice:7\"");
        assert_null(strstr(text, "b.slice"));
        set(manager_find_unit(fixture->manager, "a.slice"), "CacheReadahead", "128K", 8);
        assert_contains(one("ListUnits", "{\"unit\":\"a.slice\"}"), "\"readahead\":\"128K\"");
        set(manager_find_unit(fixture->manager, "a.slice"), "CacheReadahead", "", 9);
        assert_null(strstr(one("ListUnits", "{\"unit\":\"a.slice\"}"), "readahead"));
        assert_contains(one("ListUnits", "{\"unit\":\"plain.slice\"}"), "\"state\":\"unconfigured\"");
        assert_string_equal(one("ListUnits", "{\"unit\":\"nosuch.slice\"}"),
                            CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT " ");
        assert_string_equal(one("ListUnits", "{}"), SD_VARLINK_ERROR_EXPECTED_MORE " ");
}

static void test_choice(void **state) {
        const char *text;

        (void) add_chosen_unit("c.slice", 4);
        text = one("ListUnits", "{\"unit\":\"c.slice\"}");
        assert_contains(text, "\"configured\":\"auto\",\"effective\":\"lru\","
                              "\"choice\":{\"chosen\":\"lru\","
                              "\"candidates\":[{\"name\":\"stock\"},"
                              "{\"name\":\"lru\",\"missRatio\":2.500000000000000000000e-01},"
                              "{\"name\":\"mru nr_scan=64\",\"banned\":2,\"out\":true}],"
                              "\"verdict\":\"stays with lru: no other policy gains more than the margin\","
                              "\"switches\":1,"
                              "\"switchReason\":\"from stock to lru: figures\",\"switchedUSec\":");
        assert_contains(text, "\"verified\":\"lru\",\"state\":\"attached\"");
        assert_null(strstr(one("ListUnits", "{\"unit\":\"a.slice\"}"), "choice"));
}

static void test_replay(void **state) {
        Unit *u = manager_find_unit(fixture->manager, "plain.slice");

        u->replay = g_new0(UnitReplay, 1);
        assert_null(strstr(one("ListUnits", "{\"unit\":\"plain.slice\"}"), "replay"));
        u->replay->known = true;
        assert_contains(all("ListUnits"), "\"replay\":{\"readBytesTotal\":0},\"verified\"");
        *u->replay = (UnitReplay) {
                .recording_until = 1, .recorded_at = 2, .recorded_bytes = 3, .recorded_ranges = 4,
                .read_at = 5, .read_bytes = 6, .read_ranges = 7, .read_bytes_total = 8,
                .reason = g_strdup("why"), .known = true,
        };
        assert_contains(one("ListUnits", "{\"unit\":\"plain.slice\"}"),
                        "\"replay\":{\"recordingUntilUSec\":1,\"recordedUSec\":2,\"recordedBytes\":3,"
                        "\"recordedRanges\":4,\"readUSec\":5,\"readBytes\":6,\"readRanges\":7,"
                        "\"readBytesTotal\":8,\"reason\":\"why\"}");
}

static void test_stats(void **state) {
        assert_string_equal(all("GetStats"), "{\"unit\":\"a.slice\",\"policy\":\"lfu\",\"counters\":{},"
                            "\"declared\":[]} ");
        assert_string_equal(one("GetStats", "{\"unit\":\"plain.slice\"}"),
                            "{\"unit\":\"plain.slice\",\"policy\":\"none\",\"counters\":{},"
                            "\"declared\":[]} ");
}

static void test_files(void **state) {
        static const PolicyFile file = { .ino = 7, .dev = 2049, .generation = 11 };
        PolicyManager *m;

        assert_string_equal(all("ListFiles"), CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT " ");
        (void) add_unit("f.slice", "acfs", 4);
        run();
        assert_string_equal(all("ListFiles"), "{\"unit\":\"f.slice\",\"managers\":[]} ");

        m = fake_manager(&fixture->kernel, 4);
        m->pages[1] = 5;
        m->mru = 1 << 4;
        m->revoked = true;
        m->n_decisions = 300;
        m->n_wrong = 80;
        *fake_level(&fixture->kernel, 4, &file) = 2;
        assert_string_equal(one("ListFiles", "{\"unit\":\"f.slice\"}"),
                            "{\"unit\":\"f.slice\",\"managers\":[{\"name\":\"f.slice\",\"cgroupId\":4,"
                            "\"revoked\":true,\"decisions\":300,\"wrong\":80,\"levels\":["
                            "{\"level\":0,\"replacement\":\"lru\",\"pages\":5},"
                            "{\"level\":3,\"replacement\":\"mru\",\"pages\":0}],\"files\":["
                            "{\"priority\":2,\"device\":\"8:1\",\"inode\":7,\"generation\":11}]}]} ");

        assert_null(strstr(one("ListUnits", "{\"unit\":\"f.slice\"}"), "revoked"));
        files_sample(fixture->files);
        assert_contains(one("ListUnits", "{\"unit\":\"f.slice\"}"), "\"revoked\":[\"f.slice\"]");

        /* No manager, and no unit. */
        assert_string_equal(one("ListFiles", "{\"unit\":\"a.slice\"}"),
                            "{\"unit\":\"a.slice\",\"managers\":[]} ");
        assert_string_equal(one("ListFiles", "{\"unit\":\"nosuch.slice\"}"),
                            CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT " ");
}

/* What the kernel counts, but for lines that are none of its numbers. */
static void test_counters(void **state) {
        _cleanup_free_ char *cgroups = NULL, *directory = NULL;
        Unit *u = manager_find_unit(fixture->manager, "a.slice");
        const Policy *policy;
        struct stat st;

        assert_true(asprintf(&cgroups, "%s/cgroup", dir) > 0 && asprintf(&directory, "%s/1", cgroups) > 0);
        free(test_file(dir, "cgroup/1/memory.cachebpf.stat", "hits 40\nmisses 2\nodd\nworse x\n"));
        fixture->manager->paths.kernel.cgroup = cgroups;
        assert_int_equal(stat(directory, &st), 0);
        u->cgroup_id = fixture->kernel.cgroups[1].inode = st.st_ino;
        assert_contains(one("GetStats", "{\"unit\":\"a.slice\"}"),
                        "\"counters\":{\"hits\":40,\"misses\":2},\"declared\":[]} ");

        policy = policies_find(fixture->manager->policies, "lfu");
        g_array_append_val(policy->counters, ((PolicyCounter) {
                .name = strdup("spared"),
                .unit = strdup("pages"),
                .doc = strdup("that were used"),
        }));
        assert_contains(one("GetStats", "{\"unit\":\"a.slice\"}"),
                        "\"counters\":{\"hits\":40,\"misses\":2,\"policy_spared\":100},\"declared\":"
                        "[{\"name\":\"spared\",\"unit\":\"pages\",\"doc\":\"that were used\"}]} ");
        assert_contains(one("ListPolicies", "{\"name\":\"lfu\"}"), "\"counters\":[{\"name\":\"spared\",");
        g_array_set_size(policy->counters, 0);
        fixture->manager->paths.kernel.cgroup = "/nonexistent";
}

static void test_policies(void **state) {
        const char *text = one("ListPolicies", "{\"name\":\"lfu\"}");

        assert_contains(text, "{\"name\":\"lfu\",\"path\":\"/x.bpf.o\","
                              "\"abilities\":[\"admission\",\"readahead\",\"threads\"],"
                              "\"tunables\":[{\"name\":\"nr_scan\",");
        assert_contains(text, "\"default\":512,\"min\":32,\"max\":4096}],\"counters\":[]} ");
        assert_null(strstr(text, "mru"));

        assert_contains(one("ListPolicies", "{\"name\":\"broken\"}"),
                        "\"problem\":\"it is not a BPF object file\",\"abilities\":[],");
        assert_contains(all("ListPolicies"), "{\"name\":\"mru\",");
        assert_string_equal(one("ListPolicies", "{\"name\":\"nosuch\"}"),
                            CACHEBPF_VARLINK_ERROR_NO_SUCH_POLICY " ");
}

static void test_status(void **state) {
        const char *text = one("GetStatus", "{}");

        assert_contains(text, "\"kernelSupport\":true,");
        assert_contains(text, "\"unitsConfigured\":2,\"unitsAttached\":1,\"unitsFailed\":1,");
}

static void assert_files(const char *text, OverrideKind kind) {
        _cleanup_free_ char *expected = NULL;

        assert_true(asprintf(&expected, "{\"unit\":\"a.slice\",\"files\":[\"%s/a.slice.conf\"],",
                             directories[kind]) > 0);
        assert_contains(text, expected);
}

static void test_settings(void **state) {
        const char *text;

        NEEDS_ROOT();
        text = one("SetUnitSettings", "{\"unit\":\"a.slice\",\"settings\":[\"CachePolicy=mru\"]}");
        assert_files(text, OVERRIDE_RUNTIME);
        assert_null(strstr(text, "\"state\""));
        assert_contains(one("ListUnits", "{\"unit\":\"a.slice\"}"), "\"effective\":\"mru\"");

        text = one("SetUnitSettings", "{\"unit\":\"a.slice\",\"settings\":[\"CacheAdmission=yes\"],"
                                      "\"persistent\":true,\"wait\":true}");
        assert_files(text, OVERRIDE_PERSISTENT);
        assert_contains(text, "\"state\":\"attached\"");

        text = one("GetUnitSettings", "{\"unit\":\"a.slice\"}");
        assert_contains(text, "{\"key\":\"CachePolicy\",\"value\":\"lfu\",\"source\":\"/etc/x.slice:7\","
                              "\"layer\":\"unit\",\"effective\":false}");
        assert_contains(text, "\"layer\":\"persistent\",\"effective\":true}");
        assert_contains(text, "\"layer\":\"runtime\",\"effective\":true}");
        assert_contains(text, "\"unitFilesKnown\":true}");

        /* Would be, but is not. */
        text = one("ResetUnit", "{\"unit\":\"a.slice\",\"dryRun\":true}");
        assert_files(text, OVERRIDE_RUNTIME);
        assert_null(strstr(text, "runtime\""));
        assert_contains(one("ListUnits", "{\"unit\":\"a.slice\"}"), "\"effective\":\"mru\"");

        assert_files(one("ResetUnit", "{\"unit\":\"a.slice\"}"), OVERRIDE_RUNTIME);
        assert_files(one("ResetUnit", "{\"unit\":\"a.slice\",\"persistent\":true}"), OVERRIDE_PERSISTENT);
        assert_contains(one("ListUnits", "{\"unit\":\"a.slice\"}"), "\"effective\":\"lfu\"");
}

static void test_refused(void **state) {
        NEEDS_ROOT();
        /* nothing is kept here */
        assert_contains(one("ForgetUnit", "{\"unit\":\"a.slice\"}"),
                        "{\"unit\":\"a.slice\",\"files\":[]}");
        assert_string_equal(one("SetUnitSettings", "{\"unit\":\"a.slice\",\"settings\":[\"lfu\"]}"),
                            CACHEBPF_VARLINK_ERROR_INVALID_SETTING
                            " 'lfu' is no assignment, which is KEY=VALUE");
        assert_string_equal(one("SetUnitSettings", "{\"unit\":\"a.slice\",\"settings\":[]}"),
                            SD_VARLINK_ERROR_INVALID_PARAMETER " ");
        assert_string_equal(one("SetUnitSettings", "{\"settings\":[\"CachePolicy=lfu\"]}"),
                            SD_VARLINK_ERROR_INVALID_PARAMETER " ");
        assert_string_equal(one("GetUnitSettings", "{\"unit\":\"nosuch.slice\"}"),
                            CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT " ");
        /* Without a bus nobody knows whether there is one; nothing is to be taken back. */
        assert_contains(one("ResetUnit", "{\"unit\":\"nosuch.slice\"}"), "\"files\":[]");
}

static void test_reload(void **state) {
        const char *text;

        NEEDS_ROOT();
        text = one("Reload", "{}");
        assert_contains(text, "{\"problems\":[\"");
        assert_contains(text, "b.slice: unknown policy 'nosuch'");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_units),
                TEST(test_choice),
                TEST(test_replay),
                TEST(test_stats),
                TEST(test_files),
                TEST(test_counters),
                TEST(test_policies),
                TEST(test_status),
                TEST(test_settings),
                TEST(test_refused),
                TEST(test_reload),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
