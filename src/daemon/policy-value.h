/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <bpf/libbpf.h>

/* Writes the value of a loaded struct_ops map, after which the map can replace the one behind a link.
 *
 * libbpf does this only as a part of bpf_map__attach_struct_ops(), which creates a link (the control group
 * has one already), and of bpf_link__update_map(), which works only on links it created itself in this
 * process (ours may come from a pin). */
int policy_value_commit(struct bpf_object *obj, struct bpf_map *ops);
