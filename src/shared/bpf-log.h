/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "macro.h"

/* Sends libbpf's messages to our log at debug level. */
void bpf_log_setup(void);

/* Forgets what libbpf said so far; then, after a failure, the most telling line it said since: the
 * verifier's last complaint with the program's name if there is one, libbpf's last warning otherwise. NULL
 * if none. */
void bpf_log_reset(void);
char *bpf_log_cause(void);
