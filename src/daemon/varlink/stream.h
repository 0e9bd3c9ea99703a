/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "shared/macro.h"

/* Sends all but the last of several replies as "continues". The previous one is held back until it is known
 * whether another follows. */
typedef struct Stream {
        sd_varlink *link;
        bool more;               /* the client accepts more than one */
        sd_json_variant *held;
} Stream;

/* Takes over the reply. -E2BIG: two replies for a client that takes one; stream_end() tells it. */
int stream_add(Stream *s, sd_json_variant *reply);

/* Ends the call after the last reply, or because of a negative result. If there was no reply it ends with
 * the error, which has a parameter of that key and value (key NULL: none). */
int stream_end(Stream *s, int result, const char *error_id, const char *key, const char *value);
