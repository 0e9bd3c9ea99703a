/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* MESSAGE_ID= of the journal entries about units, for "journalctl MESSAGE_ID=...". */
#define MESSAGE_POLICY_ATTACHED "5e789ee9f2154352af4c4a061c71fbc5"
#define MESSAGE_POLICY_ADOPTED "3e8a4df3d2b942cb870e97b119a7d025"
#define MESSAGE_POLICY_DETACHED "a1947ad7ff78412d9d098cd1ed940277"
#define MESSAGE_POLICY_FAILED "11ac88399c7940a6ba5b79864dd0503e"
#define MESSAGE_POLICY_LOST "c71e1737a8724a1db20eff7c71cafac8"
#define MESSAGE_KERNEL_UNSUPPORTED "6bf66dabd1c7404d8ddcbd5010801629"
