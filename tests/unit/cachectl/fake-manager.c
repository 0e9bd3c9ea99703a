/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stand-in for cachebpfd: serves org.cachebpf.Manager from a JSON document, for the tests of cachectl.
 *
 *      fake-manager SOCKET DOCUMENT
 *
 * The document has the members "status" (the reply of GetStatus), "units", "stats", "files" and "policies"
 * (arrays of what the other methods list), "threads" (one array for each process, by its number), "settings"
 * (those of each unit, by its name), "problems" (of a reload) and "changes" (what Monitor tells, then
 * the call ends), and may have "behaviour": "hang" (takes calls, never answers), "drop"
 * (closes the connection instead of answering) or "garbage" (answers, but not in varlink). Replies are
 * validated against the IDL as the daemon's are. */

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <systemd/sd-event.h>
#include <systemd/sd-json.h>
#include <systemd/sd-varlink.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"

static sd_json_variant *document;

static bool behaves(const char *behaviour) {
        sd_json_variant *v = sd_json_variant_by_key(document, "behaviour");

        return v && streq(sd_json_variant_string(v), behaviour);
}

/* Returns > 0 if the call is not to be answered. */
static int misbehave(sd_varlink *link) {
        if (behaves("drop")) {
                (void) sd_varlink_close(link);
                return 1;
        }

        if (behaves("garbage"))
                (void) !write(sd_varlink_get_fd(link), "garbage", sizeof("garbage"));

        return behaves("hang") || behaves("garbage");
}

static int method_get_status(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        if (misbehave(link) > 0)
                return 0;

        return sd_varlink_reply(link, sd_json_variant_by_key(document, "status"));
}

/* How one method lists its objects. */
typedef struct Listing {
        const char *member;  /* of the document */
        const char *key;     /* the parameter that asks for one object, and the member that holds its name */
        const char *wrapper; /* the member of a reply that holds the object; NULL: the reply is the object */
        const char *error;   /* there is none */
} Listing;

static int send_one(sd_varlink *link, const Listing *listing, sd_json_variant *object, bool last) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *wrapped = NULL;
        int r;

        if (listing->wrapper) {
                r = sd_json_buildo(&wrapped, SD_JSON_BUILD_PAIR_VARIANT(listing->wrapper, object));
                if (r < 0)
                        return r;
                object = wrapped;
        }

        return last ? sd_varlink_reply(link, object) : sd_varlink_notify(link, object);
}

static int list(sd_varlink *link, sd_json_variant *parameters, const Listing *listing) {
        sd_json_variant *array = sd_json_variant_by_key(document, listing->member), *wanted, *pending = NULL;
        int r;

        if (misbehave(link) > 0)
                return 0;

        wanted = sd_json_variant_by_key(parameters, listing->key);
        if (wanted && sd_json_variant_is_null(wanted))
                wanted = NULL;

        /* One object is always held back: only the last is sent without "continues". */
        for (size_t i = 0; i < sd_json_variant_elements(array); i++) {
                sd_json_variant *object = sd_json_variant_by_index(array, i);

                if (wanted && !sd_json_variant_equal(sd_json_variant_by_key(object, listing->key), wanted))
                        continue;

                if (pending) {
                        r = send_one(link, listing, pending, /* last= */ false);
                        if (r < 0)
                                return r;
                }
                pending = object;
        }

        if (pending)
                return send_one(link, listing, pending, /* last= */ true);

        return sd_varlink_errorbo(link, listing->error,
                                  SD_JSON_BUILD_PAIR_STRING(listing->key,
                                                            wanted ? sd_json_variant_string(wanted) : ""));
}

static int method_list_units(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        return list(link, parameters,
                    &(const Listing) { "units", "unit", "unit", CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT });
}

static int method_get_stats(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        return list(link, parameters,
                    &(const Listing) { "stats", "unit", NULL, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT });
}

static int method_list_files(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        return list(link, parameters,
                    &(const Listing) { "files", "unit", NULL, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT });
}

static int method_list_policies(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        return list(link, parameters,
                    &(const Listing) { "policies", "name", NULL, CACHEBPF_VARLINK_ERROR_NO_SUCH_POLICY });
}

/* The threads of the process that a call names; NULL after it was refused. */
static sd_json_variant *find_threads(sd_varlink *link, sd_json_variant *parameters) {
        sd_json_variant *process = sd_json_variant_by_key(parameters, "process"), *threads;
        char number[DECIMAL_STR_MAX(uint64_t)];

        if (!process || sd_json_variant_is_null(process)) {
                (void) sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_NO_PROCESS,
                                          SD_JSON_BUILD_PAIR_UNSIGNED("thread", 0));
                return NULL;
        }

        (void) snprintf(number, sizeof(number), "%" PRIu64, sd_json_variant_unsigned(process));
        threads = sd_json_variant_by_key(sd_json_variant_by_key(document, "threads"), number);
        if (!threads)
                (void) sd_varlink_error(link, CACHEBPF_VARLINK_ERROR_NO_SUCH_THREAD, NULL);
        return threads;
}

static int method_list_threads(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        sd_json_variant *threads = find_threads(link, parameters);
        size_t n = sd_json_variant_elements(threads);
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = send_one(link, &(const Listing) {}, sd_json_variant_by_index(threads, i), i == n - 1);

        return r;
}

static int method_set_thread_class(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        sd_json_variant *threads = find_threads(link, parameters);

        if (!threads)
                return 0;

        return sd_varlink_replybo(link,
                                  SD_JSON_BUILD_PAIR_UNSIGNED("threads", sd_json_variant_elements(threads)));
}

static int method_monitor(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        sd_json_variant *changes = sd_json_variant_by_key(document, "changes");
        size_t n = sd_json_variant_elements(changes);
        int r = 0;

        if (misbehave(link) > 0)
                return 0;
        if (!(flags & SD_VARLINK_METHOD_MORE))
                return sd_varlink_error(link, SD_VARLINK_ERROR_EXPECTED_MORE, NULL);

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = send_one(link, &(const Listing) {}, sd_json_variant_by_index(changes, i), i == n - 1);

        return r;
}

/* ---- settings: of units that the document has some of; words say how a call ends */

static sd_json_variant *find_settings(sd_varlink *link, sd_json_variant *parameters) {
        const char *unit = sd_json_variant_string(sd_json_variant_by_key(parameters, "unit"));
        sd_json_variant *settings = sd_json_variant_by_key(sd_json_variant_by_key(document, "settings"),
                                                           unit);

        if (!settings)
                (void) sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT,
                                          SD_JSON_BUILD_PAIR_STRING("unit", unit));
        return settings;
}

/* Something is kept of the first one only. */
static int method_forget_unit(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                              void *userdata) {
        const char *unit = sd_json_variant_string(sd_json_variant_by_key(parameters, "unit"));
        char *files[] = { (char *) "/var/lib/file", NULL };

        if (!find_settings(link, parameters))
                return 0;

        return sd_varlink_replybo(link,
                                  SD_JSON_BUILD_PAIR_STRING("unit", unit),
                                  SD_JSON_BUILD_PAIR_STRV("files",
                                                          streq(unit, "batch.slice") ? files : NULL));
}

/* The setting that a call asks for first; it says how the call ends. */
static const char *first_setting(sd_json_variant *parameters) {
        sd_json_variant *asked = sd_json_variant_by_key(parameters, "settings");

        return asked ? sd_json_variant_string(sd_json_variant_by_index(asked, 0)) : "";
}

/* Whether it did. */
static bool refuse_setting(sd_varlink *link, const char *setting) {
        if (streq(setting, "CachePolicy=nosuch"))
                (void) sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_INVALID_SETTING,
                                          SD_JSON_BUILD_PAIR_STRING("problem", "unknown policy 'nosuch'"));
        else if (streq(setting, "CacheAdmission=full"))
                (void) sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_CANNOT_STORE,
                                          SD_JSON_BUILD_PAIR_STRING("problem",
                                                                    "cannot write '/run/file': full"));
        else if (streq(setting, "CacheAdmission=root"))
                (void) sd_varlink_error(link, SD_VARLINK_ERROR_PERMISSION_DENIED, NULL);
        else
                return false;

        return true;
}

static int method_get_unit_settings(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        sd_json_variant *settings = find_settings(link, parameters);

        return settings ? sd_varlink_replybo(link,
                                             SD_JSON_BUILD_PAIR_VARIANT("settings", settings),
                                             SD_JSON_BUILD_PAIR_BOOLEAN("unitFilesKnown", true)) : 0;
}

static int method_set_unit_settings(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        const char *first = first_setting(parameters);
        bool persistent = sd_json_variant_boolean(sd_json_variant_by_key(parameters, "persistent"));
        const char *file = persistent ? "/etc/file" : "/run/file";
        bool waits = sd_json_variant_boolean(sd_json_variant_by_key(parameters, "wait"));
        const char *state = streq(first, "CachePolicy=rejected") ? "failed" :
                            streq(first, "CachePolicy=slow")     ? "pending" : "attached";
        sd_json_variant *settings = find_settings(link, parameters);

        if (!settings || refuse_setting(link, first))
                return 0;

        return sd_varlink_replybo(link,
                                  SD_JSON_BUILD_PAIR_STRV("files", ((char *[]) { (char *) file, NULL })),
                                  SD_JSON_BUILD_PAIR_VARIANT("settings", settings),
                                  SD_JSON_BUILD_PAIR_BOOLEAN("unitFilesKnown", true),
                                  SD_JSON_BUILD_PAIR_CONDITION(waits, "state", SD_JSON_BUILD_STRING(state)),
                                  SD_JSON_BUILD_PAIR_CONDITION(
                                                  waits && streq(state, "failed"), "reason",
                                                  SD_JSON_BUILD_STRING("the kernel rejects its program")));
}

/* "CachePolicy=drop" loses the connection once, "CachePolicy=gone" takes the daemon along. */
static int method_hold_unit(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        const char *first = first_setting(parameters);
        sd_json_variant *units = sd_json_variant_by_key(document, "units"), *unit = NULL;
        static unsigned cookie;
        int r;

        if (!find_settings(link, parameters) || misbehave(link) > 0 || refuse_setting(link, first))
                return 0;

        for (size_t i = 0; i < sd_json_variant_elements(units); i++)
                if (sd_json_variant_equal(sd_json_variant_by_key(sd_json_variant_by_index(units, i), "unit"),
                                          sd_json_variant_by_key(parameters, "unit")))
                        unit = sd_json_variant_by_index(units, i);

        r = sd_varlink_notifybo(link,
                                SD_JSON_BUILD_PAIR_UNSIGNED("cookie", ++cookie),
                                SD_JSON_BUILD_PAIR_CONDITION(!!unit, "unit", SD_JSON_BUILD_VARIANT(unit)));
        if (r < 0)
                return r;

        if (streq(first, "CachePolicy=gone")) {
                (void) sd_varlink_flush(link);
                return sd_event_exit(sd_varlink_get_event(link), 0);
        }
        if (streq(first, "CachePolicy=drop") && cookie == 1) {
                (void) sd_varlink_flush(link);
                (void) sd_varlink_close(link);
        }
        return 0;
}

static int method_reload(
                sd_varlink *link,
                sd_json_variant *parameters,
                sd_varlink_method_flags_t flags,
                void *userdata) {

        return sd_varlink_replybo(link, SD_JSON_BUILD_PAIR_VARIANT("problems",
                                                                   sd_json_variant_by_key(document,
                                                                                          "problems")));
}

static int serve(const char *address, const char *path) {
        _cleanup_(sd_varlink_server_unrefp) sd_varlink_server *server = NULL;
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        int r;

        r = sd_json_parse_file(NULL, path, 0, &document, NULL, NULL);
        if (r < 0)
                return r;

        r = sd_varlink_server_new(&server, 0);
        if (r < 0)
                return r;

        r = sd_varlink_server_add_interface(server, &vl_interface_org_cachebpf_Manager);
        if (r < 0)
                return r;

        r = sd_varlink_server_bind_method_many(
                        server,
                        CACHEBPF_VARLINK_INTERFACE ".GetStatus",    method_get_status,
                        CACHEBPF_VARLINK_INTERFACE ".ListUnits",    method_list_units,
                        CACHEBPF_VARLINK_INTERFACE ".GetStats",     method_get_stats,
                        CACHEBPF_VARLINK_INTERFACE ".ListFiles",    method_list_files,
                        CACHEBPF_VARLINK_INTERFACE ".ListPolicies", method_list_policies,
                        CACHEBPF_VARLINK_INTERFACE ".Monitor",      method_monitor,
                        CACHEBPF_VARLINK_INTERFACE ".ListThreads",  method_list_threads,
                        CACHEBPF_VARLINK_INTERFACE ".SetThreadClass", method_set_thread_class,
                        CACHEBPF_VARLINK_INTERFACE ".GetUnitSettings", method_get_unit_settings,
                        CACHEBPF_VARLINK_INTERFACE ".SetUnitSettings", method_set_unit_settings,
                        CACHEBPF_VARLINK_INTERFACE ".HoldUnit", method_hold_unit,
                        CACHEBPF_VARLINK_INTERFACE ".ResetUnit", method_set_unit_settings,
                        CACHEBPF_VARLINK_INTERFACE ".ForgetUnit", method_forget_unit,
                        CACHEBPF_VARLINK_INTERFACE ".Reload", method_reload);
        if (r < 0)
                return r;

        r = sd_varlink_server_listen_address(server, address, 0600);
        if (r < 0)
                return r;

        /* Not sd_varlink_server_loop_auto(): that ends with the first connection. */
        r = sd_event_new(&event);
        if (r < 0)
                return r;

        r = sd_varlink_server_attach_event(server, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;

        return sd_event_loop(event);
}

int main(int argc, char *argv[]) {
        int r;

        if (argc != 3) {
                fprintf(stderr, "Usage: %s SOCKET DOCUMENT\n", argv[0]);
                return EXIT_FAILURE;
        }

        /* A test that dies takes its server with it. */
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);

        r = serve(argv[1], argv[2]);
        if (r < 0) {
                fprintf(stderr, "Cannot serve \"%s\" on \"%s\": %s\n", argv[2], argv[1], strerror(-r));
                return EXIT_FAILURE;
        }

        return EXIT_SUCCESS;
}
