/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink-idl.h>

/* Types of the interface org.cachebpf.Manager that are about units. */
extern const sd_varlink_symbol vl_type_UnitState, vl_type_Hold, vl_type_Candidate, vl_type_Choice,
        vl_type_Replay, vl_type_Unit;
