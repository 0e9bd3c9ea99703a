/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Classes of threads on varlink: conversion only. */

#include "daemon/control/thread-request.h"
#include "methods.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "stream.h"

/* Which threads a call means, by one of three members. */
typedef struct TargetParameters {
        uint32_t thread;
        uint32_t process;
        int64_t pidfd;
} TargetParameters;

static int refuse(sd_varlink *link, Manager *m, const TargetParameters *p, int error) {
        switch (error) {
        case -ESRCH:
                return sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_NO_SUCH_THREAD,
                                          SD_JSON_BUILD_PAIR_UNSIGNED("thread",
                                                                      p ? p->thread ?: p->process : 0));
        case -EINVAL:
                return sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_NO_PROCESS,
                                          SD_JSON_BUILD_PAIR_UNSIGNED("thread", p ? p->process : 0));
        case -EOPNOTSUPP:
                return sd_varlink_errorbo(link, CACHEBPF_VARLINK_ERROR_KERNEL_UNSUPPORTED,
                                          SD_JSON_BUILD_PAIR_STRING("reason", strempty(m->kernel.reason)));
        case -EACCES:
                return sd_varlink_error(link, SD_VARLINK_ERROR_PERMISSION_DENIED, NULL);
        case -ENOKEY:
                return sd_varlink_error(link, "io.systemd.InteractiveAuthenticationRequired", NULL);
        default:
                return sd_varlink_error_errno(link, error);
        }
}

/* Returns > 0 if the call has been answered: it did not say which, or there is none. */
static int open_target(sd_varlink *link, Manager *m, const TargetParameters *p, ThreadTarget *ret) {
        int r, fd;

        if ((p->thread > 0) + (p->process > 0) + (p->pidfd >= 0) != 1) {
                r = sd_varlink_error_invalid_parameter_name(link, p->thread > 0 ? "thread" : "process");
                return r < 0 ? r : 1;
        }

        if (p->pidfd >= 0) {
                fd = sd_varlink_peek_dup_fd(link, (size_t) p->pidfd);
                r = fd < 0 ? fd : thread_target_take_fd(fd, ret);
                if (r < 0)
                        safe_close(fd);
                if (r < 0 && r != -ESRCH) {
                        r = sd_varlink_error_invalid_parameter_name(link, "pidfd");
                        return r < 0 ? r : 1;
                }
        } else
                r = thread_target_open((pid_t) (p->thread ?: p->process), p->process > 0, ret);

        if (r < 0) {
                r = refuse(link, m, p, r);
                return r < 0 ? r : 1;
        }

        return 0;
}

/* ---- SetThreadClass */

typedef struct SetThreadClass {
        const char *class;
        TargetParameters target;
        int interactive;
} SetThreadClass;

static int reply_set(Control *c, sd_bus_message *msg, sd_varlink *link, const ThreadRequestResult *result) {
        if (result->error < 0)
                return refuse(link, c->manager, NULL, result->error);

        return sd_varlink_replybo(link, SD_JSON_BUILD_PAIR_UNSIGNED("threads", result->n_threads));
}

static int method_set_thread_class(sd_varlink *link, sd_json_variant *parameters,
                                   sd_varlink_method_flags_t flags, void *userdata) {
        static const sd_json_dispatch_field table[] = {
                { "class", SD_JSON_VARIANT_STRING, sd_json_dispatch_const_string,
                  offsetof(SetThreadClass, class), SD_JSON_MANDATORY },
                { "thread", _SD_JSON_VARIANT_TYPE_INVALID, sd_json_dispatch_uint32,
                  offsetof(SetThreadClass, target.thread), SD_JSON_NULLABLE },
                { "process", _SD_JSON_VARIANT_TYPE_INVALID, sd_json_dispatch_uint32,
                  offsetof(SetThreadClass, target.process), SD_JSON_NULLABLE },
                { "pidfd", _SD_JSON_VARIANT_TYPE_INVALID, sd_json_dispatch_int64,
                  offsetof(SetThreadClass, target.pidfd), SD_JSON_NULLABLE },
                { "allowInteractiveAuthentication", SD_JSON_VARIANT_BOOLEAN, sd_json_dispatch_tristate,
                  offsetof(SetThreadClass, interactive), SD_JSON_NULLABLE },
                {},
        };
        Control *c = ((Varlink *) userdata)->control;
        SetThreadClass p = { .target.pidfd = -1 };
        ThreadRequestArguments a = {
                .link = link,
                .reply = reply_set,
        };
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        if (r != 0)
                return r;

        a.class = thread_class_from_string(p.class);
        if (a.class < 0)
                return sd_varlink_error_invalid_parameter_name(link, "class");

        r = varlink_get_subject(link, &a.subject);
        if (r < 0)
                return r;
        a.interactive = p.interactive > 0;

        r = open_target(link, c->manager, &p.target, &a.target);
        if (r != 0)
                return r < 0 ? r : 0;

        thread_request(c, &a);
        return 0;
}

/* ---- ListThreads */

typedef struct ListThreads {
        const PolicyBackend *backend;
        Stream stream;
} ListThreads;

static int list_one(const Thread *t, void *userdata) {
        ListThreads *l = ASSERT_PTR(userdata);
        sd_json_variant *v;
        ThreadClass class = _THREAD_CLASS_INVALID;
        int r, has_class;

        has_class = l->backend->get_class(l->backend->userdata, t->fd, &class);
        r = sd_json_buildo(&v,
                           SD_JSON_BUILD_PAIR_INTEGER("thread", t->tid),
                           SD_JSON_BUILD_PAIR_STRING("name", t->name),
                           SD_JSON_BUILD_PAIR_CONDITION(
                                           has_class >= 0, "class",
                                           SD_JSON_BUILD_STRING(thread_class_to_string(class))));
        return r < 0 ? r : stream_add(&l->stream, v);
}

static int method_list_threads(sd_varlink *link, sd_json_variant *parameters,
                               sd_varlink_method_flags_t flags, void *userdata) {
        static const sd_json_dispatch_field table[] = {
                { "thread", _SD_JSON_VARIANT_TYPE_INVALID, sd_json_dispatch_uint32,
                  offsetof(TargetParameters, thread), SD_JSON_NULLABLE },
                { "process", _SD_JSON_VARIANT_TYPE_INVALID, sd_json_dispatch_uint32,
                  offsetof(TargetParameters, process), SD_JSON_NULLABLE },
                {},
        };
        Manager *m = ((Varlink *) userdata)->control->manager;
        ListThreads l = {
                .backend = m->backend,
                .stream = { .link = link, .more = flags & SD_VARLINK_METHOD_MORE },
        };
        TargetParameters p = { .pidfd = -1 };
        ThreadTarget target;
        uid_t uid;
        int r;

        r = sd_varlink_dispatch(link, parameters, table, &p);
        if (r != 0)
                return r;
        if (!m->kernel.supported)
                return refuse(link, m, &p, -EOPNOTSUPP);

        r = open_target(link, m, &p, &target);
        if (r != 0)
                return r < 0 ? r : 0;

        r = sd_varlink_get_peer_uid(link, &uid);
        if (r >= 0)
                r = thread_target_check_visible(&target, uid);
        if (r == -EACCES) {
                thread_target_done(&target);
                return refuse(link, m, &p, r);
        }
        if (r >= 0)
                r = thread_target_foreach(&target, list_one, &l);
        thread_target_done(&target);
        if (r == -ESRCH && !l.stream.held)
                return refuse(link, m, &p, r);

        return stream_end(&l.stream, r == -ESRCH ? 0 : r, CACHEBPF_VARLINK_ERROR_NO_SUCH_THREAD, NULL, NULL);
}

int threads_varlink_bind(sd_varlink_server *s) {
        return sd_varlink_server_bind_method_many(
                s,
                CACHEBPF_VARLINK_INTERFACE ".SetThreadClass", method_set_thread_class,
                CACHEBPF_VARLINK_INTERFACE ".ListThreads", method_list_threads);
}
