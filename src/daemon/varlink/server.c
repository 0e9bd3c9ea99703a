/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/stat.h>

#include "clients.h"
#include "daemon/control/control.h"
#include "methods.h"
#include "monitor.h"
#include "server.h"
#include "shared/log.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#include "config.h"

/* More than clients.c has room for, of root and of others. */
#define CONNECTIONS_MAX 4096U
#define CONNECTIONS_PER_USER_MAX 1024U

static int on_connect(sd_varlink_server *s, sd_varlink *link, void *userdata) {
        int r;

        r = varlink_clients_add(userdata, link);
        if (r < 0)
                return r;

        /* A thread is best named by a file descriptor. */
        return sd_varlink_set_allow_fd_passing_input(link, true);
}

static void on_disconnect(sd_varlink_server *s, sd_varlink *link, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);

        monitor_varlink_disconnected(v, link);
        control_client_gone(v->control, link);
        varlink_clients_remove(v, link);
}

static int listen_ourselves(sd_varlink_server *s) {
        if (mkdir(CACHEBPF_RUNTIME_DIRECTORY, 0755) < 0 && errno != EEXIST)
                return -errno;

        return sd_varlink_server_listen_address(s, CACHEBPF_VARLINK_ADDRESS, 0666);
}

int varlink_new_unconnected(Control *c, Varlink **ret) {
        _cleanup_(varlink_freep) Varlink *v = g_new0(Varlink, 1);
        int r;

        v->control = c;

        r = sd_varlink_server_new(&v->server,
                                  SD_VARLINK_SERVER_ACCOUNT_UID | SD_VARLINK_SERVER_INHERIT_USERDATA);
        if (r < 0)
                return log_error_errno(r, "Cannot make the varlink server: %m");

        (void) sd_varlink_server_set_userdata(v->server, v);
        (void) sd_varlink_server_set_info(v->server, "cachebpf", "cachebpfd", PROJECT_VERSION, NULL);

        (void) sd_varlink_server_set_connections_max(v->server, CONNECTIONS_MAX);
        (void) sd_varlink_server_set_connections_per_uid_max(v->server, CONNECTIONS_PER_USER_MAX);

        r = sd_varlink_server_add_interface(v->server, &vl_interface_org_cachebpf_Manager);
        if (r < 0)
                return log_error_errno(r, "Cannot add the interface " CACHEBPF_VARLINK_INTERFACE ": %m");

        r = manager_varlink_bind(v->server);
        if (r >= 0)
                r = threads_varlink_bind(v->server);
        if (r >= 0)
                r = config_varlink_bind(v->server);
        if (r >= 0)
                r = monitor_varlink_bind(v);
        if (r >= 0)
                r = sd_varlink_server_bind_connect(v->server, on_connect);
        if (r >= 0)
                r = sd_varlink_server_bind_disconnect(v->server, on_disconnect);
        if (r < 0)
                return log_error_errno(r, "Cannot bind the varlink methods: %m");

        r = varlink_clients_start(v);
        if (r < 0)
                return log_error_errno(r, "Cannot prepare for the end of the varlink server: %m");

        /* Users connect as often as they like; clients.c says what becomes of who has. */
        r = sd_varlink_server_attach_event(v->server, c->manager->event, PRIORITY_USERS);
        if (r < 0)
                return log_error_errno(r, "Cannot attach the varlink server to the event loop: %m");

        *ret = TAKE_PTR(v);
        return 0;
}

int varlink_new(Control *c, Varlink **ret) {
        _cleanup_(varlink_freep) Varlink *v = NULL;
        int r;

        r = varlink_new_unconnected(c, &v);
        if (r < 0)
                return r;

        r = sd_varlink_server_listen_auto(v->server);
        if (r == 0)
                r = listen_ourselves(v->server);
        if (r < 0)
                return log_error_errno(r, "Cannot listen on " CACHEBPF_VARLINK_ADDRESS ": %m");

        *ret = TAKE_PTR(v);
        return 0;
}

Varlink *varlink_free(Varlink *v) {
        if (!v)
                return NULL;

        sd_varlink_server_unref(v->server);
        monitor_varlink_stop(v);
        varlink_clients_stop(v);
        return mfree(v);
}
