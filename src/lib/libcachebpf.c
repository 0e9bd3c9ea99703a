/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <sys/syscall.h>
#include <systemd/sd-varlink.h>
#include <unistd.h>

#include "cachebpf.h"
#include "shared/cleanup.h"
#include "shared/thread-class.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#ifndef PIDFD_THREAD
#  define PIDFD_THREAD O_EXCL
#endif

#define _public_ __attribute__((__visibility__("default")))
#define TIMEOUT_USEC (10 * USEC_PER_SEC)

static_assert((int) CACHEBPF_THREAD_NORMAL == (int) THREAD_CLASS_NORMAL,
              "the classes have the same numbers everywhere");
static_assert((int) CACHEBPF_THREAD_SCAN == (int) THREAD_CLASS_SCAN,
              "the classes have the same numbers everywhere");
static_assert((int) CACHEBPF_THREAD_BACKGROUND == (int) THREAD_CLASS_BACKGROUND,
              "the classes have the same numbers everywhere");

static int error_to_errno(const char *error_id, sd_json_variant *reply) {
        int r;

        if (streq(error_id, CACHEBPF_VARLINK_ERROR_KERNEL_UNSUPPORTED))
                return -EOPNOTSUPP;
        if (streq(error_id, SD_VARLINK_ERROR_TIMEOUT))
                return -ETIME;
        if (streq(error_id, SD_VARLINK_ERROR_METHOD_NOT_FOUND)) /* a daemon older than this */
                return -EOPNOTSUPP;

        r = sd_varlink_error_to_errno(error_id, reply);
        return r < 0 ? r : -EIO;
}

_public_ int cachebpf_set_thread_class(enum cachebpf_thread_class thread_class) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        const char *class = thread_class_to_string((ThreadClass) thread_class), *error_id = NULL;
        sd_json_variant *reply = NULL; /* the connection's */
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!class)
                return -EINVAL;

        /* Not by number: in a container it means another thread to the daemon. */
        fd = RET_NERRNO((int) syscall(SYS_pidfd_open, (pid_t) syscall(SYS_gettid), PIDFD_THREAD));
        if (fd < 0)
                return fd == -EINVAL ? -EOPNOTSUPP : fd; /* before Linux 6.9 */

        r = sd_varlink_connect_address(&link, CACHEBPF_VARLINK_ADDRESS);
        if (r >= 0)
                r = sd_varlink_set_relative_timeout(link, TIMEOUT_USEC);
        if (r >= 0)
                r = sd_varlink_set_allow_fd_passing_output(link, true);
        if (r >= 0)
                r = sd_varlink_push_dup_fd(link, fd); /* the index of the first one: 0 */
        if (r < 0)
                return r;

        r = sd_varlink_callbo(link, CACHEBPF_VARLINK_INTERFACE ".SetThreadClass", &reply, &error_id,
                              SD_JSON_BUILD_PAIR_STRING("class", class),
                              SD_JSON_BUILD_PAIR_INTEGER("pidfd", r));
        if (r < 0)
                return r;

        return error_id ? error_to_errno(error_id, reply) : 0;
}
