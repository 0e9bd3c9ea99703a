/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "shared/macro.h"
#include "shared/shadow-message.h"

/* The process of one candidate, which is started again when it ends, with an empty cache. Nothing waits for
 * it: what it does not read in time it misses. */
typedef struct ShadowProcess ShadowProcess;

/* It answered; or, NULL, it ended, or will. Neither is told from within a call of these functions. Returns
 * whether it was asked for the answer: else it is as good as nonsense. */
typedef bool (*shadow_process_func_t)(ShadowProcess *p, const ShadowAnswer *answer, void *userdata);

/* Does not start it. Options are "NAME=VALUE"; NULL: there are none. The unit is for messages. Returns NULL
 * if there is no memory. */
ShadowProcess *shadow_process_new(sd_event *event, const char *program, const char *unit,
                                  const char *policy, const char *const *options,
                                  shadow_process_func_t func, void *userdata);
ShadowProcess *shadow_process_free(ShadowProcess *p);
DEFINE_TRIVIAL_CLEANUP_FUNC(ShadowProcess *, shadow_process_free);

/* Starts it with a cache of that many pages, which stands for one "scale" times as large, in place of the
 * one that runs or is about to be started. */
void shadow_process_start(ShadowProcess *p, uint32_t capacity, uint32_t scale);

/* -ENOTCONN: it does not run. Others, such as -EAGAIN: it did not read what came before, and misses this. */
int shadow_process_send(ShadowProcess *p, const ShadowMessage *m);

/* It said nothing for too long, or nonsense: kills it. It is started again after a pause. */
void shadow_process_fail(ShadowProcess *p, const char *why);

/* Whether it runs and got all that was sent since the last call of this. */
bool shadow_process_take_complete(ShadowProcess *p);
