/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "options.h"
#include "remote.h"
#include "shared/cleanup.h"
#include "shared/log.h"

bool remote_wanted(void) {
        return arg_host || arg_machine;
}

/* ---- by ssh */

/* What libsystemd will call. */
static const char *ssh_program(void) {
        const char *e = getenv("SYSTEMD_SSH");

        return e && *e ? e : "ssh";
}

static int connect_host(const char *address, sd_varlink **ret) {
        g_autofree char *url = NULL, *program = NULL;

        /* Found out here: what is wrong in a child process is not told. */
        program = g_find_program_in_path(ssh_program());
        if (!program)
                return -ENOPKG;

        /* ssh connects its standard input and output to the socket over there. */
        url = g_strdup_printf("ssh-unix:%s:%s", arg_host, address);
        return sd_varlink_connect_url(ret, url);
}

/* ---- in a container */

/* The first process of the container, whose root directory is that of the container. */
static int machine_leader(uint32_t *ret) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *path;
        int r;

        r = sd_bus_open_system(&bus);
        if (r < 0)
                return -EHOSTUNREACH;

        r = sd_bus_call_method(bus, "org.freedesktop.machine1", "/org/freedesktop/machine1",
                               "org.freedesktop.machine1.Manager", "GetMachine", &error, &reply,
                               "s", arg_machine);
        if (sd_bus_error_has_name(&error, "org.freedesktop.machine1.NoSuchMachine"))
                return -ENXIO;
        if (r < 0)
                return r;

        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;

        return sd_bus_get_property_trivial(bus, "org.freedesktop.machine1", path,
                                           "org.freedesktop.machine1.Machine",
                                           "Leader", /* ret_error= */ NULL, 'u', ret);
}

static int connect_machine(const char *address, sd_varlink **ret) {
        char root[STRLEN("/proc//root") + DECIMAL_STR_MAX(uint32_t)];
        char socket[STRLEN("/proc/self/fd/") + DECIMAL_STR_MAX(int)];
        _cleanup_close_ int root_fd = -EBADF, fd = -EBADF;
        struct open_how how = {
                .flags = O_PATH | O_CLOEXEC,
                /* no link in there may lead out */
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
        };
        uint32_t leader;
        int r;

        r = machine_leader(&leader);
        if (r < 0)
                return r;

        (void) snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", leader);
        root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root_fd < 0)
                return -errno;

        fd = (int) syscall(SYS_openat2, root_fd, address, &how, sizeof(how));
        if (fd < 0)
                return -errno;

        (void) snprintf(socket, sizeof(socket), "/proc/self/fd/%i", fd);
        return sd_varlink_connect_address(ret, socket);
}

int remote_connect(const char *address, sd_varlink **ret) {
        return arg_host ? connect_host(address, ret) : connect_machine(address, ret);
}

/* ---- what goes wrong */

int remote_log_error(int error) {
        if (arg_host)
                return error == -ENOPKG ?
                        log_error_errno(error,
                                        "Cannot reach %s: there is no program \"%s\"; it is in the package "
                                        "openssh-client.", arg_host, ssh_program()) :
                        log_error_errno(error, "Cannot reach %s by ssh: %m", arg_host);

        switch (error) {

        case -ENXIO:
                return log_error_errno(error,
                                       "There is no container \"%s\" here; "
                                       "\"machinectl list\" shows those that there "
                                       "are. For a virtual machine use --host=.", arg_machine);

        case -EHOSTUNREACH: /* no bus, or nobody has the name on it */
                return log_error_errno(error,
                                       "Cannot ask for the container \"%s\": "
                                       "systemd-machined cannot be reached over the "
                                       "system bus; it is in the package systemd-container.", arg_machine);

        case -ENOENT:
        case -ECONNREFUSED:
                return log_error_errno(error, "cachebpfd is not running in the container \"%s\".",
                                       arg_machine);

        case -EACCES:
        case -EPERM:
                return log_error_errno(error,
                                       "Only root can connect to cachebpfd in a container, here \"%s\".",
                                       arg_machine);

        default:
                return log_error_errno(error, "Cannot connect to cachebpfd in the container \"%s\": %m",
                                       arg_machine);
        }
}

int remote_log_disconnected(int error, const char *method) {
        if (arg_host)
                return log_error_errno(error,
                                       "The connection to %s ended before cachebpfd "
                                       "answered %s. What ssh says above tells why; "
                                       "if nothing, cachebpfd may not run there.", arg_host, method);

        return log_error_errno(error,
                               "cachebpfd in the container \"%s\" closed "
                               "the connection before it answered %s.",
                               arg_machine, method);
}
