/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdint.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/string-util.h"
#include "verbs.h"

const Verb verbs[] = {
        {
                .name = "status",
                .arguments = "[UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_QUIET | OPTION_REMOTE,
                .summary = "Show what runs, as the kernel confirms it, and why not if not",
                .details = "Shows the daemon, the kernel's support and the configured units, or only\n"
                           "the UNITs named (patterns are allowed; \"batch\" means batch.slice). With\n"
                           "UNITs the exit status is 0 if the kernel confirms that the policy of each\n"
                           "is in effect, 3 if not, 4 if one is unknown.\n",
                .run = verb_status,
        },
        {
                .name = "list",
                .arguments = "[PATTERN...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "List units and their policies, a line each",
                .details = "Lists the units that a policy is configured for or attached to. That there is\n"
                           "none, or that none matches a PATTERN, is no error.\n",
                .run = verb_list,
        },
        {
                .name = "stats",
                .arguments = "[UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL |
                           OPTION_REMOTE | OPTION_METRICS | OPTION_OUTPUT,
                .summary = "Show the kernel's counters and the hit ratio",
                .details = "Without UNITs: the most telling counters of every unit that has a policy, a\n"
                           "line each. With UNITs (patterns are allowed): all counters of each. Metrics\n"
                           "for monitoring systems (--format=) can go into a file, all at once.\n",
                .run = verb_stats,
        },
        {
                .name = "top",
                .arguments = "[PATTERN...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_PLAIN | OPTION_DELAY | OPTION_ITERATIONS | OPTION_SORT | OPTION_NO_LEGEND |
                           OPTION_FULL | OPTION_REMOTE,
                .summary = "Show hits, misses and evictions as they happen",
                .details = "Shows the units that have a policy and what it does, again and again, until q\n"
                           "is pressed. Keys: u, p, c, h, m, r, e sort by unit, policy, cached, hits,\n"
                           "misses, hit ratio, evictions; + and - change the delay; space looks again at\n"
                           "once. If the output is no terminal: once, unless --iterations= says\n"
                           "otherwise.\n",
                .run = verb_top,
        },
        {
                .name = "monitor",
                .arguments = "[PATTERN...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_QUIET | OPTION_REMOTE,
                .summary = "Tell what changes, a line each time",
                .details = "Waits for changes of units with a policy, and prints a line for each: what it\n"
                           "was, the unit, its state, policy and the reason. With --json=, each is an\n"
                           "object, after one for each unit that there is (listed) and one that says so\n"
                           "(complete). Ends if the daemon does. --quiet: no word before the first\n"
                           "change.\n",
                .run = verb_monitor,
        },
        {
                .name = "policies",
                .arguments = "[NAME...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "List installed policies, or show one with its tunables",
                .details = "Lists the policies that CachePolicy= may name. With NAMEs (patterns are\n"
                           "allowed): what each is, where it comes from, and its tunables.\n",
                .run = verb_policies,
        },
        {
                .name = "show-policy",
                .arguments = "NAME...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "Show policies with their tunables",
                .details = "Shows what the policies named (patterns are allowed) are, where they come\n"
                           "from, what they can do, and the tunables that CachePolicyOptions= may set.\n"
                           "The same as \"policies\" with NAMEs.\n",
                .run = verb_policies,
        },
        {
                .name = "new-policy",
                .arguments = "NAME",
                .min_arguments = 1,
                .max_arguments = 1,
                .options = OPTION_OUTPUT | OPTION_QUIET,
                .summary = "Write the beginning of an own policy",
                .details = "Writes the source of a policy that is called NAME, with comments on what can\n"
                           "be changed, and a Makefile, into the directory NAME or into that which\n"
                           "--output= names. /usr/share/doc/cachebpf/writing-a-policy.md tells how to go\n"
                           "on.\n",
                .run = verb_new_policy,
        },
        {
                .name = "show",
                .arguments = "UNIT...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_REMOTE,
                .summary = "Show where the settings of units come from",
                .details = "Shows every line of the configuration that says something about the UNITs,\n"
                           "with its file: rules, the unit's own files, and what \"set\" has set; and\n"
                           "which of them count. The strongest comes first.\n",
                .run = verb_show,
        },
        {
                .name = "set",
                .arguments = "UNIT SETTING...",
                .min_arguments = 2,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_PERSISTENT | OPTION_DRY_RUN | OPTION_NO_BLOCK |
                           OPTION_REMOTE,
                .summary = "Set the policy of a unit, whatever its files say",
                .details = "Gives the unit settings until the next boot: the name of a policy, or\n"
                           "KEY=VALUE as in unit files, such as CacheAdmission=yes. CachePolicy= replaces\n"
                           "all that is configured, other KEYs only themselves; an empty VALUE means\n"
                           "none. Waits until the unit has it.\n",
                .run = verb_set,
        },
        {
                .name = "hold",
                .arguments = "UNIT SETTING... -- COMMAND...",
                .min_arguments = 2,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_REASON,
                .summary = "Set the policy of a unit while a command runs",
                .details = "Runs COMMAND, and gives the unit settings as \"set\" does until it ends. They\n"
                           "are stronger than all others; of several that hold a unit the last one is.\n"
                           "The exit status is that of COMMAND, or 125 if it was not run because the unit\n"
                           "cannot be held.\n",
                .run = verb_hold,
        },
        {
                .name = "reset",
                .arguments = "UNIT...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_PERSISTENT | OPTION_DRY_RUN | OPTION_NO_BLOCK |
                           OPTION_REMOTE,
                .summary = "Take back what was set for units",
                .details = "Takes back what was set by \"set\" until the next boot, or with --persistent\n"
                           "everything: the units' files count again. Waits until the units have what\n"
                           "those say.\n",
                .run = verb_reset,
        },
        {
                .name = "reload",
                .arguments = "",
                .max_arguments = 0,
                .options = OPTION_QUIET | OPTION_REMOTE,
                .summary = "Have the daemon read its configuration again",
                .details = "Has the daemon read rules, policies and what was set again, try again what\n"
                           "failed, and tell what is wrong. The exit status is 3 if something is.\n",
                .run = verb_reload,
        },
        {
                .name = "verify",
                .arguments = "[FILE|UNIT...]",
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_ROOT,
                .summary = "Check configuration files, without the daemon",
                .details = "Reads files (unit files, drop-ins, rules, policy objects), or all that is\n"
                           "said about UNITs, as the daemon would, and tells what is wrong; without\n"
                           "arguments everything. The exit status is 3 if something is wrong, 4 if a FILE\n"
                           "or UNIT does not exist.\n",
                .run = verb_verify,
        },
        {
                .name = "features",
                .arguments = "",
                .max_arguments = 0,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_REMOTE,
                .summary = "Show what the kernel and the daemon can do",
                .details = "Shows what kernel, daemon and policies can do, and what is missing. The exit\n"
                           "status is 3 if the kernel cannot attach policies.\n",
                .run = verb_features,
        },
        {
                .name = "threads",
                .arguments = "PID...",
                .min_arguments = 1,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_FULL | OPTION_THREAD |
                           OPTION_REMOTE,
                .summary = "List threads and the classes they were given",
                .details = "Lists the threads of processes, or with --thread single threads, and the\n"
                           "classes they were given by \"classify\" or by themselves. Threads without go\n"
                           "by their names, as CacheScanThreads= says.\n",
                .run = verb_threads,
        },
        {
                .name = "classify",
                .arguments = "CLASS PID...",
                .min_arguments = 2,
                .max_arguments = VERB_ANY_NUMBER,
                .options = OPTION_QUIET | OPTION_THREAD | OPTION_REMOTE,
                .summary = "Tell policies what threads are there for",
                .details = "Gives all threads that processes have now, or with --thread single threads, a\n"
                           "CLASS: normal, scan (reads much, once) or background (nobody waits for it).\n"
                           "Policies and the admission filter treat them accordingly.\n",
                .run = verb_classify,
        },
        {
                .name = "record",
                .arguments = "UNIT|CGROUP",
                .max_arguments = 1,
                .options = OPTION_OUTPUT | OPTION_DURATION | OPTION_READAHEAD | OPTION_TEXT | OPTION_QUIET,
                .summary = "Record accesses to the page cache, to simulate them",
                .details = "Records what the threads of the unit, or of a control group (/PATH), and of\n"
                           "those below it use of the page cache, until Ctrl-C. The trace is written to\n"
                           "FILE, or to NAME.trace.zst in this directory, NAME being that of the unit or\n"
                           "group; it is compressed if the name ends with .zst. Needs root, and Linux\n"
                           "6.12.\n",
                .run = verb_record,
        },
        {
                .name = "simulate",
                .arguments = "TRACE",
                .max_arguments = 1,
                .options = OPTION_JSON | OPTION_NO_PAGER | OPTION_NO_LEGEND | OPTION_POLICY | OPTION_SIZE |
                           OPTION_BATCH | OPTION_OPTION | OPTION_ADMISSION | OPTION_FORMAT | OPTION_PLOT,
                .summary = "Simulate policies with a trace, and compare their misses",
                .details = "Runs policies on the requests in the file TRACE, without a kernel that knows\n"
                           "them, and shows how many miss with each policy and cache size, and with the\n"
                           "optimum of Belady. Without options: all policies, 1%, 10% and 30% of the\n"
                           "trace's pages. --policy=all,static adds what knowing how often pages are used\n"
                           "would bring.\n",
                .run = verb_simulate,
        },
        {
                .name = "version",
                .arguments = "",
                .max_arguments = 0,
                .options = OPTION_JSON | OPTION_REMOTE,
                .summary = "Show the versions of this program and of the running daemon",
                .details = "Shows the versions of this program and, if it runs, of the daemon.\n",
                .run = verb_version,
        },
        {
                .name = "help",
                .arguments = "[VERB]",
                .max_arguments = 1,
                .summary = "Show this help, or that of a verb",
                .details = "Shows the help of the program, or of the VERB.\n",
                .run = verb_help,
        },
};

const size_t n_verbs = ELEMENTSOF(verbs);

const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < n_verbs; i++)
                if (streq(verbs[i].name, name))
                        return verbs + i;

        return NULL;
}
