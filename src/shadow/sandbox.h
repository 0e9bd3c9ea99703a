/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Gives up what the process may do, for ever: then it can compute, read and write what is open, and end. It
 * has no capabilities, may have 64 MiB of memory, lets others run first, and is the first to go if the
 * machine is out of memory. Other system calls end it. */
int sandbox_enter(void);
