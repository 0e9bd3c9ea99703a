/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "catalog.h"
#include "shared/log.h"

#include "config.h"

const char *const policy_directories[] = {
        "/etc/cachebpf/policies",
        "/run/cachebpf/policies",
        PKGLIBDIR "/policies",
        NULL,
};

static void policy_tunable_clear(void *p) {
        PolicyTunable *t = p;

        free(t->name);
        free(t->type);
        free(t->unit);
        free(t->doc);
        free(t->source);
}

static void policy_counter_clear(void *p) {
        PolicyCounter *c = p;

        free(c->name);
        free(c->unit);
        free(c->doc);
}

Policy *policy_new(const char *name, const char *path) {
        Policy *p = g_new0(Policy, 1);

        p->name = g_strdup(name);
        p->path = g_strdup(path);
        p->tunables = g_array_new(FALSE, TRUE, sizeof(PolicyTunable));
        g_array_set_clear_func(p->tunables, policy_tunable_clear);
        p->counters = g_array_new(FALSE, TRUE, sizeof(PolicyCounter));
        g_array_set_clear_func(p->counters, policy_counter_clear);
        return p;
}

Policy *policy_free(Policy *p) {
        if (!p)
                return NULL;

        free(p->name);
        free(p->path);
        free(p->description);
        free(p->source);
        free(p->problem);
        g_array_unref(p->tunables);
        g_array_unref(p->counters);
        if (p->object)
                g_bytes_unref(p->object);
        return mfree(p);
}

static void policy_destroy(void *p) {
        policy_free(p);
}

const Policy *policies_find(GPtrArray *policies, const char *name) {
        for (guint i = 0; policies && i < policies->len; i++) {
                const Policy *p = policies->pdata[i];

                if (streq(p->name, name))
                        return p;
        }

        return NULL;
}

PolicyTunable *policy_find_tunable(const Policy *p, const char *name) {
        for (guint i = 0; i < p->tunables->len; i++) {
                PolicyTunable *t = &g_array_index(p->tunables, PolicyTunable, i);

                if (streq(t->name, name))
                        return t;
        }

        return NULL;
}

PolicyCounter *policy_find_counter(const Policy *p, const char *name) {
        for (guint i = 0; i < p->counters->len; i++) {
                PolicyCounter *c = &g_array_index(p->counters, PolicyCounter, i);

                if (streq(c->name, name))
                        return c;
        }

        return NULL;
}

static void add_policy(GPtrArray *policies, const char *dir, const char *file) {
        g_autofree char *name = g_strndup(file, strlen(file) - STRLEN(POLICY_OBJECT_SUFFIX)),
                *path = g_strdup_printf("%s/%s", dir, file);
        Policy *p;

        if (policies_find(policies, name))
                return;

        if (!policy_name_is_valid(name)) {
                log_warning("Ignoring '%s': a policy is named by at most %u letters, digits, '-' and '_'.",
                            path, POLICY_NAME_MAX);
                return;
        }

        if (streq(name, "auto")) {
                log_warning("Ignoring '%s': with 'auto' the daemon chooses a policy, it is no name of one.",
                            path);
                return;
        }

        p = policy_new(name, path);
        policy_read_object(p);
        if (p->problem)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.policy = name, .reason = p->problem),
                                "Policy '%s' cannot be used: %s.", name, p->problem);
        g_ptr_array_add(policies, p);
}

static void scan_directory(GPtrArray *policies, const char *dir) {
        _cleanup_closedir_ DIR *d = opendir(dir);
        struct dirent *de;

        if (!d) {
                if (errno != ENOENT)
                        log_warning_errno(errno, "Cannot open directory '%s', ignoring: %m", dir);
                return;
        }

        while ((de = readdir(d))) {
                if (de->d_name[0] == '.' || !endswith(de->d_name, POLICY_OBJECT_SUFFIX))
                        continue;

                if (policies->len >= POLICIES_MAX) {
                        log_warning("More than %u policies in '%s', ignoring the rest.", POLICIES_MAX, dir);
                        break;
                }

                add_policy(policies, dir, de->d_name);
        }
}

static int policy_compare(gconstpointer a, gconstpointer b) {
        return strcmp((*(const Policy *const *) a)->name, (*(const Policy *const *) b)->name);
}

GPtrArray *policies_load(const char *const *dirs) {
        GPtrArray *policies = g_ptr_array_new_with_free_func(policy_destroy);

        for (; *dirs; dirs++)
                scan_directory(policies, *dirs);

        g_ptr_array_sort(policies, policy_compare);
        return policies;
}
