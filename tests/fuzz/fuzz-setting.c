/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fuzz-setting.h"

#include <string.h>

#include "config/policy-config.h"
#include "fuzz-util.h"

static void clear_tunable(void *p) {
        PolicyTunable *t = p;

        free(t->name);
}

static Policy *new_policy(void) {
        Policy *p = calloc(1, sizeof(Policy));
        PolicyTunable tunables[] = {
                { .name = strdup("nr_scan"), .size = 4, .default_value = 512, .has_range = true, .min = 8,
                  .max = 65536 },
                { .name = strdup("bias"), .size = 1, .is_signed = true, .default_value = -3 },
                { .name = strdup("seed"), .size = 8 },
        };

        CHECK(p);
        p->name = strdup("lfu");
        p->path = strdup("/usr/lib/lfu.bpf.o");
        p->tunables = g_array_new(FALSE, TRUE, sizeof(PolicyTunable));
        g_array_set_clear_func(p->tunables, clear_tunable);
        g_array_append_vals(p->tunables, tunables, ELEMENTSOF(tunables));
        p->filters = p->plans = p->knows_threads = true;
        p->n_globs = 8;
        p->glob_size = 16;
        return p;
}

static void check_config(const PolicySetting *s) {
        Policy *p = new_policy();
        PolicyConfig c = {};
        char *problem = NULL;
        int r;

        r = policy_config_make(p, s, &c, &problem);
        if (r < 0) {
                CHECK(r == -EINVAL);
                CHECK(problem && *problem && !strchr(problem, '\n'));
        } else {
                CHECK(!problem);
                for (guint i = 0; c.values && i < c.values->len; i++) {
                        const PolicyValue *v = &g_array_index(c.values, PolicyValue, i);

                        CHECK(!v->tunable->has_range ||
                              (v->value >= v->tunable->min && v->value <= v->tunable->max));
                }
                for (char **glob = c.scan_threads; glob && *glob; glob++)
                        CHECK(strlen(*glob) < p->glob_size);
        }

        free(problem);
        policy_config_done(&c);
        policy_free(p);
}

void fuzz_check_setting(const PolicySetting *s, const char *directory) {
        PolicySetting copy = {};

        if (s->set)
                CHECK(s->line > 0 && s->file && g_str_has_prefix(s->file, directory));
        for (PolicyKey key = 0; key < _POLICY_KEY_MAX; key++)
                for (guint i = 0; i < policy_words_count(s->more + key); i++) {
                        const PolicyWord *w = policy_words_get(s->more + key, i);

                        CHECK(*w->text && !strpbrk(w->text, " \t\n"));
                        CHECK(w->line > 0 && g_str_has_prefix(w->file, directory));
                }

        policy_setting_overlay(&copy, s);
        CHECK(policy_setting_equal(&copy, s));
        policy_setting_done(&copy);

        check_config(s);
}
