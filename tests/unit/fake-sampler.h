/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A sampler without a kernel: the test says what happens. There is one at a time. */

bool fake_sampler_is_there(void);
bool fake_sampler_has(uint64_t cgroup_id);

/* An event; those of control groups that nobody added are told as well. */
void fake_sampler_event(uint64_t cgroup_id, uint64_t key, bool gone);

/* It waits in the ring buffer until that is read. */
void fake_sampler_queue(uint64_t cgroup_id, uint64_t key);

void fake_sampler_lose(uint64_t cgroup_id, uint64_t n);
