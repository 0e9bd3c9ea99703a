/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "choice.h"
#include "config/resolve.h"
#include "registry.h"
#include "shared/string-util.h"

UnitChoice *unit_choice_free(UnitChoice *c) {
        if (!c)
                return NULL;

        policy_candidates_done(&c->candidates);
        free(c->why);
        free(c->because);
        free(c->verdict);
        return mfree(c);
}

static const PolicyCandidate *chosen_of(const UnitChoice *c) {
        return c->candidates.list->pdata[c->chosen];
}

const char *unit_chosen_name(const Unit *u) {
        return u->choice ? chosen_of(u->choice)->name : NULL;
}

const char *unit_wanted_policy(const Unit *u) {
        return u->choice ? chosen_of(u->choice)->setting.policy : u->setting.policy;
}

bool unit_runs(const Unit *u, const char *own, const Policy *p, const PolicyConfig *config) {
        return u->link && !u->link->incomplete && policy_kernel_name_equal(p->name, own) &&
                streq(strempty(u->link->config), config->fingerprint);
}

/* ---- candidates come and go */

static guint find_candidate(const PolicyCandidates *c, const char *name) {
        for (guint i = 0; i < c->list->len; i++)
                if (streq(((const PolicyCandidate *) c->list->pdata[i])->name, name))
                        return i;

        return c->first;
}

/* The configuration says something else, or the policies on disk are others. Who was chosen stays that, if
 * it is still one of them. */
static int update_candidates(Unit *u, char **ret_problem) {
        _cleanup_policy_candidates_ PolicyCandidates c = {};
        Manager *m = u->manager;
        int r;

        if (!policy_setting_is_auto(&u->setting)) {
                u->choice = unit_choice_free(u->choice);
                return 0;
        }

        r = policy_candidates_make(&u->setting, m->policies, m->paths.policies, &c, ret_problem);
        if (r < 0)
                return r;
        if (u->choice && policy_candidates_equal(&c, &u->choice->candidates))
                return 0;

        if (!u->choice)
                u->choice = g_new0(UnitChoice, 1);
        else
                u->choice->chosen = find_candidate(&c, unit_chosen_name(u));
        policy_candidates_done(&u->choice->candidates);
        u->choice->candidates = TAKE_STRUCT(c);
        memset(u->choice->figures, 0, sizeof(u->choice->figures));
        g_set_str(&u->choice->verdict, NULL);
        g_set_str(&u->choice->why, NULL);
        manager_notify(m, unit_changed, u);
        return 0;
}

/* ---- which one */

static int find_policy(const Unit *u, const PolicySetting *s, const Policy **ret_policy, PolicyConfig *ret,
                       char **ret_problem) {
        return policy_setting_check(s, u->manager->policies, u->manager->paths.policies, ret_policy, ret,
                                    ret_problem);
}

/* An earlier instance of the daemon chose it. After an interrupted update only the name is known. */
static bool runs_candidate(const Unit *u, const char *own, const PolicyCandidate *c) {
        _cleanup_policy_config_ PolicyConfig config = {};
        _cleanup_free_ char *problem = NULL;
        const Policy *p;

        if (!u->link || find_policy(u, &c->setting, &p, &config, &problem) < 0)
                return false;
        return u->link->incomplete ? policy_kernel_name_equal(p->name, own) :
                                     unit_runs(u, own, p, &config);
}

static void begin(Unit *u, const char *own) {
        UnitChoice *c = u->choice;

        c->begun = true;
        c->chosen = c->candidates.first;
        for (guint i = 0; i < c->candidates.list->len; i++)
                if (runs_candidate(u, own, c->candidates.list->pdata[i])) {
                        c->chosen = i;
                        return;
                }
}

int unit_find_policy(Unit *u, const char *own, const Policy **ret_policy, PolicyConfig *ret,
                     char **ret_problem) {
        int r;

        r = update_candidates(u, ret_problem);
        if (r < 0)
                return r;

        if (u->choice && !u->choice->begun && own)
                begin(u, own);
        return find_policy(u, u->choice ? &chosen_of(u->choice)->setting : &u->setting, ret_policy, ret,
                           ret_problem);
}

void unit_choose(Unit *u, guint candidate, const char *why) {
        UnitChoice *c = u->choice;

        assert(candidate < c->candidates.list->len);

        c->chosen = candidate;
        g_set_str(&c->why, why);
        manager_mark_dirty(u->manager, u);
}

bool unit_note_chosen(Unit *u) {
        UnitChoice *c = u->choice;

        if (!c || !c->why)
                return false;

        free(c->because);
        c->because = TAKE_PTR(c->why);
        c->switched_at = g_get_real_time();
        c->n_switches++;
        return true;
}
