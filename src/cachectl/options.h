/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-json.h>

/* What the command line said. */
extern sd_json_format_flags_t arg_json; /* SD_JSON_FORMAT_OFF: for people */
extern bool arg_pager;
extern bool arg_legend;
extern bool arg_full;
extern bool arg_quiet;
extern bool arg_thread;
extern bool arg_persistent;
extern bool arg_dry_run;
extern bool arg_no_block;
extern const char *arg_root; /* NULL: none */
extern bool arg_help;
extern bool arg_version;

/* Of "hold". */
extern const char *arg_reason; /* NULL: not given */
extern size_t n_arg_command;   /* arguments behind "--" */

/* Of "record". */
extern const char *arg_output; /* NULL: not given */
extern uint64_t arg_duration;  /* usec; UINT64_MAX: not given; of "stats" as well */
extern bool arg_readahead;
extern bool arg_text;

/* Of "advise" and "size". */
extern const char *arg_input; /* NULL: not given */

/* Of "run". */
extern GSList *arg_done_with; /* strings, in the order in which they were given */

/* Of "simulate", as they were given; NULL: not at all. */
extern const char *arg_format; /* of "stats" as well */
extern const char *arg_policy;
extern const char *arg_size;
extern const char *arg_batch;
extern const char *arg_plot; /* of "advise" and "size" as well, as --policy= and --size= */
extern bool arg_admission;
extern const char *arg_learned;
extern const char *arg_windows; /* --readahead= */
extern GSList *arg_options; /* strings, in the order in which they were given; so are: */
extern GSList *arg_levels;  /* of "run" as well */
extern GSList *arg_files;

/* Of "stats" and "top". */
extern const char *arg_by; /* NULL: not given */

/* Of "top". */
extern bool arg_plain;
extern uint64_t arg_delay;      /* usec; UINT64_MAX: not given */
extern uint64_t arg_iterations; /* 0: without end; UINT64_MAX: not given */
extern const char *arg_sort;    /* NULL: not given */

/* Where the daemon is; NULL: here. */
extern const char *arg_host;
extern const char *arg_machine;

typedef enum OptionMask {
        OPTION_HELP      = 1 << 0,
        OPTION_VERSION   = 1 << 1,
        OPTION_JSON      = 1 << 2,
        OPTION_NO_PAGER  = 1 << 3,
        OPTION_NO_LEGEND = 1 << 4,
        OPTION_FULL      = 1 << 5,
        OPTION_QUIET     = 1 << 6,
        OPTION_FORMAT    = 1 << 7,
        OPTION_POLICY    = 1 << 8,
        OPTION_SIZE      = 1 << 9,
        OPTION_BATCH     = 1 << 10,
        OPTION_OPTION    = 1 << 11,
        OPTION_PLOT      = 1 << 12,
        OPTION_OUTPUT    = 1 << 13,
        OPTION_DURATION  = 1 << 14,
        OPTION_READAHEAD = 1 << 15,
        OPTION_TEXT      = 1 << 16,
        OPTION_ADMISSION = 1 << 17,
        OPTION_THREAD    = 1 << 18,
        OPTION_PERSISTENT = 1 << 19,
        OPTION_DRY_RUN   = 1 << 20,
        OPTION_ROOT      = 1 << 21,
        OPTION_REASON    = 1 << 22,
        OPTION_PLAIN     = 1 << 23, /* --batch of "top" */
        OPTION_DELAY     = 1 << 24,
        OPTION_ITERATIONS = 1 << 25,
        OPTION_SORT      = 1 << 26,
        OPTION_METRICS   = 1 << 27, /* --format= of "stats" */
        OPTION_HOST      = 1 << 28,
        OPTION_MACHINE   = 1 << 29,
        OPTION_NO_BLOCK  = 1 << 30,
        OPTION_LEVEL     = INT64_C(1) << 31,
        OPTION_FILES     = INT64_C(1) << 32,
        OPTION_DONE_WITH = INT64_C(1) << 33,
        OPTION_LEARNED   = INT64_C(1) << 34,
        OPTION_BY        = INT64_C(1) << 35,
        OPTION_INPUT     = INT64_C(1) << 36,
        OPTION_WINDOWS   = INT64_C(1) << 37, /* --readahead= of "simulate" */

        /* of all that talk to the daemon */
        OPTION_REMOTE    = OPTION_HOST | OPTION_MACHINE,

        /* of all, and of so many that the help of the program shows them */
        OPTIONS_SHARED   = OPTION_HELP | OPTION_VERSION | OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND |
                           OPTION_FULL | OPTION_QUIET | OPTION_REMOTE,
} OptionMask;

/* Reads the options, sets *ret_used to those that were given. The verb and its arguments are then
 * argv[optind…]. Returns 0 to go on, a positive number to end with success (a question about an option
 * was answered), -EINVAL (logged) if something is wrong. */
int options_parse(int argc, char *argv[], OptionMask *ret_used);

/* Whether the option, or another one that is spelled the same, is in the mask: two options may share a name,
 * if no verb has both. */
bool option_is_among(OptionMask option, OptionMask mask);

/* How an option is spelled, for messages: "--full". */
const char *option_name(OptionMask option);

/* The lines of --help for the options of the mask. */
void options_print_help(OptionMask mask);

static inline bool json_wanted(void) {
        return sd_json_format_enabled(arg_json);
}
