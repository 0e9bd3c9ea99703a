/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-varlink.h>

/* The daemon of another machine, as --host= and --machine= say. */

bool remote_wanted(void);

/* Connects to the socket of that name there. By ssh that takes time, and may fail at any moment later. */
int remote_connect(const char *address, sd_varlink **ret);

/* Words for what went wrong; these return the error. */
int remote_log_error(int error);
int remote_log_disconnected(int error, const char *method);
