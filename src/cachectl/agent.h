/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Has polkit's agent ask for passwords on the terminal, in the name of this process, until it is closed.
 * Nothing happens if there is nobody who could be asked, or nothing that would be asked for. */
void agent_open(void);
void agent_close(void);
