/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format-time.h"
#include "options.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "terminal.h"

sd_json_format_flags_t arg_json = SD_JSON_FORMAT_OFF;
bool arg_pager = true;
bool arg_legend = true;
bool arg_full = false;
bool arg_quiet = false;
bool arg_thread = false;
bool arg_persistent = false;
bool arg_dry_run = false;
bool arg_no_block = false;
const char *arg_root = NULL;
const char *arg_reason = NULL;
size_t n_arg_command = 0;
bool arg_help = false;
bool arg_version = false;
const char *arg_format = NULL;
const char *arg_policy = NULL;
const char *arg_size = NULL;
const char *arg_batch = NULL;
const char *arg_plot = NULL;
bool arg_admission = false;
const char *arg_learned = NULL;
GSList *arg_options = NULL;
GSList *arg_levels = NULL;
GSList *arg_files = NULL;
GSList *arg_done_with = NULL;
const char *arg_output = NULL;
const char *arg_input = NULL;
uint64_t arg_duration = UINT64_MAX;
bool arg_readahead = false;
const char *arg_windows = NULL;
bool arg_text = false;
bool arg_plain = false;
uint64_t arg_delay = UINT64_MAX;
uint64_t arg_iterations = UINT64_MAX;
const char *arg_sort = NULL;
const char *arg_by = NULL;
const char *arg_host = NULL;
const char *arg_machine = NULL;

/* One table for getopt, for --help and for messages. Two lines may stand for one option (--json and -j), and
 * two options, of different verbs, may have the same name: with and without a value, that tells them apart,
 * else the first stands for both. */
static const struct {
        OptionMask mask;
        char letter; /* 0: long form only */
        const char *name; /* NULL: letter only */
        const char *argument;
        const char *help;
        bool *set, *clear;  /* a variable that the option makes true or false, */
        const char **value; /* or that takes its value; apply() knows the rest */
} options[] = {
        { OPTION_HELP, 'h', "help", NULL,
          "Show this help", .set = &arg_help },
        { OPTION_VERSION, 0, "version", NULL,
          "Show the version of this program", .set = &arg_version },
        { OPTION_JSON, 0, "json", "MODE",
          "Show JSON: pretty, short (one line), or off" },
        { OPTION_JSON, 'j', NULL, NULL,
          "--json=pretty on a terminal, --json=short elsewhere" },
        { OPTION_NO_PAGER, 0, "no-pager", NULL,
          "Do not use a pager", .clear = &arg_pager },
        { OPTION_NO_LEGEND, 0, "no-legend", NULL,
          "Do not print column headers and footers", .clear = &arg_legend },
        { OPTION_HOST, 'H', "host", "HOST",
          "Ask the daemon of another machine: [USER@]HOST, by ssh" },
        { OPTION_MACHINE, 'M', "machine", "NAME",
          "Ask the daemon of a local container" },
        { OPTION_FULL, 'l', "full", NULL,
          "Do not shorten columns to fit the terminal", .set = &arg_full },
        { OPTION_QUIET, 'q', "quiet", NULL,
          "Print only errors; the exit status tells", .set = &arg_quiet },
        { OPTION_POLICY, 0, "policy", "NAME",
          "These policies, separated by commas, or all", .value = &arg_policy },
        { OPTION_SIZE, 0, "size", "SIZE",
          "These sizes of the cache: % of all pages, or bytes", .value = &arg_size },
        { OPTION_BATCH, 0, "batch", "PAGES",
          "Evict this many pages at a time", .value = &arg_batch },
        { OPTION_OPTION, 0, "option", "NAME=VALUE",
          "Set a tunable of the policies; may be repeated" },
        { OPTION_FILES, 0, "files", "PATTERN=PRIORITY",
          "What is said of files; may be repeated" },
        { OPTION_LEVEL, 0, "level", "LEVEL:lru|mru",
          "What is said of a level; may be repeated" },
        { OPTION_DONE_WITH, 0, "done-with", "PATTERN",
          "Give back what is read; may be repeated" },
        { OPTION_ADMISSION, 0, "admission", NULL,
          "Turn on the admission filter of the policies", .set = &arg_admission },
        { OPTION_LEARNED, 0, "learned", "FILE",
          "Keep there what the policy learns", .value = &arg_learned },
        { OPTION_FORMAT, 0, "format", "FORMAT",
          "text, oracleGeneral, csv, blkparse or record", .value = &arg_format },
        { OPTION_METRICS, 0, "format", "FORMAT",
          "table, openmetrics or prometheus", .value = &arg_format },
        { OPTION_BY, 0, "by", "WHAT",
          "unit, or process: who hits and misses", .value = &arg_by },
        { OPTION_PLAIN, 'b', "batch", NULL,
          "Print tables one after the other, without a screen", .set = &arg_plain },
        { OPTION_DELAY, 'd', "delay", "TIME",
          "Time between updates, such as 500ms; default 1s" },
        { OPTION_ITERATIONS, 0, "iterations", "NUMBER",
          "End after this many updates; 0: never" },
        { OPTION_SORT, 0, "sort", "KEY",
          "unit, policy, cached, hits, misses, ratio, evictions", .value = &arg_sort },
        { OPTION_PLOT, 0, "plot", "FILE",
          "Draw the miss ratios into an SVG file", .value = &arg_plot },
        { OPTION_OUTPUT, 'o', "output", "PATH",
          "Write to this file, - (stdout), or directory", .value = &arg_output },
        { OPTION_INPUT, 0, "input", "FILE",
          "Take this trace, and record nothing", .value = &arg_input },
        { OPTION_DURATION, 0, "duration", "TIME",
          "Stop after this time, such as 30, 500ms, 10min, 2h" },
        { OPTION_READAHEAD, 0, "readahead", NULL,
          "Record also what the kernel reads ahead", .set = &arg_readahead },
        { OPTION_WINDOWS, 0, "readahead", "HOW",
          "Read ahead: stock, off, adaptive, or a largest size", .value = &arg_windows },
        { OPTION_TEXT, 0, "text", NULL,
          "Write the text form of the trace", .set = &arg_text },
        { OPTION_THREAD, 't', "thread", NULL,
          "The numbers are threads, not processes", .set = &arg_thread },
        { OPTION_PERSISTENT, 0, "persistent", NULL,
          "Beyond the next boot; reset: remove that, too", .set = &arg_persistent },
        { OPTION_DRY_RUN, 'n', "dry-run", NULL,
          "Only check, and show what would change", .set = &arg_dry_run },
        { OPTION_NO_BLOCK, 0, "no-block", NULL,
          "Do not wait until the change is in effect", .set = &arg_no_block },
        { OPTION_REASON, 0, "reason", "TEXT",
          "Reason, shown to those who look at the unit", .value = &arg_reason },
        { OPTION_ROOT, 0, "root", "DIR",
          "Check the files of the system below DIR", .value = &arg_root },
};

/* getopt's value for a long option: its line in the table. Above all letters. */
#define LONG_OPTION_BASE 0x100

static int parse_json_mode(const char *mode) {
        if (streq(mode, "pretty"))
                arg_json = SD_JSON_FORMAT_PRETTY | SD_JSON_FORMAT_NEWLINE;
        else if (streq(mode, "short"))
                arg_json = SD_JSON_FORMAT_NEWLINE;
        else if (streq(mode, "off"))
                arg_json = SD_JSON_FORMAT_OFF;
        else if (streq(mode, "help")) {
                puts("pretty\nshort\noff");
                return 1;
        } else
                return log_error_errno(EINVAL, "Option --json= takes pretty, short or off, not \"%s\".",
                                       mode);

        return 0;
}

static int parse_time(const char *option, const char *s, uint64_t *ret) {
        if (parse_time_span(s, ret) < 0 || *ret == 0)
                return log_error_errno(EINVAL, "Option --%s= takes a time such as 30, 500ms, 10min or 2h, "
                                       "not \"%s\".", option, s);

        return 0;
}

static int parse_iterations(const char *s) {
        if (safe_atou64(s, &arg_iterations) < 0 || arg_iterations == UINT64_MAX)
                return log_error_errno(EINVAL, "Option --iterations= takes a number, not \"%s\".", s);

        return 0;
}

/* What ssh is called with must not look like one of its options; nor may a colon end it early. */
static int parse_host(const char *s) {
        if (!*s || *s == '-' || strchr(s, ':') || strchr(s, '/'))
                return log_error_errno(EINVAL,
                                       "Option --host= takes HOST or USER@HOST, not \"%s\"; ssh_config(5) "
                                       "tells how to give other addresses and ports a name.", s);

        arg_host = s;
        return 0;
}

static int parse_machine(const char *s) {
        if (!*s || strchr(s, '/') || strchr(s, '@'))
                return log_error_errno(EINVAL,
                                       "Option --machine= takes the name of a container, not \"%s\".", s);

        arg_machine = s;

        return 0;
}

static int apply(size_t line) {
        if (options[line].set)
                *options[line].set = true;
        if (options[line].clear)
                *options[line].clear = false;
        if (options[line].value)
                *options[line].value = optarg;

        switch (options[line].mask) {

        case OPTION_JSON:
                return parse_json_mode(options[line].argument ? optarg :
                                       terminal_interactive() ? "pretty" : "short");

        case OPTION_HOST:
                return parse_host(optarg);

        case OPTION_MACHINE:
                return parse_machine(optarg);

        case OPTION_DELAY:
                return parse_time("delay", optarg, &arg_delay);

        case OPTION_DURATION:
                return parse_time("duration", optarg, &arg_duration);

        case OPTION_ITERATIONS:
                return parse_iterations(optarg);

        case OPTION_OPTION:
                arg_options = g_slist_append(arg_options, optarg);
                return 0;

        case OPTION_LEVEL:
                arg_levels = g_slist_append(arg_levels, optarg);
                return 0;

        case OPTION_FILES:
                arg_files = g_slist_append(arg_files, optarg);
                return 0;

        case OPTION_DONE_WITH:
                arg_done_with = g_slist_append(arg_done_with, optarg);
                return 0;

        default:
                return 0;
        }
}

/* getopt's own messages would name the program by its path and not say what to do. */
static int log_bad_option(char *argv[], int c) {
        if (c == ':')
                return log_error_errno(EINVAL, "Option \"%s\" needs a value; see \"cachectl --help\".",
                                       argv[optind - 1]);

        if (optopt >= LONG_OPTION_BASE)
                return log_error_errno(EINVAL, "Option --%s takes no value.",
                                       options[optopt - LONG_OPTION_BASE].name);

        if (optopt != 0)
                return log_error_errno(EINVAL, "Unknown option \"-%c\"; see \"cachectl --help\".", optopt);

        return log_error_errno(EINVAL, "Unknown or ambiguous option \"%s\"; see \"cachectl --help\".",
                               argv[optind - 1]);
}

static bool same_name(size_t a, size_t b) {
        return options[a].name && streq_ptr(options[a].name, options[b].name);
}

/* Whether a line before this one has the same name. */
static bool has_earlier_namesake(size_t line) {
        for (size_t i = 0; i < line; i++)
                if (same_name(i, line))
                        return true;

        return false;
}

/* The option of the same name that takes a value if this
 * one does not, and the other way round; SIZE_MAX: none. */
static size_t other_form(size_t line) {
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (same_name(i, line) && !options[i].argument != !options[line].argument)
                        return i;

        return SIZE_MAX;
}

/* "--batch 8", which getopt does not take for one option if the value may be left out. */
static void take_number(int argc, char *argv[]) {
        if (!optarg && optind < argc && *argv[optind] && !argv[optind][strspn(argv[optind], "0123456789")])
                optarg = argv[optind++];
}

/* How many arguments are behind "--". getopt moves arguments around, so it is found out from how they were
 * before; "--" can also be the value of an option. */
static size_t count_behind_dashes(char *const *before, size_t n_before, size_t n_values) {
        for (size_t i = 1; i < n_before; i++)
                if (streq(before[i], "--") && n_values-- == 0)
                        return n_before - i - 1;

        return 0;
}

int options_parse(int argc, char *argv[], OptionMask *ret_used) {
        struct option long_options[ELEMENTSOF(options) + 1] = {};
        char letters[2 * ELEMENTSOF(options) + 2] = ":";
        _cleanup_free_ char **before = NULL;
        size_t n_long = 0, n_letters = 1, n_dashes = 0;
        OptionMask used = 0;
        int c, r;

        assert(argv);
        assert(ret_used);

        for (size_t i = 0; i < ELEMENTSOF(options); i++) {
                if (options[i].name && !has_earlier_namesake(i))
                        long_options[n_long++] = (struct option) {
                                .name = options[i].name,
                                .has_arg = other_form(i) != SIZE_MAX ? optional_argument :
                                           options[i].argument ? required_argument : no_argument,
                                .val = LONG_OPTION_BASE + (int) i,
                        };
                if (options[i].letter) {
                        letters[n_letters++] = options[i].letter;
                        /* A letter alone stands for a fixed value. */
                        if (options[i].argument && options[i].name)
                                letters[n_letters++] = ':';
                }
        }

        before = g_memdup2(argv, (size_t) argc * sizeof(*before));

        opterr = 0;
        while ((c = getopt_long(argc, argv, letters, long_options, NULL)) >= 0) {
                size_t line = SIZE_MAX;

                if (c >= LONG_OPTION_BASE) {
                        size_t other;

                        line = (size_t) c - LONG_OPTION_BASE;
                        other = other_form(line);
                        if (other != SIZE_MAX) {
                                take_number(argc, argv);
                                if (!optarg != !options[line].argument)
                                        line = other;
                        }
                } else
                        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                                if (options[i].letter == c)
                                        line = i;

                if (line == SIZE_MAX)
                        return log_bad_option(argv, c);

                n_dashes += optarg && optarg == argv[optind - 1] && streq(optarg, "--");
                r = apply(line);
                if (r != 0)
                        return r;

                used |= options[line].mask;
        }

        if (arg_host && arg_machine)
                return log_error_errno(EINVAL, "It can be --host= or --machine=, not both.");

        n_arg_command = count_behind_dashes(before, (size_t) argc, n_dashes);
        *ret_used = used;
        return 0;
}

bool option_is_among(OptionMask option, OptionMask mask) {
        const char *name = option_name(option);

        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (options[i].mask & mask && options[i].name && streq(options[i].name, name + STRLEN("--")))
                        return true;

        return false;
}

const char *option_name(OptionMask option) {
        static char name[64];

        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (options[i].mask == option) {
                        (void) snprintf(name, sizeof(name), "--%s", options[i].name);
                        return name;
                }

        abort(); /* the mask comes from the table */
}

void options_print_help(OptionMask mask) {
        for (size_t i = 0; i < ELEMENTSOF(options); i++) {
                char letter[] = "  ", name[64] = "";

                if (!(options[i].mask & mask))
                        continue;

                if (options[i].letter) {
                        letter[0] = '-';
                        letter[1] = options[i].letter;
                }
                if (options[i].name)
                        (void) snprintf(name, sizeof(name), "--%s%s%s",
                                        options[i].name,
                                        options[i].argument ? "=" : "",
                                        options[i].argument ?: "");

                printf("  %s %-19s %s\n", letter, name, options[i].help);
        }
}
