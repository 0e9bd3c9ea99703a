/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The policy that the daemon chose for a unit with CachePolicy=auto: "auto (mru)"; to be freed. NULL: the
 * unit has another setting, or nobody says. Nothing is logged but what is wrong with an answer. */
char *unit_chosen_policy(const char *unit);
