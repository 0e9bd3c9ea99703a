/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroup.h"
#include "choice.h"
#include "client.h"
#include "exit-codes.h"
#include "format-time.h"
#include "model.h"
#include "objects.h"
#include "options.h"
#include "output.h"
#include "pager.h"
#include "replay.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "shared/unit-state.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "text.h"
#include "verbs.h"

static void print_heading(const char *glyph, TerminalColor color, const char *name, const char *state) {
        _cleanup_free_ char *escaped = text_escape(name);

        printf("%s%s%s %s: %s%s%s\n",
               color_on(color), glyph, color_off(color),
               escaped,
               color_on(color), state, color_off(color));
}

/* A line may also say that there is none. */
static void add_configured(Table *t, const UnitInfo *u) {
        if (u->source)
                details_addf(t, "Configured", "%s (%s)", u->configured ?: "the stock policy", u->source);
        else
                details_add(t, "Configured", u->configured ?: "-");
}

static void add_words(Table *t, const char *name, sd_json_variant *words) {
        _cleanup_free_ char *text = json_join_strings(words, " ");

        details_add(t, name, empty_to_null(text));
}

/* "CachePolicy=mru by backup (PID 123), 5min ago: every night" */
static int add_hold(Table *t, sd_json_variant *v) {
        _cleanup_free_ char *settings = NULL, *since = NULL;
        HoldInfo h;
        int r;

        r = hold_info_parse(v, &h);
        if (r < 0)
                return r;

        settings = json_join_strings(h.settings, " ");
        if (h.since_usec != UINT64_MAX)
                since = format_relative(h.since_usec, g_get_real_time());

        details_addf(t, "Held", "%s by %s (PID %" PRIu64 "), %s%s%s", settings, h.program, h.process,
                     strna(since), h.reason ? ": " : "", strempty(h.reason));
        return 0;
}

static int add_holds(Table *t, sd_json_variant *holds) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < sd_json_variant_elements(holds); i++)
                r = add_hold(t, sd_json_variant_by_index(holds, i));

        return r;
}

/* What the kernel says, and loudly if it says something else than the daemon. */
static void add_verified(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *text = NULL;

        if (unit_info_contradicted(u)) {
                text = g_strdup_printf("%s (the kernel contradicts the daemon)", u->verified);
                details_add_colored(t, "Verified", COLOR_BAD, text);
        } else if (u->verified && u->policy_id != UINT64_MAX && !streq(u->verified, "none"))
                details_addf(t, "Verified", "%s (id %" PRIu64 " in the kernel)", u->verified, u->policy_id);
        else
                details_add(t, "Verified", u->verified ?: "-");
}

static void add_revoked(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *managers = json_join_strings(u->revoked, " ");

        details_add_colored(t, "Revoked", COLOR_WARNING, empty_to_null(managers));
}

static void add_since(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *absolute = NULL, *relative = NULL;

        if (u->since_usec == UINT64_MAX)
                return;

        absolute = format_timestamp(u->since_usec);
        relative = format_relative(u->since_usec, g_get_real_time());
        details_addf(t, "Since", "%s; %s", absolute, relative);
}

static void add_cgroup(Table *t, const UnitInfo *u) {
        if (u->cgroup && u->cgroup_id != UINT64_MAX)
                details_addf(t, "CGroup", "%s (id %" PRIu64 ")", u->cgroup, u->cgroup_id);
        else
                details_add(t, "CGroup", u->cgroup);
}

/* What CachePolicy=auto chose, if it did. */
static int add_choice(Table *t, const UnitInfo *u) {
        return u->choice ? choice_add_details(u->choice, t) : 0;
}

static int print_unit(const UnitInfo *u) {
        _cleanup_(table_freep) Table *t = details_new();
        _cleanup_free_ char *policy = NULL;
        int r;

        add_configured(t, u);
        add_words(t, "Options", u->options);
        add_words(t, "Scan threads", u->scan_threads);
        add_words(t, "Admission", u->admission);
        details_add(t, "Readahead", u->readahead);
        r = u->replay ? replay_add_details(u->replay, t) : 0;
        if (r >= 0)
                r = add_holds(t, u->holds);
        if (r < 0)
                return r;
        policy = unit_info_policy(u);
        details_addf(t, "Effective", "%s%s", policy ?: "-",
                     u->effective && u->adopted > 0 ? " (adopted from an earlier daemon)" : "");
        add_verified(t, u);
        r = add_choice(t, u);
        if (r < 0)
                return r;
        add_revoked(t, u);
        details_add_colored(t, "Reason", state_color(u->state), u->reason);
        add_since(t, u);
        add_cgroup(t, u);

        print_heading(state_glyph(u->state), state_color(u->state), u->unit, u->state);
        details_print(t);
        return u->choice ? choice_print_candidates(u->choice) : 0;
}

static void add_kernel(Table *t, const ManagerInfo *m) {
        _cleanup_free_ char *features = json_join_strings(m->kernel_features, " ");

        if (!m->kernel_support)
                details_add_colored(t, "Kernel", COLOR_BAD,
                                    m->kernel_reason ?: "the running kernel has no cachebpf support");
        else if (m->kernel_abi == UINT64_MAX)
                details_add(t, "Kernel", "supports cachebpf");
        else
                details_addf(t, "Kernel", "supports cachebpf, ABI %" PRIu64 "%s%s%s",
                             m->kernel_abi, *features ? " (" : "", features, *features ? ")" : "");
}

/* "2 policies attached, 5 detached": the counters of the kernel, whatever they are. */
static void add_kernel_counters(Table *t, const ManagerInfo *m) {
        _cleanup_gstring_ GString *text = g_string_new(NULL);
        const char *name;
        uint64_t value;

        for (size_t i = 0; json_next_counter(m->kernel_stat, &i, &name, &value);)
                g_string_append_printf(text, "%s%" PRIu64 " %s", text->len > 0 ? ", " : "", value, name);

        details_add(t, "In kernel", empty_to_null(text->str));
}

static void add_units(Table *t, const ManagerInfo *m) {
        uint64_t failed = m->units_failed != UINT64_MAX ? m->units_failed : 0;
        _cleanup_free_ char *text = NULL;

        if (m->units_configured == UINT64_MAX)
                return;

        text = g_strdup_printf("%" PRIu64 " configured, %" PRIu64 " attached, %" PRIu64 " failed",
                               m->units_configured, m->units_attached != UINT64_MAX ? m->units_attached : 0,
                               failed);
        details_add_colored(t, "Units", failed > 0 ? COLOR_BAD : COLOR_NONE, text);
}

static void print_manager(const ManagerInfo *m) {
        _cleanup_free_ char *name = g_strdup_printf("cachebpfd %s", m->version);
        _cleanup_(table_freep) Table *t = details_new();
        const char *state = unit_state_to_string(m->kernel_support ? UNIT_ATTACHED : UNIT_UNSUPPORTED);

        add_kernel(t, m);
        add_kernel_counters(t, m);
        add_units(t, m);
        add_words(t, "Policies", m->policy_directories);

        print_heading(state_glyph(state), state_color(state), name,
                      m->kernel_support ? "running" : "running, read-only");
        details_print(t);
}

static int show_json(sd_json_variant *manager, const GPtrArray *units) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL, *v = NULL;
        int r;

        r = objects_to_json(units, &array);
        if (r >= 0)
                r = sd_json_buildo(&v,
                                   SD_JSON_BUILD_PAIR_VARIANT("manager", manager),
                                   SD_JSON_BUILD_PAIR_VARIANT("units", array));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        return output_json(v);
}

static int show(sd_json_variant *manager, const GPtrArray *units, bool with_manager) {
        bool show_manager;
        ManagerInfo m;
        int r;

        if (arg_quiet)
                return 0;

        if (json_wanted())
                return show_json(manager, units);

        r = manager_info_parse(manager, &m);
        if (r < 0)
                return r;

        if (arg_pager)
                pager_open();

        /* Asked about units, the daemon is of interest only if it cannot work. */
        show_manager = with_manager || !m.kernel_support;
        if (show_manager)
                print_manager(&m);

        for (guint i = 0; i < units->len; i++) {
                UnitInfo u;

                r = unit_info_parse(units->pdata[i], &u);
                if (r < 0)
                        return r;

                if (i > 0 || show_manager)
                        putchar('\n');

                r = print_unit(&u);
                if (r < 0)
                        return r;

                if (!with_manager && !arg_host && unit_needs_reload(u.unit))
                        printf("Its files have changed on disk: "
                               "\"systemctl daemon-reload\" makes that known.\n");
        }

        return 0;
}

static int all_in_effect(const GPtrArray *units) {
        int r;

        for (guint i = 0; i < units->len; i++) {
                UnitInfo u;

                r = unit_info_parse(units->pdata[i], &u);
                if (r < 0)
                        return r;

                if (!unit_info_in_effect(&u))
                        return false;
        }

        return true;
}

int verb_status(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *manager = NULL;
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        size_t unknown;
        int r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".GetStatus", NULL, &manager);
        if (r < 0)
                return r;

        r = objects_fetch(link, &object_kind_unit, names, n_names, &units, &unknown);
        if (r < 0)
                return r;

        r = show(manager, units, /* with_manager= */ n_names == 0);
        if (r < 0)
                return r;

        if (unknown > 0)
                return EXIT_UNKNOWN;
        if (n_names == 0)
                return EXIT_SUCCESS;

        r = all_in_effect(units);
        if (r < 0)
                return r;
        return r > 0 ? EXIT_SUCCESS : EXIT_NOT_IN_EFFECT;
}
