/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/libbpf.h>

#include "shared/cleanup.h"

/* What the kernel's value of a policy looks like: the same for all, as long as the kernel runs. */
typedef struct PolicyValueLayout PolicyValueLayout;

PolicyValueLayout *policy_value_layout_free(PolicyValueLayout *l);
DEFINE_TRIVIAL_CLEANUP_FUNC(PolicyValueLayout *, policy_value_layout_free);

/* Writes the value of a loaded struct_ops map, after which the map can replace the one behind a link.
 *
 * libbpf does this only as a part of bpf_map__attach_struct_ops(), which creates a link (the control group
 * has one already), and of bpf_link__update_map(), which works only on links it created itself in this
 * process (ours may come from a pin).
 *
 * The layout is found out for the first one, into *layout, which is then the caller's. */
int policy_value_commit(PolicyValueLayout **layout, struct bpf_object *obj, struct bpf_map *ops);
