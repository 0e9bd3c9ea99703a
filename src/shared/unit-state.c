/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "macro.h"
#include "string-util.h"
#include "unit-state.h"

static const char *const unit_state_table[] = {
        [UNIT_UNCONFIGURED] = "unconfigured",
        [UNIT_INACTIVE] = "inactive",
        [UNIT_PENDING] = "pending",
        [UNIT_ATTACHED] = "attached",
        [UNIT_FAILED] = "failed",
        [UNIT_LOST] = "lost",
        [UNIT_UNSUPPORTED] = "unsupported",
};

static_assert(ELEMENTSOF(unit_state_table) == _UNIT_STATE_MAX, "each unit state needs its string");

const char *unit_state_to_string(UnitState s) {
        return s >= 0 && s < _UNIT_STATE_MAX ? unit_state_table[s] : NULL;
}

UnitState unit_state_from_string(const char *s) {
        for (UnitState i = 0; s && i < _UNIT_STATE_MAX; i++)
                if (streq(unit_state_table[i], s))
                        return i;

        return _UNIT_STATE_INVALID;
}
