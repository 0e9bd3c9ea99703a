/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The manager object on D-Bus: conversion only. */

#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "methods.h"
#include "objects.h"
#include "shared/log.h"

#include "config.h"

static Manager *manager_of(void *userdata) {
        return ((Control *) userdata)->manager;
}

BUS_GETTER(get_version, sd_bus_message_append(reply, "s", PROJECT_VERSION));
BUS_GETTER(get_kernel_support, sd_bus_message_append(reply, "b", manager_of(userdata)->kernel.supported));
BUS_GETTER(get_kernel_reason,
           sd_bus_message_append(reply, "s", strempty(manager_of(userdata)->kernel.reason)));
BUS_GETTER(get_kernel_abi, sd_bus_message_append(reply, "t", manager_of(userdata)->kernel.abi));
BUS_GETTER(get_kernel_features, sd_bus_message_append_strv(reply, manager_of(userdata)->kernel.features));
BUS_GETTER(get_policy_directories,
           sd_bus_message_append_strv(reply, (char **) manager_of(userdata)->paths.policies));
BUS_GETTER(get_holds, hold_bus_append(reply, manager_of(userdata), NULL));

static int get_policies(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Manager *m = manager_of(userdata);
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ssss)");
        for (guint i = 0; r >= 0 && i < m->policies->len; i++) {
                const Policy *p = m->policies->pdata[i];

                r = sd_bus_message_append(reply, "(ssss)", p->name, strempty(p->description), p->path,
                                          strempty(p->problem));
        }

        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int get_count(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        ManagerCounts c = manager_count(manager_of(userdata));

        return sd_bus_message_append(reply, "u",
                                     streq(property, "UnitsConfigured") ? c.configured :
                                     streq(property, "UnitsAttached") ? c.attached : c.failed);
}

static int append_unit(sd_bus_message *reply, Unit *u) {
        _cleanup_kernel_policy_ KernelPolicy k = {};
        _cleanup_free_ char *path = NULL;
        int r;

        r = unit_bus_path(u, &path);
        if (r < 0)
                return r;

        return sd_bus_message_append(reply, "(ssssso)", u->name, strempty(u->setting.policy),
                                     strempty(u->effective), strempty(unit_read_verified(u, &k)),
                                     unit_state_to_string(u->state), path);
}

static int method_list_units(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_ptr_array_ GPtrArray *units = manager_list_units(manager_of(userdata), unit_is_managed);
        int r;

        r = bus_open_array(msg, "(ssssso)", &reply);
        for (guint i = 0; r >= 0 && i < units->len; i++)
                r = append_unit(reply, units->pdata[i]);
        return bus_send_array(reply, r);
}

static int reply_unit(Control *c, sd_bus_message *msg, sd_varlink *link, const char *name, bool exists) {
        Unit *u = manager_find_unit(c->manager, name);
        _cleanup_free_ char *path = NULL;
        int r;

        if (!u || !unit_is_managed(u))
                return sd_bus_reply_method_errorf(
                        msg, BUS_ERROR_NO_SUCH_UNIT,
                        "No cache policy is configured for or attached to unit '%s'", name);

        r = unit_bus_path(u, &path);
        return r < 0 ? r : sd_bus_reply_method_return(msg, "o", path);
}

static int method_get_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        return lookup_bus(msg, userdata, method_get_unit, /* cgroup= */ false, reply_unit, error);
}

static int method_get_kernel_stat(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = bus_open_array(msg, "{st}", &reply);
        if (r < 0)
                return r;

        r = kernel_stat_foreach(&manager_of(userdata)->paths.kernel, bus_append_counter, reply);
        return bus_send_array(reply, r == -ENOENT ? 0 : r);
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("KernelSupport", "b", get_kernel_support, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("KernelReason", "s", get_kernel_reason, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("KernelAbi", "t", get_kernel_abi, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("KernelFeatures", "as", get_kernel_features, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("PolicyDirectories", "as", get_policy_directories, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Policies", "a(ssss)", get_policies, 0, SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION),
        SD_BUS_PROPERTY("UnitsConfigured", "u", get_count, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("UnitsAttached", "u", get_count, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("UnitsFailed", "u", get_count, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Holds", "a" HOLD_BUS_STRUCT, get_holds, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("ListUnits", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(ssssso)", units),
                                method_list_units, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetUnit", SD_BUS_ARGS("s", name), SD_BUS_RESULT("o", unit),
                                method_get_unit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetKernelStat", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{st}", counters),
                                method_get_kernel_stat, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetThreadClass", SD_BUS_ARGS("u", thread, "s", class),
                                SD_BUS_RESULT("u", threads),
                                threads_bus_set_thread_class, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetProcessClass", SD_BUS_ARGS("u", process, "s", class),
                                SD_BUS_RESULT("u", threads),
                                threads_bus_set_process_class, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListThreads", SD_BUS_ARGS("u", process), SD_BUS_RESULT("a(uss)", threads),
                                threads_bus_list, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListFiles", SD_BUS_ARGS("s", unit),
                                SD_BUS_RESULT("a" FILES_BUS_STRUCT, managers),
                                files_bus_list, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetUnitSettings", SD_BUS_ARGS("s", unit),
                                SD_BUS_RESULT("a(ssssb)", settings),
                                config_bus_get_unit_settings, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("SetUnitSettings",
                                SD_BUS_ARGS("s", unit, "as", settings, "b", persistent, "b", dry_run),
                                SD_BUS_RESULT("as", files), config_bus_set_unit_settings,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ResetUnit", SD_BUS_ARGS("s", unit, "b", persistent, "b", dry_run),
                                SD_BUS_RESULT("as", files), config_bus_reset_unit,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ForgetUnit", SD_BUS_ARGS("s", unit), SD_BUS_RESULT("as", files),
                                config_bus_forget_unit, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("HoldUnit",
                                SD_BUS_ARGS("s", unit, "as", settings, "s", program, "s", reason),
                                SD_BUS_RESULT("u", cookie), hold_bus_begin, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ReleaseHold", SD_BUS_ARGS("u", cookie), SD_BUS_NO_RESULT, hold_bus_release,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", problems),
                                config_bus_reload, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

/* ---- what changes */

struct ManagerObject {
        Control *control;
        sd_bus *bus;
        bool counts_changed; /* maybe: some unit did; a reconcile follows */
};

static void unit_changed(void *userdata, Unit *u) {
        ((ManagerObject *) userdata)->counts_changed = true;
}

static void emit(ManagerObject *o, const char *const *properties) {
        int r;

        r = sd_bus_emit_properties_changed_strv(o->bus, BUS_PATH, BUS_INTERFACE_MANAGER,
                                                (char **) properties);
        if (r < 0)
                log_debug_errno(r, "Cannot tell the bus what changed: %m");
}

/* Once for all units that changed: counting takes a look at each. */
static void reconciled(void *userdata) {
        ManagerObject *o = ASSERT_PTR(userdata);

        if (o->counts_changed)
                emit(o, (const char *const[]) { "UnitsConfigured", "UnitsAttached", "UnitsFailed", NULL });
        o->counts_changed = false;
}

static void reloaded(void *userdata) {
        emit(userdata, (const char *const[]) { "Policies", NULL });
}

static void holds_changed(void *userdata) {
        emit(userdata, (const char *const[]) { "Holds", NULL });
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .unit_removed = unit_changed,
        .holds_changed = holds_changed,
        .reloaded = reloaded,
        .reconciled = reconciled,
};

int manager_object_new(Control *c, sd_bus *bus, ManagerObject **ret) {
        ManagerObject *o;
        int r;

        r = sd_bus_add_object_vtable(bus, NULL, BUS_PATH, BUS_INTERFACE_MANAGER, manager_vtable, c);
        if (r < 0)
                return r;

        o = g_new0(ManagerObject, 1);
        o->control = c;
        o->bus = sd_bus_ref(bus);
        manager_observe(c->manager, &observer, o);
        *ret = o;
        return 0;
}

ManagerObject *manager_object_free(ManagerObject *o) {
        if (!o)
                return NULL;

        bus_forget_callers(o->control);
        manager_unobserve(o->control->manager, &observer, o);
        sd_bus_unref(o->bus);
        return mfree(o);
}
