/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>

#include "daemon/core/messages.h"
#include "hold.h"
#include "shared/file-util.h"
#include "shared/log.h"

/* More than this at a time, of users that are not root, is not a system but an attack. */
#define HOLDS_MAX 256U
#define TEXT_MAX 256U
/* Where settings come from before it is known that they make sense. */
#define SOURCE_TO_BE "this hold"

typedef struct Holder {
        Hold hold;
        Control *control;

        /* Who has to stay; one of them. */
        sd_varlink *link;
        sd_bus_track *track;
} Holder;

static void holder_free(void *p) {
        Holder *h = p;

        sd_varlink_unref(h->link);
        sd_bus_track_unref(h->track);
        policy_setting_done(&h->hold.setting);
        free(h->hold.unit);
        free(h->hold.program);
        free(h->hold.reason);
        free(h);
}

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(Holder *, holder_free);

GPtrArray *holders_new(void) {
        return g_ptr_array_new_with_free_func(holder_free);
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
                return g_strdup("a process");

        name[strcspn(name, "\n")] = 0;
        for (char *s = name; *s; s++)
                if ((unsigned char) *s < ' ' || (unsigned char) *s >= 0x7f)
                        *s = '?';
        return name;
}

/* "NAME (PID 123)" */
static char *format_holder(const Hold *h) {
        return g_strdup_printf("%s (PID %" PRIi64 ")", h->program, (int64_t) h->pid);
}

/* In the place of FILE:LINE. */
static char *format_source(const Hold *h) {
        g_autofree char *holder = format_holder(h);

        return g_strdup_printf("hold %" PRIu32 " by %s%s%s", h->cookie, holder, h->reason ? ": " : "",
                               strempty(h->reason));
}

/* ---- what is held */

/* The same assignments, one for each key, from there. */
static void set_source(PolicySetting *s, const char *source) {
        PolicySetting new = { .layer = POLICY_LAYER_HOLD };
        const char *key;

        for (guint i = 0; (key = policy_setting_key_name(i)); i++) {
                g_autofree char *value = policy_setting_get_value(s, i);

                if (value)
                        (void) policy_setting_assign(&new, key, value, source, 0);
        }

        policy_setting_done(s);
        *s = new;
}

/* Over everything that holds for the unit already. */
static int check_setting(Manager *m, Hold *h, ConfigOutcome *o) {
        _cleanup_ptr_array_ GPtrArray *holds = manager_list_held(m, h->unit);
        PolicyLayers l = manager_layers(m, h->unit, holds);

        g_ptr_array_add(holds, &h->setting);
        config_resolve(m, h->unit, &l, o);
        return config_check(m, h->unit, &h->setting, SOURCE_TO_BE, o);
}

static int read_setting(Manager *m, Hold *h, char **assignments, ConfigOutcome *o) {
        g_autofree char *source = format_source(h);
        int r;

        r = config_read_assignments(assignments, &h->setting, o);
        if (r < 0)
                return r;

        set_source(&h->setting, SOURCE_TO_BE);
        r = check_setting(m, h, o);
        if (r < 0)
                return r;

        set_source(&h->setting, source);
        return 0;
}

/* ---- as long as the client is there */

static void end(Holder *h);

static int on_bus_name_gone(sd_bus_track *track, void *userdata) {
        end(userdata);
        return 0;
}

static int watch_client(Holder *h, const HoldArguments *a) {
        int r;

        if (a->link) {
                h->link = sd_varlink_ref(a->link);
                return 0;
        }
        if (!a->bus_name)
                return 0;

        r = sd_bus_track_new(h->control->bus, &h->track, on_bus_name_gone, h);
        return r < 0 ? r : sd_bus_track_add_name(h->track, a->bus_name);
}

static uint32_t new_cookie(Control *c) {
        do
                c->last_cookie++;
        while (c->last_cookie == 0 || manager_find_hold(c->manager, c->last_cookie));

        return c->last_cookie;
}

static Holder *holder_new(Control *c, const char *unit, const HoldArguments *a) {
        Holder *h = g_new0(Holder, 1);

        h->control = c;
        h->hold = (Hold) {
                .since = g_get_real_time(),
                .cookie = new_cookie(c),
                .pid = a->pid,
                .uid = a->uid,
                .unit = g_strdup(unit),
                .program = isempty(a->program) ? name_of_process(a->pid) : g_strdup(a->program),
                .reason = g_strdup(empty_to_null(a->reason)),
        };
        return h;
}

/* Root's do not count, so that nobody keeps root out. */
static bool too_many(Control *c, uid_t uid) {
        unsigned n = 0;

        for (guint i = 0; i < c->holders->len; i++)
                n += ((Holder *) c->holders->pdata[i])->hold.uid != 0;

        return uid != 0 && n >= HOLDS_MAX;
}

static void log_hold(const Hold *h, const char *message_id, const char *what) {
        g_autofree char *holder = format_holder(h);

        log_full_fields(LOG_INFO, 0,
                        LOG_FIELDS(.message_id = message_id, .unit = h->unit, .policy = h->setting.policy,
                                   .reason = h->reason, .program = h->program, .cookie = h->cookie),
                        "%s: %s %s%s%s.", h->unit, what, holder, h->reason ? ": " : "",
                        strempty(h->reason));
}

int hold_begin(Control *c, const char *unit, char **assignments, const HoldArguments *a, ConfigOutcome *o,
               Hold **ret) {
        _cleanup_(holder_freep) Holder *h = NULL;
        int r;

        if (too_many(c, a->uid))
                return -EBUSY;

        r = check_text("name of the program", strempty(a->program), o);
        if (r >= 0)
                r = check_text("reason", strempty(a->reason), o);
        if (r < 0)
                return r;

        h = holder_new(c, unit, a);
        r = read_setting(c->manager, &h->hold, assignments, o);
        if (r >= 0)
                r = watch_client(h, a);
        if (r < 0)
                return r;

        *ret = &h->hold;
        g_ptr_array_add(c->holders, TAKE_PTR(h));
        log_hold(*ret, MESSAGE_HOLD_BEGUN, "Its settings are held from now on by");
        manager_add_hold(c->manager, *ret);
        return 0;
}

static void end(Holder *h) {
        log_hold(&h->hold, MESSAGE_HOLD_ENDED, "Its settings are not held any more by");
        manager_remove_hold(h->control->manager, &h->hold);
        (void) g_ptr_array_remove(h->control->holders, h);
}

int hold_release(Control *c, uint32_t cookie, const char *bus_name) {
        for (guint i = 0; i < c->holders->len; i++) {
                Holder *h = c->holders->pdata[i];

                if (h->hold.cookie == cookie && h->track && sd_bus_track_contains(h->track, bus_name)) {
                        end(h);
                        return 0;
                }
        }

        return -ESRCH;
}

/* The last one first: what one held that ends as well does not become known. */
static void end_those(Control *c, bool (*test)(const Holder *h, const void *userdata),
                      const void *userdata) {
        for (guint i = c->holders->len; i > 0; i--)
                if (test(c->holders->pdata[i - 1], userdata))
                        end(c->holders->pdata[i - 1]);
}

static bool has_link(const Holder *h, const void *link) {
        return h->link == link;
}

static bool is_on_bus(const Holder *h, const void *userdata) {
        return h->track;
}

static bool is_any(const Holder *h, const void *userdata) {
        return true;
}

void holds_disconnected(Control *c, sd_varlink *link) {
        end_those(c, has_link, link);
}

void holds_end_of_bus(Control *c) {
        end_those(c, is_on_bus, NULL);
}

void holds_end_all(Control *c) {
        end_those(c, is_any, NULL);
}
