/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The model on varlink: conversion only. */

#include <sys/stat.h>

#include "clients.h"
#include "daemon/control/hold.h"
#include "daemon/core/unit-kernel.h"
#include "daemon/systemd/query.h"
#include "hold.h"
#include "manager.h"
#include "monitor.h"
#include "request.h"
#include "shared/log.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "stream.h"
#include "threads.h"

#include "config.h"

/* A string member that is null when there is none. */
#define BUILD_PAIR_NULLABLE(name, s) \
        SD_JSON_BUILD_PAIR_CONDITION(!!(s), name, SD_JSON_BUILD_STRING(s))

static int dispatch_name(sd_varlink *link, sd_json_variant *parameters, const char *field,
                         const char **ret) {
        const sd_json_dispatch_field table[] = {
                { field, SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string, 0, SD_JSON_NULLABLE },
                {},
        };

        *ret = NULL;
        return sd_varlink_dispatch(link, parameters, table, ret);
}

/* ---- units */

static int build_words(const PolicyWords *words, sd_json_variant **ret) {
        int r = 0;

        for (guint i = 0; r >= 0 && i < policy_words_count(words); i++)
                r = sd_json_variant_append_arrayb(ret,
                                                  SD_JSON_BUILD_STRING(policy_words_get(words, i)->text));

        return r;
}

static int build_unit(Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *options = NULL, *threads = NULL,
                        *admission = NULL,
                        *holds = NULL;
        _cleanup_kernel_policy_ KernelPolicy k = {};
        _cleanup_free_ char *source = NULL;
        const char *verified;
        int r;

        r = unit_source(u, &source);
        if (r >= 0)
                r = build_words(u->setting.more + POLICY_KEY_OPTIONS, &options);
        if (r >= 0)
                r = build_words(u->setting.more + POLICY_KEY_SCAN_THREADS, &threads);
        if (r >= 0)
                r = build_words(u->setting.more + POLICY_KEY_ADMISSION, &admission);
        if (r >= 0)
                r = hold_varlink_build_of_unit(u, &holds);
        if (r < 0)
                return r;
        verified = unit_read_verified(u, &k);

        return sd_json_buildo(
                ret,
                SD_JSON_BUILD_PAIR(
                        "unit",
                        SD_JSON_BUILD_OBJECT(
                                SD_JSON_BUILD_PAIR_STRING("unit", u->name),
                                BUILD_PAIR_NULLABLE("cgroup", u->cgroup),
                                SD_JSON_BUILD_PAIR_CONDITION(u->cgroup_id != 0, "cgroupId",
                                                             SD_JSON_BUILD_UNSIGNED(u->cgroup_id)),
                                BUILD_PAIR_NULLABLE("configured", u->setting.policy),
                                SD_JSON_BUILD_PAIR_CONDITION(!!options, "options",
                                                             SD_JSON_BUILD_VARIANT(options)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!threads, "scanThreads",
                                                             SD_JSON_BUILD_VARIANT(threads)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!admission, "admission",
                                                             SD_JSON_BUILD_VARIANT(admission)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!holds, "holds", SD_JSON_BUILD_VARIANT(holds)),
                                BUILD_PAIR_NULLABLE("effective", u->effective),
                                BUILD_PAIR_NULLABLE("verified", verified),
                                SD_JSON_BUILD_PAIR_STRING("state", unit_state_to_string(u->state)),
                                BUILD_PAIR_NULLABLE("reason", u->reason),
                                BUILD_PAIR_NULLABLE("source", source),
                                SD_JSON_BUILD_PAIR_UNSIGNED("sinceUSec", u->since),
                                SD_JSON_BUILD_PAIR_CONDITION(k.id != 0, "policyId",
                                                             SD_JSON_BUILD_UNSIGNED(k.id)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!u->link, "adopted",
                                                             SD_JSON_BUILD_BOOLEAN(u->adopted)))));
}

int manager_varlink_build_unit(Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *reply = NULL;
        int r;

        r = build_unit(u, &reply);
        if (r < 0)
                return r;

        *ret = sd_json_variant_ref(sd_json_variant_by_key(reply, "unit"));
        return 0;
}

/* Units in the order of their names: all that pass the test, or the one asked for. */
static GPtrArray *select_units(Manager *m, const char *name, bool (*test)(const Unit *u)) {
        GPtrArray *units = g_ptr_array_new();
        GHashTableIter it;
        gpointer u;

        if (name) {
                u = manager_find_unit(m, name);
                if (u)
                        g_ptr_array_add(units, u);
                return units;
        }

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &u))
                if (test(u))
                        g_ptr_array_add(units, u);

        g_ptr_array_sort(units, unit_compare);
        return units;
}

static int reply_unit(sd_varlink *link, Unit *u) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        int r;

        r = build_unit(u, &v);
        return r < 0 ? r : sd_varlink_reply(link, v);
}

static int method_list_units(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                             void *userdata) {
        Stream s = { .link = link, .more = flags & SD_VARLINK_METHOD_MORE };
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        Manager *m = ASSERT_PTR(userdata);
        const char *name;
        int r;

        r = dispatch_name(link, parameters, "unit", &name);
        if (r != 0)
                return r;

        units = select_units(m, name, unit_is_managed);
        if (name && units->len > 0 && unit_query_defer(units->pdata[0], link, reply_unit))
                return 0;

        for (guint i = 0; r >= 0 && i < units->len; i++) {
                sd_json_variant *v;

                r = build_unit(units->pdata[i], &v);
                if (r >= 0)
                        r = stream_add(&s, v);
        }

        return stream_end(&s, r, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT, "unit", name);
}

/* ---- counters */

static int add_counter(const char *key, const char *value, void *userdata) {
        sd_json_variant **counters = ASSERT_PTR(userdata);
        uint64_t n;

        if (safe_atou64(value, &n) < 0)
                return 0;

        return sd_json_variant_set_field_unsigned(counters, key, n);
}

static int build_stats(Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *counters = NULL;
        _cleanup_kernel_policy_ KernelPolicy k = {};
        const char *verified;
        int r;

        r = sd_json_variant_new_object(&counters, NULL, 0);
        if (r < 0)
                return r;

        verified = unit_read_verified(u, &k);
        r = unit_stat_foreach(u, add_counter, &counters);
        if (r == -ENOMEM)
                return r;

        return sd_json_buildo(ret,
                              SD_JSON_BUILD_PAIR_STRING("unit", u->name),
                              BUILD_PAIR_NULLABLE("policy", verified),
                              SD_JSON_BUILD_PAIR_VARIANT("counters", counters));
}

static bool unit_is_attached(const Unit *u) {
        return u->link;
}

static int reply_stats(sd_varlink *link, Unit *u) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        int r;

        r = build_stats(u, &v);
        return r < 0 ? r : sd_varlink_reply(link, v);
}

static int method_get_stats(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                            void *userdata) {
        Stream s = { .link = link, .more = flags & SD_VARLINK_METHOD_MORE };
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        Manager *m = ASSERT_PTR(userdata);
        const char *name;
        int r;

        r = dispatch_name(link, parameters, "unit", &name);
        if (r != 0)
                return r;

        units = select_units(m, name, unit_is_attached);
        if (name && units->len > 0 && unit_query_defer(units->pdata[0], link, reply_stats))
                return 0;

        for (guint i = 0; r >= 0 && i < units->len; i++) {
                sd_json_variant *v;

                r = build_stats(units->pdata[i], &v);
                if (r >= 0)
                        r = stream_add(&s, v);
        }

        return stream_end(&s, r, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT, "unit", name);
}

/* ---- policies */

static int build_tunables(const Policy *p, sd_json_variant **ret) {
        int r;

        r = sd_json_variant_new_array(ret, NULL, 0);

        for (guint i = 0; r >= 0 && i < p->tunables->len; i++) {
                const PolicyTunable *t = &g_array_index(p->tunables, PolicyTunable, i);

                r = sd_json_variant_append_arraybo(
                        ret,
                        SD_JSON_BUILD_PAIR_STRING("name", t->name),
                        SD_JSON_BUILD_PAIR_STRING("type", t->type),
                        SD_JSON_BUILD_PAIR_INTEGER("default", t->default_value),
                        SD_JSON_BUILD_PAIR_CONDITION(t->has_range, "min", SD_JSON_BUILD_INTEGER(t->min)),
                        SD_JSON_BUILD_PAIR_CONDITION(t->has_range, "max", SD_JSON_BUILD_INTEGER(t->max)),
                        BUILD_PAIR_NULLABLE("unit", t->unit),
                        BUILD_PAIR_NULLABLE("doc", t->doc),
                        BUILD_PAIR_NULLABLE("source", t->source));
        }

        return r;
}

static int build_abilities(const Policy *p, sd_json_variant **ret) {
        const char *abilities[] = {
                p->filters ? "admission" : NULL,
                p->reconfigures ? "reconfigure" : NULL,
                p->knows_threads ? "threads" : NULL,
        };
        int r;

        r = sd_json_variant_new_array(ret, NULL, 0);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(abilities); i++)
                if (abilities[i])
                        r = sd_json_variant_append_arrayb(ret, SD_JSON_BUILD_STRING(abilities[i]));

        return r;
}

static int build_policy(const Policy *p, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *tunables = NULL, *abilities = NULL;
        int r;

        r = build_tunables(p, &tunables);
        if (r >= 0)
                r = build_abilities(p, &abilities);
        if (r < 0)
                return r;

        return sd_json_buildo(ret,
                              SD_JSON_BUILD_PAIR_STRING("name", p->name),
                              BUILD_PAIR_NULLABLE("description", p->description),
                              BUILD_PAIR_NULLABLE("source", p->source),
                              SD_JSON_BUILD_PAIR_STRING("path", p->path),
                              BUILD_PAIR_NULLABLE("problem", p->problem),
                              SD_JSON_BUILD_PAIR_VARIANT("abilities", abilities),
                              SD_JSON_BUILD_PAIR_VARIANT("tunables", tunables));
}

static int method_list_policies(sd_varlink *link, sd_json_variant *parameters,
                                sd_varlink_method_flags_t flags, void *userdata) {
        Stream s = { .link = link, .more = flags & SD_VARLINK_METHOD_MORE };
        Manager *m = ASSERT_PTR(userdata);
        const char *name;
        int r;

        r = dispatch_name(link, parameters, "name", &name);
        if (r != 0)
                return r;

        for (guint i = 0; r >= 0 && i < m->policies->len; i++) {
                const Policy *p = m->policies->pdata[i];
                sd_json_variant *v;

                if (name && !streq(p->name, name))
                        continue;

                r = build_policy(p, &v);
                if (r >= 0)
                        r = stream_add(&s, v);
        }

        return stream_end(&s, r, CACHEBPF_VARLINK_ERROR_NO_SUCH_POLICY, "name", name);
}

/* ---- daemon and kernel */

static int method_get_status(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                             void *userdata) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *stat = NULL;
        Manager *m = ASSERT_PTR(userdata);
        ManagerCounts c = manager_count(m);
        int r;

        r = sd_varlink_dispatch(link, parameters, (const sd_json_dispatch_field[]) { {} }, NULL);
        if (r != 0)
                return r;

        r = sd_json_variant_new_object(&stat, NULL, 0);
        if (r < 0)
                return r;

        r = kernel_stat_foreach(&m->paths.kernel, add_counter, &stat);
        if (r == -ENOMEM)
                return r;

        return sd_varlink_replybo(
                link,
                SD_JSON_BUILD_PAIR_STRING("version", PROJECT_VERSION),
                SD_JSON_BUILD_PAIR_BOOLEAN("kernelSupport", m->kernel.supported),
                BUILD_PAIR_NULLABLE("kernelReason", m->kernel.reason),
                SD_JSON_BUILD_PAIR_CONDITION(m->kernel.abi != 0, "kernelAbi",
                                             SD_JSON_BUILD_UNSIGNED(m->kernel.abi)),
                SD_JSON_BUILD_PAIR_STRV("kernelFeatures", m->kernel.features),
                SD_JSON_BUILD_PAIR_VARIANT("kernelStat", stat),
                SD_JSON_BUILD_PAIR_UNSIGNED("unitsConfigured", c.configured),
                SD_JSON_BUILD_PAIR_UNSIGNED("unitsAttached", c.attached),
                SD_JSON_BUILD_PAIR_UNSIGNED("unitsFailed", c.failed),
                SD_JSON_BUILD_PAIR_STRV("policyDirectories", (char **) m->paths.policies));
}

/* ---- server */

static int on_connect(sd_varlink_server *s, sd_varlink *link, void *userdata) {
        varlink_clients_add(userdata, link);

        /* A thread is best named by a file descriptor. */
        return sd_varlink_set_allow_fd_passing_input(link, true);
}

void manager_varlink_on_disconnect(sd_varlink_server *s, sd_varlink *link, void *userdata) {
        Manager *m = ASSERT_PTR(userdata);

        monitor_varlink_disconnected(m, link);
        config_requests_disconnected(m, link);
        holds_disconnected(m, link);
        varlink_clients_remove(m, link);
}

static int listen_ourselves(sd_varlink_server *s) {
        if (mkdir(CACHEBPF_RUNTIME_DIRECTORY, 0755) < 0 && errno != EEXIST)
                return -errno;

        return sd_varlink_server_listen_address(s, CACHEBPF_VARLINK_ADDRESS, 0666);
}

int manager_varlink_start(Manager *m) {
        _cleanup_(sd_varlink_server_unrefp) sd_varlink_server *s = NULL;
        int r;

        r = sd_varlink_server_new(&s, SD_VARLINK_SERVER_ACCOUNT_UID | SD_VARLINK_SERVER_INHERIT_USERDATA);
        if (r < 0)
                return log_error_errno(r, "Cannot make the varlink server: %m");

        (void) sd_varlink_server_set_userdata(s, m);
        (void) sd_varlink_server_set_info(s, "cachebpf", "cachebpfd", PROJECT_VERSION, NULL);

        r = sd_varlink_server_add_interface(s, &vl_interface_org_cachebpf_Manager);
        if (r < 0)
                return log_error_errno(r, "Cannot add the interface " CACHEBPF_VARLINK_INTERFACE ": %m");

        r = sd_varlink_server_bind_method_many(
                s,
                CACHEBPF_VARLINK_INTERFACE ".ListUnits", method_list_units,
                CACHEBPF_VARLINK_INTERFACE ".GetStats", method_get_stats,
                CACHEBPF_VARLINK_INTERFACE ".ListPolicies", method_list_policies,
                CACHEBPF_VARLINK_INTERFACE ".GetStatus", method_get_status);
        if (r >= 0)
                r = threads_varlink_bind(s);
        if (r >= 0)
                r = config_varlink_bind(s);
        if (r >= 0)
                r = monitor_varlink_bind(s, m);
        if (r >= 0)
                r = hold_varlink_bind(s);
        if (r >= 0)
                r = sd_varlink_server_bind_connect(s, on_connect);
        if (r >= 0)
                r = sd_varlink_server_bind_disconnect(s, manager_varlink_on_disconnect);
        if (r < 0)
                return log_error_errno(r, "Cannot bind the varlink methods: %m");

        r = varlink_clients_start(m);
        if (r < 0)
                return log_error_errno(r, "Cannot prepare for the end of the varlink server: %m");

        r = sd_varlink_server_listen_auto(s);
        if (r == 0)
                r = listen_ourselves(s);
        if (r < 0)
                return log_error_errno(r, "Cannot listen on " CACHEBPF_VARLINK_ADDRESS ": %m");

        r = sd_varlink_server_attach_event(s, m->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return log_error_errno(r, "Cannot attach the varlink server to the event loop: %m");

        m->varlink = TAKE_PTR(s);
        return 0;
}

void manager_varlink_stop(Manager *m) {
        m->varlink = sd_varlink_server_unref(m->varlink);
        monitor_varlink_stop(m);
        varlink_clients_stop(m);
}
