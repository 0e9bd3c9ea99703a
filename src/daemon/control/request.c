/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/unit-kernel.h"
#include "daemon/dbus/manager.h"
#include "daemon/systemd/internal.h"
#include "hold.h"
#include "request.h"
#include "shared/log.h"

/* More clients than this do not wait at the same time. */
#define REQUESTS_MAX 256U
/* Nor for longer. */
#define WAIT_USEC (20 * USEC_PER_SEC)

struct ConfigRequest {
        Manager *manager;
        ConfigChange change; /* the strings are ours */
        uid_t uid;
        sd_bus_message *msg;
        sd_varlink *link;
        config_request_reply_t reply;
        sd_bus_slot *slot;
        bool reloads;        /* waits for the configuration to be read */
        bool wait;           /* is going to wait for the reconcile, */
        bool changed;        /* and does */
        ConfigOutcome outcome;
        sd_event_source *timer;
        bool hold;           /* is to be held, for: */
        char *program, *reason;
        pid_t pid;
        uint32_t cookie;     /* not 0: of the hold, whose reconcile it waits for */
};

static void request_free(void *p) {
        ConfigRequest *q = p;

        sd_event_source_disable_unref(q->timer);
        config_outcome_done(&q->outcome);
        sd_bus_slot_unref(q->slot);
        sd_bus_message_unref(q->msg);
        sd_varlink_unref(q->link);
        strv_free(q->change.assignments);
        free((char *) q->change.unit);
        free(q->program);
        free(q->reason);
        free(q);
}

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(ConfigRequest *, request_free);

static bool is_reload(const ConfigRequest *q) {
        return !q->change.unit;
}

/* ---- the answer */

/* Forgets the request afterwards. */
static int send_reply(ConfigRequest *q, const ConfigReply *reply) {
        Manager *m = q->manager;
        int r;

        r = q->reply(m, q->msg, q->link, reply);
        if (r < 0) /* most likely the client went away */
                log_debug_errno(r, "Cannot answer a request about the configuration: %m");

        g_hash_table_remove(m->config_requests, q);
        return r;
}

static int answer(ConfigRequest *q, const ConfigOutcome *outcome, char **problems) {
        return send_reply(q, &(const ConfigReply) {
                                .unit = q->change.unit,
                                .hold = q->cookie != 0 ? hold_find(q->manager, q->cookie) : NULL,
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
        return u && (unit_is_fetching(u) || g_hash_table_contains(m->dirty, u));
}

static int answer_changed(ConfigRequest *q) {
        Unit *u = manager_find_unit(q->manager, q->change.unit);
        bool pending = is_pending(q->manager, u);

        return send_reply(q, &(const ConfigReply) {
                                .unit = q->change.unit,
                                .outcome = &q->outcome,
                                /* one that is not loaded has what was set to look forward to */
                                .state = pending ? UNIT_PENDING : u ? u->state : UNIT_INACTIVE,
                                .reason = pending || !u ? NULL : u->reason,
                        });
}

static int on_waited_long(sd_event_source *s, uint64_t usec, void *userdata) {
        (void) answer_changed(ASSERT_PTR(userdata));
        return 0;
}

static int wait_for_unit(ConfigRequest *q, ConfigOutcome *o) {
        Manager *m = q->manager;
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
                .uid = q->uid,
                .link = q->link,
                .bus_name = q->msg ? sd_bus_message_get_sender(q->msg) : NULL,
        };
        Hold *h;
        int r;

        r = hold_begin(q->manager, q->change.unit, q->change.assignments, &a, &o, &h);
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

        config_change(q->manager, &q->change, &o);
        if (o.error >= 0 && !q->change.dry_run && o.files)
                for (guint i = 0; i < o.files->len; i++)
                        log_full_fields(LOG_INFO, 0,
                                        LOG_FIELDS(.unit = q->change.unit, .config_file = o.files->pdata[i]),
                                        "%s: Settings were %s at the request of user %u: '%s'.",
                                        q->change.unit,
                                        q->change.assignments ? "changed" : "taken back", (unsigned) q->uid,
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

static int on_load_state(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        ConfigRequest *q = ASSERT_PTR(userdata);
        const char *state;

        q->slot = sd_bus_slot_unref(q->slot);

        if (!sd_bus_message_is_method_error(msg, NULL) && sd_bus_message_read(msg, "v", "s", &state) >= 0 &&
            streq(state, "not-found"))
                (void) refuse(q, -ESRCH, NULL);
        else
                (void) change(q);
        return 0;
}

static int on_unit_loaded(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        ConfigRequest *q = ASSERT_PTR(userdata);
        const char *path;
        int r;

        q->slot = sd_bus_slot_unref(q->slot);

        if (sd_bus_message_is_method_error(msg, NULL)) {
                const char *why = strempty(sd_bus_message_get_error(msg)->message);
                _cleanup_free_ char *problem = NULL;
                size_t n = strlen(why);

                /* Its sentences have full stops, ours get one from who prints them. */
                if (asprintf(&problem, "systemd refuses unit '%s': %.*s", q->change.unit,
                             (int) (n > 0 && why[n - 1] == '.' ? n - 1 : n), why) < 0)
                        problem = NULL;
                (void) refuse(q, -EINVAL, problem);
                return 0;
        }

        r = sd_bus_message_read(msg, "o", &path);
        if (r >= 0)
                r = sd_bus_call_method_async(q->manager->bus, &q->slot, SYSTEMD_SERVICE, path,
                                             "org.freedesktop.DBus.Properties", "Get", on_load_state, q,
                                             "ss", SYSTEMD_UNIT_INTERFACE, "LoadState");
        if (r < 0)
                (void) refuse(q, r, NULL);
        return 0;
}

static int find_unit(ConfigRequest *q) {
        const Unit *u = manager_find_unit(q->manager, q->change.unit);
        int r;

        /* Taking back needs no unit; maybe it is gone, and that is why. */
        if (!q->change.assignments || (u && (u->active || !q->manager->bus)))
                return change(q);
        if (!q->manager->bus)
                return refuse(q, -EAGAIN, "systemd cannot be asked about the unit, there is no system bus");

        r = sd_bus_call_method_async(q->manager->bus, &q->slot, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                     SYSTEMD_MANAGER_INTERFACE, "LoadUnit", on_unit_loaded, q, "s",
                                     q->change.unit);
        return r < 0 ? refuse(q, r, NULL) : 0;
}

/* ---- reading everything again */

/* What is wrong with files and policies. Units tell in their states what became of that. */
static void on_log(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_WARNING && !(fields && fields->state))
                g_ptr_array_add(userdata, g_strdup(message));
}

static void stop_collecting(Manager *m) {
        log_set_hook(NULL, NULL);
        if (m->problems)
                g_ptr_array_unref(m->problems);
        m->problems = NULL;
}

static int reload(ConfigRequest *q) {
        Manager *m = q->manager;
        int r;

        stop_collecting(m);
        m->problems = g_ptr_array_new_with_free_func(g_free);
        log_set_hook(on_log, m->problems);

        log_info("Reading the configuration again at the request of user %u.", (unsigned) q->uid);
        r = manager_reload(m);
        if (r < 0) {
                stop_collecting(m);
                return refuse(q, r, NULL);
        }

        q->reloads = true;
        return 0;
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

static GPtrArray *list_requests(Manager *m) {
        GPtrArray *l = g_ptr_array_new();
        GHashTableIter it;
        gpointer q;

        if (m->config_requests) {
                g_hash_table_iter_init(&it, m->config_requests);
                while (g_hash_table_iter_next(&it, &q, NULL))
                        g_ptr_array_add(l, q);
        }

        return l;
}

void config_requests_reloaded(Manager *m) {
        _cleanup_ptr_array_ GPtrArray *requests = NULL, *problems = NULL;

        if (!m->problems)
                return;

        problems = g_ptr_array_ref(m->problems);
        stop_collecting(m);
        add_failed_units(m, problems);
        g_ptr_array_add(problems, NULL);
        manager_bus_policies_changed(m);

        requests = list_requests(m);
        for (guint i = 0; i < requests->len; i++) {
                ConfigRequest *q = requests->pdata[i];

                if (q->reloads)
                        (void) answer(q, &(const ConfigOutcome) {}, (char **) problems->pdata);
        }
}

/* ---- after a reconcile */

static void unit_reconciled(ConfigRequest *q) {
        bool pending = is_pending(q->manager, manager_find_unit(q->manager, q->change.unit));

        if (q->cookie != 0 && !hold_find(q->manager, q->cookie))
                (void) refuse(q, -ECANCELED, NULL);
        else if (q->cookie != 0 && !pending)
                (void) answer(q, &(const ConfigOutcome) {}, NULL);
        else if (q->changed && !pending)
                (void) answer_changed(q);
}

void config_requests_reconciled(Manager *m) {
        _cleanup_ptr_array_ GPtrArray *requests = list_requests(m);

        for (guint i = 0; i < requests->len; i++)
                if (!is_reload(requests->pdata[i]))
                        unit_reconciled(requests->pdata[i]);
}

void config_requests_disconnected(Manager *m, sd_varlink *link) {
        _cleanup_ptr_array_ GPtrArray *requests = list_requests(m);

        for (guint i = 0; i < requests->len; i++)
                if (((ConfigRequest *) requests->pdata[i])->link == link)
                        g_hash_table_remove(m->config_requests, requests->pdata[i]);
}

/* ---- who may */

static int permitted(ConfigRequest *q) {
        return is_reload(q) ? reload(q) : find_unit(q);
}

static void on_polkit(int result, void *userdata) {
        ConfigRequest *q = ASSERT_PTR(userdata);

        q->slot = sd_bus_slot_unref(q->slot);

        if (result > 0)
                (void) permitted(q);
        else
                (void) refuse(q, result == -ENOKEY ? -ENOKEY : -EACCES, NULL);
}

static int ask_polkit(ConfigRequest *q, const PolkitSubject *subject, bool interactive) {
        int r;

        r = polkit_check(q->manager->bus, subject,
                         is_reload(q) ? POLKIT_ACTION_RELOAD :
                         q->hold ? POLKIT_ACTION_HOLD_UNITS : POLKIT_ACTION_MANAGE_UNITS,
                         interactive, on_polkit, q, &q->slot);
        if (r < 0) {
                log_debug_errno(r, "Cannot ask polkit: %m");
                return refuse(q, -EACCES, NULL);
        }

        return 0;
}

/* ---- the beginning, and a bad end */

static int copy_change(ConfigRequest *q, const ConfigChange *c) {
        q->change = (ConfigChange) {
                .persistent = c->persistent,
                .dry_run = c->dry_run,
        };

        if (c->unit) {
                q->change.unit = strdup(c->unit);
                if (!q->change.unit)
                        return -ENOMEM;
        }

        if (c->assignments) {
                guint n = g_strv_length(c->assignments);

                q->change.assignments = calloc(n + 1, sizeof(char *));
                if (!q->change.assignments)
                        return -ENOMEM;
                for (guint i = 0; i < n; i++) {
                        q->change.assignments[i] = strdup(c->assignments[i]);
                        if (!q->change.assignments[i])
                                return -ENOMEM;
                }
        }

        return 0;
}

int config_request(Manager *m, const ConfigRequestArguments *a) {
        _cleanup_(request_freep) ConfigRequest *q = calloc(1, sizeof(ConfigRequest));
        ConfigRequest *request;
        int r;

        if (!q)
                return -ENOMEM;

        r = copy_change(q, &a->change);
        if (r < 0)
                return r;

        q->hold = a->hold;
        q->pid = a->pid;
        q->program = strdup(strempty(a->program));
        q->reason = strdup(strempty(a->reason));
        if (!q->program || !q->reason)
                return -ENOMEM;

        q->manager = m;
        q->uid = a->subject.uid;
        q->msg = a->msg ? sd_bus_message_ref(a->msg) : NULL;
        q->link = a->link ? sd_varlink_ref(a->link) : NULL;
        q->reply = a->reply;
        q->wait = a->wait;

        if (!m->config_requests)
                m->config_requests = g_hash_table_new_full(NULL, NULL, request_free, NULL);
        if (g_hash_table_size(m->config_requests) >= REQUESTS_MAX)
                return -EBUSY;
        request = TAKE_PTR(q);
        g_hash_table_add(m->config_requests, request);

        if (!is_reload(request) && !unit_name_is_valid(request->change.unit))
                return refuse_name(request);

        if (request->change.dry_run || request->uid == 0)
                return permitted(request);
        return ask_polkit(request, &a->subject, a->interactive);
}

void config_requests_refuse(Manager *m) {
        _cleanup_ptr_array_ GPtrArray *requests = list_requests(m);

        for (guint i = 0; i < requests->len; i++) {
                ConfigRequest *q = requests->pdata[i];

                if (q->changed)
                        (void) answer_changed(q);
                else if (!q->reloads && q->cookie == 0)
                        (void) refuse(q, -EACCES, NULL);
        }

        config_requests_reloaded(m);
}

void config_requests_free(Manager *m) {
        stop_collecting(m);
        if (m->config_requests)
                g_hash_table_unref(m->config_requests);
        m->config_requests = NULL;
}
