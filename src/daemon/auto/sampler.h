/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "shared/macro.h"

/* The BPF program at the kernel's tracepoint for samples, and its ring buffer. It is there while this is. */
typedef struct Sampler Sampler;

/* A page of a sample was used, or, with gone, its content is no more. */
typedef void (*sampler_func_t)(uint64_t cgroup_id, uint64_t key, bool gone, void *userdata);

/* The function is called from the event loop, behind all other work. -EOPNOTSUPP: there is no such
 * tracepoint. */
int sampler_new(sd_event *event, sampler_func_t func, void *userdata, Sampler **ret);
Sampler *sampler_free(Sampler *s);
DEFINE_TRIVIAL_CLEANUP_FUNC(Sampler *, sampler_free);

/* Of which control groups it tells: none at first. -E2BIG: there are too many. */
int sampler_add(Sampler *s, uint64_t cgroup_id);
void sampler_remove(Sampler *s, uint64_t cgroup_id);

/* How many events of the control group were lost since it was added: those beyond its share of the ring
 * buffer, and those that found no room there. */
uint64_t sampler_lost(Sampler *s, uint64_t cgroup_id);

/* Calls the function now for what is in the ring buffer. */
void sampler_read(Sampler *s);
