# bash completion for cachectl(1)                             -*- shell-script -*-
# SPDX-License-Identifier: LGPL-2.1-or-later

__cachectl_units() {
        cachectl list --no-legend --no-pager 2>/dev/null | while read -r unit _; do
                echo "$unit"
        done
}

__cachectl_policies() {
        cachectl policies --no-legend --no-pager 2>/dev/null | while read -r name _; do
                echo "$name"
        done
}

# INDEX in COMP_WORDS of the name of a command. What completes all commands had another name in earlier versions of
# bash-completion; the newer one takes an index in "words", unless that is unset.
__cachectl_command() {
        local words
        unset -v words
        if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$1"
        elif declare -F _command_offset >/dev/null; then
                _command_offset "$1"
        else
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -A file -- "${COMP_WORDS[COMP_CWORD]}")
                ((COMP_CWORD > $1)) ||
                        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        fi
}

_cachectl() {
        local -A options=(
                [all]="-h --help --version"
                [status]="--json= -j --no-pager -q --quiet -H --host= -M --machine="
                [list]="--json= -j --no-pager --no-legend -l --full -H --host= -M --machine="
                [stats]="--json= -j --no-pager --no-legend -l --full -H --host= -M --machine= --format= -o --output= --by= --duration="
                [top]="-b --batch -d --delay= --iterations= --sort= --by= --no-legend -l --full -H --host= -M --machine="
                [monitor]="--json= -j -q --quiet -H --host= -M --machine="
                [policies]="--json= -j --no-pager --no-legend -l --full -H --host= -M --machine="
                [record]="-q --quiet -o --output= --duration= --readahead --text"
                [advise]="--json= -j --no-pager --no-legend -q --quiet --duration= --input= --format= --size= --plot="
                [size]="--json= -j --no-pager --no-legend -q --quiet --duration= --input= --format= --size= --policy= --plot="
                [simulate]="--json= -j --no-pager --no-legend --policy= --size= --batch= --option= --level= --files= --admission --readahead= --learned= --format= --plot="
                [show-policy]="--json= -j --no-pager --no-legend -l --full -H --host= -M --machine="
                [new-policy]="-q --quiet -o --output="
                [files]="--json= -j --no-pager -H --host= -M --machine="
                [threads]="--json= -j --no-pager --no-legend -l --full -t --thread -H --host= -M --machine="
                [classify]="-q --quiet -t --thread -H --host= -M --machine="
                [show]="--json= -j --no-pager --no-legend -l --full -H --host= -M --machine="
                [set]="-q --quiet --persistent -n --dry-run --no-block -H --host= -M --machine="
                [hold]="-q --quiet --reason="
                [run]="-q --quiet --files= --level= --done-with="
                [reset]="-q --quiet --persistent -n --dry-run --no-block -H --host= -M --machine="
                [forget]="-q --quiet -H --host= -M --machine="
                [reload]="-q --quiet -H --host= -M --machine="
                [verify]="-q --quiet --root="
                [features]="--json= -j --no-pager --no-legend -H --host= -M --machine="
                [version]="--json= -j -H --host= -M --machine="
                [help]=""
        )
        local verbs="status list stats top monitor policies show-policy new-policy show set hold run reset forget reload verify features files threads classify advise size record simulate version help"
        local cur="${COMP_WORDS[COMP_CWORD]}" verb="" i j words="" word typed quoted

        COMPREPLY=()

        # "=" is a word of its own to readline: --json=short arrives as "--json" "=" "short".
        if [[ $cur == "=" && ${COMP_WORDS[COMP_CWORD - 1]} == "--json" ]]; then
                mapfile -t COMPREPLY < <(compgen -W "pretty short off")
                return
        fi
        if [[ ${COMP_WORDS[COMP_CWORD - 1]} == "=" && ${COMP_WORDS[COMP_CWORD - 2]} == "--json" ]]; then
                mapfile -t COMPREPLY < <(compgen -W "pretty short off" -- "$cur")
                return
        fi

        for ((i = 1; i < COMP_CWORD; i++)); do
                if [[ " $verbs " == *" ${COMP_WORDS[i]} "* ]]; then
                        verb="${COMP_WORDS[i]}"
                        break
                fi
        done

        # Behind "--" there is a command, which has completions of its own.
        if [[ $verb == hold || $verb == run ]]; then
                for ((j = i + 1; j < COMP_CWORD; j++)); do
                        [[ ${COMP_WORDS[j]} == -- ]] || continue
                        __cachectl_command $((j + 1))
                        return
                done
        fi

        if [[ $cur == -* ]]; then
                # Without a verb it is "status" that runs, but another one may follow.
                words="${options[all]} ${options[${verb:-list}]} "
                [[ $verb ]] || words+="${options[status]}"
        else
                case "$verb" in
                "") words="$verbs" ;;
                set | hold)
                        # the unit, then a policy or KEY=VALUE
                        for ((j = i + 1; j < COMP_CWORD; j++)); do
                                [[ ${COMP_WORDS[j]} == -* ]] || break
                        done
                        if ((j == COMP_CWORD)); then
                                words="$(__cachectl_units)"
                        else
                                words="$(__cachectl_policies) auto"
                                words+=" CachePolicy= CachePolicyOptions= CacheScanThreads= CacheAdmission="
                                words+=" CacheReadahead= CacheFiles= CacheLevel= CacheLearning= CacheReplay="
                                words+=" CacheCandidates= CacheAutoMargin="
                        fi
                        ;;
                verify)
                        words="$(__cachectl_units)"
                        compopt -o default 2>/dev/null # files
                        ;;
                status | list | stats | files | top | monitor | advise | size | record | show | reset | forget) words="$(__cachectl_units)" ;;
                simulate) compopt -o default 2>/dev/null ;; # files
                policies) words="$(__cachectl_policies)" ;;
                show-policy) words="$(__cachectl_policies) auto" ;;
                classify)
                        # the first word behind the verb that is no option
                        for ((j = i + 1; j < COMP_CWORD; j++)); do
                                [[ ${COMP_WORDS[j]} == -* ]] || break
                        done
                        if ((j == COMP_CWORD)); then
                                words="normal scan background"
                        else
                                words="$(ps -eo pid= 2>/dev/null)"
                        fi
                        ;;
                threads) words="$(ps -eo pid= 2>/dev/null)" ;;
                help) words="$verbs" ;;
                esac
        fi

        # Unit names contain \x2d and the like. compgen -W would take the backslash as a quote, as the shell does with what
        # was typed, and with what readline inserts.
        # shellcheck disable=SC2162
        read typed <<<"$cur"
        while read -r word; do
                [[ $word == "$typed"* ]] || continue
                printf -v quoted %q "$word"
                [[ " ${COMPREPLY[*]} " == *" $quoted "* ]] || COMPREPLY+=("$quoted")
        done < <(printf '%s\n' "$words" | tr ' ' '\n' | sed '/^$/d')

        if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
                compopt -o nospace 2>/dev/null
        fi
}

complete -F _cachectl cachectl
