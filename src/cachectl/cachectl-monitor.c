/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "format-time.h"
#include "model.h"
#include "objects.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "text.h"
#include "verbs.h"

typedef struct Watch {
        char **patterns;
        size_t n_patterns;
} Watch;

/* Whoever reads a stream wants each line at once, and to hear no more when he is gone. */
static int flush(void) {
        if (fflush(stdout) != 0 || ferror(stdout))
                return log_error_errno(errno, "Cannot write the output: %m");

        return 0;
}

static int print_json(sd_json_variant *v) {
        int r;

        r = sd_json_variant_dump(v, arg_json, stdout, /* prefix= */ NULL);
        if (r < 0)
                return log_error_errno(r, "Cannot write JSON: %m");

        return flush();
}

/* "web.slice: failed, lfu configured: it is no BPF object file (/etc/…:3)" */
static int print_unit(const char *change, sd_json_variant *v) {
        _cleanup_free_ char *name = NULL, *shown = NULL, *policy = NULL, *reason = NULL, *time = NULL;
        UnitInfo u;
        int r;

        r = unit_info_parse(v, &u);
        if (r < 0)
                return r;

        time = format_timestamp(g_get_real_time());
        name = text_escape(u.unit);
        shown = unit_info_policy(&u);
        policy = text_escape(shown ?: u.configured ?: "-");
        reason = text_escape(strempty(u.reason));
        printf("%s %s %s: %s%s%s %s%s%s%s\n", time, change, name,
               color_on(state_color(u.state)), strempty(u.state), color_off(state_color(u.state)), policy,
               unit_info_contradicted(&u) ? ", the kernel says otherwise" : "", *reason ? ": " : "", reason);
        return flush();
}

static int print_removed(const char *unit) {
        _cleanup_free_ char *name = text_escape(unit), *time = format_timestamp(g_get_real_time());

        printf("%s removed %s\n", time, name);
        return flush();
}

static int on_change(sd_json_variant *v, void *userdata) {
        const Watch *w = ASSERT_PTR(userdata);
        const char *change = json_string(v, "change"), *name = json_string(v, "name");
        sd_json_variant *unit = sd_json_variant_by_key(v, "unit");

        if (!change)
                return log_error_errno(EBADMSG, "cachebpfd sent a change without its kind.");
        if (name && !objects_name_matches(&object_kind_unit, name, w->patterns, w->n_patterns))
                return 0;

        if (json_wanted())
                return print_json(v);

        /* What was there already is for programs: people can ask for it, and wait for news here. */
        if (streq(change, "listed"))
                return 0;
        if (unit && !sd_json_variant_is_null(unit))
                return print_unit(change, unit);

        return name ? print_removed(name) : 0;
}

int verb_monitor(char **patterns, size_t n_patterns) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        Watch w = {
                .patterns = patterns,
                .n_patterns = n_patterns,
        };
        int r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        /* It can take long until something happens. */
        r = sd_varlink_set_relative_timeout(link, UINT64_MAX);
        if (r < 0)
                return log_error_errno(r, "Cannot wait for cachebpfd: %m");

        if (!json_wanted() && !arg_quiet && terminal_interactive())
                log_info("Waiting for changes, until Ctrl-C.");

        r = client_call_more(link, CACHEBPF_VARLINK_INTERFACE ".Monitor", NULL, on_change, &w);
        return r < 0 ? r : EXIT_SUCCESS;
}
