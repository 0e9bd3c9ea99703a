/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdint.h>
#include <string.h>

#include "shared/macro.h"
#include "verbs.h"

const Verb verbs[] = {
        {
                .name = "status",
                .group = VERB_GROUP_LOOK,
                .arguments = "[UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_QUIET | OPTION_REMOTE,
                .summary = "Show units, policies and their state",
                .details = "Shows the daemon, the kernel's support and the configured units, or only the\n"
                           "UNITs named. Patterns are allowed; \"batch\" means batch.service. The exit\n"
                           "status is 0 if the kernel confirms the policy of each UNIT, 3 if not, 4 if a\n"
                           "UNIT is unknown.\n",
                .run = verb_status,
        },
        {
                .name = "list",
                .group = VERB_GROUP_LOOK,
                .arguments = "[PATTERN...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "List units and their policies, one per line",
                .details = "Lists the units that a policy is configured for or attached to, or that have\n"
                           "CacheReplay=. An empty list is no error.\n",
                .run = verb_list,
        },
        {
                .name = "stats",
                .group = VERB_GROUP_LOOK,
                .arguments = "[UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL |
                           OPTION_REMOTE | OPTION_METRICS | OPTION_OUTPUT | OPTION_BY |
                           OPTION_DURATION,
                .summary = "Show the kernel's counters and the hit ratio",
                .details = "Without UNITs: the main counters of every unit that has a policy, one line\n"
                           "each. With UNITs (patterns are allowed): all counters of each. --format= shows\n"
                           "metrics for monitoring systems; --output= writes them to a file, which is\n"
                           "replaced atomically. --by=process watches the processes of one UNIT or control\n"
                           "group (/PATH) for 10 seconds or --duration=, and shows hits and misses of\n"
                           "each; needs root and Linux 6.12 or later, but no kernel with cachebpf.\n",
                .run = verb_stats,
        },
        {
                .name = "show",
                .group = VERB_GROUP_LOOK,
                .arguments = "UNIT...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "Show where the settings of units come from",
                .details = "Shows every configuration line about the UNITs with its file: rules, the\n"
                           "unit's own files, and what \"set\" wrote; and which lines take effect. The\n"
                           "strongest line comes first.\n",
                .run = verb_show,
        },
        {
                .name = "policies",
                .group = VERB_GROUP_LOOK,
                .arguments = "[NAME...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "List policies, or show one with its tunables",
                .details = "Lists the policies that CachePolicy= can name. With NAMEs (patterns are\n"
                           "allowed): description, file and tunables of each.\n",
                .run = verb_policies,
        },
        {
                .name = "show-policy",
                .group = VERB_GROUP_LOOK,
                .arguments = "NAME...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "Show policies with their tunables",
                .details = "Shows description, file, abilities and tunables of the policies. Patterns are\n"
                           "allowed. The same as \"policies\" with NAMEs. CachePolicyOptions= sets\n"
                           "tunables. The NAME auto shows what CachePolicy=auto does.\n",
                .run = verb_policies,
        },
        {
                .name = "features",
                .group = VERB_GROUP_LOOK,
                .arguments = "",
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_REMOTE,
                .summary = "Show what the kernel and the daemon can do",
                .details = "Shows what kernel, daemon and policies can do, and what is missing. The exit\n"
                           "status is 3 if the kernel cannot attach policies.\n",
                .run = verb_features,
        },
        {
                .name = "files",
                .group = VERB_GROUP_LOOK,
                .arguments = "[UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_REMOTE,
                .summary = "Show which files go first, and who said so",
                .details = "Shows the managers of units whose policy listens to them, or of the UNITs,\n"
                           "which may be managers themselves: decisions, levels, and files with\n"
                           "priorities, as programs, CacheFiles= and CacheLevel= have it. Only root sees\n"
                           "paths, and how much of a file is cached.\n",
                .run = verb_files,
        },
        {
                .name = "threads",
                .group = VERB_GROUP_LOOK,
                .arguments = "PID...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_THREAD |
                           OPTION_REMOTE,
                .summary = "List threads and the classes they were given",
                .details = "Lists the threads of processes, or with --thread single threads, and the\n"
                           "classes that \"classify\" or the threads themselves set. A thread without a\n"
                           "class goes by its name, see CacheScanThreads=.\n",
                .run = verb_threads,
        },
        {
                .name = "version",
                .group = VERB_GROUP_LOOK,
                .arguments = "",
                .options = OPTION_JSON | OPTION_REMOTE,
                .summary = "Show the versions of client and daemon",
                .details = "Shows the versions of this program and, if it runs, of the daemon.\n",
                .run = verb_version,
        },
        {
                .name = "help",
                .group = VERB_GROUP_LOOK,
                .arguments = "[VERB]",
                .max_arguments = 1,
                .summary = "Show this help, or that of a verb",
                .details = "Shows the help of the program, or of the VERB.\n",
                .run = verb_help,
        },
        {
                .name = "set",
                .group = VERB_GROUP_CHANGE,
                .arguments = "UNIT SETTING...",
                .min_arguments = 2,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_PERSISTENT | OPTION_DRY_RUN | OPTION_NO_BLOCK |
                           OPTION_REMOTE,
                .summary = "Set the policy of a unit at run time",
                .details = "Sets the name of a policy, or KEY=VALUE as in unit files, such as\n"
                           "CacheAdmission=yes, until the next boot. What is set is stronger than the\n"
                           "unit's files. CachePolicy= also replaces the CachePolicyOptions= that are\n"
                           "configured; every other KEY replaces only itself. An empty VALUE means none.\n"
                           "Waits until the policy is in effect.\n",
                .run = verb_set,
        },
        {
                .name = "reset",
                .group = VERB_GROUP_CHANGE,
                .arguments = "UNIT...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_PERSISTENT | OPTION_DRY_RUN | OPTION_NO_BLOCK |
                           OPTION_REMOTE,
                .summary = "Remove what was set for units",
                .details = "Removes what \"set\" wrote until the next boot, or with --persistent all\n"
                           "that it wrote: the unit's files take effect again. Waits until they do.\n",
                .run = verb_reset,
        },
        {
                .name = "forget",
                .group = VERB_GROUP_CHANGE,
                .arguments = "UNIT...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_REMOTE,
                .summary = "Forget what policies learned",
                .details = "Removes what is kept of what the policies of the units have learned, and has\n"
                           "those that run now learn anew. CacheLearning=no has nothing kept.\n"
                           "Also removes what CacheReplay=yes recorded of what the units read.\n",
                .run = verb_forget,
        },
        {
                .name = "hold",
                .group = VERB_GROUP_CHANGE,
                .arguments = "UNIT SETTING... -- COMMAND...",
                .min_arguments = 2,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_REASON,
                .summary = "Set a policy while a command runs",
                .details = "Runs COMMAND, and gives the unit settings as \"set\" does until COMMAND ends.\n"
                           "A hold is stronger than all other settings; of several holds the last one\n"
                           "wins. The exit status is that of COMMAND, or 125 if the unit cannot be held\n"
                           "and COMMAND was not run.\n",
                .run = verb_hold,
        },
        {
                .name = "run",
                .group = VERB_GROUP_CHANGE,
                .arguments = "-- COMMAND...",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_FILES | OPTION_LEVEL | OPTION_DONE_WITH,
                .summary = "Say for a command what goes first",
                .details = "Runs COMMAND in this control group, and says to its policy what programs say\n"
                           "that know libcachebpf(3): priorities of files that COMMAND opens, from -1\n"
                           "(goes first) to 3, whether a level is replaced by LRU or MRU, and what is\n"
                           "done with once it was read. Needs no daemon and no privileges. The exit\n"
                           "status is that of COMMAND.\n",
                .run = verb_run,
        },
        {
                .name = "classify",
                .group = VERB_GROUP_CHANGE,
                .arguments = "CLASS PID...",
                .min_arguments = 2,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_THREAD | OPTION_REMOTE,
                .summary = "Tell policies what threads do",
                .details = "Gives all present threads of the processes, or with --thread single threads, a\n"
                           "CLASS: normal, scan (reads much, once) or background (nobody waits for it).\n"
                           "Policies and the admission filter use it.\n",
                .run = verb_classify,
        },
        {
                .name = "reload",
                .group = VERB_GROUP_CHANGE,
                .arguments = "",
                .options = OPTION_QUIET | OPTION_REMOTE,
                .summary = "Make the daemon read its configuration again",
                .details = "The daemon reads rules, policies and what was set again, and retries what\n"
                           "failed. Shows what is wrong. The exit status is 3 if something is.\n",
                .run = verb_reload,
        },
        {
                .name = "verify",
                .group = VERB_GROUP_CHANGE,
                .arguments = "[FILE|UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_ROOT,
                .summary = "Check configuration files before they are used",
                .details = "Checks files (unit files, drop-ins, rules, policy objects), or all that is\n"
                           "configured for UNITs, or without arguments everything. Needs no daemon. The\n"
                           "exit status is 3 if something is wrong, 4 if a FILE or UNIT does not exist.\n",
                .run = verb_verify,
        },
        {
                .name = "top",
                .group = VERB_GROUP_WATCH,
                .arguments = "[PATTERN...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_PLAIN | OPTION_DELAY | OPTION_ITERATIONS | OPTION_SORT | OPTION_NO_LEGEND |
                           OPTION_FULL | OPTION_REMOTE | OPTION_BY,
                .summary = "Show hits, misses and evictions as they happen",
                .details = "Shows the units that have a policy and their rates, until you press q. Keys:\n"
                           "u, p, c, h, m, r, e sort by unit, policy, cached, hits, misses, hit ratio,\n"
                           "evictions; + and - change the delay; space updates now. If the output is no\n"
                           "terminal: one table, unless --iterations= is given. --by=process shows the\n"
                           "processes of one unit or control group (/PATH); p, n, h, m, r, b sort by pid,\n"
                           "name, hits, misses, hit ratio, bytes.\n",
                .run = verb_top,
        },
        {
                .name = "monitor",
                .group = VERB_GROUP_WATCH,
                .arguments = "[PATTERN...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_QUIET | OPTION_REMOTE,
                .summary = "Print changes of policies, one per line",
                .details = "Waits, and prints a line for each change of a unit with a policy: the change,\n"
                           "the unit, its state, policy and the reason. With --json=, each is an object,\n"
                           "after one for each unit that is there (listed) and one that ends these\n"
                           "(complete). Ends when the daemon does. --quiet: prints nothing before the\n"
                           "first change.\n",
                .run = verb_monitor,
        },
        {
                .name = "advise",
                .group = VERB_GROUP_TRY,
                .arguments = "[UNIT|CGROUP]",
                .max_arguments = 1,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_QUIET |
                           OPTION_DURATION | OPTION_INPUT | OPTION_FORMAT | OPTION_SIZE | OPTION_PLOT,
                .summary = "Record a unit, and say which policy it needs",
                .details = "Records for a minute or --duration= what the unit, or a control group (/PATH),\n"
                           "does to the page cache, simulates policies on that, and says whether one\n"
                           "would miss less than the kernel's own, and what to write where. The cache is\n"
                           "what limits of memory leave, what is cached now, or --size=. Of a large one\n"
                           "only a part of the pages is recorded. Needs root and Linux 6.12 or later, but\n"
                           "no kernel with cachebpf.\n",
                .run = verb_advise,
        },
        {
                .name = "size",
                .group = VERB_GROUP_TRY,
                .arguments = "[UNIT|CGROUP]",
                .max_arguments = 1,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_QUIET |
                           OPTION_DURATION | OPTION_INPUT | OPTION_FORMAT | OPTION_SIZE | OPTION_POLICY |
                           OPTION_PLOT,
                .summary = "Record a unit, and say how much cache it needs",
                .details = "Records as \"advise\" does, and shows what the kernel's own policy and the\n"
                           "best one, or --policy=, would miss with smaller and larger caches than now,\n"
                           "and the smallest memory with which at most 5% more is read. --size= is the\n"
                           "present size. Needs what \"advise\" needs.\n",
                .run = verb_size,
        },
        {
                .name = "record",
                .group = VERB_GROUP_TRY,
                .arguments = "UNIT|CGROUP",
                .max_arguments = 1,
                .options = OPTION_OUTPUT | OPTION_DURATION | OPTION_READAHEAD | OPTION_TEXT | OPTION_QUIET,
                .summary = "Record a trace of accesses to the page cache",
                .details = "Records accesses by threads of the unit, or of a control group (/PATH), and of\n"
                           "those below it, until Ctrl-C. The trace goes to the file --output=, or to\n"
                           "NAME.trace.zst in this directory, where NAME is that of the unit or group. A\n"
                           "name that ends with .zst means compression. Needs root and Linux 6.12 or\n"
                           "later, but no kernel with cachebpf.\n",
                .run = verb_record,
        },
        {
                .name = "simulate",
                .group = VERB_GROUP_TRY,
                .arguments = "TRACE",
                .max_arguments = 1,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_POLICY | OPTION_SIZE |
                           OPTION_BATCH | OPTION_OPTION | OPTION_ADMISSION | OPTION_FORMAT | OPTION_PLOT |
                           OPTION_LEVEL | OPTION_FILES | OPTION_LEARNED | OPTION_WINDOWS,
                .summary = "Compare the misses of policies on a trace",
                .details = "Runs policies on the requests in the file TRACE, and shows the misses for each\n"
                           "policy and cache size, beside the optimum (Belady). Needs no kernel with\n"
                           "cachebpf. Default: all policies, caches of 1%, 10% and 30% of the trace's\n"
                           "pages. --policy=all,static adds a policy that knows from the beginning how\n"
                           "often each page is used. --readahead= is for traces with files: it also shows\n"
                           "what is read.\n",
                .run = verb_simulate,
        },
        {
                .name = "new-policy",
                .group = VERB_GROUP_TRY,
                .arguments = "NAME",
                .min_arguments = 1,
                .max_arguments = 1,
                .options = OPTION_OUTPUT | OPTION_QUIET,
                .summary = "Write the skeleton of your own policy",
                .details = "Writes the source of a policy called NAME, with comments on what to change,\n"
                           "and a Makefile, into the directory NAME or the one that --output= names. See\n"
                           "/usr/share/doc/cachebpf/writing-a-policy.md for the next steps.\n",
                .run = verb_new_policy,
        },
};

const size_t n_verbs = ELEMENTSOF(verbs);

const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < n_verbs; i++)
                if (streq(verbs[i].name, name))
                        return verbs + i;

        return NULL;
}
