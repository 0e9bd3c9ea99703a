/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "varlink-unit.h"

SD_VARLINK_DEFINE_ENUM_TYPE(
                UnitState,
                SD_VARLINK_FIELD_COMMENT("No configuration file asks for a policy"),
                SD_VARLINK_DEFINE_ENUM_VALUE(unconfigured),
                SD_VARLINK_FIELD_COMMENT("Configured, but the unit has no control group now"),
                SD_VARLINK_DEFINE_ENUM_VALUE(inactive),
                SD_VARLINK_FIELD_COMMENT("Configured and active, the daemon has not acted yet"),
                SD_VARLINK_DEFINE_ENUM_VALUE(pending),
                SD_VARLINK_FIELD_COMMENT("The kernel confirms that the policy runs"),
                SD_VARLINK_DEFINE_ENUM_VALUE(attached),
                SD_VARLINK_FIELD_COMMENT("The policy cannot be attached, see the reason"),
                SD_VARLINK_DEFINE_ENUM_VALUE(failed),
                SD_VARLINK_FIELD_COMMENT("The kernel detached the policy while it was wanted"),
                SD_VARLINK_DEFINE_ENUM_VALUE(lost),
                SD_VARLINK_FIELD_COMMENT("The running kernel has no cachebpf, "
                                         "or not what CachePolicy=auto needs"),
                SD_VARLINK_DEFINE_ENUM_VALUE(unsupported));

SD_VARLINK_DEFINE_STRUCT_TYPE(
                Hold,
                SD_VARLINK_FIELD_COMMENT("Its number"),
                SD_VARLINK_DEFINE_FIELD(cookie, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("What the unit is held with, KEY=VALUE each"),
                SD_VARLINK_DEFINE_FIELD(settings, SD_VARLINK_STRING, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("What the client says it is, or the name of its process"),
                SD_VARLINK_DEFINE_FIELD(program, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("Why, as it says"),
                SD_VARLINK_DEFINE_FIELD(reason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The number of its process, …"),
                SD_VARLINK_DEFINE_FIELD(process, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("… and of its user"),
                SD_VARLINK_DEFINE_FIELD(user, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("When it began (CLOCK_REALTIME, microseconds)"),
                SD_VARLINK_DEFINE_FIELD(sinceUSec, SD_VARLINK_INT, 0));

SD_VARLINK_DEFINE_STRUCT_TYPE(
                Candidate,
                SD_VARLINK_FIELD_COMMENT("Its policy and options, or 'stock'"),
                SD_VARLINK_DEFINE_FIELD(name, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("What its shadow misses of all requests, from 0 to 1, "
                                         "as an average over windows; unset if it is not known"),
                SD_VARLINK_DEFINE_FIELD(missRatio, SD_VARLINK_FLOAT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("For how many windows it cannot be chosen"),
                SD_VARLINK_DEFINE_FIELD(banned, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("True if the kernel does not take it"),
                SD_VARLINK_DEFINE_FIELD(out, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE));

SD_VARLINK_DEFINE_STRUCT_TYPE(
                Choice,
                SD_VARLINK_FIELD_COMMENT("The candidate that is to run"),
                SD_VARLINK_DEFINE_FIELD(chosen, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("All of them (CacheCandidates=), the stock policy first"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(candidates, Candidate, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("What came of the last window, one sentence"),
                SD_VARLINK_DEFINE_FIELD(verdict, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("How many switches there were, since the unit or the daemon began"),
                SD_VARLINK_DEFINE_FIELD(switches, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Why the last one was made, …"),
                SD_VARLINK_DEFINE_FIELD(switchReason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… and when (CLOCK_REALTIME, microseconds)"),
                SD_VARLINK_DEFINE_FIELD(switchedUSec, SD_VARLINK_INT, SD_VARLINK_NULLABLE));

SD_VARLINK_DEFINE_STRUCT_TYPE(
                Replay,
                SD_VARLINK_FIELD_COMMENT("It is recorded now, until then (CLOCK_REALTIME, microseconds)"),
                SD_VARLINK_DEFINE_FIELD(recordingUntilUSec, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("When what is kept was recorded (CLOCK_REALTIME, microseconds), …"),
                SD_VARLINK_DEFINE_FIELD(recordedUSec, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… so many bytes, …"),
                SD_VARLINK_DEFINE_FIELD(recordedBytes, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… in so many ranges of files"),
                SD_VARLINK_DEFINE_FIELD(recordedRanges, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("When reading ahead for this start had ended "
                                         "(CLOCK_REALTIME, microseconds), …"),
                SD_VARLINK_DEFINE_FIELD(readUSec, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… so many bytes, …"),
                SD_VARLINK_DEFINE_FIELD(readBytes, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… in so many ranges of files"),
                SD_VARLINK_DEFINE_FIELD(readRanges, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Bytes for all starts, since the unit or the daemon began"),
                SD_VARLINK_DEFINE_FIELD(readBytesTotal, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Why it is not recorded, or nothing was read ahead, one sentence"),
                SD_VARLINK_DEFINE_FIELD(reason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE));

SD_VARLINK_DEFINE_STRUCT_TYPE(
                Unit,
                SD_VARLINK_FIELD_COMMENT("Name of the systemd slice, service or scope"),
                SD_VARLINK_DEFINE_FIELD(unit, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("Path of its control group below the root of the hierarchy"),
                SD_VARLINK_DEFINE_FIELD(cgroup, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The kernel's 64-bit id of that control group"),
                SD_VARLINK_DEFINE_FIELD(cgroupId, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Policy the configuration asks for"),
                SD_VARLINK_DEFINE_FIELD(configured, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("How the configuration wants it: "
                                         "tunables (CachePolicyOptions=), …"),
                SD_VARLINK_DEFINE_FIELD(options, SD_VARLINK_STRING, SD_VARLINK_ARRAY|SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… patterns of the names of scanning "
                                         "threads (CacheScanThreads=), …"),
                SD_VARLINK_DEFINE_FIELD(scanThreads, SD_VARLINK_STRING,
                                        SD_VARLINK_ARRAY|SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… the admission filter (CacheAdmission=), …"),
                SD_VARLINK_DEFINE_FIELD(admission, SD_VARLINK_STRING, SD_VARLINK_ARRAY|SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("… and what is read ahead (CacheReadahead=)"),
                SD_VARLINK_DEFINE_FIELD(readahead, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What CacheReplay= did; unset if it is not set, or that is not "
                                         "known yet"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(replay, Replay, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Clients that hold it, the strongest last"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(holds, Hold, SD_VARLINK_ARRAY|SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Policy the daemon attached or adopted"),
                SD_VARLINK_DEFINE_FIELD(effective, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What CachePolicy=auto chose, and from what"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(choice, Choice, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Policy the kernel reports at this moment; "
                                         "'none' for the stock one"),
                SD_VARLINK_DEFINE_FIELD(verified, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Managers that have no say now, since too many of their decisions "
                                         "were wrong; see ListFiles"),
                SD_VARLINK_DEFINE_FIELD(revoked, SD_VARLINK_STRING, SD_VARLINK_ARRAY|SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What the policy of this unit is doing"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(state, UnitState, 0),
                SD_VARLINK_FIELD_COMMENT("Why the unit is in this state, one sentence"),
                SD_VARLINK_DEFINE_FIELD(reason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The configuration line that decided, as FILE:LINE"),
                SD_VARLINK_DEFINE_FIELD(source, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("When the unit entered its state (CLOCK_REALTIME, microseconds)"),
                SD_VARLINK_DEFINE_FIELD(sinceUSec, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The kernel's id of the attachment; "
                                         "stays the same while nothing was detached or replaced"),
                SD_VARLINK_DEFINE_FIELD(policyId, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("True if an earlier instance of the daemon attached the policy"),
                SD_VARLINK_DEFINE_FIELD(adopted, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE));
