/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "varlink-fixture.h"

#include <sys/socket.h>

#include "daemon/varlink/server.h"
#include "shared/string-util.h"

Varlink *varlink;

void server_start(void) {
        assert_int_equal(varlink_new_unconnected(fixture->control, &varlink), 0);
}

void server_stop(void) {
        varlink = varlink_free(varlink);
}

const char *member_string(sd_json_variant *v, const char *key) {
        sd_json_variant *s = sd_json_variant_by_key(v, key);

        return s && !sd_json_variant_is_null(s) ? sd_json_variant_string(s) : NULL;
}

static int on_reply(sd_varlink *link, sd_json_variant *parameters, const char *error_id,
                    sd_varlink_reply_flags_t flags, void *userdata) {
        Connection *c = ASSERT_PTR(userdata);

        if (error_id) {
                g_set_str(&c->error, error_id);
                g_set_str(&c->problem, member_string(parameters, "problem"));
                c->thread = sd_json_variant_unsigned(sd_json_variant_by_key(parameters, "thread"));
                return 0;
        }

        assert_false(c->ended);
        c->ended = !(flags & SD_VARLINK_REPLY_CONTINUES);
        c->reply(parameters, c->userdata);
        return 0;
}

void connection_call(Connection *c, send_t send, const char *method, sd_json_variant *parameters,
                     reply_t reply, void *userdata) {
        int fds[2];

        c->reply = reply;
        c->userdata = userdata;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        assert_true(sd_varlink_server_add_connection(varlink->server, fds[0], NULL) >= 0);
        assert_true(sd_varlink_connect_fd(&c->link, fds[1]) >= 0);
        assert_true(sd_varlink_attach_event(c->link, fixture->event, SD_EVENT_PRIORITY_NORMAL) >= 0);
        (void) sd_varlink_set_userdata(c->link, c);
        assert_true(sd_varlink_bind_reply(c->link, on_reply) >= 0);
        assert_true(send(c->link, method, parameters) >= 0);
        run();
}

void connection_close(Connection *c) {
        c->link = sd_varlink_close_unref(c->link);
}

void connection_done(Connection *c) {
        connection_close(c);
        free(c->error);
        free(c->problem);
        run();
}
