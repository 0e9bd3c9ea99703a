/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "client.h"
#include "config.h"
#include "model.h"
#include "remote.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#define DEFAULT_TIMEOUT_SEC 45U
/* The daemon gives people two minutes to type a password. */
#define ASKING_TIMEOUT_SEC (120U + DEFAULT_TIMEOUT_SEC)

static unsigned timeout_default_sec = DEFAULT_TIMEOUT_SEC;

static const char *client_address(void) {
        const char *e = getenv("CACHEBPF_VARLINK");

        return e && *e ? e : CACHEBPF_VARLINK_ADDRESS;
}

static unsigned client_timeout_sec(void) {
        const char *e = getenv("CACHEBPF_VARLINK_TIMEOUT_SEC");
        uint64_t n;

        if (isempty(e))
                return timeout_default_sec;

        if (safe_atou64(e, &n) < 0 || n == 0 || n > 86400) {
                log_warning("$CACHEBPF_VARLINK_TIMEOUT_SEC is \"%s\", not a number of seconds up to 86400; "
                            "using %u.", e, timeout_default_sec);
                return timeout_default_sec;
        }

        return (unsigned) n;
}

int client_connect_quiet(sd_varlink **ret) {
        _cleanup_(sd_varlink_unrefp) sd_varlink *link = NULL;
        int r;

        assert(ret);

        r = remote_wanted() ? remote_connect(client_address(), &link) :
                              sd_varlink_connect_address(&link, client_address());
        if (r < 0)
                return r;

        (void) sd_varlink_set_description(link, CACHEBPF_VARLINK_INTERFACE);

        r = sd_varlink_set_relative_timeout(link, client_timeout_sec() * USEC_PER_SEC);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(link);
        return 0;
}

/* As ConditionKernelCommandLine= of the daemon's unit looks at it. */
static bool is_turned_off(void) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_free_ char **words = NULL;

        if (read_full_file("/proc/cmdline", 1 << 16, &text, NULL) < 0)
                return false;

        words = strv_split(text);
        return g_strv_contains((const char *const *) words, "cachebpf=off");
}

int client_connect(sd_varlink **ret) {
        const char *address = client_address();
        int r;

        r = client_connect_quiet(ret);
        if (r < 0 && remote_wanted())
                return remote_log_error(r);

        if (IN_ERRNO(r, -ENOENT, -ECONNREFUSED) && is_turned_off())
                return log_error_errno(r,
                                       "cachebpfd is not running: \"cachebpf=off\" on the kernel "
                                       "command line turns it off.");

        switch (r) {

        case -ENOENT:
                return log_error_errno(r,
                                       "cachebpfd is not running: there is no socket \"%s\". "
                                       "Start it with \"systemctl start cachebpfd.service\".",
                                       address);

        case -ECONNREFUSED:
                return log_error_errno(r,
                                       "cachebpfd is not running: nobody listens on \"%s\". "
                                       "Start it with \"systemctl start cachebpfd.service\".",
                                       address);

        case -EACCES:
        case -EPERM:
                return log_error_errno(r, "Not permitted to connect to cachebpfd at \"%s\".", address);

        default:
                if (r < 0)
                        return log_error_errno(r, "Cannot connect to cachebpfd at \"%s\": %m", address);
                return r;
        }
}

int client_connect_asking(sd_varlink **ret) {
        timeout_default_sec = ASKING_TIMEOUT_SEC;
        agent_open();

        return client_connect(ret);
}

/* Words for an error reply, or for what sd-varlink makes of a connection that broke. */
static int log_reply_error(const char *method, const char *error_id, sd_json_variant *parameters) {
        int r;

        assert(method);
        assert(error_id);

        r = sd_varlink_error_to_errno(error_id, parameters);
        if (r >= 0)
                r = -EBADR;

        if (streq(error_id, SD_VARLINK_ERROR_DISCONNECTED) && remote_wanted())
                return remote_log_disconnected(r, method);

        if (streq(error_id, SD_VARLINK_ERROR_DISCONNECTED))
                return log_error_errno(r,
                                       "cachebpfd closed the connection before it answered %s; "
                                       "\"journalctl -u cachebpfd.service\" may tell why.",
                                       method);

        if (streq(error_id, SD_VARLINK_ERROR_TIMEOUT))
                return log_error_errno(r,
                                       "cachebpfd did not answer %s within %u s; "
                                       "\"systemctl status cachebpfd.service\" may tell why.",
                                       method, client_timeout_sec());

        if (streq(error_id, SD_VARLINK_ERROR_METHOD_NOT_FOUND) ||
            streq(error_id, SD_VARLINK_ERROR_METHOD_NOT_IMPLEMENTED) ||
            streq(error_id, SD_VARLINK_ERROR_INTERFACE_NOT_FOUND))
                return log_error_errno(r,
                                       "cachebpfd does not know %s: it and this cachectl (%s) are different "
                                       "versions. If it was upgraded, restart it with "
                                       "\"systemctl restart cachebpfd.service\".",
                                       method, PROJECT_VERSION);

        if (streq(error_id, SD_VARLINK_ERROR_PERMISSION_DENIED) ||
            streq(error_id, "io.systemd.InteractiveAuthenticationRequired"))
                return log_error_errno(r, "cachebpfd does not permit you to call %s.", method);

        if (streq(error_id, CACHEBPF_VARLINK_ERROR_KERNEL_UNSUPPORTED))
                return log_error_errno(r,
                                       "There are no classes of threads without cachebpf in the kernel: %s.",
                                       json_string(parameters, "reason") ?: "it has none");

        if (streq(error_id, CACHEBPF_VARLINK_ERROR_NO_PROCESS))
                return log_error_errno(r, "This is the number of a thread, not of a process; see --thread.");

        if (streq(error_id, CACHEBPF_VARLINK_ERROR_INVALID_SETTING) ||
            streq(error_id, CACHEBPF_VARLINK_ERROR_CANNOT_STORE)) {
                r = streq(error_id, CACHEBPF_VARLINK_ERROR_INVALID_SETTING) ? EINVAL : EIO;
                return log_error_errno(r, "Nothing was changed: %s.",
                                       json_string(parameters, "problem") ?: "cachebpfd does not say why");
        }

        if (streq(error_id, SD_VARLINK_ERROR_PROTOCOL))
                return log_error_errno(r, "What answers %s at \"%s\" does not speak varlink.",
                                       method, client_address());

        if (streq(error_id, SD_VARLINK_ERROR_SYSTEM) && r == -EBUSY)
                return log_error_errno(r, "cachebpfd has as many clients of %s as it can have.", method);

        if (streq(error_id, SD_VARLINK_ERROR_SYSTEM))
                return log_error_errno(r, "cachebpfd failed to answer %s: %m", method);

        return log_error_errno(r, "cachebpfd refused %s with the error %s.", method, error_id);
}

static bool error_means_unknown(const char *error_id) {
        return streq(error_id, CACHEBPF_VARLINK_ERROR_NO_SUCH_UNIT) ||
               streq(error_id, CACHEBPF_VARLINK_ERROR_NO_SUCH_POLICY) ||
               streq(error_id, CACHEBPF_VARLINK_ERROR_NO_SUCH_THREAD);
}

int client_log_error(const char *method, const char *error_id, sd_json_variant *parameters) {
        return error_means_unknown(error_id) ? -ESRCH : log_reply_error(method, error_id, parameters);
}

typedef struct Call {
        const char *method;
        ClientReply on_reply;
        void *userdata;
        bool finished;
        int result;
} Call;

static int on_reply(
                sd_varlink *link,
                sd_json_variant *parameters,
                const char *error_id,
                sd_varlink_reply_flags_t flags,
                void *userdata) {

        Call *call = ASSERT_PTR(userdata);

        if (error_id) {
                call->finished = true;
                call->result = client_log_error(call->method, error_id, parameters);
                return 0;
        }

        /* A server with nothing to tell can only end the stream with a reply without content. */
        if (parameters && !sd_json_variant_is_blank_object(parameters)) {
                int r;

                r = call->on_reply(parameters, call->userdata);
                if (r < 0) {
                        call->finished = true;
                        call->result = r;
                        return 0;
                }
        }

        if (!(flags & SD_VARLINK_REPLY_CONTINUES))
                call->finished = true;
        return 0;
}

/* Sends a call and waits for the last of its replies. All calls go this way: after sd_varlink_call() a
 * connection hands the old reply to the callback of the next call, and sd_varlink_collect() gives up at
 * 1024 replies. */
static int perform(
                sd_varlink *link,
                int (*send)(sd_varlink *link, const char *method, sd_json_variant *parameters),
                sd_json_variant *parameters,
                Call *call) {

        int r;

        (void) sd_varlink_set_userdata(link, call);

        r = sd_varlink_bind_reply(link, on_reply);
        if (r >= 0)
                r = send(link, call->method, parameters);
        if (r < 0)
                return log_error_errno(r, "Cannot call %s of cachebpfd: %m", call->method);

        while (!call->finished) {
                r = sd_varlink_process(link);
                if (r == 0)
                        r = sd_varlink_wait(link, UINT64_MAX);
                if (r == -EINVAL && !call->finished) /* no JSON */
                        return log_reply_error(call->method, SD_VARLINK_ERROR_PROTOCOL, NULL);
                if (r < 0 && !call->finished && remote_wanted())
                        return remote_log_disconnected(r, call->method);
                if (r < 0 && !call->finished)
                        return log_error_errno(r, "Lost the connection to cachebpfd in %s: %m",
                                               call->method);
        }

        return call->result;
}

static int keep_reply(sd_json_variant *parameters, void *userdata) {
        sd_json_variant **reply = ASSERT_PTR(userdata);

        sd_json_variant_unref(*reply);
        *reply = sd_json_variant_ref(parameters);
        return 0;
}

int client_call(sd_varlink *link, const char *method, sd_json_variant *parameters, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *reply = NULL;
        Call call = {
                .method = method,
                .on_reply = keep_reply,
                .userdata = &reply,
        };
        int r;

        assert(link);
        assert(method);
        assert(ret);

        r = perform(link, sd_varlink_invoke, parameters, &call);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(reply);
        return 0;
}

int client_call_more(
                sd_varlink *link,
                const char *method,
                sd_json_variant *parameters,
                ClientReply reply,
                void *userdata) {

        Call call = {
                .method = method,
                .on_reply = reply,
                .userdata = userdata,
        };

        assert(link);
        assert(method);
        assert(reply);

        return perform(link, sd_varlink_observe, parameters, &call);
}
