/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "options.h"

static int set_number(const Option *option, const char *text) {
        unsigned long long v;
        char *end;

        errno = 0;
        v = strtoull(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || *text == '-' || v < option->min || v > option->max)
                return log_error(-EINVAL, "--%s=%s: not a number from %" PRIu64 " to %" PRIu64,
                                 option->name, text, option->min, option->max);

        *option->number = v;
        return 0;
}

static int set(const Option *option, const char *text) {
        if (option->number)
                return set_number(option, text);
        if (option->parse)
                return option->parse(text, option->target);
        if (option->text)
                *option->text = text;
        else
                *option->flag = true;
        return 0;
}

int options_parse(int argc, char *argv[], const Option *options, size_t n, void (*help)(void)) {
        _cleanup_free_ struct option *known = calloc(n + 2, sizeof(struct option));
        int c, index, r;

        if (!known)
                return log_error(-ENOMEM, "out of memory");

        for (size_t i = 0; i < n; i++)
                known[i] = (struct option) {
                        .name = options[i].name,
                        .has_arg = options[i].flag ? no_argument : required_argument,
                };
        known[n] = (struct option) { "help", no_argument, NULL, 'h' };

        while ((c = getopt_long(argc, argv, "h", known, &index)) >= 0)
                switch (c) {
                case 0:
                        r = set(&options[index], optarg);
                        if (r < 0)
                                return r;
                        break;
                case 'h':
                        help();
                        return 1;
                default:
                        return -EINVAL;
                }

        return 0;
}

int option_theta(const char *text, void *target) {
        char *end;
        double v;

        errno = 0;
        v = strtod(text, &end);
        if (errno != 0 || end == text || *end != '\0' || !(v > 0.0 && v < 1.0))
                return log_error(-EINVAL, "--zipf=%s: the skew is a number between 0 and 1", text);

        *(double *) target = v;
        return 0;
}

int options_verb(
                int argc,
                char *argv[],
                const Verb verbs[static 2],
                const char *what,
                const char **ret_object) {

        if (argc - optind != 2)
                return log_error(-EINVAL, "a verb and a %s are needed, see --help", what);

        for (unsigned i = 0; i < 2; i++) {
                if (strcmp(argv[optind], verbs[i].name) != 0)
                        continue;
                if (verbs[i].value == 0)
                        return log_error(-EINVAL, "--%s= is needed", verbs[i].needs);
                *ret_object = argv[optind + 1];
                return (int) i;
        }

        return log_error(-EINVAL, "unknown verb \"%s\": %s or %s", argv[optind], verbs[0].name,
                         verbs[1].name);
}
