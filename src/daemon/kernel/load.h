/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "config/object.h"
#include "config/policy-config.h"
#include "shared/kernel-features.h"

/* Opens the object of a policy as it was read, configures it, and loads it into the kernel for a control
 * group; threads_fd is the map with the classes of threads, for objects that know them (-EBADF
 * otherwise). */
int policy_load(const Policy *policy, const PolicyConfig *config, uint64_t cgroup_id, int threads_fd,
                struct bpf_object **ret, struct bpf_map **ret_ops, char **ret_reason);

/* Returns error, with a sentence about a step that failed: "policy 'lfu' (/usr/lib/.../lfu.bpf.o): the
 * kernel rejects its program: lfu_evict(): R1 invalid mem access". */
int policy_step_failed(const Policy *policy, PolicyStep step, int error, char **ret_reason);
