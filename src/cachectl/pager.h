/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sends standard output through a pager when a person sits at a terminal: $SYSTEMD_PAGER, $PAGER, else
 * less, more. Does nothing when output goes elsewhere or paging is switched off (an empty value or
 * "cat"). No pager that can be started is no error: the output then appears unpaged. */
void pager_open(void);

/* Flushes standard output, lets the pager end and waits for it. Returns the error of writing, if there
 * was one; a reader that has gone away (the pager was quit, "| head") is none. */
int pager_close(void);
