/* SPDX-License-Identifier: LGPL-2.1-or-later */

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

DEFINE_STRING_TABLE(unit_state, UnitState, _UNIT_STATE_MAX);
