/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "config/unit-file.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "settings.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "shared/unit-state.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "text.h"
#include "verbs.h"

/* ---- what set and reset have in common */

/* Returns 0, a negative errno, or the exit status for what was wrong with the question; all logged. */
static int call(sd_varlink *link, const char *method, const char *unit, sd_json_variant *settings,
                sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        int r;

        r = sd_json_buildo(&parameters,
                           SD_JSON_BUILD_PAIR_STRING("unit", unit),
                           SD_JSON_BUILD_PAIR_CONDITION(!!settings, "settings",
                                                        SD_JSON_BUILD_VARIANT(settings)),
                           SD_JSON_BUILD_PAIR_BOOLEAN("persistent", arg_persistent),
                           SD_JSON_BUILD_PAIR_BOOLEAN("dryRun", arg_dry_run),
                           SD_JSON_BUILD_PAIR_BOOLEAN("wait", !arg_no_block),
                           SD_JSON_BUILD_PAIR_BOOLEAN("allowInteractiveAuthentication", true));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        r = client_call(link, method, parameters, ret);
        if (r == -ESRCH) {
                log_error("There is no unit \"%s\".", unit);
                return EXIT_UNKNOWN;
        }
        return r == -EINVAL ? EXIT_USAGE : r;
}

static int connect_to_change(sd_varlink **ret) {
        return arg_dry_run ? client_connect(ret) : client_connect_asking(ret);
}

static void print_files(sd_json_variant *reply, const char *done) {
        sd_json_variant *files = sd_json_variant_by_key(reply, "files");

        for (size_t i = 0; i < sd_json_variant_elements(files); i++) {
                _cleanup_free_ char *file =
                        text_escape(sd_json_variant_string(sd_json_variant_by_index(files, i)));

                printf("%s %s.\n", done, file);
        }
}

/* What would hold then. */
static int print_lines(const char *unit, sd_json_variant *reply) {
        _cleanup_(table_freep) Table *t = settings_table_new();

        settings_table_add(t, unit, sd_json_variant_by_key(reply, "settings"));
        return output_table(t, "line", "lines");
}

/* Returns the exit status for what came of a change. */
static int check_state(const char *unit, sd_json_variant *reply) {
        switch (unit_state_from_string(json_string(reply, "state"))) {

        case UNIT_FAILED:
        case UNIT_LOST:
        case UNIT_UNSUPPORTED: {
                _cleanup_free_ char *why = text_escape(json_string(reply, "reason") ?: "failed");

                log_error("The policy of %s is not in effect: %s.", unit, why);
                return EXIT_NOT_IN_EFFECT;
        }

        case UNIT_PENDING:
                log_error("cachebpfd is still working on %s; "
                          "\"cachectl status %s\" shows the result.",
                          unit, unit);
                return EXIT_NOT_IN_EFFECT;

        default: /* there is none if it was not waited for */
                return EXIT_SUCCESS;
        }
}

const char *settings_name_in_reply(const char *unit, sd_json_variant *reply) {
        return json_string(reply, "unit") ?: unit;
}

/* ---- set */

int settings_build(char **words, size_t n_words, sd_json_variant **ret) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n_words; i++) {
                g_autofree char *s = strchr(words[i], '=') ? g_strdup(words[i])
                                                           : g_strdup_printf("CachePolicy=%s", words[i]);

                r = sd_json_variant_append_arrayb(ret, SD_JSON_BUILD_STRING(s));
        }

        return r < 0 ? log_error_errno(r, "Cannot build JSON: %m") : 0;
}

static bool sets_key(sd_json_variant *assignments, const char *key) {
        for (size_t i = 0; i < sd_json_variant_elements(assignments); i++) {
                const char *a = sd_json_variant_string(sd_json_variant_by_index(assignments, i));
                const char *rest = startswith(a, key);

                if (rest && *rest == '=')
                        return true;
        }

        return false;
}

/* Only holds are stronger than what was set. Returns the exit status for that. */
static int check_stronger(const char *unit, sd_json_variant *assignments, sd_json_variant *reply) {
        sd_json_variant *settings = sd_json_variant_by_key(reply, "settings");
        int status = EXIT_SUCCESS;

        for (size_t i = 0; i < sd_json_variant_elements(settings); i++) {
                SettingInfo line = setting_info(sd_json_variant_by_index(settings, i));
                _cleanup_free_ char *source = NULL;

                if (!line.effective || !streq(line.layer, "hold") || !sets_key(assignments, line.key))
                        continue;

                source = text_escape(line.source);
                log_error("What was set for %s takes effect after this hold ends: %s=%s (%s).", unit,
                          line.key, line.value, source);
                status = EXIT_NOT_IN_EFFECT;
        }

        return status;
}

int verb_set(char **arguments, size_t n_arguments) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *settings = NULL, *reply = NULL;
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_free_ char *unit = unit_name_mangle(arguments[0]);
        const char *name;
        int r;

        for (size_t i = 1; i < n_arguments; i++)
                if (!g_utf8_validate(arguments[i], -1, NULL)) {
                        log_error("A setting is not valid UTF-8.");
                        return EXIT_USAGE;
                }

        r = settings_build(arguments + 1, n_arguments - 1, &settings);
        if (r >= 0)
                r = connect_to_change(&link);
        if (r < 0)
                return r;

        r = call(link, CACHEBPF_VARLINK_INTERFACE ".SetUnitSettings", unit, settings, &reply);
        if (r != 0)
                return r;

        name = settings_name_in_reply(unit, reply);
        if (!arg_quiet)
                print_files(reply, arg_dry_run ? "Would change" : "Changed");
        if (arg_dry_run && !arg_quiet)
                return print_lines(name, reply);

        if (!arg_quiet && unit_state_from_string(json_string(reply, "state")) == UNIT_INACTIVE)
                printf("%s is not active: it gets its policy when it is started.\n", name);

        r = check_state(name, reply);
        return r != EXIT_SUCCESS ? r : check_stronger(name, settings, reply);
}

/* ---- reset */

/* There are persistent settings, which were not to be removed. */
static bool stays(sd_json_variant *reply) {
        sd_json_variant *settings = sd_json_variant_by_key(reply, "settings");

        for (size_t i = 0; i < sd_json_variant_elements(settings); i++)
                if (streq_ptr(json_string(sd_json_variant_by_index(settings, i), "layer"), "persistent"))
                        return true;

        return false;
}

static int reset_one(sd_varlink *link, const char *name) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *reply = NULL;
        _cleanup_free_ char *asked = unit_name_mangle(name);
        const char *unit;
        int r;

        r = call(link, CACHEBPF_VARLINK_INTERFACE ".ResetUnit", asked, /* settings= */ NULL, &reply);
        if (r != 0)
                return r;
        unit = settings_name_in_reply(asked, reply);
        if (arg_quiet)
                return check_state(unit, reply);

        if (sd_json_variant_elements(sd_json_variant_by_key(reply, "files")) == 0)
                printf("Nothing is set for %s%s.\n", unit, stays(reply) ? " until the next boot" : "");
        print_files(reply, arg_dry_run ? "Would remove" : "Removed");
        if (stays(reply))
                printf("The persistent settings of %s are still in effect; "
                       "\"cachectl reset --persistent %s\" removes them.\n",
                       unit, unit);
        return arg_dry_run ? print_lines(unit, reply) : check_state(unit, reply);
}

int verb_reset(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        int r, status = EXIT_SUCCESS;

        r = connect_to_change(&link);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_names; i++) {
                r = reset_one(link, names[i]);
                if (r < 0)
                        return r;
                status = MAX(status, r);
        }

        return status;
}

/* ---- forget */

static int forget_one(sd_varlink *link, const char *name) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL, *reply = NULL;
        _cleanup_free_ char *asked = unit_name_mangle(name);
        int r;

        r = sd_json_buildo(&parameters,
                           SD_JSON_BUILD_PAIR_STRING("unit", asked),
                           SD_JSON_BUILD_PAIR_BOOLEAN("allowInteractiveAuthentication", true));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".ForgetUnit", parameters, &reply);
        if (r == -ESRCH) {
                log_error("There is no unit \"%s\".", asked);
                return EXIT_UNKNOWN;
        }
        if (r < 0)
                return r == -EINVAL ? EXIT_USAGE : r;
        if (arg_quiet)
                return EXIT_SUCCESS;

        if (sd_json_variant_elements(sd_json_variant_by_key(reply, "files")) == 0)
                printf("Nothing is kept for %s.\n", settings_name_in_reply(asked, reply));
        print_files(reply, "Removed");
        return EXIT_SUCCESS;
}

int verb_forget(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        int r, status = EXIT_SUCCESS;

        r = client_connect_asking(&link);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_names; i++) {
                r = forget_one(link, names[i]);
                if (r < 0)
                        return r;
                status = MAX(status, r);
        }

        return status;
}

/* ---- reload */

int verb_reload(char **arguments, size_t n_arguments) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL, *reply = NULL;
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        sd_json_variant *problems;
        size_t n;
        int r;

        r = client_connect_asking(&link);
        if (r < 0)
                return r;

        r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_BOOLEAN("allowInteractiveAuthentication", true));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".Reload", parameters, &reply);
        if (r < 0)
                return r;

        problems = sd_json_variant_by_key(reply, "problems");
        n = sd_json_variant_elements(problems);
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *text =
                        text_escape(sd_json_variant_string(sd_json_variant_by_index(problems, i)));

                log_warning("%s", text);
        }

        if (!arg_quiet && n == 0)
                printf("The configuration was read again: no problems.\n");
        return n > 0 ? EXIT_NOT_IN_EFFECT : EXIT_SUCCESS;
}
