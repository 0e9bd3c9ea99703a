/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

Unit *unit_new(Manager *m, const char *name);
Unit *unit_free(Unit *u);
DEFINE_TRIVIAL_CLEANUP_FUNC(Unit *, unit_free);

UnitReplay *unit_replay_free(UnitReplay *r);

/* Whether users want to hear of it: something is configured or attached. */
bool unit_is_managed(const Unit *u);

/* "FILE:LINE" of the line that decided, NULL if none did. */
char *unit_source(const Unit *u);

/* Enters a state; logs it and tells the bus, once:
 * nothing happens if state and reason are the same already. */
void unit_set_state(Unit *u, UnitState state, const char *reason);

/* A policy is behind the link now that was not there before. That one was chosen, or that one was replaced
 * in place (update), is no change of state. */
void unit_note_update(Unit *u, bool update);

/* Takes over a link, and watches it for the kernel's hang-up. */
int unit_set_link(Unit *u, PolicyLink *link, const char *effective, bool adopted);
/* Does what the policy behind the link asks for now and then; again after the policy was replaced. */
void unit_watch_events(Unit *u);
/* Detaches the policy and forgets the link. */
void unit_drop_link(Unit *u);

/* After a failure: when to try again (never, if it is not transient or was tried often enough). */
void unit_schedule_retry(Unit *u, bool transient);
void unit_reset_retry(Unit *u);
bool unit_may_try(const Unit *u);

/* The kernel could not be asked, which was no attempt: has the unit looked at once more, soon. */
void unit_look_again(Unit *u);

/* The policy in force, inherited or own, "none" for the stock one, or NULL if the kernel cannot be asked.
 * The result is valid as long as k, which gets the details. */
const char *unit_read_verified(Unit *u, KernelPolicy *k);

/* The kernel's counters, and those of the program that the policy has the daemon run. */
int unit_stat_foreach(Unit *u, flat_keyed_func_t func, void *userdata);
