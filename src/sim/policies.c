/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host-state.h"
#include "macro.h"
#include "policies.h"
#include "string-util.h"

static SimPolicy *policies;

static void use_name_of_file(SimPolicy *policy) {
        const char *slash = strrchr(policy->file, '/'), *base = slash ? slash + 1 : policy->file;
        const char *suffix = endswith(base, ".bpf.c");

        if (!suffix)
                return;
        (void) snprintf(policy->name_of_file, sizeof(policy->name_of_file), "%.*s", (int) (suffix - base), base);
        policy->name = policy->name_of_file;
}

/* Called before main(). */
void sim_policy_register(SimPolicy *policy) {
        SimPolicy **p;

        use_name_of_file(policy);

        for (p = &policies; *p && strcmp((*p)->name, policy->name) < 0;)
                p = &(*p)->next;
        policy->next = *p;
        *p = policy;
}

void sim_tunable_register(SimTunable **list, SimTunable *tunable) {
        while (*list)
                list = &(*list)->next;
        *list = tunable;
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

const SimTunable *sim_tunable_find(const SimPolicy *policy, const char *name) {
        assert(policy);
        assert(name);

        for (const SimTunable *t = *policy->tunables; t; t = t->next)
                if (streq(t->name, name))
                        return t;
        return NULL;
}

int64_t sim_tunable_get(const SimTunable *t) {
        assert(t);

        switch (t->size) {
        case 1:
                return t->is_signed ? *(volatile int8_t *) t->value : *(volatile uint8_t *) t->value;
        case 2:
                return t->is_signed ? *(volatile int16_t *) t->value : *(volatile uint16_t *) t->value;
        case 4:
                return t->is_signed ? *(volatile int32_t *) t->value :
                                      (int64_t) *(volatile uint32_t *) t->value;
        default:
                return *(volatile int64_t *) t->value;
        }
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
