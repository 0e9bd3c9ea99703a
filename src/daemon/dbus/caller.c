/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "methods.h"
#include "objects.h"
#include "shared/cleanup.h"

/* Calls wait for the bus's answer. Of those that wait one may have as many as a
 * client sends at once, and less when there are many: a user has 256 connections at most (dbus-daemon(1)),
 * and shall not keep others out. */
#define CALLS_MAX 2048U
#define CALLS_PER_CLIENT_MAX 16U
#define CALLS_CROWD 512U
#define CALLS_PER_CLIENT_IN_CROWD_MAX 2U
/* Of all strings of a call that waits, and of what we need to keep them. */
#define TEXT_MAX (32U << 10)

/* A call, whose sender the bus is asked about. */
typedef struct Caller {
        Control *control;
        sd_bus_message *msg;
        sd_bus_message_handler_t handler;
        sd_bus_slot *slot;
        PolkitSubject subject;
        bool known;
} Caller;

static void caller_free(Caller *c) {
        (void) g_ptr_array_remove_fast(c->control->callers, c);
        sd_bus_slot_unref(c->slot);
        sd_bus_message_unref(c->msg);
        free(c);
}

void bus_forget_callers(Control *c) {
        while (c->callers->len > 0)
                caller_free(c->callers->pdata[0]);
}

/* ---- what the bus answers */

static int read_credentials(sd_bus_message *reply, PolkitSubject *ret) {
        bool has_user = false;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL))
                return -sd_bus_message_get_errno(reply);

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        if (r < 0)
                return r;

        while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                const char *key;
                uint32_t n;

                r = sd_bus_message_read(reply, "s", &key);
                if (r < 0)
                        return r;
                if (!streq(key, "UnixUserID") && !streq(key, "ProcessID"))
                        r = sd_bus_message_skip(reply, "v");
                else
                        r = sd_bus_message_read(reply, "v", "u", &n);
                if (r < 0)
                        return r;

                if (streq(key, "ProcessID"))
                        ret->pid = (pid_t) n; /* of a container's process there may be none */
                if (streq(key, "UnixUserID")) {
                        ret->uid = n;
                        has_user = true;
                }
                r = sd_bus_message_exit_container(reply);
                if (r < 0)
                        return r;
        }

        return r < 0 ? r : has_user ? 0 : -ENODATA;
}

static int on_credentials(sd_bus_message *reply, void *userdata, sd_bus_error *unused) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        Caller *c = ASSERT_PTR(userdata);
        int r;

        r = read_credentials(reply, &c->subject);
        if (r >= 0) {
                c->known = true;
                r = sd_bus_message_rewind(c->msg, true);
        }
        if (r >= 0)
                r = c->handler(c->msg, c->control, &error);
        if (r < 0)
                (void) sd_bus_reply_method_errno(c->msg, r, &error);

        caller_free(c);
        return 0;
}

/* ---- what may wait */

static bool is_crowded(Control *control, const char *sender) {
        unsigned n = 0;

        for (guint i = 0; i < control->callers->len; i++)
                n += streq(sd_bus_message_get_sender(((Caller *) control->callers->pdata[i])->msg), sender);

        return control->callers->len >= CALLS_MAX ||
                n >= (control->callers->len < CALLS_CROWD ? CALLS_PER_CLIENT_MAX
                                                          : CALLS_PER_CLIENT_IN_CROWD_MAX);
}

/* Of what our methods take: strings, arrays of them, and what has no length. */
static int measure(sd_bus_message *msg, size_t *sum) {
        const char *text;
        char type;
        int r;

        while ((r = sd_bus_message_peek_type(msg, &type, NULL)) > 0) {
                if (type == 'a')
                        r = sd_bus_message_enter_container(msg, 'a', "s");
                else if (type == 's')
                        r = sd_bus_message_read(msg, "s", &text);
                else
                        r = sd_bus_message_skip(msg, (const char[]) { type, '\0' });
                if (r < 0)
                        return r;

                if (type == 's')
                        *sum += strlen(text) + sizeof(text);
                if (type != 'a')
                        continue;
                r = measure(msg, sum);
                if (r >= 0)
                        r = sd_bus_message_exit_container(msg);
                if (r < 0)
                        return r;
        }

        return r;
}

static int check(sd_bus_message *msg, Control *control, sd_bus_error *error) {
        size_t size = 0;
        int r;

        if (!sd_bus_message_get_sender(msg) || !control->bus)
                return -ENOTCONN;
        if (is_crowded(control, sd_bus_message_get_sender(msg)))
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Too many calls wait");

        r = sd_bus_message_rewind(msg, true);
        if (r >= 0)
                r = measure(msg, &size);
        if (r >= 0 && size > TEXT_MAX)
                r = sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "The call is too long");
        return r;
}

int bus_get_subject(sd_bus_message *msg, Control *control, sd_bus_message_handler_t handler,
                    PolkitSubject *ret, sd_bus_error *error) {
        Caller *c;
        int r;

        for (guint i = 0; i < control->callers->len; i++) {
                c = control->callers->pdata[i];
                if (c->msg == msg && c->known) {
                        *ret = c->subject;
                        return 1;
                }
        }

        r = check(msg, control, error);
        if (r < 0)
                return r;

        c = g_new(Caller, 1);
        *c = (Caller) {
                .control = control,
                .msg = sd_bus_message_ref(msg),
                .handler = handler,
                .subject = {
                        .bus_name = sd_bus_message_get_sender(msg),
                        .pidfd = -EBADF,
                },
        };
        g_ptr_array_add(control->callers, c);

        r = sd_bus_call_method_async(control->bus, &c->slot, "org.freedesktop.DBus",
                                     "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                     "GetConnectionCredentials", on_credentials, c,
                                     "s", sd_bus_message_get_sender(msg));
        if (r < 0)
                caller_free(c);
        return r < 0 ? r : 0;
}
