/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "shared/string-util.h"
#include "stream.h"

int stream_add(Stream *s, sd_json_variant *reply) {
        int r = 0;

        if (s->held && s->more) {
                r = sd_varlink_notify(s->link, s->held);
                sd_json_variant_unref(s->held);
                s->held = NULL;
        }
        /* Two replies for a client that takes one: stream_end() tells it. */
        if (s->held) {
                sd_json_variant_unref(reply);
                return -E2BIG;
        }

        s->held = reply;
        return r;
}

int stream_end(Stream *s, int result, const char *error_id, const char *key, const char *value) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *held = TAKE_PTR(s->held);

        if (result == -E2BIG)
                return sd_varlink_error(s->link, SD_VARLINK_ERROR_EXPECTED_MORE, NULL);
        if (result < 0)
                return result;
        if (!held && !key)
                return sd_varlink_error(s->link, error_id, NULL);
        if (!held)
                return sd_varlink_errorbo(s->link, error_id,
                                          SD_JSON_BUILD_PAIR_STRING(key, strempty(value)));

        return sd_varlink_reply(s->link, held);
}
