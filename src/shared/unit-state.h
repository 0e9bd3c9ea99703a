/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>

/* What a unit's cache policy is doing, as shown on the bus, over varlink and by cachectl. */
typedef enum UnitState {
        UNIT_UNCONFIGURED, /* no file asks for a policy */
        UNIT_INACTIVE,     /* configured, but the unit has no control group now */
        UNIT_PENDING,      /* configured and active; not decided yet */
        UNIT_ATTACHED,     /* the kernel confirms that the policy runs */
        UNIT_FAILED,       /* cannot be attached, the reason says why */
        UNIT_LOST,         /* the kernel detached it while it was wanted */
        UNIT_UNSUPPORTED,  /* this kernel has no cachebpf */
        _UNIT_STATE_MAX,
        _UNIT_STATE_INVALID = -EINVAL,
} UnitState;

const char *unit_state_to_string(UnitState s);
UnitState unit_state_from_string(const char *s);
