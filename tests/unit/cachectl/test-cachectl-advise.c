/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "advise" and "size", with traces: what they print. What they find out is in test-cachectl-forecast. */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PASSES 40U
#define PAGES 300U /* of a loop */

static char loop_path[256], once_path[256], plot_path[256];
static char loop_option[300], once_option[300], plot_option[300];

static int setup(void **state) {
        _cleanup_fclose_ FILE *loop = NULL, *once = NULL;
        int r = harness_setup(state);

        if (r != 0)
                return r;
        stop_manager(); /* nobody is asked */
        (void) snprintf(loop_path, sizeof(loop_path), "%s/loop.trace", harness_directory);
        (void) snprintf(once_path, sizeof(once_path), "%s/once.trace", harness_directory);
        (void) snprintf(plot_path, sizeof(plot_path), "%s/plot.svg", harness_directory);
        (void) snprintf(loop_option, sizeof(loop_option), "--input=%s", loop_path);
        (void) snprintf(once_option, sizeof(once_option), "--input=%s", once_path);
        (void) snprintf(plot_option, sizeof(plot_option), "--plot=%s", plot_path);

        loop = fopen(loop_path, "we");
        once = fopen(once_path, "we");
        assert_non_null(loop);
        assert_non_null(once);
        for (unsigned i = 0; i < PASSES; i++)
                fprintf(loop, "0+%u\n", PAGES);
        fprintf(once, "0+%u\n", PASSES * PAGES);
        return 0;
}

static int teardown(void **state) {
        (void) unlink(loop_path);
        (void) unlink(once_path);
        (void) unlink(plot_path);
        return harness_teardown(state);
}

/* A loop over 300 pages with room for 256: of 300 requests 44 must miss, with mru a few more. */
static void test_change(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, quiet = {};

        run(&o, "advise", "web", loop_option, "--size=1M");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.err, "Simulating policies on 12000 requests.\n");
        assert_contains(o.out, "web.service: 12000 requests for pages, a cache of 1.0 MiB "
                               "(as --size= says)\n"
                               "\n"
                               "POLICY   MISSES AGAINST STOCK\noptimum ");
        assert_contains(o.out, "\nstock    100.0%             -\n");
        assert_contains(o.out, "\nlru      100.0%         +0.0%\n");
        assert_lacks(o.out, "acfs");
        assert_lacks(o.out, "get-scan");
        assert_contains(o.out, "\nWith mru ");
        assert_contains(o.out, "% of the requests would miss, with the kernel's own policy 100.0%.\n");
        assert_contains(o.out, "Write it with \"systemctl edit web.service\", which makes "
                               "/etc/systemd/system/web.service.d/override.conf:\n\n"
                               "    [Service]\n"
                               "    CachePolicy=mru\n\n"
                               "Or try it until the next boot: cachectl set web.service mru\n");

        run(&quiet, "advise", "web.slice", loop_option, "--size=1M", "--no-legend", "--quiet");
        assert_string_equal(quiet.err, "");
        assert_lacks(quiet.out, "POLICY");
        assert_lacks(quiet.out, "requests for pages");
        assert_contains(quiet.out, "    [Slice]\n    CachePolicy=mru\n");
}

/* Without a unit there is no file to write to. */
static void test_nobody(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "advise", loop_option, "--size=1M");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "loop.trace: 12000 requests");
        assert_contains(o.out, "\n    CachePolicy=mru\n");
        assert_lacks(o.out, "systemctl");
}

static void test_stay(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "advise", "web", once_option, "--size=1M");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "\nStay with the kernel's own policy: no other would miss a hundredth of the "
                               "requests less. Of all requests 100.0% were the first for their page; if "
                               "pages come back later, a longer time tells more.\n");
        assert_lacks(o.out, "CachePolicy=");
}

static void test_too_short(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, size = {};

        run(&o, "advise", "web", loop_option, "--size=2M");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "\nOnly 1.2 MiB were used, which fit into the cache, and no policy would "
                               "miss less; a longer time may tell more. Try a trace that is 4 times as "
                               "long.\n");
        assert_lacks(o.out, "CachePolicy=");

        run(&size, "size", "web", loop_option, "--size=2M");
        assert_int_equal(size.status, EXIT_SUCCESS);
        assert_contains(size.out, "Only 1.2 MiB were used, which fit into the cache");
}

static void test_advice_json(void **state) {
        _cleanup_(outcome_done) Outcome o = {};
        sd_json_variant *v, *policies;
        double stock, optimum;

        run(&o, "advise", "web", loop_option, "--size=1M", "--json=short");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_one_line(o.out);
        v = parse(o.out);
        assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(v, "name")), "web.service");
        assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(v, "advice")), "change");
        assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(v, "policy")), "mru");
        assert_int_equal(sd_json_variant_unsigned(sd_json_variant_by_key(v, "requests")), PASSES * PAGES);
        assert_int_equal(sd_json_variant_unsigned(sd_json_variant_by_key(v, "one_page_in")), 1);
        assert_int_equal(sd_json_variant_unsigned(sd_json_variant_by_key(v, "cache_bytes")), 1 << 20);
        assert_int_equal(sd_json_variant_unsigned(sd_json_variant_by_key(v, "used_bytes")), PAGES * 4096);
        stock = sd_json_variant_real(sd_json_variant_by_key(v, "stock"));
        optimum = sd_json_variant_real(sd_json_variant_by_key(v, "optimum"));
        assert_true(stock == 1);
        assert_true(optimum > 0.14 && optimum < 0.15); /* 44 of 299 */
        policies = sd_json_variant_by_key(v, "policies");
        assert_true(sd_json_variant_elements(policies) > 10);
        assert_string_equal(string_at(policies, 0, "policy"), "arc");
        sd_json_variant_unref(v);
}

static void test_size(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, bare = {}, limits = {};

        run(&o, "size", "web", loop_option, "--size=1M");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "web.service: 12000 requests for pages");
        assert_contains(o.out, "CACHE  stock   mru optimum MISSES");
        assert_contains(o.out, "\n 0.1M 100.0%");
        assert_contains(o.out, "██░░");
        assert_contains(o.out, "░ now\n");
        assert_contains(o.out, "\n 1.4M   0.0%  0.0%    0.0%");
        assert_contains(o.out, "\nThe smallest cache that reads at most 5% more than stock does now:\n"
                               "    stock: 0.1 MiB\n"
                               "    mru: 0.1 MiB\n");
        assert_lacks(o.out, "MemoryHigh="); /* it is not known what other memory the unit has */

        run(&bare, "size", loop_option, "--size=1M", "--policy=lru", "--no-legend");
        assert_contains(bare.out, "1.0M 100.0% 100.0%");
        assert_lacks(bare.out, "CACHE");

        run(&limits, "size", loop_option, "--size=1M", "--policy=lru,static");
        assert_contains(limits.out, "CACHE  stock    lru static optimum MISSES");
}

static void test_size_json(void **state) {
        _cleanup_(outcome_done) Outcome o = {};
        sd_json_variant *v, *sizes, *now, *ratios;

        run(&o, "size", loop_option, "--size=1M", "--policy=lru,mru", "--json=short");
        assert_int_equal(o.status, EXIT_SUCCESS);
        v = parse(o.out);
        assert_false(sd_json_variant_boolean(sd_json_variant_by_key(v, "too_short")));
        sizes = sd_json_variant_by_key(v, "sizes");
        assert_int_equal(sd_json_variant_elements(sizes), 13);
        now = sd_json_variant_by_index(sizes, 8);
        assert_int_equal(sd_json_variant_unsigned(sd_json_variant_by_key(now, "cache_bytes")), 1 << 20);
        ratios = sd_json_variant_by_key(now, "miss_ratios");
        assert_true(sd_json_variant_real(sd_json_variant_by_key(ratios, "lru")) == 1);
        assert_true(sd_json_variant_real(sd_json_variant_by_key(ratios, "belady")) < 0.15);
        assert_non_null(sd_json_variant_by_key(ratios, "mru"));
        assert_non_null(sd_json_variant_by_key(ratios, "noop"));
        assert_int_equal(sd_json_variant_elements(sd_json_variant_by_key(v, "smallest")), 3);
        sd_json_variant_unref(v);
}

static void test_plot(void **state) {
        static const char *const verbs[] = { "advise", "size" };

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                _cleanup_(outcome_done) Outcome o = {};
                _cleanup_fclose_ FILE *f = NULL;
                _cleanup_free_ char *plot = NULL;
                size_t n = 0;

                run(&o, verbs[i], loop_option, "--size=1M", plot_option);
                assert_int_equal(o.status, EXIT_SUCCESS);
                f = fopen(plot_path, "re");
                assert_non_null(f);
                assert_true(getdelim(&plot, &n, EOF, f) > 0);
                assert_contains(plot, "<svg ");
                assert_contains(plot, ">stock</text>");
                assert_contains(plot, ">mru</text>");
                assert_contains(plot, ">optimum</text>");
                assert_contains(plot, ">1.0M</text>");
                assert_int_equal(unlink(plot_path), 0);
        }
}

static void test_mistakes(void **state) {
        static const struct {
                const char *arguments[5];
                int status;
                const char *said;
        } cases[] = {
                { { "advise" }, EXIT_USAGE, "Whose cache? Name a unit" },
                { { "size", loop_option }, EXIT_USAGE, "Option --input= needs the name of a unit" },
                { { "advise", loop_option, "--size=1M", "--duration=5" }, EXIT_USAGE,
                  "Option --duration= is not for --input=" },
                { { "advise", loop_option, "--size=10%" }, EXIT_USAGE, "less than one page" },
                { { "advise", loop_option, "--size=x" }, EXIT_USAGE, "\"x\" is no size" },
                { { "advise", "--input=/nowhere", "--size=1M" }, EXIT_USAGE, "/nowhere" },
                { { "size", loop_option, "--size=1M", "--policy=x" }, EXIT_USAGE, "unknown policy \"x\"" },
                /* before anything is read, or recorded */
                { { "size", "--input=/nowhere", "--size=1M", "--policy=x" }, EXIT_USAGE,
                  "unknown policy \"x\"" },
                { { "size", "--input=/nowhere", "--size=1M", "--plot=/none/x.svg" }, EXIT_FAILURE,
                  "Cannot write /none/x.svg: No such file or directory" },
                { { "advise", "--input=/nowhere", "--size=1M", "--plot=/tmp" }, EXIT_FAILURE,
                  "Cannot write /tmp: Is a directory" },
                { { "simulate", "/nowhere", "--size=1M", "--plot=/none/x.svg" }, EXIT_FAILURE,
                  "Cannot write /none/x.svg" },
                { { "advise", loop_option, "--size=1M", "--policy=lru" }, EXIT_USAGE, "--policy" },
                { { "advise", loop_option, "--size=1M", "/proc/x", "more" }, EXIT_USAGE, "more" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *arguments[ELEMENTSOF(cases[i].arguments) + 1] = {};
                _cleanup_(outcome_done) Outcome o = {};

                memcpy(arguments, cases[i].arguments, sizeof(cases[i].arguments));
                run_with(0, &o, arguments);
                assert_int_equal(o.status, cases[i].status);
                assert_string_equal(o.out, "");
                assert_contains(o.err, cases[i].said);
        }
}

int main(int argc, char *argv[]) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_change),
                cmocka_unit_test(test_nobody),
                cmocka_unit_test(test_stay),
                cmocka_unit_test(test_too_short),
                cmocka_unit_test(test_advice_json),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_size_json),
                cmocka_unit_test(test_plot),
                cmocka_unit_test(test_mistakes),
        };

        harness_init(argc, argv);
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
