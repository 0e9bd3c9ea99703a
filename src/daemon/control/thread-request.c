/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "shared/log.h"
#include "thread-request.h"

/* More clients than this do not wait for polkit at the same time. */
#define REQUESTS_MAX 256U

struct ThreadRequest {
        Manager *manager;
        ThreadRequestArguments a;
        sd_bus_slot *slot;
};

static void request_free(void *p) {
        ThreadRequest *q = p;

        sd_bus_slot_unref(q->slot);
        sd_bus_message_unref(q->a.msg);
        sd_varlink_unref(q->a.link);
        thread_target_done(&q->a.target);
        free(q);
}

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(ThreadRequest *, request_free);

/* ---- what is done to each thread */

typedef struct Classify {
        const PolicyBackend *backend;
        ThreadClass class;
        bool privileged;
        uid_t uid;
        bool dry;
        unsigned n;
} Classify;

static int classify_one(const Thread *t, void *userdata) {
        Classify *c = ASSERT_PTR(userdata);
        int r;

        if (!c->privileged && t->uid != c->uid)
                return -EACCES;
        if (c->dry)
                return 0;

        r = c->backend->set_class(c->backend->userdata, t->fd, c->class);
        if (r < 0)
                return r;

        c->n++;
        return 0;
}

static ThreadRequestResult classify(const ThreadRequest *q, bool privileged) {
        Classify c = {
                .backend = q->manager->backend,
                .class = q->a.class,
                .privileged = privileged,
                .uid = q->a.subject.uid,
                .dry = !privileged, /* all of them or none */
        };
        int r;

        r = thread_target_foreach(&q->a.target, classify_one, &c);
        if (r >= 0 && c.dry) {
                c.dry = false;
                r = thread_target_foreach(&q->a.target, classify_one, &c);
        }
        if (r >= 0 && c.n == 0)
                r = -ESRCH;

        return (ThreadRequestResult) {
                .error = r < 0 ? r : 0,
                .n_threads = c.n,
        };
}

/* ---- who may */

static int answer(ThreadRequest *q, const ThreadRequestResult *result) {
        if (result->error == 0)
                log_debug("Gave class '%s' to %u threads, at the request of user %u.",
                          thread_class_to_string(q->a.class), result->n_threads,
                          (unsigned) q->a.subject.uid);

        return q->a.reply(q->manager, q->a.msg, q->a.link, result);
}

static void on_polkit(int result, void *userdata) {
        ThreadRequest *q = ASSERT_PTR(userdata);
        ThreadRequestResult done = { .error = result == -ENOKEY ? -ENOKEY : -EACCES };
        int r;

        if (result > 0)
                done = classify(q, /* privileged= */ true);

        r = answer(q, &done);
        if (r < 0)
                log_debug_errno(r, "Cannot answer a request about threads: %m");
        g_hash_table_remove(q->manager->thread_requests, q);
}

void thread_requests_refuse(Manager *m) {
        GHashTableIter it;
        gpointer q;

        if (!m->thread_requests)
                return;

        g_hash_table_iter_init(&it, m->thread_requests);
        while (g_hash_table_iter_next(&it, &q, NULL)) {
                (void) answer(q, &(const ThreadRequestResult) { .error = -EACCES });
                g_hash_table_iter_remove(&it);
        }
}

static int ask_polkit(ThreadRequest *q) {
        Manager *m = q->manager;
        int r;

        if (!m->thread_requests)
                m->thread_requests = g_hash_table_new_full(NULL, NULL, request_free, NULL);
        if (g_hash_table_size(m->thread_requests) >= REQUESTS_MAX)
                return -EBUSY;

        r = polkit_check(m->bus, &q->a.subject, POLKIT_ACTION_CLASSIFY_THREADS, q->a.interactive, on_polkit,
                         q, &q->slot);
        if (r < 0) {
                log_debug_errno(r, "Cannot ask polkit: %m");
                return -EACCES;
        }

        q->a.subject = (PolkitSubject) { .pidfd = -EBADF, .uid = q->a.subject.uid }; /* not ours */
        g_hash_table_add(m->thread_requests, q);
        return 1;
}

int thread_request(Manager *m, ThreadRequestArguments *arguments) {
        _cleanup_(request_freep) ThreadRequest *q = calloc(1, sizeof(ThreadRequest));
        ThreadRequestResult result;

        if (!q) {
                thread_target_done(&arguments->target);
                return -ENOMEM;
        }

        q->manager = m;
        q->a = *arguments;
        arguments->target.fd = -EBADF;
        if (q->a.msg)
                sd_bus_message_ref(q->a.msg);
        if (q->a.link)
                sd_varlink_ref(q->a.link);

        if (!m->kernel.supported)
                result.error = -EOPNOTSUPP;
        else
                result = classify(q, /* privileged= */ q->a.subject.uid == 0);

        if (result.error == -EACCES) {
                int r;

                r = ask_polkit(q);
                if (r > 0) {
                        TAKE_PTR(q);
                        return 1;
                }
                result.error = r;
        }

        return answer(q, &result);
}
