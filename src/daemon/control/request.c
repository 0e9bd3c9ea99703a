/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/manager.h"
#include "daemon/core/registry.h"
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
        ConfigChange change; /* of the unit of pending; the assignments are ours */
        config_request_reply_t reply;
        bool missing;        /* systemd has no such unit */
        bool reloads;        /* waits for the configuration to be read */
        bool wait;           /* is going to wait for the reconcile, */
        bool changed;        /* and does */
        ConfigOutcome outcome;
        sd_event_source *timer;
        bool forget;         /* no change: what was learned and recorded is to be forgotten, */
        unsigned n_left;     /* so many of the two are to be */
        bool hold;           /* is to be held, for: */
        char *program, *reason;
        pid_t pid;
        uint32_t cookie;     /* not 0: of the hold, whose reconcile it waits for */
} ConfigRequest;

static void request_free(Pending *p) {
        ConfigRequest *q = (ConfigRequest *) p;

        if (q->forget && p->control->learning)
                learning_disown(p->control->learning, q);
        if (q->forget && p->control->replay)
                replay_disown(p->control->replay, q);
        sd_event_source_disable_unref(q->timer);
        config_outcome_done(&q->outcome);
        strv_free(q->change.assignments);
        free(q->program);
        free(q->reason);
        free(q);
}

static Manager *manager_of(const ConfigRequest *q) {
        return q->pending.control->manager;
}

static bool is_reload(const ConfigRequest *q) {
        return !q->pending.unit;
}

/* ---- the answer; each forgets the request afterwards */

static void send_reply(ConfigRequest *q, const ConfigReply *reply) {
        Pending *p = &q->pending;

        pending_done(p, q->reply(p->control, p->msg, p->link, reply));
}

static void answer(ConfigRequest *q, const ConfigOutcome *outcome, char **problems) {
        send_reply(q, &(const ConfigReply) {
                              .unit = q->pending.unit,
                              .hold = q->cookie != 0 ? manager_find_hold(manager_of(q), q->cookie) : NULL,
                              .outcome = outcome,
                              .problems = problems,
                              .state = _UNIT_STATE_INVALID,
                      });
}

static void refuse(ConfigRequest *q, int error, const char *problem) {
        answer(q, &(const ConfigOutcome) { .error = error, .problem = (char *) problem }, NULL);
}

static void refuse_name(ConfigRequest *q) {
        const char *unit = q->pending.unit;
        g_autofree char *problem = strlen(unit) > UNIT_NAME_MAX && !q->forget ?
                g_strdup_printf("'%s' is too long: at most %zu characters fit into the name of the "
                                "file for its settings", unit, UNIT_NAME_MAX) :
                g_strdup_printf("'%s' is not the name of a slice, service or scope", unit);

        refuse(q, -EINVAL, problem);
}

/* ---- what came of a change */

/* Its control group may have to be asked for; the answer makes it dirty. */
static bool is_pending(Manager *m, Unit *u) {
        return u && (u->fetching || g_hash_table_contains(m->dirty, u));
}

static void answer_changed(ConfigRequest *q) {
        Unit *u = manager_find_unit(manager_of(q), q->pending.unit);
        bool pending = is_pending(manager_of(q), u);

        if (u && !u->active && !u->files_known) /* systemd has it loaded to answer a question */
                u = NULL;

        send_reply(q, &(const ConfigReply) {
                              .unit = q->pending.unit,
                              .outcome = &q->outcome,
                              /* one that does not run has what was set to look forward to */
                              .state = pending ? UNIT_PENDING : u ? u->state :
                                       q->outcome.setting.policy ? UNIT_INACTIVE : UNIT_UNCONFIGURED,
                              .reason = pending || !u ? NULL : u->reason,
                      });
}

static int on_waited_long(sd_event_source *s, uint64_t usec, void *userdata) {
        answer_changed(ASSERT_PTR(userdata));
        return 0;
}

static void wait_for_unit(ConfigRequest *q) {
        Manager *m = manager_of(q);

        q->changed = true;
        if (!is_pending(m, manager_find_unit(m, q->pending.unit)) ||
            sd_event_add_time_relative(m->event, &q->timer, CLOCK_MONOTONIC, WAIT_USEC, 0, on_waited_long,
                                       q) < 0)
                answer_changed(q);
}

static void begin_hold(ConfigRequest *q) {
        HoldArguments a = {
                .program = q->program,
                .reason = q->reason,
                .pid = q->pid,
                .uid = q->pending.uid,
                .link = q->pending.link,
                .bus_name = q->pending.msg ? sd_bus_message_get_sender(q->pending.msg) : NULL,
        };
        ConfigOutcome *o = &q->outcome;
        Hold *h;

        o->error = hold_begin(q->pending.control, q->pending.unit, q->change.assignments, &a, o, &h);
        if (o->error < 0)
                answer(q, o, NULL);
        else
                q->cookie = h->cookie;
}

/* file: what was removed; NULL: there was nothing. */
static void note_forgotten(ConfigRequest *q, int error, const char *file, const char *what) {
        ConfigOutcome *o = &q->outcome;

        if (error < 0 && o->error >= 0) {
                o->error = error;
                o->problem = g_strdup_printf("cannot remove what was %s for %s: %s", what, q->pending.unit,
                                             strerror(-error));
        }
        if (!file)
                return;

        if (!o->files)
                o->files = g_ptr_array_new_null_terminated(0, g_free, TRUE);
        g_ptr_array_add(o->files, g_strdup(file));
        log_full_fields(LOG_INFO, 0, LOG_FIELDS(.unit = q->pending.unit),
                        "%s: What was %s for it was removed at the request of user %u.", q->pending.unit,
                        what, (unsigned) q->pending.uid);
}

static void one_forgotten(ConfigRequest *q, int error, const char *file, const char *what) {
        note_forgotten(q, error, file, what);
        if (--q->n_left > 0)
                return;
        if (q->missing && q->outcome.error >= 0 && !q->outcome.files)
                q->outcome.error = -ESRCH;
        answer(q, &q->outcome, NULL);
}

static void recording_forgotten(int error, const char *file, void *userdata) {
        one_forgotten(userdata, error, file, "recorded");
}

static void learned_forgotten(int error, const char *file, void *userdata) {
        one_forgotten(userdata, error, file, "learned");
}

/* Both at once: the client may leave, and means both. */
static void forget(ConfigRequest *q) {
        Learning *l = q->pending.control->learning;
        Replay *r = q->pending.control->replay;

        q->n_left = 2;
        if (r)
                replay_forget(r, q->pending.unit, recording_forgotten, q);
        else
                recording_forgotten(0, NULL, q);
        if (l)
                learning_forget(l, q->pending.unit, learned_forgotten, q);
        else
                learned_forgotten(0, NULL, q);
}

static void change(ConfigRequest *q) {
        ConfigOutcome *o = &q->outcome;
        bool done;

        if (q->forget)
                return forget(q);
        if (q->hold)
                return begin_hold(q);

        q->change.unit = q->pending.unit;
        config_change(manager_of(q), &q->change, o);
        if (q->missing && o->error >= 0 && !o->files) /* and nothing was set for it */
                o->error = -ESRCH;

        done = o->error >= 0 && !q->change.dry_run;
        for (guint i = 0; done && o->files && i < o->files->len; i++)
                log_full_fields(LOG_INFO, 0,
                                LOG_FIELDS(.unit = q->change.unit, .config_file = o->files->pdata[i]),
                                "%s: Settings were %s at the request of user %u: '%s'.", q->change.unit,
                                q->change.assignments ? "changed" : "removed", (unsigned) q->pending.uid,
                                (const char *) o->files->pdata[i]);

        if (done && q->wait)
                wait_for_unit(q);
        else
                answer(q, o, NULL);
}

/* ---- whether there is such a unit
 *
 * systemd need not have loaded it: a setting may wait for
 * the day on which it is started. A slice needs no file. */

static void found(Pending *p, int error, const char *problem) {
        ConfigRequest *q = (ConfigRequest *) p;

        /* Taking back needs no unit; maybe it is gone, and that is why. */
        q->missing = error == -ESRCH;
        if (error >= 0 || !q->change.assignments)
                change(q);
        else
                refuse(q, error, problem);
}

static bool is_overridden(Manager *m, const char *unit) {
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                if (unit_overrides_get(&m->overrides, k, unit))
                        return true;

        return false;
}

static void find_unit(ConfigRequest *q) {
        Manager *m = manager_of(q);
        const Unit *u = manager_find_unit(m, q->pending.unit);
        bool takes_back = !q->change.assignments, bus = q->pending.control->bus;

        if (u && (u->active || takes_back || !bus))
                change(q);
        else if (takes_back && (!bus || is_overridden(m, q->pending.unit)))
                change(q);
        else if (!bus)
                refuse(q, -EAGAIN, "systemd cannot be asked about the unit, there is no system bus");
        else
                pending_resolve(&q->pending);
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

static void reload(ConfigRequest *q) {
        Control *c = q->pending.control;

        config_requests_stop(c);
        c->problems = g_ptr_array_new_with_free_func(g_free);
        log_set_hook(on_log, c->problems);

        log_info("Reading the configuration again at the request of user %u.", (unsigned) q->pending.uid);
        q->reloads = true;
        manager_reload(c->manager);
}

/* Its settings cannot be carried out. */
static bool has_failed(const Unit *u) {
        return u->state == UNIT_FAILED;
}

static void add_failed_units(Manager *m, GPtrArray *problems) {
        _cleanup_ptr_array_ GPtrArray *units = manager_list_units(m, has_failed);

        for (guint i = 0; i < units->len; i++) {
                const Unit *u = units->pdata[i];

                g_ptr_array_add(problems, g_strdup_printf("%s: %s.", u->name, strna(u->reason)));
        }
}

static const PendingKind config_kind;

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
                        answer(q, &(const ConfigOutcome) {}, (char **) problems->pdata);
        }
}

/* ---- after a reconcile */

static void unit_reconciled(ConfigRequest *q) {
        bool pending = is_pending(manager_of(q), manager_find_unit(manager_of(q), q->pending.unit));

        if (q->cookie != 0 && !manager_find_hold(manager_of(q), q->cookie))
                refuse(q, -ECANCELED, NULL);
        else if (q->cookie != 0 && !pending)
                answer(q, &(const ConfigOutcome) {}, NULL);
        else if (q->changed && !pending)
                answer_changed(q);
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
                        answer_changed(q);
        }

        config_requests_reloaded(c);
}

/* ---- the beginning */

static void permitted(Pending *p) {
        ConfigRequest *q = (ConfigRequest *) p;

        if (is_reload(q))
                reload(q);
        else
                find_unit(q);
}

static void refused(Pending *p, int error) {
        refuse((ConfigRequest *) p, error, NULL);
}

static const PendingKind config_kind = {
        .permitted = permitted,
        .refused = refused,
        .found = found,
        .free = request_free,
};

static const char *action_of(const ConfigRequest *q) {
        return is_reload(q) ? POLKIT_ACTION_RELOAD :
               q->hold ? POLKIT_ACTION_HOLD_UNITS : POLKIT_ACTION_MANAGE_UNITS;
}

/* What was learned has files of its own. */
static bool has_name(const ConfigRequest *q) {
        return q->forget ? unit_name_may_exist(q->pending.unit) : unit_name_is_valid(q->pending.unit);
}

void config_request(Control *c, const ConfigRequestArguments *a) {
        ConfigRequest *q = g_new(ConfigRequest, 1);

        *q = (ConfigRequest) {
                .pending = {
                        .kind = &config_kind,
                        .unit = g_strdup(a->change.unit),
                },
                .change = {
                        .assignments = g_strdupv(a->change.assignments),
                        .persistent = a->change.persistent,
                        .dry_run = a->change.dry_run,
                },
                .reply = a->reply,
                .wait = a->wait,
                .forget = a->forget,
                .hold = a->hold,
                .program = g_strdup(a->program),
                .reason = g_strdup(a->reason),
                .pid = a->subject.pid,
        };
        if (!pending_begin(&q->pending, c, a->subject.uid, a->msg, a->link))
                return;

        if (!is_reload(q) && !has_name(q))
                refuse_name(q);
        else if (q->change.dry_run)
                permitted(&q->pending);
        else
                pending_authorize(&q->pending, &a->subject, action_of(q), a->interactive);
}
