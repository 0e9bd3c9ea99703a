/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "backend.h"

const AutoBackend auto_backend = {
        .host_new = shadow_host_new,
        .host_free = shadow_host_free,
        .shadows_new = shadows_new,
        .shadows_free = shadows_free,
        .shadows_resize = shadows_resize,
        .shadows_policy_replaced = shadows_policy_replaced,
        .shadows_end_window = shadows_end_window,
        .read = meter_read,
        .read_capacity = meter_read_capacity,
};
