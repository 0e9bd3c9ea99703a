/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What managers of the trace say: --level= and --files=. */

#include <errno.h>
#include <fnmatch.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "advice-options.h"
#include "lib/advice.bpf.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "simulate-setup.h"

static int32_t advice_of(enum advice what, int level, int more) {
        return ADVICE | (int32_t) what << 8 | (level + LEVEL_DEFAULT) << 4 | more;
}

static void say(Simulation *s, uint8_t manager, int32_t advice, uint32_t file) {
        SimAdvice a = { .manager = manager, .advice = advice, .file = file };

        g_array_append_val(s->advice, a);
}

/* "NAME/REST" is for one manager, everything else for all. Returns REST. */
static const char *split_manager(const Simulation *s, const char *text, char **ret_name) {
        const char *slash = strchr(text, '/');

        *ret_name = slash ? g_strndup(text, slash - text) : NULL;
        if (!*ret_name)
                return text;
        for (size_t i = 1; i <= TRACE_MAX_MANAGERS && s->trace->manager_names[i]; i++)
                if (streq(s->trace->manager_names[i], *ret_name))
                        return slash + 1;

        *ret_name = mfree(*ret_name);
        return text;
}

/* Is the manager one of those that are meant? Number 0 is whoever is not named in the trace. */
static bool is_meant(const Simulation *s, size_t manager, const char *name) {
        const char *own = s->trace->manager_names[manager];

        if (manager > 0 && !own)
                return false;
        return !name || streq_ptr(own, name);
}

/* [MANAGER/]LEVEL:lru|mru */
static int setup_level(Simulation *s, const char *text) {
        _cleanup_free_ char *name = NULL;
        const char *rest = split_manager(s, text, &name), *slash = strchr(rest, '/');
        int number, r;
        bool mru;

        if (slash)
                return log_error_errno(EINVAL, "Option --level=: the trace has no manager \"%.*s\".",
                                       (int) (slash - rest), rest);
        r = parse_level_option(rest, &number, &mru);
        if (r < 0)
                return r;

        for (size_t i = 0; i <= TRACE_MAX_MANAGERS; i++)
                if (is_meant(s, i, name))
                        say(s, i, advice_of(ADVICE_SET_REPLACEMENT, number, mru), 0);
        return 0;
}

/* [MANAGER/]PATTERN=PRIORITY */
static int setup_files(Simulation *s, const char *text) {
        _cleanup_free_ char *name = NULL, *pattern = NULL;
        const char *rest = split_manager(s, text, &name);
        bool found = false;
        int level, r;

        r = parse_files_option(rest, &pattern, &level);
        if (r < 0)
                return r;

        for (size_t i = 0; i < s->trace->n_files; i++) {
                if (fnmatch(pattern, s->trace->files[i], 0) != 0)
                        continue;
                found = true;
                for (size_t k = 0; k <= TRACE_MAX_MANAGERS; k++)
                        if (is_meant(s, k, name))
                                say(s, k, advice_of(ADVICE_SET_PRIORITY, level, 0), i);
        }
        if (!found)
                return log_error_errno(EINVAL, "Option --files=: no file of the trace is called \"%s\".",
                                       pattern);
        return 0;
}

int simulation_setup_managers(Simulation *s) {
        int r = 0;

        s->advice = g_array_new(FALSE, FALSE, sizeof(SimAdvice));
        for (GSList *l = arg_levels; r >= 0 && l; l = l->next)
                r = setup_level(s, l->data);
        for (GSList *l = arg_files; r >= 0 && l; l = l->next)
                r = setup_files(s, l->data);
        return r;
}
