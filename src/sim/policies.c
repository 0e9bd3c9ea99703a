/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host-state.h"
#include "policies.h"
#include "shared/macro.h"
#include "shared/string-util.h"

static SimPolicy *policies;
static SimPolicy *newest;

static void use_name_of_file(SimPolicy *policy) {
        const char *slash = strrchr(policy->file, '/'), *base = slash ? slash + 1 : policy->file;
        const char *suffix = endswith(base, ".bpf.c");

        if (!suffix)
                return;
        (void) snprintf(policy->name_of_file, sizeof(policy->name_of_file), "%.*s", (int) (suffix - base),
                        base);
        policy->name = policy->name_of_file;
}

/* Called before main(), and when a library is loaded. */
void sim_policy_register(SimPolicy *policy) {
        SimPolicy **p;

        use_name_of_file(policy);

        for (p = &policies; *p && strcmp((*p)->name, policy->name) <= 0;)
                p = &(*p)->next;
        policy->next = *p;
        *p = policy;
        newest = policy;
}

void sim_tunable_register(SimTunable **list, SimTunable *tunable) {
        while (*list)
                list = &(*list)->next;
        *list = tunable;
}

void sim_counter_register(SimCounter **list, SimCounter *counter) {
        while (*list)
                list = &(*list)->next;
        *list = counter;
}

const SimPolicy *sim_policies(void) {
        return policies;
}

const SimPolicy *sim_policy_find(const char *name) {
        assert(name);

        for (const SimPolicy *p = policies; p; p = p->next)
                if (streq(p->name, name) || streq(p->ops->name, name))
                        return p;
        return NULL;
}

static SimPolicy *policy_of(void *library) {
        for (SimPolicy *p = policies; p; p = p->next)
                if (p->library == library)
                        return p;
        return NULL;
}

int sim_policy_load(const char *path, const SimPolicy **ret, char **ret_error) {
        void *library;
        SimPolicy *p;

        assert(strchr(path, '/')); /* else it would be looked for where libraries are */
        assert(ret);
        assert(ret_error);

        *ret_error = NULL;
        if (access(path, R_OK) < 0) {
                int r = -errno;

                *ret_error = g_strdup_printf("%s: %s", path, strerror(-r));
                return r;
        }

        newest = NULL;
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
                *ret_error = g_strdup(dlerror()); /* it begins with the path */
                return -ELIBBAD;
        }

        p = policy_of(library);
        if (!p && !newest) {
                *ret_error = g_strdup_printf("%s: there is no CACHEBPF_POLICY() in it that was compiled "
                                             "with -DCACHEBPF_SIM", path);
                return -ELIBBAD;
        }
        if (!p) {
                p = newest;
                p->library = library;
                if (sim_policy_find(p->name) != p)
                        p->name = g_path_get_basename(path);
        }

        *ret = p;
        return 0;
}

const SimTunable *sim_tunable_find(const SimPolicy *policy, const char *name) {
        assert(policy);
        assert(name);

        for (const SimTunable *t = *policy->tunables; t; t = t->next)
                if (streq(t->name, name))
                        return t;
        return NULL;
}

const SimCounter *sim_counters(const SimPolicy *policy) {
        assert(policy);

        return policy->counters ? *policy->counters : NULL;
}

void sim_tunable_range(const SimTunable *t, int64_t *ret_min, int64_t *ret_max) {
        int64_t min, max;

        assert(t);
        assert(ret_min);
        assert(ret_max);

        if (sscanf(t->range, "%" SCNi64 "..%" SCNi64, &min, &max) == 2) {
                *ret_min = min;
                *ret_max = max;
                return;
        }

        max = t->size < 8 ? (INT64_C(1) << (8 * t->size - t->is_signed)) - 1 : INT64_MAX;
        *ret_min = t->is_signed ? -max - 1 : 0;
        *ret_max = max;
}

int sim_tunable_set(const SimTunable *t, int64_t value) {
        int64_t min, max;

        sim_tunable_range(t, &min, &max);
        if (value < min || value > max)
                return -ERANGE;

        switch (t->size) {
        case 1:
                *(volatile uint8_t *) t->value = value;
                break;
        case 2:
                *(volatile uint16_t *) t->value = value;
                break;
        case 4:
                *(volatile uint32_t *) t->value = value;
                break;
        default:
                *(volatile uint64_t *) t->value = value;
        }
        return 0;
}
