/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "client.h"
#include "exit-codes.h"
#include "log.h"
#include "macro.h"
#include "model.h"
#include "output.h"
#include "string-util.h"
#include "table.h"
#include "thread-class.h"
#include "varlink-org.cachebpf.Manager.h"
#include "verbs.h"

static const TableColumn columns[] = {
        { .header = "THREAD", .flags = COLUMN_RIGHT },
        { .header = "NAME" },
        { .header = "CLASS" },
};

static const char *number_parameter(void) {
        return arg_thread ? "thread" : "process";
}

/* All are looked at before anything is done. */
static int parse_numbers(char **arguments, size_t n_arguments, uint64_t **ret) {
        _cleanup_free_ uint64_t *numbers = calloc(n_arguments, sizeof(uint64_t));

        if (!numbers)
                return log_oom();

        for (size_t i = 0; i < n_arguments; i++)
                if (safe_atou64(arguments[i], numbers + i) < 0 || numbers[i] == 0 || numbers[i] > INT32_MAX)
                        return log_error_errno(EINVAL, "\"%s\" is not the number of a %s.", arguments[i],
                                               number_parameter());

        *ret = TAKE_PTR(numbers);
        return 0;
}

static int log_unknown(uint64_t number) {
        log_error("There is no %s %" PRIu64 ".", number_parameter(), number);
        return 0;
}

/* ---- classify */

static int classify(sd_varlink *link, const char *class, uint64_t number, uint64_t *n_threads) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL, *reply = NULL;
        sd_json_variant *n;
        int r;

        r = sd_json_buildo(&parameters,
                           SD_JSON_BUILD_PAIR_STRING("class", class),
                           SD_JSON_BUILD_PAIR_UNSIGNED(number_parameter(), number),
                           SD_JSON_BUILD_PAIR_BOOLEAN("allowInteractiveAuthentication", true));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".SetThreadClass", parameters, &reply);
        if (r < 0)
                return r;

        n = sd_json_variant_by_key(reply, "threads");
        if (n && sd_json_variant_is_unsigned(n))
                *n_threads += sd_json_variant_unsigned(n);
        return 0;
}

int verb_classify(char **arguments, size_t n_arguments) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_free_ uint64_t *numbers = NULL;
        const char *class = arguments[0];
        uint64_t n_threads = 0;
        size_t unknown = 0;
        int r;

        if (thread_class_from_string(class) < 0) {
                log_error("\"%s\" is no class of threads: normal, scan and background are.", class);
                return EXIT_USAGE;
        }

        r = parse_numbers(arguments + 1, n_arguments - 1, &numbers);
        if (r == -EINVAL)
                return EXIT_USAGE;
        if (r < 0)
                return r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_arguments - 1; i++) {
                r = classify(link, class, numbers[i], &n_threads);
                if (r == -ESRCH) {
                        log_unknown(numbers[i]);
                        unknown++;
                } else if (r < 0)
                        return r;
        }

        if (!arg_quiet)
                printf("%" PRIu64 " %s now of class %s.\n", n_threads, n_threads == 1 ? "thread is" : "threads are",
                       class);

        return unknown > 0 ? EXIT_UNKNOWN : EXIT_SUCCESS;
}

/* ---- threads */

static int collect(sd_json_variant *v, void *userdata) {
        return sd_json_variant_append_array(userdata, v);
}

static int fetch(sd_varlink *link, uint64_t number, sd_json_variant **array) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        int r;

        r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_UNSIGNED(number_parameter(), number));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        return client_call_more(link, CACHEBPF_VARLINK_INTERFACE ".ListThreads", parameters, collect, array);
}

static int show(sd_json_variant *array) {
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = table_new(columns, ELEMENTSOF(columns), &t);
        if (r < 0)
                return log_oom();

        for (size_t i = 0; i < sd_json_variant_elements(array); i++) {
                ThreadInfo thread;

                r = thread_info_parse(sd_json_variant_by_index(array, i), &thread);
                if (r < 0)
                        return r;

                r = table_addf(t, "%" PRIu64, thread.thread);
                if (r >= 0)
                        r = table_add(t, thread.name);
                if (r >= 0)
                        r = table_add(t, thread.class);
                if (r < 0)
                        return log_oom();
        }

        return output_table(t, "thread", "threads");
}

int verb_threads(char **arguments, size_t n_arguments) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL;
        _cleanup_free_ uint64_t *numbers = NULL;
        size_t unknown = 0;
        int r;

        r = parse_numbers(arguments, n_arguments, &numbers);
        if (r == -EINVAL)
                return EXIT_USAGE;
        if (r < 0)
                return r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = sd_json_variant_new_array(&array, NULL, 0);
        if (r < 0)
                return log_oom();

        for (size_t i = 0; i < n_arguments; i++) {
                r = fetch(link, numbers[i], &array);
                if (r == -ESRCH) {
                        log_unknown(numbers[i]);
                        unknown++;
                } else if (r < 0)
                        return r;
        }

        r = json_wanted() ? output_json(array) : show(array);
        if (r < 0)
                return r;

        return unknown > 0 ? EXIT_UNKNOWN : EXIT_SUCCESS;
}
