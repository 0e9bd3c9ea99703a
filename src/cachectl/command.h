/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "shared/macro.h"

/* A command that runs for as long as this program does:
 * it gets the signals that we get, and we end as it does. */
typedef struct Command Command;

/* Blocks the signals that are for the command; before it is started they end the loop. */
int command_new(sd_event *event, char **argv, Command **ret);
Command *command_free(Command *c);
DEFINE_TRIVIAL_CLEANUP_FUNC(Command *, command_free);

/* -ENOENT and others if it cannot be executed. When it ends the event loop does, with 0. */
int command_start(Command *c);
bool command_is_started(const Command *c);

/* After the loop: the exit status, or the death by the same signal. */
int command_finish(Command *c);
