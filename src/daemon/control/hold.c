/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "check.h"
#include "daemon/core/messages.h"
#include "daemon/dbus/manager.h"
#include "hold.h"
#include "shared/file-util.h"
#include "shared/log.h"

/* More than this at a time is not a system but an attack. */
#define HOLDS_MAX 256U
#define TEXT_MAX 256U
/* Where settings come from before it is known that they make sense. */
#define SOURCE_TO_BE "this hold"

static void hold_free(void *p) {
        Hold *h = p;

        sd_varlink_unref(h->link);
        sd_bus_track_unref(h->track);
        policy_setting_done(&h->setting);
        free(h->unit);
        free(h->program);
        free(h->reason);
        free(h);
}

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(Hold *, hold_free);

Hold *hold_find(Manager *m, uint32_t cookie) {
        for (guint i = 0; m->holds && i < m->holds->len; i++) {
                Hold *h = m->holds->pdata[i];

                if (h->cookie == cookie)
                        return h;
        }

        return NULL;
}

GPtrArray *holds_list_settings(Manager *m, const char *unit) {
        GPtrArray *l = NULL;

        for (guint i = 0; m->holds && i < m->holds->len; i++) {
                Hold *h = m->holds->pdata[i];

                if (!streq(h->unit, unit))
                        continue;
                if (!l)
                        l = g_ptr_array_new();
                g_ptr_array_add(l, &h->setting);
        }

        return l;
}

/* ---- who holds */

/* Texts of clients are shown to others, in lines. */
static int check_text(const char *what, const char *text, ConfigOutcome *o) {
        if (strlen(text) > TEXT_MAX)
                return config_refuse(o, -EINVAL, "the %s is longer than %u bytes", what, TEXT_MAX);

        for (const char *s = text; *s; s++)
                if ((unsigned char) *s < ' ' || *s == 0x7f)
                        return config_refuse(o, -EINVAL, "the %s has control characters", what);

        return utf8_is_valid_n(text, strlen(text)) ? 0 :
               config_refuse(o, -EINVAL, "the %s is not valid UTF-8", what);
}

/* The process need not be there any more. */
static char *name_of_process(pid_t pid) {
        char path[STRLEN("/proc//comm") + DECIMAL_STR_MAX(pid_t)], *name;

        (void) snprintf(path, sizeof(path), "/proc/%" PRIi64 "/comm", (int64_t) pid);
        if (pid <= 0 || read_full_file(path, 64, &name, NULL) < 0)
                return strdup("a process");

        name[strcspn(name, "\n")] = 0;
        for (char *s = name; *s; s++)
                if ((unsigned char) *s < ' ' || (unsigned char) *s >= 0x7f)
                        *s = '?';
        return name;
}

int hold_format_holder(const Hold *h, char **ret) {
        return asprintf(ret, "%s (PID %" PRIi64 ")", h->program, (int64_t) h->pid) < 0 ? -ENOMEM : 0;
}

/* In the place of FILE:LINE. */
static int format_source(const Hold *h, char **ret) {
        _cleanup_free_ char *holder = NULL;
        int r;

        r = hold_format_holder(h, &holder);
        if (r < 0)
                return r;

        return asprintf(ret, "hold %" PRIu32 " by %s%s%s", h->cookie, holder, h->reason ? ": " : "",
                        strempty(h->reason)) < 0 ? -ENOMEM : 0;
}

/* ---- what is held */

/* The same assignments, one for each key, from there. */
static int set_source(PolicySetting *s, const char *source) {
        _cleanup_policy_setting_ PolicySetting new = { .layer = POLICY_LAYER_HOLD };
        int r = 0;

        if (s->set)
                r = policy_setting_assign(&new, policy_setting_key_name(0), strempty(s->policy), source, 0);

        for (PolicyKey k = 0; r >= 0 && k < _POLICY_KEY_MAX; k++) {
                const PolicyWords *words = s->more + k;
                g_autoptr(GString) text = g_string_new(NULL);

                if (!words->set)
                        continue;
                for (guint i = 0; i < policy_words_count(words); i++)
                        g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
                                               policy_words_get(words, i)->text);
                r = policy_setting_assign(&new, policy_setting_key_name(k + 1), text->str, source, 0);
        }
        if (r < 0)
                return r;

        policy_setting_done(s);
        *s = new;
        new = (PolicySetting) {};
        return 0;
}

/* Over everything that holds for the unit already. */
static int check_setting(Hold *h, ConfigOutcome *o) {
        _cleanup_ptr_array_ GPtrArray *holds = holds_list_settings(h->manager, h->unit) ?: g_ptr_array_new();
        const PolicySetting *overrides[_OVERRIDE_MAX];
        int r;

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                overrides[k] = unit_overrides_get(&h->manager->overrides, k, h->unit);
        g_ptr_array_add(holds, &h->setting);

        r = config_resolve(h->manager, h->unit, overrides, holds, o);
        return r < 0 ? r : config_check(h->manager, h->unit, &h->setting, SOURCE_TO_BE, o);
}

static int read_setting(Hold *h, char **assignments, ConfigOutcome *o) {
        _cleanup_free_ char *source = NULL;
        int r;

        r = config_read_assignments(assignments, &h->setting, o);
        if (r >= 0)
                r = set_source(&h->setting, SOURCE_TO_BE);
        if (r >= 0)
                r = check_setting(h, o);
        if (r >= 0)
                r = format_source(h, &source);
        return r < 0 ? r : set_source(&h->setting, source);
}

/* ---- as long as the client is there */

static void changed(Hold *h) {
        Unit *u = manager_find_unit(h->manager, h->unit);

        manager_unit_overridden(h->manager, h->unit);
        if (u) /* that it is held is shown, even if that changes nothing */
                manager_unit_changed(h->manager, u);
        manager_bus_holds_changed(h->manager);
        manager_queue_reconcile(h->manager);
}

static int on_bus_name_gone(sd_bus_track *track, void *userdata) {
        hold_end(userdata);
        return 0;
}

static int watch_holder(Hold *h, const HoldArguments *a) {
        int r;

        if (a->link) {
                h->link = sd_varlink_ref(a->link);
                return 0;
        }
        if (!a->bus_name)
                return 0;

        r = sd_bus_track_new(h->manager->bus, &h->track, on_bus_name_gone, h);
        return r < 0 ? r : sd_bus_track_add_name(h->track, a->bus_name);
}

static uint32_t new_cookie(Manager *m) {
        do
                m->last_cookie++;
        while (m->last_cookie == 0 || hold_find(m, m->last_cookie));

        return m->last_cookie;
}

static int hold_new(Manager *m, const char *unit, const HoldArguments *a, Hold **ret) {
        _cleanup_(hold_freep) Hold *h = calloc(1, sizeof(Hold));
        struct timespec ts;

        if (!h)
                return -ENOMEM;

        assert(clock_gettime(CLOCK_REALTIME, &ts) == 0);
        h->since = (uint64_t) ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
        h->manager = m;
        h->cookie = new_cookie(m);
        h->pid = a->pid;
        h->uid = a->uid;
        h->unit = strdup(unit);
        h->program = isempty(a->program) ? name_of_process(a->pid) : strdup(a->program);
        if (!h->unit || !h->program || (!isempty(a->reason) && !(h->reason = strdup(a->reason))))
                return -ENOMEM;

        *ret = TAKE_PTR(h);
        return 0;
}

static void log_hold(const Hold *h, const char *message_id, const char *what) {
        _cleanup_free_ char *holder = NULL;

        (void) hold_format_holder(h, &holder);
        log_full_fields(LOG_INFO, 0,
                        LOG_FIELDS(.message_id = message_id, .unit = h->unit, .policy = h->setting.policy,
                                   .reason = h->reason, .program = h->program, .cookie = h->cookie),
                        "%s: %s %s%s%s.", h->unit, what, strna(holder), h->reason ? ": " : "",
                        strempty(h->reason));
}

int hold_begin(Manager *m, const char *unit, char **assignments, const HoldArguments *a, ConfigOutcome *o,
               Hold **ret) {
        _cleanup_(hold_freep) Hold *h = NULL;
        int r;

        if (m->holds && m->holds->len >= HOLDS_MAX)
                return -EBUSY;

        r = check_text("name of the program", strempty(a->program), o);
        if (r >= 0)
                r = check_text("reason", strempty(a->reason), o);
        if (r >= 0)
                r = hold_new(m, unit, a, &h);
        if (r >= 0)
                r = read_setting(h, assignments, o);
        if (r >= 0)
                r = watch_holder(h, a);
        if (r < 0)
                return r;

        if (!m->holds)
                m->holds = g_ptr_array_new_with_free_func(hold_free);
        g_ptr_array_add(m->holds, h);
        log_hold(h, MESSAGE_HOLD_BEGUN, "Its settings are held from now on by");
        changed(h);
        *ret = TAKE_PTR(h);
        return 0;
}

void hold_end(Hold *h) {
        guint i;

        log_hold(h, MESSAGE_HOLD_ENDED, "Its settings are not held any more by");
        if (g_ptr_array_find(h->manager->holds, h, &i))
                (void) g_ptr_array_steal_index(h->manager->holds, i);
        changed(h);
        hold_free(h);
}

/* The last one first: what one held that ends as well does not become known. */
static void end_those(Manager *m, bool (*test)(const Hold *h, const void *userdata), const void *userdata) {
        for (guint i = m->holds ? m->holds->len : 0; i > 0; i--)
                if (test(m->holds->pdata[i - 1], userdata))
                        hold_end(m->holds->pdata[i - 1]);
}

static bool has_link(const Hold *h, const void *link) {
        return h->link == link;
}

static bool is_on_bus(const Hold *h, const void *userdata) {
        return h->track;
}

static bool is_any(const Hold *h, const void *userdata) {
        return true;
}

void holds_disconnected(Manager *m, sd_varlink *link) {
        end_those(m, has_link, link);
}

void holds_end_of_bus(Manager *m) {
        end_those(m, is_on_bus, NULL);
}

void holds_end_all(Manager *m) {
        end_those(m, is_any, NULL);
}
