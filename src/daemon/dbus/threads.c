/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Classes of threads on D-Bus: conversion only. */

#include "daemon/control/thread-request.h"
#include "methods.h"
#include "objects.h"
#include "shared/string-util.h"

static int set_error(sd_bus_error *error, const Manager *m, uint32_t pid, int r) {
        switch (r) {
        case -ESRCH:
                return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_THREAD, "There is no thread or process %u",
                                         pid);
        case -EINVAL:
                return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_THREAD,
                                         "%u is a thread of a process of another number",
                                         pid);
        case -EOPNOTSUPP:
                return sd_bus_error_setf(error, SD_BUS_ERROR_NOT_SUPPORTED, "%s", strna(m->kernel.reason));
        case -EACCES:
                return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED,
                                         "Not authorized to see or classify threads of other users");
        case -ENOKEY:
                return sd_bus_error_setf(error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
                                         "Interactive authentication required");
        default:
                return sd_bus_error_set_errno(error, r);
        }
}

static int reply_set(Control *c, sd_bus_message *msg, sd_varlink *link, const ThreadRequestResult *result) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        uint32_t pid;
        int r;

        if (result->error == 0)
                return sd_bus_reply_method_return(msg, "u", result->n_threads);

        r = sd_bus_message_rewind(msg, true);
        if (r >= 0)
                r = sd_bus_message_read(msg, "u", &pid);
        if (r < 0)
                return r;

        (void) set_error(&error, c->manager, pid, result->error);
        return sd_bus_reply_method_error(msg, &error);
}

static int set_class(sd_bus_message *msg, Control *c, bool process, sd_bus_error *error) {
        ThreadRequestArguments a = {
                .interactive = sd_bus_message_get_allow_interactive_authorization(msg) > 0,
                .msg = msg,
                .reply = reply_set,
        };
        const char *class;
        uint32_t pid;
        int r;

        r = sd_bus_message_read(msg, "us", &pid, &class);
        if (r < 0)
                return r;

        a.class = thread_class_from_string(class);
        if (a.class < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "'%s' is no class of threads; normal, scan and background are",
                                         class);

        r = bus_get_subject(msg, c, process ? threads_bus_set_process_class : threads_bus_set_thread_class,
                            &a.subject, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        r = thread_target_open((pid_t) pid, process, &a.target);
        if (r < 0)
                return set_error(error, c->manager, pid, r);

        thread_request(c, &a);
        return 1;
}

int threads_bus_set_thread_class(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        return set_class(msg, userdata, /* process= */ false, error);
}

int threads_bus_set_process_class(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        return set_class(msg, userdata, /* process= */ true, error);
}

/* ---- ListThreads */

typedef struct ListThreads {
        const PolicyBackend *backend;
        sd_bus_message *reply;
} ListThreads;

static int list_one(const Thread *t, void *userdata) {
        ListThreads *l = ASSERT_PTR(userdata);
        ThreadClass class;
        int r;

        r = l->backend->get_class(l->backend->userdata, t->fd, &class);
        return sd_bus_message_append(l->reply, "(uss)", (uint32_t) t->tid, t->name,
                                     r < 0 ? "" : thread_class_to_string(class));
}

int threads_bus_list(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Manager *m = ((Control *) userdata)->manager;
        ThreadTarget target;
        PolkitSubject subject;
        uint32_t pid;
        int r;

        r = sd_bus_message_read(msg, "u", &pid);
        if (r < 0)
                return r;
        if (!m->kernel.supported)
                return set_error(error, m, pid, -EOPNOTSUPP);

        r = bus_get_subject(msg, userdata, threads_bus_list, &subject, error);
        if (r <= 0)
                return r < 0 ? r : 1;

        r = thread_target_open((pid_t) pid, /* process= */ true, &target);
        if (r < 0)
                return set_error(error, m, pid, r);

        r = thread_target_check_visible(&target, subject.uid);
        if (r >= 0)
                r = bus_open_array(msg, "(uss)", &reply);
        if (r >= 0)
                r = thread_target_foreach(&target, list_one,
                                          &(ListThreads) { .backend = m->backend, .reply = reply });
        thread_target_done(&target);
        return r < 0 ? set_error(error, m, pid, r) : bus_send_array(reply, r);
}
