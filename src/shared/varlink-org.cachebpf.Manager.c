/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "varlink-org.cachebpf.Manager.h"
#include "varlink-unit.h"

static SD_VARLINK_DEFINE_STRUCT_TYPE(
                Tunable,
                SD_VARLINK_FIELD_COMMENT("Name of the read-only global in the policy object"),
                SD_VARLINK_DEFINE_FIELD(name, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("Its integer type, as in C"),
                SD_VARLINK_DEFINE_FIELD(type, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("The value compiled in"),
                SD_VARLINK_DEFINE_FIELD(default, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Smallest and largest value that make sense"),
                SD_VARLINK_DEFINE_FIELD(min, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_DEFINE_FIELD(max, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What is counted"),
                SD_VARLINK_DEFINE_FIELD(unit, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What it does, one sentence"),
                SD_VARLINK_DEFINE_FIELD(doc, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Where the value comes from, if not from where the policy does"),
                SD_VARLINK_DEFINE_FIELD(source, SD_VARLINK_STRING, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_STRUCT_TYPE(
                PolicyCounter,
                SD_VARLINK_FIELD_COMMENT("Its name in the policy; among the counters of a unit "
                                         "it has 'policy_' in front"),
                SD_VARLINK_DEFINE_FIELD(name, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("What is counted"),
                SD_VARLINK_DEFINE_FIELD(unit, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Which of these, one sentence"),
                SD_VARLINK_DEFINE_FIELD(doc, SD_VARLINK_STRING, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_ENUM_TYPE(
                PolicyAbility,
                SD_VARLINK_FIELD_COMMENT("Listens to what is said of files, "
                                         "by programs, and by CacheFiles= and CacheLevel="),
                SD_VARLINK_DEFINE_ENUM_VALUE(advice),
                SD_VARLINK_FIELD_COMMENT("Has the admission filter, for CacheAdmission="),
                SD_VARLINK_DEFINE_ENUM_VALUE(admission),
                SD_VARLINK_FIELD_COMMENT("Plans what is read ahead, for CacheReadahead="),
                SD_VARLINK_DEFINE_ENUM_VALUE(readahead),
                SD_VARLINK_FIELD_COMMENT("Has a program of its own that the "
                                         "daemon runs when the policy asks for it"),
                SD_VARLINK_DEFINE_ENUM_VALUE(reconfigure),
                SD_VARLINK_FIELD_COMMENT("Can tell threads by their class, "
                                         "and by name with CacheScanThreads="),
                SD_VARLINK_DEFINE_ENUM_VALUE(threads));

static SD_VARLINK_DEFINE_METHOD_FULL(
                ListUnits,
                SD_VARLINK_SUPPORTS_MORE,
                SD_VARLINK_FIELD_COMMENT("Only this unit; "
                                         "if unset all units with a policy configured or attached"),
                SD_VARLINK_DEFINE_INPUT(unit, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("One unit, one reply a unit"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(unit, Unit, 0));

static SD_VARLINK_DEFINE_METHOD_FULL(
                GetStats,
                SD_VARLINK_SUPPORTS_MORE,
                SD_VARLINK_FIELD_COMMENT("Only this unit; if unset all units with a policy attached"),
                SD_VARLINK_DEFINE_INPUT(unit, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The unit the counters belong to"),
                SD_VARLINK_DEFINE_OUTPUT(unit, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("The policy the kernel reports"),
                SD_VARLINK_DEFINE_OUTPUT(policy, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Monotonic counters by name: the kernel's, and the policy's own"),
                SD_VARLINK_DEFINE_OUTPUT(counters, SD_VARLINK_INT, SD_VARLINK_MAP),
                SD_VARLINK_FIELD_COMMENT("What the policy's own ones mean"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(declared, PolicyCounter, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_ENUM_TYPE(
                CacheReplacement,
                SD_VARLINK_FIELD_COMMENT("The page that was not used for the longest time goes first"),
                SD_VARLINK_DEFINE_ENUM_VALUE(lru),
                SD_VARLINK_FIELD_COMMENT("The page that was used last goes first"),
                SD_VARLINK_DEFINE_ENUM_VALUE(mru));

static SD_VARLINK_DEFINE_STRUCT_TYPE(
                CacheLevel,
                SD_VARLINK_FIELD_COMMENT("From -1 to 3; the lowest one goes first"),
                SD_VARLINK_DEFINE_FIELD(level, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Which of its pages goes first"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(replacement, CacheReplacement, 0),
                SD_VARLINK_FIELD_COMMENT("Pages of the manager that are cached in it"),
                SD_VARLINK_DEFINE_FIELD(pages, SD_VARLINK_INT, 0));

static SD_VARLINK_DEFINE_STRUCT_TYPE(
                CacheFile,
                SD_VARLINK_FIELD_COMMENT("The level of its pages"),
                SD_VARLINK_DEFINE_FIELD(priority, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("If a pattern of CacheFiles= found it"),
                SD_VARLINK_DEFINE_FIELD(path, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The file system, as MAJOR:MINOR, …"),
                SD_VARLINK_DEFINE_FIELD(device, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("… and the file's number in it, …"),
                SD_VARLINK_DEFINE_FIELD(inode, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("… which other files had before, with other generations"),
                SD_VARLINK_DEFINE_FIELD(generation, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Pages of it that are cached, whoever they belong to; "
                                         "unset without a path"),
                SD_VARLINK_DEFINE_FIELD(cached, SD_VARLINK_INT, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_STRUCT_TYPE(
                CacheManager,
                SD_VARLINK_FIELD_COMMENT("Its control group, mostly a unit; unset if it is gone"),
                SD_VARLINK_DEFINE_FIELD(name, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The kernel's 64-bit id of that control group"),
                SD_VARLINK_DEFINE_FIELD(cgroupId, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Too many of its decisions were wrong: it has no say now"),
                SD_VARLINK_DEFINE_FIELD(revoked, SD_VARLINK_BOOL, 0),
                SD_VARLINK_FIELD_COMMENT("How often it decided which page goes, and was wrong"),
                SD_VARLINK_DEFINE_FIELD(decisions, SD_VARLINK_INT, 0),
                SD_VARLINK_DEFINE_FIELD(wrong, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Levels that have pages, or are MRU"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(levels, CacheLevel, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("Files with a priority, or that CacheFiles= names; "
                                         "only root is told"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(files, CacheFile, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_METHOD_FULL(
                ListFiles,
                SD_VARLINK_SUPPORTS_MORE,
                SD_VARLINK_FIELD_COMMENT("Only this unit, which may also be a manager; "
                                         "if unset all units whose policy listens to managers"),
                SD_VARLINK_DEFINE_INPUT(unit, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The unit"),
                SD_VARLINK_DEFINE_OUTPUT(unit, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("The managers below it that have said something, or itself"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(managers, CacheManager, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_METHOD_FULL(
                ListPolicies,
                SD_VARLINK_SUPPORTS_MORE,
                SD_VARLINK_FIELD_COMMENT("Only this policy; if unset all"),
                SD_VARLINK_DEFINE_INPUT(name, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What CachePolicy= calls it"),
                SD_VARLINK_DEFINE_OUTPUT(name, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("What it does, one line"),
                SD_VARLINK_DEFINE_OUTPUT(description, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Where the algorithm was published"),
                SD_VARLINK_DEFINE_OUTPUT(source, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The object file"),
                SD_VARLINK_DEFINE_OUTPUT(path, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("Why the object cannot be used; unset if it can"),
                SD_VARLINK_DEFINE_OUTPUT(problem, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What it can do besides evicting"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(abilities, PolicyAbility,
                                                 SD_VARLINK_ARRAY|SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Its documented constants"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(tunables, Tunable, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("What it counts itself"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(counters, PolicyCounter, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_METHOD(
                GetStatus,
                SD_VARLINK_FIELD_COMMENT("Version of the daemon"),
                SD_VARLINK_DEFINE_OUTPUT(version, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("Whether the running kernel can attach cache policies"),
                SD_VARLINK_DEFINE_OUTPUT(kernelSupport, SD_VARLINK_BOOL, 0),
                SD_VARLINK_FIELD_COMMENT("If it cannot: why, one sentence"),
                SD_VARLINK_DEFINE_OUTPUT(kernelReason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The kernel interface's version"),
                SD_VARLINK_DEFINE_OUTPUT(kernelAbi, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("What the kernel interface can do"),
                SD_VARLINK_DEFINE_OUTPUT(kernelFeatures, SD_VARLINK_STRING, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("The kernel's system-wide counters by name"),
                SD_VARLINK_DEFINE_OUTPUT(kernelStat, SD_VARLINK_INT, SD_VARLINK_MAP),
                SD_VARLINK_FIELD_COMMENT("How many units ask for a policy, have it, cannot have it"),
                SD_VARLINK_DEFINE_OUTPUT(unitsConfigured, SD_VARLINK_INT, 0),
                SD_VARLINK_DEFINE_OUTPUT(unitsAttached, SD_VARLINK_INT, 0),
                SD_VARLINK_DEFINE_OUTPUT(unitsFailed, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Where policy objects are looked for, first match wins"),
                SD_VARLINK_DEFINE_OUTPUT(policyDirectories, SD_VARLINK_STRING, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_ENUM_TYPE(
                ThreadClass,
                SD_VARLINK_FIELD_COMMENT("Nothing special, whatever its name is"),
                SD_VARLINK_DEFINE_ENUM_VALUE(normal),
                SD_VARLINK_FIELD_COMMENT("Reads much, once: reports, backups, searches"),
                SD_VARLINK_DEFINE_ENUM_VALUE(scan),
                SD_VARLINK_FIELD_COMMENT("Work that nobody waits for: compaction, indexing"),
                SD_VARLINK_DEFINE_ENUM_VALUE(background));

static SD_VARLINK_DEFINE_METHOD(
                SetThreadClass,
                SD_VARLINK_FIELD_COMMENT("What the threads are there for"),
                SD_VARLINK_DEFINE_INPUT_BY_TYPE(class, ThreadClass, 0),
                SD_VARLINK_FIELD_COMMENT("One thread, by its number"),
                SD_VARLINK_DEFINE_INPUT(thread, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("All threads that a process has now, by its number"),
                SD_VARLINK_DEFINE_INPUT(process, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("One thread, by the index of a file descriptor "
                                         "of pidfd_open(2) that comes with the call"),
                SD_VARLINK_DEFINE_INPUT(pidfd, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Whether polkit may ask the user about "
                                         "threads that are not the caller's own"),
                SD_VARLINK_DEFINE_INPUT(allowInteractiveAuthentication, SD_VARLINK_BOOL,
                                        SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("How many threads have got the class"),
                SD_VARLINK_DEFINE_OUTPUT(threads, SD_VARLINK_INT, 0));

static SD_VARLINK_DEFINE_METHOD_FULL(
                ListThreads,
                SD_VARLINK_SUPPORTS_MORE,
                SD_VARLINK_FIELD_COMMENT("This thread"),
                SD_VARLINK_DEFINE_INPUT(thread, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("All threads of this process"),
                SD_VARLINK_DEFINE_INPUT(process, SD_VARLINK_INT, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Its number"),
                SD_VARLINK_DEFINE_OUTPUT(thread, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("Its name"),
                SD_VARLINK_DEFINE_OUTPUT(name, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("The class it was given; unset if none was, its name counts then"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(class, ThreadClass, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_ENUM_TYPE(
                SettingLayer,
                SD_VARLINK_FIELD_COMMENT("A rule in policies.d"),
                SD_VARLINK_DEFINE_ENUM_VALUE(rule),
                SD_VARLINK_FIELD_COMMENT("The unit's own files"),
                SD_VARLINK_DEFINE_ENUM_VALUE(unit),
                SD_VARLINK_FIELD_COMMENT("SetUnitSettings, persistent"),
                SD_VARLINK_DEFINE_ENUM_VALUE(persistent),
                SD_VARLINK_FIELD_COMMENT("SetUnitSettings, until the next boot"),
                SD_VARLINK_DEFINE_ENUM_VALUE(runtime),
                SD_VARLINK_FIELD_COMMENT("HoldUnit; the source is no file then, but who holds, and why"),
                SD_VARLINK_DEFINE_ENUM_VALUE(hold));

static SD_VARLINK_DEFINE_STRUCT_TYPE(
                Setting,
                SD_VARLINK_FIELD_COMMENT("CachePolicy, CachePolicyOptions, CacheScanThreads, "
                                         "CacheAdmission, CacheReadahead, CacheFiles, CacheLevel, "
                                         "CacheLearning, CacheReplay, CacheCandidates or "
                                         "CacheAutoMargin"),
                SD_VARLINK_DEFINE_FIELD(key, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("What the line assigns, as it was written; empty: it resets"),
                SD_VARLINK_DEFINE_FIELD(value, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("The line, as FILE:LINE"),
                SD_VARLINK_DEFINE_FIELD(source, SD_VARLINK_STRING, 0),
                SD_VARLINK_FIELD_COMMENT("What kind of file that is; later ones are stronger"),
                SD_VARLINK_DEFINE_FIELD_BY_TYPE(layer, SettingLayer, 0),
                SD_VARLINK_FIELD_COMMENT("Whether it counts, or lost against a later line"),
                SD_VARLINK_DEFINE_FIELD(effective, SD_VARLINK_BOOL, 0));

/* Fields that several methods have. */
#define INPUT_UNIT                                                   \
        SD_VARLINK_FIELD_COMMENT("Full name of the unit, or alias"), \
        SD_VARLINK_DEFINE_INPUT(unit, SD_VARLINK_STRING, 0)
#define INPUT_INTERACTIVE                                            \
        SD_VARLINK_FIELD_COMMENT("Whether polkit may ask the user"), \
        SD_VARLINK_DEFINE_INPUT(allowInteractiveAuthentication, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE)
#define INPUT_WAIT                                                                                \
        SD_VARLINK_FIELD_COMMENT("Answer when the unit has what was changed, or cannot have it; " \
                                 "after 20 s at the latest"),                                     \
        SD_VARLINK_DEFINE_INPUT(wait, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE)
#define OUTPUT_UNIT                                          \
        SD_VARLINK_FIELD_COMMENT("The name that the unit has"), \
        SD_VARLINK_DEFINE_OUTPUT(unit, SD_VARLINK_STRING, 0)
#define OUTPUT_OF_CHANGE                                                                    \
        OUTPUT_UNIT,                                                                        \
        SD_VARLINK_FIELD_COMMENT("What GetUnitSettings says from now on, or would"),        \
        SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(settings, Setting, SD_VARLINK_ARRAY),              \
        SD_VARLINK_DEFINE_OUTPUT(unitFilesKnown, SD_VARLINK_BOOL, 0),                       \
        SD_VARLINK_FIELD_COMMENT("What came of it, "                                        \
                                 "if that was waited for; pending if it is not known yet"), \
        SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(state, UnitState, SD_VARLINK_NULLABLE),            \
        SD_VARLINK_FIELD_COMMENT("Why it is in that state, one sentence"),                  \
        SD_VARLINK_DEFINE_OUTPUT(reason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE)

static SD_VARLINK_DEFINE_METHOD(
                GetUnitSettings,
                INPUT_UNIT,
                OUTPUT_UNIT,
                SD_VARLINK_FIELD_COMMENT("Every line that says something about it, "
                                         "from the weakest to the strongest"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(settings, Setting, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("False if no files of the unit were found"),
                SD_VARLINK_DEFINE_OUTPUT(unitFilesKnown, SD_VARLINK_BOOL, 0));

static SD_VARLINK_DEFINE_METHOD(
                SetUnitSettings,
                INPUT_UNIT,
                SD_VARLINK_FIELD_COMMENT("KEY=VALUE each, as in unit files. "
                                         "CachePolicy= takes away the options of another policy"),
                SD_VARLINK_DEFINE_INPUT(settings, SD_VARLINK_STRING, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("To stay; if false or unset only until the next boot"),
                SD_VARLINK_DEFINE_INPUT(persistent, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Only check it, and tell what would come of it; everybody may"),
                SD_VARLINK_DEFINE_INPUT(dryRun, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE),
                INPUT_WAIT,
                INPUT_INTERACTIVE,
                SD_VARLINK_FIELD_COMMENT("The files that changed, or would"),
                SD_VARLINK_DEFINE_OUTPUT(files, SD_VARLINK_STRING, SD_VARLINK_ARRAY),
                OUTPUT_OF_CHANGE);

static SD_VARLINK_DEFINE_METHOD(
                ResetUnit,
                INPUT_UNIT,
                SD_VARLINK_FIELD_COMMENT("Also persistent settings"),
                SD_VARLINK_DEFINE_INPUT(persistent, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Only tell what would come of it; everybody may"),
                SD_VARLINK_DEFINE_INPUT(dryRun, SD_VARLINK_BOOL, SD_VARLINK_NULLABLE),
                INPUT_WAIT,
                INPUT_INTERACTIVE,
                SD_VARLINK_FIELD_COMMENT("The files that went, or would; none if nothing was set"),
                SD_VARLINK_DEFINE_OUTPUT(files, SD_VARLINK_STRING, SD_VARLINK_ARRAY),
                OUTPUT_OF_CHANGE);

static SD_VARLINK_DEFINE_METHOD(
                ForgetUnit,
                INPUT_UNIT,
                INPUT_INTERACTIVE,
                OUTPUT_UNIT,
                SD_VARLINK_FIELD_COMMENT("The file that went; none if nothing was kept"),
                SD_VARLINK_DEFINE_OUTPUT(files, SD_VARLINK_STRING, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_METHOD_FULL(
                HoldUnit,
                SD_VARLINK_REQUIRES_MORE,
                INPUT_UNIT,
                SD_VARLINK_FIELD_COMMENT("KEY=VALUE each, as in unit files. "
                                         "CachePolicy= takes away the options of another policy"),
                SD_VARLINK_DEFINE_INPUT(settings, SD_VARLINK_STRING, SD_VARLINK_ARRAY),
                SD_VARLINK_FIELD_COMMENT("What the client is, "
                                         "to be shown to others; the name of its process if unset"),
                SD_VARLINK_DEFINE_INPUT(program, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("Why, to be shown to others"),
                SD_VARLINK_DEFINE_INPUT(reason, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                INPUT_INTERACTIVE,
                SD_VARLINK_FIELD_COMMENT("The number of the hold"),
                SD_VARLINK_DEFINE_OUTPUT(cookie, SD_VARLINK_INT, 0),
                SD_VARLINK_FIELD_COMMENT("The unit after the daemon did what it could; "
                                         "unset if systemd has not loaded it"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(unit, Unit, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_METHOD(
                Reload,
                INPUT_INTERACTIVE,
                SD_VARLINK_FIELD_COMMENT("What is wrong with the configuration, a sentence each"),
                SD_VARLINK_DEFINE_OUTPUT(problems, SD_VARLINK_STRING, SD_VARLINK_ARRAY));

static SD_VARLINK_DEFINE_ERROR(
                InvalidSetting,
                SD_VARLINK_FIELD_COMMENT("What is wrong, one sentence"),
                SD_VARLINK_DEFINE_FIELD(problem, SD_VARLINK_STRING, 0));

static SD_VARLINK_DEFINE_ERROR(
                CannotStore,
                SD_VARLINK_FIELD_COMMENT("The file and the reason, one sentence"),
                SD_VARLINK_DEFINE_FIELD(problem, SD_VARLINK_STRING, 0));

static SD_VARLINK_DEFINE_ENUM_TYPE(
                UnitChange,
                SD_VARLINK_FIELD_COMMENT("The unit was there when the call was made"),
                SD_VARLINK_DEFINE_ENUM_VALUE(listed),
                SD_VARLINK_FIELD_COMMENT("All that were there have been listed; what follows are changes"),
                SD_VARLINK_DEFINE_ENUM_VALUE(complete),
                SD_VARLINK_FIELD_COMMENT("The unit has got a policy, configured or attached"),
                SD_VARLINK_DEFINE_ENUM_VALUE(added),
                SD_VARLINK_FIELD_COMMENT("Something about it changed"),
                SD_VARLINK_DEFINE_ENUM_VALUE(changed),
                SD_VARLINK_FIELD_COMMENT("It has no policy any more, or is gone"),
                SD_VARLINK_DEFINE_ENUM_VALUE(removed));

static SD_VARLINK_DEFINE_METHOD_FULL(
                Monitor,
                SD_VARLINK_REQUIRES_MORE,
                SD_VARLINK_FIELD_COMMENT("What happened"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(change, UnitChange, 0),
                SD_VARLINK_FIELD_COMMENT("Which unit it happened to; unset in complete"),
                SD_VARLINK_DEFINE_OUTPUT(name, SD_VARLINK_STRING, SD_VARLINK_NULLABLE),
                SD_VARLINK_FIELD_COMMENT("The unit as it is now; unset in complete and removed"),
                SD_VARLINK_DEFINE_OUTPUT_BY_TYPE(unit, Unit, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_ERROR(
                NoSuchUnit,
                SD_VARLINK_FIELD_COMMENT("The name nothing was found for"),
                SD_VARLINK_DEFINE_FIELD(unit, SD_VARLINK_STRING, 0));

static SD_VARLINK_DEFINE_ERROR(
                NoSuchPolicy,
                SD_VARLINK_FIELD_COMMENT("The name nothing was found for"),
                SD_VARLINK_DEFINE_FIELD(name, SD_VARLINK_STRING, 0));

static SD_VARLINK_DEFINE_ERROR(
                NoSuchThread,
                SD_VARLINK_FIELD_COMMENT("The number nothing was found for"),
                SD_VARLINK_DEFINE_FIELD(thread, SD_VARLINK_INT, SD_VARLINK_NULLABLE));

static SD_VARLINK_DEFINE_ERROR(
                NoProcess,
                SD_VARLINK_FIELD_COMMENT("The number of the thread"),
                SD_VARLINK_DEFINE_FIELD(thread, SD_VARLINK_INT, 0));

static SD_VARLINK_DEFINE_ERROR(
                KernelUnsupported,
                SD_VARLINK_FIELD_COMMENT("What is missing, one sentence"),
                SD_VARLINK_DEFINE_FIELD(reason, SD_VARLINK_STRING, 0));

SD_VARLINK_DEFINE_INTERFACE(
                org_cachebpf_Manager,
                "org.cachebpf.Manager",
                SD_VARLINK_INTERFACE_COMMENT("Page-cache eviction policies of systemd units"),
                SD_VARLINK_SYMBOL_COMMENT("States of a unit"),
                &vl_type_UnitState,
                SD_VARLINK_SYMBOL_COMMENT("A client holds a unit"),
                &vl_type_Hold,
                SD_VARLINK_SYMBOL_COMMENT("A unit with a cache policy"),
                &vl_type_Unit,
                SD_VARLINK_SYMBOL_COMMENT("A documented constant of a policy object"),
                &vl_type_Tunable,
                SD_VARLINK_SYMBOL_COMMENT("What a policy counts itself"),
                &vl_type_PolicyCounter,
                SD_VARLINK_SYMBOL_COMMENT("What a policy object can do besides evicting"),
                &vl_type_PolicyAbility,
                SD_VARLINK_SYMBOL_COMMENT("A policy that CachePolicy=auto can choose"),
                &vl_type_Candidate,
                SD_VARLINK_SYMBOL_COMMENT("What CachePolicy=auto chose for a unit"),
                &vl_type_Choice,
                SD_VARLINK_SYMBOL_COMMENT("What CacheReplay= did for a unit"),
                &vl_type_Replay,
                SD_VARLINK_SYMBOL_COMMENT("Lists units and what their cache policy is doing"),
                &vl_method_ListUnits,
                SD_VARLINK_SYMBOL_COMMENT("Reads the kernel's counters"),
                &vl_method_GetStats,
                SD_VARLINK_SYMBOL_COMMENT("Which page of a level goes first"),
                &vl_type_CacheReplacement,
                SD_VARLINK_SYMBOL_COMMENT("Pages that a manager gives up together"),
                &vl_type_CacheLevel,
                SD_VARLINK_SYMBOL_COMMENT("A file of a manager"),
                &vl_type_CacheFile,
                SD_VARLINK_SYMBOL_COMMENT("Who says which of its pages go first"),
                &vl_type_CacheManager,
                SD_VARLINK_SYMBOL_COMMENT("Lists managers, and what they said of their files"),
                &vl_method_ListFiles,
                SD_VARLINK_SYMBOL_COMMENT("Lists the policy objects installed"),
                &vl_method_ListPolicies,
                SD_VARLINK_SYMBOL_COMMENT("Reads the state of daemon and kernel"),
                &vl_method_GetStatus,
                SD_VARLINK_SYMBOL_COMMENT("What a thread is there for, as policies see it"),
                &vl_type_ThreadClass,
                SD_VARLINK_SYMBOL_COMMENT("Gives threads a class. One's own always, "
                                          "those of others if polkit permits. "
                                          "Exactly one of thread, process and pidfd has to be given"),
                &vl_method_SetThreadClass,
                SD_VARLINK_SYMBOL_COMMENT("Lists threads and the classes they were given"),
                &vl_method_ListThreads,
                SD_VARLINK_SYMBOL_COMMENT("What can happen to a unit"),
                &vl_type_UnitChange,
                SD_VARLINK_SYMBOL_COMMENT("Lists the units with a policy, "
                                          "and then tells every change, until the client hangs up"),
                &vl_method_Monitor,
                SD_VARLINK_SYMBOL_COMMENT("There is no thread of that number (any more)"),
                &vl_error_NoSuchThread,
                SD_VARLINK_SYMBOL_COMMENT("This is a thread, "
                                          "and not the one that its process is numbered by"),
                &vl_error_NoProcess,
                SD_VARLINK_SYMBOL_COMMENT("The running kernel has no cachebpf"),
                &vl_error_KernelUnsupported,
                SD_VARLINK_SYMBOL_COMMENT("Where a line of the configuration comes from"),
                &vl_type_SettingLayer,
                SD_VARLINK_SYMBOL_COMMENT("A line of the configuration that says something about a unit"),
                &vl_type_Setting,
                SD_VARLINK_SYMBOL_COMMENT("Tells where the settings of a unit come from"),
                &vl_method_GetUnitSettings,
                SD_VARLINK_SYMBOL_COMMENT("Sets what a unit is to have, whatever its files say"),
                &vl_method_SetUnitSettings,
                SD_VARLINK_SYMBOL_COMMENT("Removes what SetUnitSettings has set"),
                &vl_method_ResetUnit,
                SD_VARLINK_SYMBOL_COMMENT("Removes what is kept of what the policies of a unit learned; "
                                          "the one that runs begins anew"),
                &vl_method_ForgetUnit,
                SD_VARLINK_SYMBOL_COMMENT("Gives a unit settings that are stronger than all "
                                          "configuration, for as long as the client keeps the "
                                          "connection. One reply says that it began, and no other follows"),
                &vl_method_HoldUnit,
                SD_VARLINK_SYMBOL_COMMENT("Reads rules, "
                                          "policies and what was set again, and tries again what failed"),
                &vl_method_Reload,
                SD_VARLINK_SYMBOL_COMMENT("A setting is none, or would not work; nothing was changed"),
                &vl_error_InvalidSetting,
                SD_VARLINK_SYMBOL_COMMENT("A file could not be written or removed; nothing was changed"),
                &vl_error_CannotStore,
                SD_VARLINK_SYMBOL_COMMENT("There is no unit of that name, or none is loaded"),
                &vl_error_NoSuchUnit,
                SD_VARLINK_SYMBOL_COMMENT("No policy object of that name is installed"),
                &vl_error_NoSuchPolicy);
