/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"

/* Which units CacheReplay= is for. */

/* Its starts are recorded, and read ahead. */
bool replay_is_wanted(const Unit *u);
/* That, or it asks for it in vain, which people want to hear of. A rule may mean too many. */
bool replay_is_asked_for(const Unit *u);
/* Why CacheReplay= is ignored, a sentence, to be freed; NULL: it is not. */
char *replay_why_ignored(const Unit *u);
/* When the unit starts: has the journal say that. */
void replay_warn_ignored(const Unit *u);
