/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds settings of a unit while a command runs. The hold is the connection to the daemon: it ends with us,
 * however we end. Should the daemon end first the hold is lost, and asked for again as soon as there is
 * another one. */

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "agent.h"
#include "client.h"
#include "config/unit-file.h"
#include "command.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "settings.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "shared/unit-state.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "text.h"
#include "verbs.h"

#define METHOD CACHEBPF_VARLINK_INTERFACE ".HoldUnit"

#define RETRY_FIRST_USEC (250 * USEC_PER_MSEC)
#define RETRY_SHIFT_MAX 7U

typedef struct Holder {
        sd_event *event;
        sd_event_source *retry_source;
        sd_varlink *link;
        sd_json_variant *parameters;
        const char *unit;
        Command *command;
        char **argv;
        unsigned n_attempts; /* to get a lost hold back */
        int result;          /* if the command was not started: an exit status, or a negative errno */
} Holder;

static void holder_done(Holder *h) {
        sd_event_source_disable_unref(h->retry_source);
        h->link = sd_varlink_close_unref(h->link);
        sd_json_variant_unref(h->parameters);
        command_free(h->command);
        sd_event_unref(h->event);
}

static int give_up(Holder *h, int result) {
        h->result = result;
        return sd_event_exit(h->event, 0);
}

/* ---- the hold is there */

/* Says why, if it does not help. */
static int check_unit(Holder *h, sd_json_variant *v) {
        _cleanup_free_ char *reason = NULL;
        UnitInfo u;
        int r;

        if (!v || sd_json_variant_is_null(v)) {
                if (!arg_quiet)
                        log_notice("%s is not active: it gets the held settings when it is started.",
                                   h->unit);
                return 0;
        }

        r = unit_info_parse(v, &u);
        if (r < 0)
                return r;

        switch (unit_state_from_string(u.state)) {
        case UNIT_INACTIVE:
                return check_unit(h, NULL);
        case UNIT_FAILED:
        case UNIT_LOST:
        case UNIT_UNSUPPORTED:
                reason = text_escape(strempty(u.reason));
                log_warning("The hold of %s is not in effect: %s%s%s.", h->unit, u.state,
                            *reason ? ", " : "", reason);
                return 0;
        default:
                return 0;
        }
}

static int start_command(Holder *h) {
        int r;

        agent_close(); /* the terminal is the command's */
        r = command_start(h->command);
        if (r >= 0)
                return 0;

        (void) log_error_errno(r, "Cannot run \"%s\": %m", h->argv[0]);
        return give_up(h, r == -ENOENT ? EXIT_NO_COMMAND : EXIT_CANNOT_EXECUTE);
}

static int held(Holder *h, sd_json_variant *parameters) {
        int r;

        /* There is nothing more to be said, for as long as the command runs. */
        r = sd_varlink_set_relative_timeout(h->link, UINT64_MAX);
        if (r >= 0)
                r = check_unit(h, sd_json_variant_by_key(parameters, "unit"));
        if (r < 0)
                log_warning_errno(r, "Cannot find out what became of the hold: %m");

        if (!command_is_started(h->command))
                return start_command(h);

        if (!arg_quiet)
                log_notice("%s is held again.", h->unit);
        h->n_attempts = 0;
        return 0;
}

/* ---- the hold is lost */

static int ask(Holder *h);

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata) {
        Holder *h = ASSERT_PTR(userdata);

        h->link = sd_varlink_close_unref(h->link);
        return ask(h);
}

static int lost(Holder *h) {
        uint64_t delay = RETRY_FIRST_USEC << MIN(h->n_attempts, RETRY_SHIFT_MAX);
        int r;

        if (h->n_attempts++ == 0)
                log_warning("The connection to cachebpfd is gone, "
                            "and %s is not held any more; trying to get it back.",
                            h->unit);

        h->retry_source = sd_event_source_disable_unref(h->retry_source);
        r = sd_event_add_time_relative(h->event, &h->retry_source, CLOCK_MONOTONIC, delay, 0, on_retry, h);
        return r < 0 ? log_error_errno(r, "Cannot arm a timer: %m") : 0;
}

static int refused(Holder *h, const char *error_id, sd_json_variant *parameters) {
        int r;

        if (command_is_started(h->command) && streq(error_id, SD_VARLINK_ERROR_DISCONNECTED))
                return lost(h);

        r = client_log_error(METHOD, error_id, parameters);
        if (r == -ESRCH)
                log_error("There is no unit \"%s\".", h->unit);

        if (!command_is_started(h->command))
                return give_up(h, EXIT_NOT_STARTED);

        log_warning("%s is not held any more, \"%s\" keeps running.", h->unit, h->argv[0]);
        return 0;
}

static int on_reply(sd_varlink *link, sd_json_variant *parameters, const char *error_id,
                    sd_varlink_reply_flags_t flags, void *userdata) {
        Holder *h = ASSERT_PTR(userdata);

        return error_id ? refused(h, error_id, parameters) : held(h, parameters);
}

/* ---- the beginning */

static int ask(Holder *h) {
        bool first = !command_is_started(h->command);
        int r;

        r = first ? client_connect_asking(&h->link) : client_connect_quiet(&h->link);
        if (r < 0)
                return first ? r : lost(h);

        (void) sd_varlink_set_userdata(h->link, h);
        r = sd_varlink_bind_reply(h->link, on_reply);
        if (r >= 0 && !first) /* it may have just been started; nobody waits for the answer */
                r = sd_varlink_set_relative_timeout(h->link, UINT64_MAX);
        if (r >= 0)
                r = sd_varlink_attach_event(h->link, h->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_varlink_observe(h->link, METHOD, h->parameters);
        if (r < 0 && !first)
                return lost(h);
        return r < 0 ? log_error_errno(r, "Cannot call " METHOD " of cachebpfd: %m") : 0;
}

static int hold(Holder *h) {
        int r;

        r = sd_event_default(&h->event);
        if (r >= 0)
                r = command_new(h->event, h->argv, &h->command);
        if (r < 0)
                return log_error_errno(r, "Cannot wait for a command: %m");

        r = ask(h);
        if (r < 0)
                return r;

        r = sd_event_loop(h->event);
        if (r < 0)
                return log_error_errno(r, "The event loop failed: %m");

        h->link = sd_varlink_close_unref(h->link);
        return h->result != 0 ? h->result : command_finish(h->command);
}

static int build_parameters(Holder *h, char **settings, size_t n_settings) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        g_autofree char *program = g_path_get_basename(h->argv[0]);
        int r;

        r = settings_build(settings, n_settings, &v);
        if (r < 0)
                return r;

        r = sd_json_buildo(&h->parameters,
                           SD_JSON_BUILD_PAIR_STRING("unit", h->unit),
                           SD_JSON_BUILD_PAIR_VARIANT("settings", v),
                           SD_JSON_BUILD_PAIR_CONDITION(g_utf8_validate(program, -1, NULL), "program",
                                                        SD_JSON_BUILD_STRING(program)),
                           SD_JSON_BUILD_PAIR_CONDITION(!!arg_reason, "reason",
                                                        SD_JSON_BUILD_STRING(arg_reason)),
                           SD_JSON_BUILD_PAIR_BOOLEAN("allowInteractiveAuthentication", true));
        return r < 0 ? log_error_errno(r, "Cannot build JSON: %m") : 0;
}

int verb_hold(char **arguments, size_t n_arguments) {
        size_t n_settings = n_arguments - MIN(n_arg_command, n_arguments);
        _cleanup_free_ char *unit = unit_name_mangle(arguments[0]);
        _cleanup_(holder_done) Holder h = {
                .unit = unit,
                .argv = arguments + n_settings,
        };
        int r;

        if (n_settings < 2 || n_arg_command == 0) {
                log_error("\"hold\" needs a unit and settings, and \"--\" before the command; "
                          "see \"cachectl help hold\".");
                return EXIT_USAGE;
        }

        for (size_t i = 0; i < n_settings; i++)
                if (!g_utf8_validate(arguments[i], -1, NULL)) {
                        log_error("A setting is not valid UTF-8.");
                        return EXIT_USAGE;
                }

        if (arg_reason && !g_utf8_validate(arg_reason, -1, NULL)) {
                log_error("What --reason= says is not valid UTF-8.");
                return EXIT_USAGE;
        }

        r = build_parameters(&h, arguments + 1, n_settings - 1);
        if (r >= 0)
                r = hold(&h);

        /* Not to be confused with what the command returns. */
        return r < 0 ? EXIT_NOT_STARTED : r;
}
