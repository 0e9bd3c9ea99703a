/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroup.h"
#include "client.h"
#include "exit-codes.h"
#include "format-time.h"
#include "model.h"
#include "objects.h"
#include "options.h"
#include "output.h"
#include "pager.h"
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
               escaped ?: name,
               color_on(color), state, color_off(color));
}

static int add_configured(Table *t, const UnitInfo *u) {
        if (!u->configured)
                return details_add(t, "Configured", "-");

        return details_addf(t, "Configured", "%s%s%s%s",
                            u->configured, u->source ? " (" : "", u->source ?: "", u->source ? ")" : "");
}

static int add_words(Table *t, const char *name, sd_json_variant *words) {
        _cleanup_free_ char *text = json_join_strings(words, " ");

        return text ? details_add(t, name, empty_to_null(text)) : log_oom();
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
        since = h.since_usec == UINT64_MAX ? strdup("n/a") :
                                             format_relative(h.since_usec, now_realtime_usec());
        if (!settings || !since)
                return log_oom();

        return details_addf(t, "Held", "%s by %s (PID %" PRIu64 "), %s%s%s", settings, h.program, h.process,
                            since, h.reason ? ": " : "", strempty(h.reason));
}

static int add_holds(Table *t, sd_json_variant *holds) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < sd_json_variant_elements(holds); i++)
                r = add_hold(t, sd_json_variant_by_index(holds, i));

        return r;
}

/* What the kernel says, and loudly if it says something else than the daemon. */
static int add_verified(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *text = NULL;

        if (!u->verified)
                return details_add(t, "Verified", "-");

        if (unit_info_contradicted(u)) {
                if (asprintf(&text, "%s (the kernel contradicts the daemon)", u->verified) < 0) {
                        text = NULL;
                        return log_oom();
                }

                return details_add_colored(t, "Verified", COLOR_BAD, text);
        }

        if (u->policy_id != UINT64_MAX && !streq(u->verified, "none"))
                return details_addf(t, "Verified", "%s (id %" PRIu64 " in the kernel)",
                                    u->verified, u->policy_id);

        return details_add(t, "Verified", u->verified);
}

static int add_since(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *absolute = NULL, *relative = NULL;

        if (u->since_usec == UINT64_MAX)
                return 0;

        absolute = format_timestamp(u->since_usec);
        relative = format_relative(u->since_usec, now_realtime_usec());
        if (!absolute || !relative)
                return log_oom();

        return details_addf(t, "Since", "%s; %s", absolute, relative);
}

static int add_cgroup(Table *t, const UnitInfo *u) {
        if (!u->cgroup)
                return 0;
        if (u->cgroup_id == UINT64_MAX)
                return details_add(t, "CGroup", u->cgroup);

        return details_addf(t, "CGroup", "%s (id %" PRIu64 ")", u->cgroup, u->cgroup_id);
}

static int print_unit(const UnitInfo *u) {
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = details_new(&t);
        if (r < 0)
                return r;

        r = add_configured(t, u);
        if (r >= 0)
                r = add_words(t, "Options", u->options);
        if (r >= 0)
                r = add_words(t, "Scan threads", u->scan_threads);
        if (r >= 0)
                r = add_words(t, "Admission", u->admission);
        if (r >= 0)
                r = add_holds(t, u->holds);
        if (r < 0)
                return r;

        r = details_addf(t, "Effective", "%s%s", u->effective ?: "-",
                         u->effective && u->adopted > 0 ? " (adopted from an earlier daemon)" : "");
        if (r < 0)
                return r;

        r = add_verified(t, u);
        if (r < 0)
                return r;

        r = details_add_colored(t, "Reason", state_color(u->state), u->reason);
        if (r < 0)
                return r;

        r = add_since(t, u);
        if (r < 0)
                return r;

        r = add_cgroup(t, u);
        if (r < 0)
                return r;

        print_heading(state_glyph(u->state), state_color(u->state), u->unit, u->state);
        return output_details(t);
}

static int add_kernel(Table *t, const ManagerInfo *m) {
        _cleanup_free_ char *features = NULL;

        if (!m->kernel_support)
                return details_add_colored(t, "Kernel", COLOR_BAD,
                                           m->kernel_reason ?: "the running kernel has no cachebpf support");

        features = json_join_strings(m->kernel_features, " ");
        if (!features)
                return log_oom();

        if (m->kernel_abi == UINT64_MAX)
                return details_add(t, "Kernel", "supports cachebpf");

        return details_addf(t, "Kernel", "supports cachebpf, ABI %" PRIu64 "%s%s%s",
                            m->kernel_abi, *features ? " (" : "", features, *features ? ")" : "");
}

/* "2 policies attached, 5 detached": the counters of the kernel, whatever they are. */
static int add_kernel_counters(Table *t, const ManagerInfo *m) {
        _cleanup_free_ char *text = NULL;

        for (size_t i = 0; i + 1 < sd_json_variant_elements(m->kernel_stat); i += 2) {
                sd_json_variant *value = sd_json_variant_by_index(m->kernel_stat, i + 1);
                char *longer;

                if (!sd_json_variant_is_unsigned(value))
                        continue;

                if (asprintf(&longer, "%s%s%" PRIu64 " %s",
                             text ?: "", text ? ", " : "",
                             sd_json_variant_unsigned(value),
                             sd_json_variant_string(sd_json_variant_by_index(m->kernel_stat, i))) < 0)
                        return log_oom();

                free(text);
                text = longer;
        }

        return details_add(t, "In kernel", text);
}

static int add_units(Table *t, const ManagerInfo *m) {
        uint64_t failed = m->units_failed != UINT64_MAX ? m->units_failed : 0;
        _cleanup_free_ char *text = NULL;

        if (m->units_configured == UINT64_MAX)
                return 0;

        if (asprintf(&text, "%" PRIu64 " configured, %" PRIu64 " attached, %" PRIu64 " failed",
                     m->units_configured,
                     m->units_attached != UINT64_MAX ? m->units_attached : 0,
                     failed) < 0) {
                text = NULL;
                return log_oom();
        }

        return details_add_colored(t, "Units", failed > 0 ? COLOR_BAD : COLOR_NONE, text);
}

static int print_manager(const ManagerInfo *m) {
        _cleanup_free_ char *directories = NULL, *name = NULL;
        _cleanup_(table_freep) Table *t = NULL;
        const char *state = unit_state_to_string(m->kernel_support ? UNIT_ATTACHED : UNIT_UNSUPPORTED);
        int r;

        r = details_new(&t);
        if (r < 0)
                return r;

        r = add_kernel(t, m);
        if (r < 0)
                return r;

        r = add_kernel_counters(t, m);
        if (r < 0)
                return r;

        r = add_units(t, m);
        if (r < 0)
                return r;

        directories = json_join_strings(m->policy_directories, " ");
        if (!directories)
                return log_oom();

        r = details_add(t, "Policies", *directories ? directories : NULL);
        if (r < 0)
                return r;

        if (asprintf(&name, "cachebpfd %s", m->version) < 0) {
                name = NULL;
                return log_oom();
        }

        print_heading(state_glyph(state), state_color(state), name,
                      m->kernel_support ? "running" : "running, read-only");
        return output_details(t);
}

static int show_json(sd_json_variant *manager, const ObjectList *units) {
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

static int show(sd_json_variant *manager, const ObjectList *units, bool with_manager) {
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
        if (show_manager) {
                r = print_manager(&m);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < units->n; i++) {
                UnitInfo u;

                r = unit_info_parse(units->items[i], &u);
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

static int all_in_effect(const ObjectList *units) {
        int r;

        for (size_t i = 0; i < units->n; i++) {
                UnitInfo u;

                r = unit_info_parse(units->items[i], &u);
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
        _cleanup_(object_list_done) ObjectList units = {};
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

        r = show(manager, &units, /* with_manager= */ n_names == 0);
        if (r < 0)
                return r;

        if (unknown > 0)
                return EXIT_UNKNOWN;
        if (n_names == 0)
                return EXIT_SUCCESS;

        r = all_in_effect(&units);
        if (r < 0)
                return r;
        return r > 0 ? EXIT_SUCCESS : EXIT_NOT_IN_EFFECT;
}
