/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char trace_path[256], bad_path[256], class_path[256], plot_path[256];

static void write_file(const char *path, const char *content) {
        _cleanup_fclose_ FILE *f = fopen(path, "we");

        assert_non_null(f);
        assert_true(fputs(content, f) >= 0);
}

static int setup(void **state) {
        int r = harness_setup(state);

        if (r != 0)
                return r;
        stop_manager(); /* nobody is asked */
        (void) snprintf(trace_path, sizeof(trace_path), "%s/small.trace", harness_directory);
        (void) snprintf(bad_path, sizeof(bad_path), "%s/bad.trace", harness_directory);
        (void) snprintf(class_path, sizeof(class_path), "%s/class.trace", harness_directory);
        (void) snprintf(plot_path, sizeof(plot_path), "%s/plot.svg", harness_directory);
        write_file(trace_path, "1\n2\n1\n3\n1\n");
        write_file(bad_path, "1\n2\n+3 x y z\n");
        return 0;
}

static int teardown(void **state) {
        (void) unlink(trace_path);
        (void) unlink(bad_path);
        (void) unlink(class_path);
        (void) unlink(plot_path);
        return harness_teardown(state);
}

static void test_table(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, bare = {};

        run(&o, "simulate", trace_path, "--policy=fifo,lfu,fifo", "--size=8K,100%", "--batch=1");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.err, "");
        assert_contains(o.out, "small.trace: misses of 5 requests for 3 pages (0.0 MiB), by cache size\n\n"
                               "POLICY     8K   100%\n"
                               "fifo   80.00% 60.00%\n"
                               "lfu    60.00% 60.00%\n"
                               "belady 60.00% 60.00%\n");

        run(&bare, "simulate", trace_path, "--policy=fifo", "--size=8192", "--no-legend");
        assert_string_equal(bare.out, "fifo   80.00%\n"
                                      "belady 60.00%\n");
}

/* What a policy counts itself. */
static void test_counters(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, json = {};

        run(&o, "simulate", trace_path, "--policy=fifo,wtinylfu", "--size=8K,100%");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "POLICY   COUNTER");
        assert_contains(o.out, "wtinylfu admitted (pages)");

        run(&json, "simulate", trace_path, "--policy=fifo,wtinylfu", "--size=8K", "--json=short");
        assert_contains(json.out, "\"counters\":{}");
        assert_contains(json.out, "\"counters\":{\"admitted\":");
}

static void test_mebibytes(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        write_file(class_path, "0+192\n");
        run(&o, "simulate", class_path, "--policy=fifo", "--size=8K");
        assert_contains(o.out, "misses of 192 requests for 192 pages (0.8 MiB)"); /* that is, 0.75 */
}

/* The limit that only knows frequencies is there if it is named, once, before the optimum. */
static void test_static(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, all = {};

        run(&o, "simulate", trace_path, "--policy=static,fifo,static,belady", "--size=8K", "--batch=1");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "POLICY     8K\n"
                               "fifo   80.00%\n"
                               "static 60.00%\n"
                               "belady 60.00%\n\n"
                               "The optimum is that of Belady.\n"
                               "static knows from the beginning which pages are used most, and keeps "
                               "these.\n");

        run(&all, "simulate", trace_path, "--size=8K");
        assert_null(strstr(all.out, "static"));
}

static void test_all_policies(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "simulate", trace_path, "--size=2.0e0K");
        assert_int_equal(o.status, EXIT_USAGE); /* that is no size */
        outcome_done(&o);
        o = (Outcome) {};

        run(&o, "simulate", trace_path, "--size=50%,66.7%");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "\nfifo ");
        assert_contains(o.out, "\nnoop ");
        assert_contains(o.out, "\nbelady ");
}

static uint64_t unsigned_at(sd_json_variant *v, const char *key) {
        v = sd_json_variant_by_key(v, key);
        assert_non_null(v);
        return sd_json_variant_unsigned(v);
}

static void test_json(void **state) {
        _cleanup_(outcome_done) Outcome o = {};
        sd_json_variant *v, *results, *fifo, *belady;

        run(&o, "simulate", trace_path, "--policy=fifo", "--size=8K", "--json=short");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_one_line(o.out);
        v = parse(o.out);
        assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(v, "trace")), trace_path);
        assert_int_equal(unsigned_at(v, "requests"), 5);
        assert_int_equal(unsigned_at(v, "pages"), 3);

        results = sd_json_variant_by_key(v, "results");
        assert_int_equal(sd_json_variant_elements(results), 2);
        assert_string_equal(string_at(results, 0, "policy"), "fifo");
        assert_string_equal(string_at(results, 0, "size"), "8K");
        fifo = sd_json_variant_by_index(results, 0);
        assert_int_equal(unsigned_at(fifo, "pages"), 2);
        assert_int_equal(unsigned_at(fifo, "batch"), 1);
        assert_int_equal(unsigned_at(fifo, "requests"), 5);
        assert_int_equal(unsigned_at(fifo, "misses"), 4);
        assert_int_equal(unsigned_at(fifo, "cold_misses"), 3);
        assert_int_equal(unsigned_at(fifo, "evict_fallback"), 0);
        assert_true(sd_json_variant_real(sd_json_variant_by_key(fifo, "miss_ratio")) == 0.8);

        assert_string_equal(string_at(results, 1, "policy"), "belady");
        belady = sd_json_variant_by_index(results, 1);
        assert_true(sd_json_variant_is_null(sd_json_variant_by_key(belady, "batch")));
        assert_int_equal(unsigned_at(belady, "misses"), 3);
        sd_json_variant_unref(v);
}

/* What --plot= wrote. */
static char *draw(const char *sizes) {
        _cleanup_(outcome_done) Outcome o = {};
        _cleanup_free_ char *option = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        char *plot = NULL;
        size_t n = 0;

        assert_true(asprintf(&option, "--plot=%s", plot_path) > 0);
        run(&o, "simulate", trace_path, "--policy=fifo,lfu", sizes, option);
        assert_int_equal(o.status, EXIT_SUCCESS);

        f = fopen(plot_path, "re");
        assert_non_null(f);
        assert_true(getdelim(&plot, &n, EOF, f) > 0);
        return plot;
}

static void test_plot(void **state) {
        static const char *const sizes[] = { "--size=8K,12K", "--size=8K" };
        _cleanup_free_ char *ordered = draw("--size=4K,8K,12K"), *unordered = draw("--size=12K,4K,8K");

        assert_string_equal(unordered, ordered);

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                _cleanup_free_ char *plot = draw(sizes[i]);

                assert_contains(plot, "<svg ");
                assert_contains(plot, ">fifo</text>");
                assert_contains(plot, ">lfu</text>");
                assert_contains(plot, ">belady</text>");
                assert_contains(plot, ">8K</text>");
                assert_contains(plot, "</svg>\n");
        }
}

static void test_option(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "simulate", trace_path, "--policy=fifo,lfu", "--size=8K", "--option=nr_scan=32",
            "--option=lfu.nr_scan=64");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.err, "");
}

/* What scans read is not admitted, if that is wanted. */
static void test_admission(void **state) {
        _cleanup_(outcome_done) Outcome off = {}, on = {};

        write_file(class_path, "1\n2 class=scan\n1\n2 class=scan\n");
        run(&off, "simulate", class_path, "--policy=fifo", "--size=8K", "--no-legend");
        assert_string_equal(off.out, "fifo   50.00%\n"
                                     "belady 50.00%\n");
        run(&on, "simulate", class_path, "--policy=fifo", "--size=8K", "--no-legend", "--admission");
        assert_string_equal(on.out, "fifo   75.00%\n"
                                    "belady 50.00%\n");
}

/* What managers of the trace say: two read a file each, over and over, and one reads another one beside. */
static void test_managers(void **state) {
        _cleanup_(outcome_done) Outcome none = {}, level = {}, one = {}, files = {};
        _cleanup_(outcome_done) Outcome unknown = {}, nobody = {};
        g_autoptr(GString) trace = g_string_new(NULL);

        for (unsigned i = 0; i < 40; i++)
                g_string_append_printf(trace, "r d/a %u manager=a\nr b %u manager=b\nr once %u manager=a\n",
                                       i % 4, i % 4, i);
        write_file(class_path, trace->str);

        run(&none, "simulate", class_path, "--policy=acfs", "--size=24K", "--batch=1", "--json=short");
        assert_contains(none.out, "\"managers\":{\"a\":{\"requests\":80,\"misses\":80},"
                                  "\"b\":{\"requests\":40,\"misses\":40}}}");
        /* of a limit it is not known */
        assert_null(strstr(strstr(none.out, "belady"), "managers"));
        run(&level, "simulate", class_path, "--policy=acfs", "--size=24K", "--batch=1", "--json=short",
            "--level=0:mru");
        assert_contains(level.out, "\"a\":{\"requests\":80,\"misses\":78},"
                                   "\"b\":{\"requests\":40,\"misses\":27}");
        run(&one, "simulate", class_path, "--policy=acfs", "--size=24K", "--batch=1", "--json=short",
            "--level=b/0:mru");
        assert_contains(one.out, "\"a\":{\"requests\":80,\"misses\":80},"
                                 "\"b\":{\"requests\":40,\"misses\":28}");

        /* a slash may be one of the name */
        run(&files, "simulate", class_path, "--policy=acfs", "--size=40K", "--batch=1", "--json=short",
            "--files=d/*=1", "--files=b/b=1");
        assert_contains(files.out, "\"a\":{\"requests\":80,\"misses\":44},"
                                   "\"b\":{\"requests\":40,\"misses\":40}");

        run(&unknown, "simulate", class_path, "--policy=acfs", "--level=c/0:mru");
        assert_int_equal(unknown.status, EXIT_USAGE);
        assert_string_equal(unknown.err, "Option --level=: the trace has no manager \"c\".\n");
        run(&nobody, "simulate", class_path, "--policy=acfs", "--files=a/x=1");
        assert_string_equal(nobody.err, "Option --files=: no file of the trace is called \"x\".\n");
}

/* A file that is read once: what a policy misses, and what is read, with windows of all kinds. */
static void test_readahead(void **state) {
        static const struct {
                const char *option, *reads, *misses;
        } cases[] = {
                { "--readahead=off",      "100", "100.00%" },
                { "--readahead=stock",    "6",   "1.00%"   },
                { "--readahead=32K",      "13",  "1.00%"   },
                { "--readahead=adaptive", "8",   "1.00%"   },
        };
        _cleanup_(outcome_done) Outcome none = {}, keys = {};

        write_file(class_path, "r f 0+100\n");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(outcome_done) Outcome table = {}, json = {};
                _cleanup_free_ char *reads = NULL, *misses = NULL;

                assert_true(asprintf(&misses, "\nfifo   %7s\n", cases[i].misses) > 0);
                run(&table, "simulate", class_path, "--policy=fifo", "--size=1M", cases[i].option);
                assert_int_equal(table.status, EXIT_SUCCESS);
                assert_contains(table.out, "\nbelady 100.00%\n\n"
                                           "The optimum is that of Belady, which reads nothing ahead.\n");
                assert_contains(table.out, misses);
                assert_contains(table.out, "fifo   reads (requests)");
                assert_contains(table.out, "fifo   read (MiB)");

                assert_true(asprintf(&reads, "\"reads\":%s,\"read_bytes\":409600,", cases[i].reads) > 0);
                run(&json, "simulate", class_path, "--policy=fifo", "--size=1M", "--json=short",
                    cases[i].option);
                assert_contains(json.out, reads);
                /* limits read nothing ahead, and are not told of it */
                assert_null(strstr(strstr(json.out, "belady"), "reads"));
        }

        run(&none, "simulate", class_path, "--policy=fifo", "--size=1M", "--json=short");
        assert_null(strstr(none.out, "reads"));

        run(&keys, "simulate", trace_path, "--policy=fifo", "--size=8K", "--readahead=off", "--format=csv");
        assert_int_equal(keys.status, EXIT_USAGE);
        assert_contains(keys.err, "needs a trace with pages of files");
        assert_one_line(keys.err);
}

/* One message each, that names what is wrong; and nothing is shown. */
static void test_mistakes(void **state) {
        const struct {
                const char *trace, *option, *message;
        } cases[] = {
                { NULL,               NULL,                      "\"simulate\" needs a trace" },
                { "/nonexistent",     NULL,                      "/nonexistent" },
                { bad_path,           "--format=text",           "bad.trace:3" },
                { bad_path,           "--format=tape",           "\"tape\"" },
                { trace_path,         "--policy=best",
                  "unknown policy \"best\"; the simulator has " },
                { trace_path,         "--policy=./best.so",      "./best.so: No such file or directory" },
                { trace_path,         "--policy=lfu,/dev/null",  "Option --policy=: /dev/null: " },
                { trace_path,         "--policy=",               "Option --policy= names no policy." },
                { trace_path,         "--policy=fifo",
                  "The trace is too small for sizes in percent" },
                { trace_path,         "--size=",                 "Option --size= names no size." },
                { trace_path,         "--size=0",                "\"0\" is less than one page" },
                { trace_path,         "--size=0%",               "\"0%\" is less than one page" },
                { trace_path,         "--size=4095",             "\"4095\" is less than one page" },
                { trace_path,         "--size=8K,",              "\"\" is no size" },
                { trace_path,         "--size=-8K",              "\"-8K\" is no size" },
                { trace_path,         "--size=8X",               "\"8X\" is no size" },
                { trace_path,         "--size=1e9",              "\"1e9\" is no size" },
                { trace_path,         "--size=nan",              "\"nan\" is no size" },
                { trace_path,         "--size=99999999T",
                  "\"99999999T\" is more than 4294967295 pages" },
                { trace_path,         "--batch=0",               "from 1 to 32, not \"0\"" },
                { trace_path,         "--batch=33",              "from 1 to 32, not \"33\"" },
                { trace_path,         "--option=nr_scan",        "takes NAME=VALUE, not \"nr_scan\"" },
                { trace_path,         "--option=nr_scan=many",   "nr_scan of " },
                { trace_path,         "--option=nr_scan=1",
                  "is a number from 32 to 65536 (folios), not \"1\"" },
                { trace_path,         "--option=nr_scam=99",     "no policy has a tunable \"nr_scam\"" },
                { trace_path,         "--option=fifo.nr_scan=99",
                  "no policy fifo has a tunable \"nr_scan\"" },
                { trace_path,         "--readahead",             "Option --readahead= needs a value here." },
                { trace_path,         "--readahead=fast",        "of 4K up to 2M, not \"fast\"." },
                { trace_path,         "--readahead=4095",        "not \"4095\"." },
                { trace_path,         "--readahead=2052K",       "not \"2052K\"." },
                { trace_path,         "--readahead=10%",         "not \"10%\"." },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(outcome_done) Outcome o = {};

                run(&o, "simulate", cases[i].trace, cases[i].option);
                if (o.status != EXIT_USAGE)
                        fail_msg("%s: status %i", cases[i].message, o.status);
                assert_string_equal(o.out, "");
                assert_contains(o.err, cases[i].message);
                assert_one_line(o.err);
        }
}

/* A name with bytes that neither XML nor JSON may contain. */
static void test_odd_name(void **state) {
        _cleanup_(outcome_done) Outcome table = {}, json = {};
        _cleanup_free_ char *path = NULL, *option = NULL, *plot = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        sd_json_variant *v;
        size_t n = 0;

        assert_true(asprintf(&path, "%s/<\x1b\xff>", harness_directory) > 0);
        assert_true(asprintf(&option, "--plot=%s", plot_path) > 0);
        write_file(path, "1\n2\n");

        run(&table, "simulate", path, "--policy=fifo", "--size=8K", option);
        assert_int_equal(table.status, EXIT_SUCCESS);
        assert_contains(table.out, "<\\x1b\\xff>: misses of");
        f = fopen(plot_path, "re");
        assert_non_null(f);
        assert_true(getdelim(&plot, &n, EOF, f) > 0);
        assert_contains(plot, "&lt;\\x1b\\xff&gt;</text>");

        run(&json, "simulate", path, "--policy=fifo", "--size=8K", "--json=short");
        v = parse(json.out);
        sd_json_variant_unref(v);
        (void) unlink(path);
}

static void test_unwritable_plot(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "simulate", trace_path, "--size=8K", "--plot=/nonexistent/plot.svg");
        assert_int_equal(o.status, EXIT_FAILURE);
        assert_contains(o.err, "Cannot write /nonexistent/plot.svg: No such file or directory");
}

int main(int argc, char *argv[]) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_counters),
                cmocka_unit_test(test_mebibytes),
                cmocka_unit_test(test_static),
                cmocka_unit_test(test_all_policies),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_plot),
                cmocka_unit_test(test_option),
                cmocka_unit_test(test_admission),
                cmocka_unit_test(test_managers),
                cmocka_unit_test(test_readahead),
                cmocka_unit_test(test_mistakes),
                cmocka_unit_test(test_odd_name),
                cmocka_unit_test(test_unwritable_plot),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests(tests, setup, teardown);
}
