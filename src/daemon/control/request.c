/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/manager.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit-kernel.h"
#include "daemon/core/wanted.h"
#include "hold.h"
#include "pending.h"
#include "request.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* Nobody waits for longer. */
#define WAIT_USEC (20 * USEC_PER_SEC)

typedef struct ConfigRequest {
        Pending pending;
        ConfigChange change; /* the strings are ours */
        config_request_reply_t reply;
        bool missing;        /* systemd has no such unit */
        bool reloads;        /* waits for the configuration to be read */
        bool wait;           /* is going to wait for the reconcile, */
        bool changed;        /* and does */
        ConfigOutcome outcome;
        sd_event_source *timer;
        bool hold;           /* is to be held, for: */
        char *program, *reason;
        pid_t pid;
        uint32_t cookie;     /* not 0: of the hold, whose reconcile it waits for */
} ConfigRequest;

static void request_free(Pending *p) {
        ConfigRequest *q = (ConfigRequest *) p;

        sd_event_source_disable_unref(q->timer);
        config_outcome_done(&q->outcome);
        strv_free(q->change.assignments);
        free((char *) q->change.unit);
        free(q->program);
        free(q->reason);
        free(q);
}

static Manager *manager_of(const ConfigRequest *q) {
        return q->pending.control->manager;
}

static bool is_reload(const ConfigRequest *q) {
        return !q->change.unit;
}

/* ---- the answer */

/* Forgets the request afterwards. */
static int send_reply(ConfigRequest *q, const ConfigReply *reply) {
        int r;

        r = q->reply(q->pending.control, q->pending.msg, q->pending.link, reply);
        if (r < 0)
                pending_failed(&q->pending, r);

        pending_done(&q->pending);
        return r;
}

static int answer(ConfigRequest *q, const ConfigOutcome *outcome, char **problems) {
        return send_reply(q, &(const ConfigReply) {
                                .unit = q->change.unit,
                                .hold = q->cookie != 0 ? manager_find_hold(manager_of(q), q->cookie) : NULL,
                                .outcome = outcome,
                                .problems = problems,
                                .state = _UNIT_STATE_INVALID,
                        });
}

static int refuse(ConfigRequest *q, int error, const char *problem) {
        return answer(q, &(const ConfigOutcome) { .error = error, .problem = (char *) problem }, NULL);
}

static int refuse_name(ConfigRequest *q) {
        _cleanup_free_ char *problem = NULL;

        if (asprintf(&problem, "'%s' is not the name of a slice, service or scope", q->change.unit) < 0)
                problem = NULL;
        return refuse(q, -EINVAL, problem);
}

/* ---- what came of a change */

/* Its control group may have to be asked for; the answer makes it dirty. */
static bool is_pending(Manager *m, Unit *u) {
        return u && (u->fetching || g_hash_table_contains(m->dirty, u));
}

static int answer_changed(ConfigRequest *q) {
        Unit *u = manager_find_unit(manager_of(q), q->change.unit);
        bool pending = is_pending(manager_of(q), u);

        return send_reply(q, &(const ConfigReply) {
                                .unit = q->change.unit,
                                .outcome = &q->outcome,
                                /* one that is not loaded has what was set to look forward to */
                                .state = pending ? UNIT_PENDING : u ? u->state :
                                         q->outcome.setting.policy ? UNIT_INACTIVE : UNIT_UNCONFIGURED,
                                .reason = pending || !u ? NULL : u->reason,
                        });
}

static int on_waited_long(sd_event_source *s, uint64_t usec, void *userdata) {
        (void) answer_changed(ASSERT_PTR(userdata));
        return 0;
}

static int wait_for_unit(ConfigRequest *q, ConfigOutcome *o) {
        Manager *m = manager_of(q);
        int r;

        q->outcome = *o;
        *o = (ConfigOutcome) {};
        q->changed = true;
        if (!is_pending(m, manager_find_unit(m, q->change.unit)))
                return answer_changed(q);

        r = sd_event_add_time_relative(m->event, &q->timer, CLOCK_MONOTONIC, WAIT_USEC, 0, on_waited_long,
                                       q);
        return r < 0 ? answer_changed(q) : 0;
}

static int begin_hold(ConfigRequest *q) {
        _cleanup_(config_outcome_done) ConfigOutcome o = {};
        HoldArguments a = {
                .program = q->program,
                .reason = q->reason,
                .pid = q->pid,
                .uid = q->pending.uid,
                .link = q->pending.link,
                .bus_name = q->pending.msg ? sd_bus_message_get_sender(q->pending.msg) : NULL,
        };
        Hold *h;
        int r;

        r = hold_begin(q->pending.control, q->change.unit, q->change.assignments, &a, &o, &h);
        if (r < 0) {
                o.error = r;
                return answer(q, &o, NULL);
        }

        q->cookie = h->cookie;
        return 0;
}

static int change(ConfigRequest *q) {
        ConfigOutcome o;
        int r;

        if (q->hold)
                return begin_hold(q);

        config_change(manager_of(q), &q->change, &o);
        if (q->missing && o.error >= 0 && !o.files) /* and nothing was set for it */
                o.error = -ESRCH;
        if (o.error >= 0 && !q->change.dry_run && o.files)
                for (guint i = 0; i < o.files->len; i++)
                        log_full_fields(LOG_INFO, 0,
                                        LOG_FIELDS(.unit = q->change.unit, .config_file = o.files->pdata[i]),
                                        "%s: Settings were %s at the request of user %u: '%s'.",
                                        q->change.unit,
                                        q->change.assignments ? "changed" : "removed",
                                        (unsigned) q->pending.uid,
                                        (const char *) o.files->pdata[i]);

        if (o.error >= 0 && q->wait && !q->change.dry_run)
                r = wait_for_unit(q, &o);
        else
                r = answer(q, &o, NULL);
        config_outcome_done(&o);
        return r;
}

/* ---- whether there is such a unit
 *
 * systemd need not have loaded it: a setting may wait for
 * the day on which it is started. A slice needs no file. */

static void on_queried(void *userdata) {
        ConfigRequest *q = ASSERT_PTR(userdata);

        q->pending.queries = false;
        (void) change(q);
}

static void on_resolved(int error, const char *id, const char *problem, void *userdata) {
        ConfigRequest *q = ASSERT_PTR(userdata);

        if (error == 0)
                error = free_and_strdup((char **) &q->change.unit, id);
        q->pending.resolve = systemd_resolve_free(q->pending.resolve);

        /* Taking back needs no unit; maybe it is gone, and that is why. */
        q->missing = error == -ESRCH;
        if (error >= 0 && pending_query(&q->pending, q->change.unit, /* cgroup= */ false, on_queried))
                return;
        if (error >= 0 || (!q->change.assignments && error != -ENOMEM))
                (void) change(q);
        else
                (void) refuse(q, error, problem);
}

static bool is_overridden(Manager *m, const char *unit) {
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                if (unit_overrides_get(&m->overrides, k, unit))
                        return true;

        return false;
}

static int find_unit(ConfigRequest *q) {
        const Unit *u = manager_find_unit(manager_of(q), q->change.unit);
        sd_bus *bus = q->pending.control->bus;
        bool takes_back = !q->change.assignments;
        int r;

        if (u && (u->active || takes_back || !bus))
                return change(q);
        if (takes_back && (!bus || is_overridden(manager_of(q), q->change.unit)))
                return change(q);
        if (!bus)
                return refuse(q, -EAGAIN, "systemd cannot be asked about the unit, there is no system bus");

        r = systemd_resolve(bus, q->change.unit, on_resolved, q, &q->pending.resolve);
        return r < 0 ? refuse(q, r, NULL) : 0;
}

/* ---- reading everything again */

/* What is wrong with files and policies. Units tell in their states what became of that. */
static void on_log(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_WARNING && !(fields && fields->state))
                g_ptr_array_add(userdata, g_strdup(message));
}

void config_requests_stop(Control *c) {
        log_set_hook(NULL, NULL);
        if (c->problems)
                g_ptr_array_unref(c->problems);
        c->problems = NULL;
}

static const PendingKind config_kind;

/* The others that wait as well: what they asked for was begun, and is not done. */
static void refuse_reloads(Control *c, int error) {
        _cleanup_ptr_array_ GPtrArray *requests = pending_list(c, &config_kind);

        config_requests_stop(c);
        for (guint i = 0; i < requests->len; i++)
                if (((ConfigRequest *) requests->pdata[i])->reloads)
                        (void) refuse(requests->pdata[i], error, NULL);
}

static int reload(ConfigRequest *q) {
        Control *c = q->pending.control;
        int r;

        config_requests_stop(c);
        c->problems = g_ptr_array_new_with_free_func(g_free);
        log_set_hook(on_log, c->problems);

        log_info("Reading the configuration again at the request of user %u.", (unsigned) q->pending.uid);
        q->reloads = true;
        r = manager_reload(c->manager);
        if (r < 0)
                refuse_reloads(c, r);
        return r;
}

/* Units whose settings cannot be carried out. */
static void add_failed_units(Manager *m, GPtrArray *problems) {
        _cleanup_ptr_array_ GPtrArray *units = g_ptr_array_new();
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &p))
                if (((Unit *) p)->state == UNIT_FAILED)
                        g_ptr_array_add(units, p);

        g_ptr_array_sort(units, unit_compare);
        for (guint i = 0; i < units->len; i++) {
                const Unit *u = units->pdata[i];

                g_ptr_array_add(problems, g_strdup_printf("%s: %s.", u->name, strna(u->reason)));
        }
}

void config_requests_reloaded(Control *c) {
        _cleanup_ptr_array_ GPtrArray *requests = NULL, *problems = NULL;

        if (!c->problems)
                return;

        problems = g_ptr_array_ref(c->problems);
        config_requests_stop(c);
        add_failed_units(c->manager, problems);
        g_ptr_array_add(problems, NULL);

        requests = pending_list(c, &config_kind);
        for (guint i = 0; i < requests->len; i++) {
                ConfigRequest *q = requests->pdata[i];

                if (q->reloads)
                        (void) answer(q, &(const ConfigOutcome) {}, (char **) problems->pdata);
        }
}

/* ---- after a reconcile */

static void unit_reconciled(ConfigRequest *q) {
        bool pending = is_pending(manager_of(q), manager_find_unit(manager_of(q), q->change.unit));

        if (q->cookie != 0 && !manager_find_hold(manager_of(q), q->cookie))
                (void) refuse(q, -ECANCELED, NULL);
        else if (q->cookie != 0 && !pending)
                (void) answer(q, &(const ConfigOutcome) {}, NULL);
        else if (q->changed && !pending)
                (void) answer_changed(q);
}

void config_requests_reconciled(Control *c) {
        _cleanup_ptr_array_ GPtrArray *requests = pending_list(c, &config_kind);

        for (guint i = 0; i < requests->len; i++)
                if (!is_reload(requests->pdata[i]))
                        unit_reconciled(requests->pdata[i]);
}

void config_requests_answer(Control *c) {
        _cleanup_ptr_array_ GPtrArray *requests = pending_list(c, &config_kind);

        for (guint i = 0; i < requests->len; i++) {
                ConfigRequest *q = requests->pdata[i];

                if (q->changed)
                        (void) answer_changed(q);
        }

        config_requests_reloaded(c);
}

/* ---- the beginning */

static void permitted(Pending *p) {
        ConfigRequest *q = (ConfigRequest *) p;

        (void) (is_reload(q) ? reload(q) : find_unit(q));
}

static void refused(Pending *p, int error) {
        (void) refuse((ConfigRequest *) p, error, NULL);
}

static const PendingKind config_kind = {
        .permitted = permitted,
        .refused = refused,
        .free = request_free,
};

static const char *action_of(const ConfigRequest *q) {
        return is_reload(q) ? POLKIT_ACTION_RELOAD :
               q->hold ? POLKIT_ACTION_HOLD_UNITS : POLKIT_ACTION_MANAGE_UNITS;
}

/* As far as there is memory for it. */
static int copy_arguments(ConfigRequest *q, const ConfigRequestArguments *a) {
        q->change = (ConfigChange) {
                .unit = a->change.unit ? strdup(a->change.unit) : NULL,
                .assignments = g_strdupv(a->change.assignments),
                .persistent = a->change.persistent,
                .dry_run = a->change.dry_run,
        };
        q->hold = a->hold;
        q->pid = a->pid;
        q->program = strdup(strempty(a->program));
        q->reason = strdup(strempty(a->reason));
        q->reply = a->reply;
        q->wait = a->wait;

        return (a->change.unit && !q->change.unit) || !q->program || !q->reason ? -ENOMEM : 0;
}

int config_request(Control *c, const ConfigRequestArguments *a) {
        ConfigRequest *q = calloc(1, sizeof(ConfigRequest));
        int r;

        if (!q)
                return -ENOMEM;

        r = copy_arguments(q, a);
        if (r < 0) {
                request_free(&q->pending);
                return r;
        }
        if (!pending_begin(&q->pending, &config_kind, c, a->subject.uid, a->msg, a->link))
                return 0;

        if (!is_reload(q) && !unit_name_is_valid(q->change.unit))
                (void) refuse_name(q);
        else if (q->change.dry_run)
                permitted(&q->pending);
        else
                pending_authorize(&q->pending, &a->subject, action_of(q), a->interactive);
        return 0;
}
