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

Policy *policy_new(const char *name, const char *path) {
        _cleanup_(policy_freep) Policy *p = calloc(1, sizeof(Policy));

        if (!p)
                return NULL;

        p->name = strdup(name);
        p->path = strdup(path);
        if (!p->name || !p->path)
                return NULL;

        p->tunables = g_array_new(FALSE, TRUE, sizeof(PolicyTunable));
        g_array_set_clear_func(p->tunables, policy_tunable_clear);

        return TAKE_PTR(p);
}

Policy *policy_free(Policy *p) {
        if (!p)
                return NULL;

        free(p->name);
        free(p->path);
        free(p->description);
        free(p->source);
        free(p->problem);
        if (p->tunables)
                g_array_unref(p->tunables);
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

static int add_policy(GPtrArray *policies, const char *dir, const char *file) {
        _cleanup_free_ char *name = NULL, *path = NULL;
        _cleanup_(policy_freep) Policy *p = NULL;
        int r;

        name = strndup(file, strlen(file) - STRLEN(POLICY_OBJECT_SUFFIX));
        if (!name || asprintf(&path, "%s/%s", dir, file) < 0)
                return -ENOMEM;

        if (policies_find(policies, name))
                return 0;

        if (!policy_name_is_valid(name)) {
                log_warning("Ignoring '%s': a policy is named by at most %u letters, digits, '-' and '_'.",
                            path, POLICY_NAME_MAX);
                return 0;
        }

        p = policy_new(name, path);
        if (!p)
                return -ENOMEM;

        r = policy_read_object(p);
        if (r < 0)
                return r;
        if (p->problem)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.policy = name, .reason = p->problem),
                                "Policy '%s' cannot be used: %s.", name, p->problem);

        g_ptr_array_add(policies, TAKE_PTR(p));
        return 0;
}

static int scan_directory(GPtrArray *policies, const char *dir) {
        _cleanup_closedir_ DIR *d = opendir(dir);
        struct dirent *de;
        int r;

        if (!d) {
                if (errno != ENOENT)
                        log_warning_errno(errno, "Cannot open directory '%s', ignoring: %m", dir);
                return 0;
        }

        while ((de = readdir(d))) {
                if (de->d_name[0] == '.' || !endswith(de->d_name, POLICY_OBJECT_SUFFIX))
                        continue;

                if (policies->len >= POLICIES_MAX) {
                        log_warning("More than %u policies in '%s', ignoring the rest.", POLICIES_MAX, dir);
                        break;
                }

                r = add_policy(policies, dir, de->d_name);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int policy_compare(gconstpointer a, gconstpointer b) {
        return strcmp((*(const Policy *const *) a)->name, (*(const Policy *const *) b)->name);
}

int policies_load(const char *const *dirs, GPtrArray **ret) {
        _cleanup_ptr_array_ GPtrArray *policies = g_ptr_array_new_with_free_func(policy_destroy);
        int r;

        assert(dirs);
        assert(ret);

        for (; *dirs; dirs++) {
                r = scan_directory(policies, *dirs);
                if (r < 0)
                        return r;
        }

        g_ptr_array_sort(policies, policy_compare);
        *ret = TAKE_PTR(policies);
        return 0;
}
