/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "output.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "shared/thread-class.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "table.h"
#include "verbs.h"

static const TableColumn columns[] = {
        { .header = "THREAD", .flags = COLUMN_RIGHT },
        { .header = "NAME" },
        { .header = "CLASS" },
};

static const char *number_parameter(void) {
        return arg_thread ? "thread" : "process";
}

static int parse_numbers(char **arguments, size_t n_arguments, uint64_t **ret) {
        _cleanup_free_ uint64_t *numbers = g_new(uint64_t, n_arguments);

        for (size_t i = 0; i < n_arguments; i++)
                if (safe_atou64(arguments[i], numbers + i) < 0 || numbers[i] == 0 || numbers[i] > INT32_MAX)
                        return log_error_errno(EINVAL, "\"%s\" is not the number of a %s.", arguments[i],
                                               number_parameter());

        *ret = TAKE_PTR(numbers);
        return 0;
}

/* Calls the daemon for each of the numbers; -ESRCH from that is one that there is not. All arguments are
 * looked at before anything is done. Returns an exit status, or a negative error that was told. */
static int for_each_number(
                char **arguments,
                size_t n_arguments,
                int (*connect)(sd_varlink **ret),
                int (*call)(sd_varlink *link, uint64_t number, void *userdata),
                void *userdata) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_free_ uint64_t *numbers = NULL;
        int r, status = EXIT_SUCCESS;

        r = parse_numbers(arguments, n_arguments, &numbers);
        if (r == -EINVAL)
                return EXIT_USAGE;
        if (r < 0)
                return r;

        r = connect(&link);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_arguments; i++) {
                r = call(link, numbers[i], userdata);
                if (r == -ESRCH) {
                        log_error("There is no %s %" PRIu64 ".", number_parameter(), numbers[i]);
                        status = EXIT_UNKNOWN;
                } else if (r < 0)
                        return r;
        }
        return status;
}

/* ---- classify */

typedef struct Classification {
        const char *class;
        uint64_t n_threads;
} Classification;

static int classify(sd_varlink *link, uint64_t number, void *userdata) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL, *reply = NULL;
        Classification *c = userdata;
        int r;

        r = sd_json_buildo(&parameters,
                           SD_JSON_BUILD_PAIR_STRING("class", c->class),
                           SD_JSON_BUILD_PAIR_UNSIGNED(number_parameter(), number),
                           SD_JSON_BUILD_PAIR_BOOLEAN("allowInteractiveAuthentication", true));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".SetThreadClass", parameters, &reply);
        if (r < 0)
                return r;

        c->n_threads += sd_json_variant_unsigned(sd_json_variant_by_key(reply, "threads"));
        return 0;
}

int verb_classify(char **arguments, size_t n_arguments) {
        Classification c = { .class = arguments[0] };
        int r;

        if (thread_class_from_string(c.class) < 0) {
                log_error("\"%s\" is no class of threads: normal, scan and background are.", c.class);
                return EXIT_USAGE;
        }

        r = for_each_number(arguments + 1, n_arguments - 1, client_connect_asking, classify, &c);
        if (r != EXIT_SUCCESS && r != EXIT_UNKNOWN)
                return r;

        if (!arg_quiet)
                printf("%" PRIu64 " %s now of class %s.\n", c.n_threads,
                       c.n_threads == 1 ? "thread is" : "threads are", c.class);
        return r;
}

/* ---- threads */

static int collect(sd_json_variant *v, void *userdata) {
        return sd_json_variant_append_array(userdata, v);
}

static int fetch(sd_varlink *link, uint64_t number, void *array) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        int r;

        r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_UNSIGNED(number_parameter(), number));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        return client_call_more(link, CACHEBPF_VARLINK_INTERFACE ".ListThreads", parameters, collect, array);
}

static int show(sd_json_variant *array) {
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));
        int r;

        for (size_t i = 0; i < sd_json_variant_elements(array); i++) {
                ThreadInfo thread;

                r = thread_info_parse(sd_json_variant_by_index(array, i), &thread);
                if (r < 0)
                        return r;

                table_addf(t, "%" PRIu64, thread.thread);
                table_add(t, thread.name);
                table_add(t, thread.class);
        }

        return output_table(t, "thread", "threads");
}

int verb_threads(char **arguments, size_t n_arguments) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL;
        int r, status;

        r = sd_json_variant_new_array(&array, NULL, 0);
        if (r < 0)
                return log_oom();

        status = for_each_number(arguments, n_arguments, client_connect, fetch, &array);
        if (status != EXIT_SUCCESS && status != EXIT_UNKNOWN)
                return status;

        r = json_wanted() ? output_json(array) : show(array);
        return r < 0 ? r : status;
}
