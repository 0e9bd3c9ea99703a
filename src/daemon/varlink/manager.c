/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The model on varlink: conversion only. */

#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "daemon/files/files.h"
#include "methods.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "stream.h"
#include "unit.h"

#include "config.h"

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

typedef int (*build_t)(Unit *u, sd_json_variant **ret);

static int reply_all(sd_varlink *link, sd_varlink_method_flags_t flags, Manager *m,
                     bool (*test)(const Unit *u), build_t build) {
        Stream s = { .link = link, .more = flags & SD_VARLINK_METHOD_MORE };
        _cleanup_ptr_array_ GPtrArray *units = manager_list_units(m, test);
        int r = 0;

        for (guint i = 0; r >= 0 && i < units->len; i++) {
                sd_json_variant *v;

                r = build(units->pdata[i], &v);
                if (r >= 0)
                        r = stream_add(&s, v);
        }

        return stream_end(&s, r, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT, "unit", NULL);
}

static int reply_one(Control *c, sd_varlink *link, const char *name, bool exists, build_t build) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        Unit *u = exists ? manager_find_unit(c->manager, name) : NULL;
        int r;

        if (!u)
                return sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT,
                                          SD_JSON_BUILD_PAIR_STRING("unit", name));

        r = build(u, &v);
        return r < 0 ? sd_varlink_error_errno(link, r) : sd_varlink_reply(link, v);
}

/* Of the unit that is named, or of all that pass the test. */
static int reply(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                 Control *c, lookup_reply_t one, bool (*test)(const Unit *u), build_t build) {
        const char *name;
        int r;

        r = dispatch_name(link, parameters, "unit", &name);
        if (r != 0)
                return r;

        return name ? lookup_varlink(link, c, name, /* cgroup= */ true, one) :
                      reply_all(link, flags, c->manager, test, build);
}

static int reply_unit(Control *c, sd_bus_message *msg, sd_varlink *link, const char *name, bool exists) {
        return reply_one(c, link, name, exists, unit_varlink_build_reply);
}

static int method_list_units(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                             void *userdata) {
        return reply(link, parameters, flags, ((Varlink *) userdata)->control, reply_unit, unit_is_managed,
                     unit_varlink_build_reply);
}

/* ---- counters */

static int add_counter(const char *key, const char *value, void *userdata) {
        sd_json_variant **counters = ASSERT_PTR(userdata);
        uint64_t n;

        if (safe_atou64(value, &n) < 0)
                return 0;

        return sd_json_variant_set_field_unsigned(counters, key, n);
}

static int build_declared(const GArray *counters, sd_json_variant **ret) {
        int r;

        r = sd_json_variant_new_array(ret, NULL, 0);

        for (guint i = 0; r >= 0 && counters && i < counters->len; i++) {
                const PolicyCounter *c = &g_array_index(counters, PolicyCounter, i);

                r = sd_json_variant_append_arraybo(
                        ret,
                        SD_JSON_BUILD_PAIR_STRING("name", c->name),
                        VARLINK_PAIR_NULLABLE("unit", c->unit),
                        VARLINK_PAIR_NULLABLE("doc", c->doc));
        }

        return r;
}

static int build_stats(Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *counters = NULL, *declared = NULL;
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

        r = build_declared(u->link ? u->link->counters : NULL, &declared);
        if (r < 0)
                return r;

        return sd_json_buildo(ret,
                              SD_JSON_BUILD_PAIR_STRING("unit", u->name),
                              VARLINK_PAIR_NULLABLE("policy", verified),
                              SD_JSON_BUILD_PAIR_VARIANT("counters", counters),
                              SD_JSON_BUILD_PAIR_VARIANT("declared", declared));
}

static bool unit_is_attached(const Unit *u) {
        return u->link;
}

static int reply_stats(Control *c, sd_bus_message *msg, sd_varlink *link, const char *name, bool exists) {
        return reply_one(c, link, name, exists, build_stats);
}

static int method_get_stats(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                            void *userdata) {
        return reply(link, parameters, flags, ((Varlink *) userdata)->control, reply_stats,
                     unit_is_attached, build_stats);
}

/* ---- files */

static int build_managers(Unit *u, sd_json_variant **ret) {
        return files_varlink_build(u, /* files= */ false, ret);
}

static int build_files(Unit *u, sd_json_variant **ret) {
        return files_varlink_build(u, /* files= */ true, ret);
}

static build_t files_for(sd_varlink *link) {
        uid_t uid;

        return sd_varlink_get_peer_uid(link, &uid) >= 0 && uid == 0 ? build_files : build_managers;
}

static int reply_files(Control *c, sd_bus_message *msg, sd_varlink *link, const char *name, bool exists) {
        return reply_one(c, link, name, exists, files_for(link));
}

static int method_list_files(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                             void *userdata) {
        return reply(link, parameters, flags, ((Varlink *) userdata)->control, reply_files,
                     files_has_managers, files_for(link));
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
                        VARLINK_PAIR_NULLABLE("unit", t->unit),
                        VARLINK_PAIR_NULLABLE("doc", t->doc),
                        VARLINK_PAIR_NULLABLE("source", t->source));
        }

        return r;
}

static int build_abilities(const Policy *p, sd_json_variant **ret) {
        const char *abilities[] = {
                p->listens ? "advice" : NULL,
                p->filters ? "admission" : NULL,
                p->plans ? "readahead" : NULL,
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
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *tunables = NULL, *abilities = NULL,
                *counters = NULL;
        int r;

        r = build_tunables(p, &tunables);
        if (r >= 0)
                r = build_abilities(p, &abilities);
        if (r >= 0)
                r = build_declared(p->counters, &counters);
        if (r < 0)
                return r;

        return sd_json_buildo(ret,
                              SD_JSON_BUILD_PAIR_STRING("name", p->name),
                              VARLINK_PAIR_NULLABLE("description", p->description),
                              VARLINK_PAIR_NULLABLE("source", p->source),
                              SD_JSON_BUILD_PAIR_STRING("path", p->path),
                              VARLINK_PAIR_NULLABLE("problem", p->problem),
                              SD_JSON_BUILD_PAIR_VARIANT("abilities", abilities),
                              SD_JSON_BUILD_PAIR_VARIANT("tunables", tunables),
                              SD_JSON_BUILD_PAIR_VARIANT("counters", counters));
}

static int method_list_policies(sd_varlink *link, sd_json_variant *parameters,
                                sd_varlink_method_flags_t flags, void *userdata) {
        Stream s = { .link = link, .more = flags & SD_VARLINK_METHOD_MORE };
        Manager *m = ((Varlink *) userdata)->control->manager;
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
        Manager *m = ((Varlink *) userdata)->control->manager;
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
                VARLINK_PAIR_NULLABLE("kernelReason", m->kernel.reason),
                SD_JSON_BUILD_PAIR_CONDITION(m->kernel.abi != 0, "kernelAbi",
                                             SD_JSON_BUILD_UNSIGNED(m->kernel.abi)),
                SD_JSON_BUILD_PAIR_STRV("kernelFeatures", m->kernel.features),
                SD_JSON_BUILD_PAIR_VARIANT("kernelStat", stat),
                SD_JSON_BUILD_PAIR_UNSIGNED("unitsConfigured", c.configured),
                SD_JSON_BUILD_PAIR_UNSIGNED("unitsAttached", c.attached),
                SD_JSON_BUILD_PAIR_UNSIGNED("unitsFailed", c.failed),
                SD_JSON_BUILD_PAIR_STRV("policyDirectories", (char **) m->paths.policies));
}

int manager_varlink_bind(sd_varlink_server *s) {
        return sd_varlink_server_bind_method_many(
                s,
                CACHEBPF_VARLINK_INTERFACE ".ListUnits", method_list_units,
                CACHEBPF_VARLINK_INTERFACE ".GetStats", method_get_stats,
                CACHEBPF_VARLINK_INTERFACE ".ListFiles", method_list_files,
                CACHEBPF_VARLINK_INTERFACE ".ListPolicies", method_list_policies,
                CACHEBPF_VARLINK_INTERFACE ".GetStatus", method_get_status);
}
