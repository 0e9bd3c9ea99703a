/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The files in skeleton/, in which @NAME@ is the name
 * of the policy and @ID@ the same as an identifier of C. */
extern const char policy_skeleton[];
extern const char makefile_skeleton[];
