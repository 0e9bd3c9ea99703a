/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/libbpf.h>

#include "backend.h"

/* What managers say to policies that listen, as bpf/lib/managers.bpf.h has it: maps that are read, and a
 * program by which the daemon speaks for a manager. */

#define ADVICE_MAP_MANAGERS "cachebpf_managers"
#define ADVICE_MAP_PRIORITIES "cachebpf_priorities"
#define ADVICE_MAP_PAGES "cachebpf_pages"

/* Both return what the policy answers: 0, or for example -ENOSPC. */
int advice_set_level(int program_fd, uint64_t manager, const PolicyFile *file, int level);
int advice_set_replacement(int program_fd, uint64_t manager, int level, bool mru);

/* From maps that are open. */
int advice_read_managers(int managers_fd, int pages_fd, GArray *ret /* of PolicyManager */);
int advice_read_levels(int priorities_fd, GArray *ret /* of PolicyFileLevel */);

/* Says all of that to another program. What it does not take is lost. */
void advice_repeat(GArray *managers, GArray *levels, int program_fd);
