/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "authorize.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* Users think before they type a password. */
#define INTERACTIVE_TIMEOUT_USEC (120 * USEC_PER_SEC)

int polkit_read_reply(sd_bus_message *msg) {
        int authorized, challenge, r;

        if (sd_bus_message_is_method_error(msg, NULL)) {
                log_debug("polkit gave no answer: %s", sd_bus_message_get_error(msg)->message);
                return -sd_bus_message_get_errno(msg) ?: -EIO;
        }

        r = sd_bus_message_enter_container(msg, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(msg, "bb", &authorized, &challenge);
        if (r < 0)
                return r;

        return authorized ? 1 : challenge ? -ENOKEY : 0;
}

static int append_subject(sd_bus_message *msg, const PolkitSubject *s) {
        if (s->bus_name)
                return sd_bus_message_append(msg, "(sa{sv})", "system-bus-name", 1, "name", "s",
                                             s->bus_name);

        return sd_bus_message_append(msg, "(sa{sv})", "unix-process", 2, "pidfd", "h", s->pidfd,
                                     "uid", "i", (int32_t) s->uid);
}

int polkit_check(sd_bus *bus, const PolkitSubject *subject, const char *action, bool interactive,
                 sd_bus_message_handler_t on_reply, void *userdata, sd_bus_slot **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *msg = NULL;
        int r;

        if (!bus)
                return -ENOTCONN;

        r = sd_bus_message_new_method_call(bus, &msg, "org.freedesktop.PolicyKit1",
                                           "/org/freedesktop/PolicyKit1/Authority",
                                           "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
        if (r >= 0)
                r = append_subject(msg, subject);
        if (r >= 0) /* no details, no id to cancel by */
                r = sd_bus_message_append(msg, "sa{ss}us", action, 0, (uint32_t) interactive, "");
        if (r < 0)
                return r;

        return sd_bus_call_async(bus, ret, msg, on_reply, userdata,
                                 interactive ? INTERACTIVE_TIMEOUT_USEC : 0);
}
