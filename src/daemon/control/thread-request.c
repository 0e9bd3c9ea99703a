/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "pending.h"
#include "shared/log.h"
#include "thread-request.h"

typedef struct ThreadRequest {
        Pending pending;
        ThreadTarget target;
        ThreadClass class;
        thread_request_reply_t reply;
} ThreadRequest;

static void request_free(Pending *p) {
        ThreadRequest *q = (ThreadRequest *) p;

        thread_target_done(&q->target);
        free(q);
}

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
                .backend = q->pending.control->manager->backend,
                .class = q->class,
                .privileged = privileged,
                .uid = q->pending.uid,
                .dry = !privileged, /* all of them or none */
        };
        int r;

        r = thread_target_foreach(&q->target, classify_one, &c);
        if (r >= 0 && c.dry) {
                c.dry = false;
                r = thread_target_foreach(&q->target, classify_one, &c);
        }
        if (r >= 0 && c.n == 0)
                r = -ESRCH;

        return (ThreadRequestResult) {
                .error = r < 0 ? r : 0,
                .n_threads = c.n,
        };
}

/* ---- who may */

/* Forgets the request afterwards. */
static void answer(ThreadRequest *q, const ThreadRequestResult *result) {
        Pending *p = &q->pending;

        if (result->error == 0)
                log_debug("Gave class '%s' to %u threads, at the request of user %u.",
                          thread_class_to_string(q->class), result->n_threads, (unsigned) p->uid);

        pending_done(p, q->reply(p->control, p->msg, p->link, result));
}

static void permitted(Pending *p) {
        ThreadRequest *q = (ThreadRequest *) p;
        ThreadRequestResult result = classify(q, /* privileged= */ true);

        answer(q, &result);
}

static void refused(Pending *p, int error) {
        answer((ThreadRequest *) p, &(const ThreadRequestResult) { .error = error });
}

static const PendingKind thread_kind = {
        .permitted = permitted,
        .refused = refused,
        .free = request_free,
};

void thread_request(Control *c, const ThreadRequestArguments *a) {
        ThreadRequest *q = g_new(ThreadRequest, 1);
        ThreadRequestResult result = { .error = -EOPNOTSUPP };

        *q = (ThreadRequest) {
                .pending.kind = &thread_kind,
                .target = a->target,
                .class = a->class,
                .reply = a->reply,
        };
        if (!pending_begin(&q->pending, c, a->subject.uid, a->msg, a->link))
                return;

        if (c->manager->kernel.supported)
                result = classify(q, /* privileged= */ a->subject.uid == 0);
        if (result.error == -EACCES)
                pending_authorize(&q->pending, &a->subject, POLKIT_ACTION_CLASSIFY_THREADS, a->interactive);
        else
                answer(q, &result);
}
