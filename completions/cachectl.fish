# fish completion for cachectl(1)
# SPDX-License-Identifier: LGPL-2.1-or-later

set -g __cachectl_verbs status list stats top monitor policies show-policy new-policy show set hold run reset forget reload \
    verify features files threads classify advise size record simulate version help

function __cachectl_units
    cachectl list --no-legend --no-pager 2>/dev/null | string replace -r ' .*' ''
end

function __cachectl_policies
    cachectl policies --no-legend --no-pager 2>/dev/null | string replace -r ' .*' ''
end

function __cachectl_machines
    machinectl list --no-legend --no-pager 2>/dev/null | string replace -r ' .*' ''
end

# The verb and the words behind it, as far as the cursor.
function __cachectl_words
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        if contains -- $words[$i] $__cachectl_verbs
            printf '%s\n' $words[$i..]
            return
        end
    end
end

# Is the verb one of these? Without one it is "status" that runs, but another one may follow.
function __cachectl_verb
    set -l words (__cachectl_words)
    if contains -- -- $words
        return 1 # what follows is a command, or no option
    else if set -q words[1]
        contains -- $words[1] $argv
    else
        contains -- status $argv; or contains -- list $argv
    end
end

function __cachectl_no_verb
    not count (__cachectl_words) >/dev/null
end

function __cachectl_arguments
    set -l number 0
    for word in (__cachectl_words)[2..]
        string match -q -- '-*' $word; or set number (math $number + 1)
    end
    echo $number
end

# Is it one of these verbs, and no argument there yet?
function __cachectl_first
    __cachectl_verb $argv; and test (__cachectl_arguments) -eq 0
end

# Or one?
function __cachectl_later
    __cachectl_verb $argv; and test (__cachectl_arguments) -gt 0
end

# Behind "--" there is a command, which has completions of its own.
function __cachectl_in_command
    set -l words (__cachectl_words)
    contains -- "$words[1]" hold run; and contains -- -- $words
end

function __cachectl_command
    set -l words (__cachectl_words)
    set -l dashes (contains -i -- -- $words)
    set -l command (string escape -- $words[(math $dashes + 1)..]) (commandline -ct)
    complete -C (string join -- ' ' $command)
end

# No files, but where it says so.
complete -c cachectl -f

complete -c cachectl -n __cachectl_no_verb -a status -d 'show units, policies and their state'
complete -c cachectl -n __cachectl_no_verb -a list -d 'list units and their policies, one per line'
complete -c cachectl -n __cachectl_no_verb -a stats -d 'show the kernel\'s counters and the hit ratio'
complete -c cachectl -n __cachectl_no_verb -a top -d 'show hits, misses and evictions as they happen'
complete -c cachectl -n __cachectl_no_verb -a monitor -d 'print changes of policies, one per line'
complete -c cachectl -n __cachectl_no_verb -a policies -d 'list policies, or show one with its tunables'
complete -c cachectl -n __cachectl_no_verb -a show-policy -d 'show policies with their tunables'
complete -c cachectl -n __cachectl_no_verb -a new-policy -d 'write the skeleton of your own policy'
complete -c cachectl -n __cachectl_no_verb -a show -d 'show where the settings of units come from'
complete -c cachectl -n __cachectl_no_verb -a set -d 'set the policy of a unit at run time'
complete -c cachectl -n __cachectl_no_verb -a hold -d 'set the policy of a unit while a command runs'
complete -c cachectl -n __cachectl_no_verb -a run -d 'say for a command what goes first'
complete -c cachectl -n __cachectl_no_verb -a reset -d 'remove what was set for units'
complete -c cachectl -n __cachectl_no_verb -a forget -d 'forget what policies have learned'
complete -c cachectl -n __cachectl_no_verb -a reload -d 'make the daemon read its configuration again'
complete -c cachectl -n __cachectl_no_verb -a verify -d 'check configuration files before they are used'
complete -c cachectl -n __cachectl_no_verb -a features -d 'show what the kernel and the daemon can do'
complete -c cachectl -n __cachectl_no_verb -a files -d 'show which files go first, and who said so'
complete -c cachectl -n __cachectl_no_verb -a threads -d 'list threads and the classes they were given'
complete -c cachectl -n __cachectl_no_verb -a classify -d 'tell policies what threads do'
complete -c cachectl -n __cachectl_no_verb -a advise -d 'record a unit, and say which policy it needs'
complete -c cachectl -n __cachectl_no_verb -a size -d 'record a unit, and say how much cache it needs'
complete -c cachectl -n __cachectl_no_verb -a record -d 'record a trace of accesses to the page cache'
complete -c cachectl -n __cachectl_no_verb -a simulate -d 'compare the misses of policies on a trace'
complete -c cachectl -n __cachectl_no_verb -a version -d 'show the versions of client and daemon'
complete -c cachectl -n __cachectl_no_verb -a help -d 'show this help, or that of a verb'

# What the verbs take.
complete -c cachectl -n '__cachectl_verb status list stats files top monitor show reset forget' -n 'not __cachectl_no_verb' \
    -a '(__cachectl_units)' -d unit
complete -c cachectl -n '__cachectl_first advise size record set hold' -a '(__cachectl_units)' -d unit
complete -c cachectl -n '__cachectl_verb policies show-policy' -a '(__cachectl_policies)' -d policy
complete -c cachectl -n '__cachectl_later set hold' -a '(__cachectl_policies) auto' -d policy
complete -c cachectl -n '__cachectl_verb show-policy' -a auto -d policy
complete -c cachectl -n '__cachectl_later set hold' \
    -a 'CachePolicy= CachePolicyOptions= CacheScanThreads= CacheAdmission= CacheReadahead= CacheFiles= CacheLevel= CacheLearning= CacheReplay= CacheCandidates= CacheAutoMargin=' -d setting
complete -c cachectl -n '__cachectl_verb verify' -F -a '(__cachectl_units)' -d unit
complete -c cachectl -n '__cachectl_verb threads' -a '(__fish_complete_pids)'
complete -c cachectl -n '__cachectl_first classify' -a 'normal scan background' -d class
complete -c cachectl -n '__cachectl_later classify' -a '(__fish_complete_pids)'
complete -c cachectl -n '__cachectl_first simulate' -F
complete -c cachectl -n '__cachectl_verb help' -a '$__cachectl_verbs' -d verb
complete -c cachectl -n __cachectl_in_command -a '(__cachectl_command)'

# Options, each with the verbs that have it.
complete -c cachectl -n 'not __cachectl_in_command' -s h -l help -d 'show help'
complete -c cachectl -n 'not __cachectl_in_command' -l version -d 'show the version of cachectl'
complete -c cachectl -n '__cachectl_verb status list stats monitor policies show-policy show features files threads advise size simulate version' \
    -l json -x -a 'pretty short off' -d 'show JSON'
complete -c cachectl -n '__cachectl_verb status list stats monitor policies show-policy show features files threads advise size simulate version' \
    -s j -d 'show JSON, pretty on a terminal'
complete -c cachectl -n '__cachectl_verb status list stats policies show-policy show features files threads advise size simulate' \
    -l no-pager -d 'do not use a pager'
complete -c cachectl -n '__cachectl_verb list stats top policies show-policy show features threads advise size simulate' \
    -l no-legend -d 'show no headers and footers'
complete -c cachectl -n '__cachectl_verb list stats top policies show-policy show threads' \
    -s l -l full -d 'do not shorten columns'
complete -c cachectl -n '__cachectl_verb status monitor set hold run reset forget reload verify classify advise size record new-policy' \
    -s q -l quiet -d 'print only errors'
complete -c cachectl -n '__cachectl_verb status list stats top monitor policies show-policy show set reset forget reload features files threads classify version' \
    -s H -l host -x -a '(__fish_complete_user_at_hosts)' -d 'ask the daemon of another machine'
complete -c cachectl -n '__cachectl_verb status list stats top monitor policies show-policy show set reset forget reload features files threads classify version' \
    -s M -l machine -x -a '(__cachectl_machines)' -d 'ask the daemon of a container'
complete -c cachectl -n '__cachectl_verb stats' -l format -x -a 'table openmetrics prometheus' \
    -d 'how to show the counters'
complete -c cachectl -n '__cachectl_verb stats record' -s o -l output -r -F -d 'write to this file'
complete -c cachectl -n '__cachectl_verb new-policy' -s o -l output -x -a '(__fish_complete_directories)' \
    -d 'write into this directory'
complete -c cachectl -n '__cachectl_verb top' -s b -l batch -d 'print one table after the other'
complete -c cachectl -n '__cachectl_verb top' -s d -l delay -x -d 'time between updates'
complete -c cachectl -n '__cachectl_verb top' -l iterations -x -d 'end after this many updates'
complete -c cachectl -n '__cachectl_verb top' -l sort -x -a 'unit policy cached hits misses ratio evictions pid name bytes' -d 'sort by'
complete -c cachectl -n '__cachectl_verb stats top' -l by -x -a 'unit process' -d 'who hits and misses'
complete -c cachectl -n '__cachectl_verb set reset' -l persistent -d 'beyond the next boot'
complete -c cachectl -n '__cachectl_verb set reset' -s n -l dry-run -d 'only check, and show what would change'
complete -c cachectl -n '__cachectl_verb set reset' -l no-block -d 'do not wait until the change is in effect'
complete -c cachectl -n '__cachectl_verb hold' -l reason -x -d 'reason for the hold'
complete -c cachectl -n '__cachectl_verb verify' -l root -x -a '(__fish_complete_directories)' \
    -d 'check the system below this directory'
complete -c cachectl -n '__cachectl_verb threads classify' -s t -l thread -d 'the numbers are threads'
complete -c cachectl -n '__cachectl_verb stats advise size record' -l duration -x -d 'stop after this time'
complete -c cachectl -n '__cachectl_verb record' -l readahead -d 'record also what is read ahead'
complete -c cachectl -n '__cachectl_verb record' -l text -d 'write the text form of traces'
complete -c cachectl -n '__cachectl_verb advise size' -l input -r -F -d 'take this trace'
complete -c cachectl -n '__cachectl_verb size simulate' -l policy -x -a 'all static (__cachectl_policies)' \
    -d 'simulate these policies'
complete -c cachectl -n '__cachectl_verb advise size simulate' -l size -x -d 'simulate caches of these sizes'
complete -c cachectl -n '__cachectl_verb simulate' -l batch -x -d 'evict this many pages at a time'
complete -c cachectl -n '__cachectl_verb simulate' -l option -x -d 'set a tunable'
complete -c cachectl -n '__cachectl_verb run simulate' -l level -x -d 'what is said of a level'
complete -c cachectl -n '__cachectl_verb run simulate' -l files -x -d 'what is said of files'
complete -c cachectl -n '__cachectl_verb run' -l done-with -x -d 'give back what is read of files'
complete -c cachectl -n '__cachectl_verb simulate' -l admission -d 'turn on the admission filter'
complete -c cachectl -n '__cachectl_verb simulate' -l readahead -x -a 'stock off adaptive 128K 512K 2M' \
    -d 'simulate readahead'
complete -c cachectl -n '__cachectl_verb simulate' -l learned -r -F -d 'keep there what the policy learns'
complete -c cachectl -n '__cachectl_verb advise size simulate' -l format -x -a 'text oracleGeneral csv blkparse record' \
    -d 'form of the trace'
complete -c cachectl -n '__cachectl_verb advise size simulate' -l plot -r -F -d 'draw the miss ratios as SVG'
