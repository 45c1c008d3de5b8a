# Completion of cronoq for fish; generated from the commands by: make docs
# To use it: cronoq completion install fish, or put this file into ~/.config/fish/completions.

set -g __cronoq_groups cronoq cronoq_dead cronoq_pool cronoq_resource cronoq_daemon cronoq_recurring cronoq_config cronoq_completion
set -g __cronoq_running cronoq_submit cronoq_run
set -g __cronoq_behind cronoq_submit cronoq_run cronoq_edit cronoq_recurring_add
set -g __cronoq_aliases cronoq_add cronoq_status cronoq_list cronoq_log cronoq_kill cronoq_dead_list cronoq_pool_list cronoq_resource_list cronoq_cron cronoq_recurring_list cronoq_recurring_remove
set -g __cronoq_meant cronoq_submit cronoq_ls cronoq_ls cronoq_logs cronoq_cancel cronoq_dead_ls cronoq_pool_ls cronoq_resource_ls cronoq_recurring cronoq_recurring_ls cronoq_recurring_rm
set -g __cronoq_valued_cronoq --home --color
set -g __cronoq_valued_cronoq_submit --name -n --pool -p --priority -P --after --after-any --after-fail --in --at --timeout --retries --tag -t --env -E --cwd -C --kill-at --heartbeat --stop-signal --grace --backoff --retry-on --no-retry-on --success-codes --on-lost --slots --env-file --nice --shell --keep --deadline --use --expires --start-at --tolerance --on-miss --estimate --tenant --on --key -k --stdin --stdout -o --stderr -e --unique --if-exists --kind --await-deps --group --umask --on-success --on-failure --on-end -c --batch --each --array --max-fails --result
set -g __cronoq_valued_cronoq_run --name -n --pool -p --priority -P --after --after-any --after-fail --in --at --timeout --retries --tag -t --env -E --cwd -C --kill-at --heartbeat --stop-signal --grace --backoff --retry-on --no-retry-on --success-codes --on-lost --slots --env-file --nice --shell --keep --deadline --use --expires --start-at --tolerance --on-miss --estimate --tenant --on --key -k --stdin --stdout -o --stderr -e --unique --if-exists --kind --await-deps --group --umask --on-success --on-failure --on-end -c --result
set -g __cronoq_valued_cronoq_ls --pool -p --status -s --tag -t --name --recurring --limit -l --after-id
set -g __cronoq_valued_cronoq_show --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_explain --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_logs --pool -p --status -s --tag -t --name --recurring --lines -n --attempt --since
set -g __cronoq_valued_cronoq_follow --pool -p --status -s --tag -t --name --recurring --lines -n --attempt --since
set -g __cronoq_valued_cronoq_wait --pool -p --status -s --tag -t --name --recurring --timeout --result
set -g __cronoq_valued_cronoq_events --pool -p --status -s --tag -t --name --recurring --type -T --since --after-seq -n
set -g __cronoq_valued_cronoq_stats --window --pool -p --kind
set -g __cronoq_valued_cronoq_top
set -g __cronoq_valued_cronoq_metrics --output -o
set -g __cronoq_valued_cronoq_cancel --pool -p --status -s --tag -t --name --recurring --grace
set -g __cronoq_valued_cronoq_hold --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_release --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_retry --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_rerun --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_start_now --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_move --before --pool -p
set -g __cronoq_valued_cronoq_priority --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_signal --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_edit --name -n --pool -p --priority -P --after --after-any --after-fail --in --at --timeout --retries --tag -t --env -E --cwd -C --kill-at --heartbeat --stop-signal --grace --backoff --retry-on --no-retry-on --success-codes --on-lost --slots --env-file --nice --shell --keep --deadline --use --expires --start-at --tolerance --on-miss --estimate --tenant --on -c
set -g __cronoq_valued_cronoq_rm --pool -p --status -s --tag -t --name --recurring
set -g __cronoq_valued_cronoq_prune --older-than --status -s
set -g __cronoq_valued_cronoq_report
set -g __cronoq_valued_cronoq_simulate --workers --without --resource --from --for --horizon --limit
set -g __cronoq_valued_cronoq_apply
set -g __cronoq_valued_cronoq_export
set -g __cronoq_valued_cronoq_backup
set -g __cronoq_valued_cronoq_restore
set -g __cronoq_valued_cronoq_doctor
set -g __cronoq_valued_cronoq_dead
set -g __cronoq_valued_cronoq_dead_ls --pool -p --tag -t --name --limit -l
set -g __cronoq_valued_cronoq_dead_retry --pool -p --tag -t --name
set -g __cronoq_valued_cronoq_dead_rm --pool -p --tag -t --name
set -g __cronoq_valued_cronoq_pool
set -g __cronoq_valued_cronoq_pool_ls
set -g __cronoq_valued_cronoq_pool_show
set -g __cronoq_valued_cronoq_pool_pause
set -g __cronoq_valued_cronoq_pool_resume
set -g __cronoq_valued_cronoq_pool_scale --min --max
set -g __cronoq_valued_cronoq_pool_set
set -g __cronoq_valued_cronoq_pool_reset
set -g __cronoq_valued_cronoq_resource
set -g __cronoq_valued_cronoq_resource_ls
set -g __cronoq_valued_cronoq_resource_show
set -g __cronoq_valued_cronoq_resource_set --permits --rate --burst
set -g __cronoq_valued_cronoq_daemon
set -g __cronoq_valued_cronoq_daemon_start
set -g __cronoq_valued_cronoq_daemon_stop --timeout
set -g __cronoq_valued_cronoq_daemon_restart
set -g __cronoq_valued_cronoq_daemon_status
set -g __cronoq_valued_cronoq_daemon_run
set -g __cronoq_valued_cronoq_daemon_drain --timeout
set -g __cronoq_valued_cronoq_daemon_logs --lines -n
set -g __cronoq_valued_cronoq_daemon_reload
set -g __cronoq_valued_cronoq_daemon_install
set -g __cronoq_valued_cronoq_daemon_uninstall
set -g __cronoq_valued_cronoq_recurring
set -g __cronoq_valued_cronoq_recurring_add --every --tz --overlap --catch-up --catch-up-within --jitter --until --max-runs --pause-after-failures --tolerance --on-miss --deadline-after --hook --ping --pool -p --priority -P --timeout --retries --tag -t --env -E --cwd -C --heartbeat --stop-signal --grace --backoff --retry-on --no-retry-on --success-codes --on-lost --slots --env-file --nice --shell --keep --use --estimate --tenant --on --stdin --stdout -o --stderr -e --kind --umask --on-success --on-failure --on-end -c
set -g __cronoq_valued_cronoq_recurring_ls
set -g __cronoq_valued_cronoq_recurring_show
set -g __cronoq_valued_cronoq_recurring_history --limit -l --before
set -g __cronoq_valued_cronoq_recurring_next --tz --after --count -n
set -g __cronoq_valued_cronoq_recurring_pause --until --reason
set -g __cronoq_valued_cronoq_recurring_resume
set -g __cronoq_valued_cronoq_recurring_skip --count -n --at
set -g __cronoq_valued_cronoq_recurring_run
set -g __cronoq_valued_cronoq_recurring_refresh
set -g __cronoq_valued_cronoq_recurring_rm
set -g __cronoq_valued_cronoq_recurring_edit
set -g __cronoq_valued_cronoq_recurring_import
set -g __cronoq_valued_cronoq_recurring_export
set -g __cronoq_valued_cronoq_config
set -g __cronoq_valued_cronoq_config_init
set -g __cronoq_valued_cronoq_config_check
set -g __cronoq_valued_cronoq_config_show
set -g __cronoq_valued_cronoq_config_path
set -g __cronoq_valued_cronoq_completion
set -g __cronoq_valued_cronoq_completion_install
set -g __cronoq_valued_cronoq_completion_show

# Reads the line up to the cursor once: which command it names, and where the command of a task begins in it.
function __cronoq_read
    set -l line (commandline -pc | string collect)
    if set -q __cronoq_line; and test "$__cronoq_line" = "$line"
        return
    end
    set -g __cronoq_line $line
    set -g __cronoq_path cronoq
    set -g __cronoq_foreign 0
    set -g __cronoq_program (commandline -opc)[1]
    set -l words (commandline -opc)
    set -l ended 0
    set -l i 2
    while test $i -le (count $words)
        set -l word $words[$i]
        set -l here (string replace -a ' ' _ -- $__cronoq_path)
        if test "$word" = --
            if contains -- $here $__cronoq_behind
                set __cronoq_foreign (math $i + 1)
                return
            end
            set ended 1
        else if test $ended = 0; and string match -q -- '--*=*' $word
            string match -q -- '--home=*' $word; and set -a __cronoq_program $word
        else if test $ended = 0; and string match -q -- '-?*' $word
            set -l valued __cronoq_valued_(string replace -a - _ -- $here)
            if contains -- $word $$valued
                set i (math $i + 1)
                if test "$word" = --home; and test $i -le (count $words)
                    set -a __cronoq_program --home (string replace -r '^~(?=/|$)' $HOME -- $words[$i])
                end
            end
        else if contains -- $here $__cronoq_groups
            set __cronoq_path "$__cronoq_path $word"
            if set -l at (contains -i -- (string replace -a ' ' _ -- $__cronoq_path) $__cronoq_aliases)
                set __cronoq_path (string replace -a _ ' ' -- $__cronoq_meant[$at])
            end
        else if contains -- $here $__cronoq_running
            set __cronoq_foreign $i
            return
        end
        set i (math $i + 1)
    end
    # A value is to come, an option, or else the first word of a task's command.
    test $i -gt (math (count $words) + 1); and return
    string match -q -- '-*' (commandline -ct); and test $ended = 0; and return
    contains -- (string replace -a ' ' _ -- $__cronoq_path) $__cronoq_running
    and set __cronoq_foreign (math (count $words) + 1)
end

function __cronoq_at
    __cronoq_read
    test "$__cronoq_path" = "$argv[1]"; and test $__cronoq_foreign = 0
end

function __cronoq_is_foreign
    __cronoq_read
    test $__cronoq_foreign != 0
end

# The words of a task's own command, as fish completes that command.
function __cronoq_complete_foreign
    set -l words (commandline -opc)
    set -l first $__cronoq_foreign
    set -l token (commandline -ct)
    set -l before
    test $first -le (count $words); and set before (string escape -- $words[$first..-1])
    complete -C (string join ' ' -- $before "$token" | string collect)
end

# What the daemon, or the store, knows: __cronoq_ask KINDS [COMMA [SUFFIX]]
function __cronoq_ask
    __cronoq_read
    set -l token (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before
    if test -n "$argv[2]"; and string match -q '*,*' -- $token
        set before (string replace -r '[^,]*$' '' -- $token)
        set token (string replace -r '^.*,' '' -- $token)
    end
    for line in ($__cronoq_program __complete $argv[1] "$token" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        printf '%s%s%s\t%s\n' "$before" $parts[1] "$argv[3]" "$parts[2]"
    end
end

# What is known already: __cronoq_choose COMMA SUFFIX WORD...
function __cronoq_choose
    set -l token (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before
    if test -n "$argv[1]"; and string match -q '*,*' -- $token
        set before (string replace -r '[^,]*$' '' -- $token)
    end
    for word in $argv[3..-1]
        printf '%s%s%s\n' "$before" $word "$argv[2]"
    end
end

complete -c cronoq -e
complete -c cronoq -f
complete -c cronoq -n __cronoq_is_foreign -a '(__cronoq_complete_foreign)'

complete -c cronoq -n '__cronoq_at "cronoq"' -a submit -d 'Queue a command and print the task\'s id'
complete -c cronoq -n '__cronoq_at "cronoq"' -a run -d 'Queue a command, show its output while it runs, and exit as it did'
complete -c cronoq -n '__cronoq_at "cronoq"' -a ls -d 'List tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a show -d 'Show everything about tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a explain -d 'Explain why tasks wait'
complete -c cronoq -n '__cronoq_at "cronoq"' -a logs -d 'Show the output of tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a follow -d 'Show the output of a task as it comes, until it has ended'
complete -c cronoq -n '__cronoq_at "cronoq"' -a wait -d 'Wait for tasks to end'
complete -c cronoq -n '__cronoq_at "cronoq"' -a events -d 'Show what happened, oldest first'
complete -c cronoq -n '__cronoq_at "cronoq"' -a stats -d 'Show figures over a window'
complete -c cronoq -n '__cronoq_at "cronoq"' -a top -d 'Show a dashboard'
complete -c cronoq -n '__cronoq_at "cronoq"' -a metrics -d 'Print metrics as OpenMetrics text'
complete -c cronoq -n '__cronoq_at "cronoq"' -a cancel -d 'Cancel tasks, waiting or running'
complete -c cronoq -n '__cronoq_at "cronoq"' -a hold -d 'Hold waiting tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a release -d 'Release held tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a retry -d 'Run ended tasks again under the same id'
complete -c cronoq -n '__cronoq_at "cronoq"' -a rerun -d 'Submit tasks once more, each with a new id'
complete -c cronoq -n '__cronoq_at "cronoq"' -a start-now -d 'Let scheduled and retrying tasks start without waiting for their time'
complete -c cronoq -n '__cronoq_at "cronoq"' -a move -d 'Move waiting tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a priority -d 'Change the priority of waiting tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a signal -d 'Send a signal to all processes of running tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a edit -d 'Change waiting tasks'
complete -c cronoq -n '__cronoq_at "cronoq"' -a rm -d 'Forget ended tasks with their logs'
complete -c cronoq -n '__cronoq_at "cronoq"' -a prune -d 'Forget ended tasks with their logs, and print how many'
complete -c cronoq -n '__cronoq_at "cronoq"' -a report -d 'Say something about the task this is called in'
complete -c cronoq -n '__cronoq_at "cronoq"' -a simulate -d 'Foretell when each task starts and ends'
complete -c cronoq -n '__cronoq_at "cronoq"' -a apply -d 'Bring pools, resources and schedules to what a file says, and show what changes'
complete -c cronoq -n '__cronoq_at "cronoq"' -a export -d 'Print what `cronoq apply` reads'
complete -c cronoq -n '__cronoq_at "cronoq"' -a backup -d 'Copy the whole store to a new file while the daemon goes on, and print its name'
complete -c cronoq -n '__cronoq_at "cronoq"' -a restore -d 'Put a backup in the place of the store, while no daemon runs'
complete -c cronoq -n '__cronoq_at "cronoq"' -a doctor -d 'Look at everything cronoq needs, and say of each what is wrong and what to do'
complete -c cronoq -n '__cronoq_at "cronoq"' -a dead -d 'See, retry and forget dead letters'
complete -c cronoq -n '__cronoq_at "cronoq"' -a pool -d 'See pools, pause, resume and change them'
complete -c cronoq -n '__cronoq_at "cronoq"' -a resource -d 'See and change what all pools share'
complete -c cronoq -n '__cronoq_at "cronoq"' -a daemon -d 'Start, stop and look at the daemon'
complete -c cronoq -n '__cronoq_at "cronoq"' -a recurring -d 'Run commands again and again, as cron does'
complete -c cronoq -n '__cronoq_at "cronoq"' -a config -d 'Write, check and show the configuration'
complete -c cronoq -n '__cronoq_at "cronoq"' -a completion -d 'Completion of commands, options, ids, keys, names and pools in a shell'
complete -c cronoq -n '__cronoq_at "cronoq"' -l version -d 'Show the version.'
complete -c cronoq -n '__cronoq_at "cronoq"' -l home -d 'Keep everything in this directory, as CRONOQ_HOME does.' -r -a '(__fish_complete_directories)' -f
complete -c cronoq -n '__cronoq_at "cronoq"' -l color -d 'Colours: auto, always or never.' -r -a '(__cronoq_choose "" "" auto always never)' -f
complete -c cronoq -n '__cronoq_at "cronoq"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l name -s n -d 'Name; the command\'s first word.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l pool -s p -d 'Pool it runs in; default.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l priority -s P -d 'critical, high, normal or low; normal.' -r -a '(__cronoq_choose "" "" critical high normal low)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l after -d 'Start when these succeeded: ids, runs, keys, last.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l after-any -d 'Start when these have ended in any way.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l after-fail -d 'Start when these have failed.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l in -d 'Start no sooner than this from now.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l at -d 'Start no sooner than this: 18:30, \'tomorrow 03:00\'.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l timeout -d 'Stop an attempt that runs longer than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l retries -d 'Try again this many times after a failure.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l tag -s t -d 'A tag; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l env -s E -d 'Set a variable, or take it over; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l cwd -s C -d 'Directory to run in; this one.' -r -a '(__fish_complete_directories)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l kill-at -d 'Stop it at this time, also when it waits.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l heartbeat -d 'Stop it when it says nothing for so long.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l stop-signal -d 'How it is asked to stop; TERM.' -r -a '(__cronoq_choose "" "" HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l grace -d 'Time between that and KILL; 10s.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l backoff -d 'Delay before a retry: exponential:10s..10m, fixed:D, linear:D..D, polynomial.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l retry-on -d 'Retry only these exit codes: 1,5-9.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l no-retry-on -d 'Never retry these exit codes.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l success-codes -d 'These exit codes are a success too.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l on-lost -d 'When machine or runner dies: count the attempt, requeue, or hold.' -r -a '(__cronoq_choose "" "" count requeue hold)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l slots -d 'Slots of the pool it takes; 1.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l env-file -d 'Set the variables of a file; repeatable.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l nice -d 'Niceness, 0 to 19; the daemon\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l shell -d 'Shell of a shell line; the pool\'s, /bin/sh.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l keep -d 'How long it is remembered after its end.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l deadline -d 'Be done by then: it gets more urgent, never ends.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l use -d 'Take so much of a resource while it runs; repeatable.' -r -a '(__cronoq_ask resource "" =)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l expires -d 'Drop it when it has not started by then.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l start-at -d 'Start then, with room kept for it.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l tolerance -d 'How late a fixed start may be; 1s.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l on-miss -d 'When it would be later still; run-late.' -r -a '(__cronoq_choose "" "" run-late skip fail)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l estimate -d 'How long it will run; learned from others.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l tenant -d 'Whose work it is, where a pool shares fairly.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l on -d 'Run only on workers with this label; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l key -s k -d 'Its own name among live tasks, to refer to it.' -r -a '(__cronoq_ask key "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l stdin -d 'Its input: a file opened at each attempt, or - to keep stdin.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l stdout -s o -d 'Append stdout to a file; {id} {attempt} {name}.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l stderr -s e -d 'Append stderr to a file, and split the log.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l hold -d 'Hold it until it is released.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l once -d 'The key must not be among remembered tasks either.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l unique -d 'One with the same command, directory and pool within DUR.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l if-exists -d 'When it exists: return its id, refuse, or replace it.' -r -a '(__cronoq_choose "" "" return refuse replace)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l kind -d 'Run times are learned by kind; the program\'s name.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l await-deps -d 'Wait this long for a key that does not exist yet.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l group -d 'Gather it with others; the group\'s command runs for all.' -r -a '(__cronoq_ask group "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l clean-env -d 'Take over only HOME, LOGNAME, PATH, SHELL and USER of the environment.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l umask -d 'File mode mask, octal; the caller\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l split -d 'Keep stdout and stderr apart.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l on-success -d 'Then run this shell line.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l on-failure -d 'Run this when it failed.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l on-end -d 'Run this when it ended, however.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq submit"' -s c -d 'A shell line, in place of COMMAND.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l exec -d 'Never use a shell, not for a single word either.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l batch -d 'One task a line, as JSON; - is stdin.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l each -d 'One task a line; {} in COMMAND is the line.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l array -d 'One task an index, at most 4 at once; see CRONOQ_ARRAY_INDEX.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l max-fails -d 'Give up the rest after so many failures.' -x
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l wait -s w -d 'Wait for the end; exit as the task did.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l follow -s f -d 'Show its output until the end; exit as it did.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l no-wait -d 'Be refused at once (75) where a full pool would have this wait.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l quiet -s q -d 'Print nothing but errors.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l dry-run -d 'Check all of it, queue nothing, say what would be.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l result -d 'With --wait or --follow: write the ended task to a file, as JSON.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq submit"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l name -s n -d 'Name; the command\'s first word.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l pool -s p -d 'Pool it runs in; default.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l priority -s P -d 'critical, high, normal or low; normal.' -r -a '(__cronoq_choose "" "" critical high normal low)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l after -d 'Start when these succeeded: ids, runs, keys, last.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l after-any -d 'Start when these have ended in any way.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l after-fail -d 'Start when these have failed.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l in -d 'Start no sooner than this from now.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l at -d 'Start no sooner than this: 18:30, \'tomorrow 03:00\'.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l timeout -d 'Stop an attempt that runs longer than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l retries -d 'Try again this many times after a failure.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l tag -s t -d 'A tag; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l env -s E -d 'Set a variable, or take it over; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l cwd -s C -d 'Directory to run in; this one.' -r -a '(__fish_complete_directories)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l kill-at -d 'Stop it at this time, also when it waits.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l heartbeat -d 'Stop it when it says nothing for so long.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l stop-signal -d 'How it is asked to stop; TERM.' -r -a '(__cronoq_choose "" "" HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l grace -d 'Time between that and KILL; 10s.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l backoff -d 'Delay before a retry: exponential:10s..10m, fixed:D, linear:D..D, polynomial.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l retry-on -d 'Retry only these exit codes: 1,5-9.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l no-retry-on -d 'Never retry these exit codes.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l success-codes -d 'These exit codes are a success too.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l on-lost -d 'When machine or runner dies: count the attempt, requeue, or hold.' -r -a '(__cronoq_choose "" "" count requeue hold)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l slots -d 'Slots of the pool it takes; 1.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l env-file -d 'Set the variables of a file; repeatable.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq run"' -l nice -d 'Niceness, 0 to 19; the daemon\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l shell -d 'Shell of a shell line; the pool\'s, /bin/sh.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq run"' -l keep -d 'How long it is remembered after its end.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l deadline -d 'Be done by then: it gets more urgent, never ends.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l use -d 'Take so much of a resource while it runs; repeatable.' -r -a '(__cronoq_ask resource "" =)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l expires -d 'Drop it when it has not started by then.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l start-at -d 'Start then, with room kept for it.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l tolerance -d 'How late a fixed start may be; 1s.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l on-miss -d 'When it would be later still; run-late.' -r -a '(__cronoq_choose "" "" run-late skip fail)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l estimate -d 'How long it will run; learned from others.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l tenant -d 'Whose work it is, where a pool shares fairly.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l on -d 'Run only on workers with this label; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l key -s k -d 'Its own name among live tasks, to refer to it.' -r -a '(__cronoq_ask key "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l stdin -d 'Its input: a file opened at each attempt, or - to keep stdin.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq run"' -l stdout -s o -d 'Append stdout to a file; {id} {attempt} {name}.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq run"' -l stderr -s e -d 'Append stderr to a file, and split the log.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq run"' -l hold -d 'Hold it until it is released.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l once -d 'The key must not be among remembered tasks either.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l unique -d 'One with the same command, directory and pool within DUR.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l if-exists -d 'When it exists: return its id, refuse, or replace it.' -r -a '(__cronoq_choose "" "" return refuse replace)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l kind -d 'Run times are learned by kind; the program\'s name.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l await-deps -d 'Wait this long for a key that does not exist yet.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l group -d 'Gather it with others; the group\'s command runs for all.' -r -a '(__cronoq_ask group "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l clean-env -d 'Take over only HOME, LOGNAME, PATH, SHELL and USER of the environment.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l umask -d 'File mode mask, octal; the caller\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l split -d 'Keep stdout and stderr apart.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l on-success -d 'Then run this shell line.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l on-failure -d 'Run this when it failed.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -l on-end -d 'Run this when it ended, however.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq run"' -s c -d 'A shell line, in place of COMMAND.' -x
complete -c cronoq -n '__cronoq_at "cronoq run"' -l exec -d 'Never use a shell, not for a single word either.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l no-wait -d 'Be refused at once (75) where a full pool would have this wait.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l quiet -s q -d 'No notes on stderr, only the task\'s own output.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l result -d 'Write the ended task to a file, as JSON.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq run"' -l json -d 'Answer with the ended task as JSON; its output stays in its log.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq run"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l limit -s l -d 'How many of those that wait: a number, or all.' -x
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l finished -d 'Only ended tasks, by id.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l after-id -d 'With --finished: those after this id.' -r -a '(__cronoq_ask task "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l follow -s f -d 'Stay on the screen and redraw it when something changes.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq ls"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq show"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq show"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq show"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq show"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq show"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq show"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq show"' -l env -d 'The values of its environment too, not only the names.'
complete -c cronoq -n '__cronoq_at "cronoq show"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq show"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq show"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq show"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq explain"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq explain"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l follow -s f -d 'Go on until the task has ended, over its retries.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l lines -s n -d 'Only the last N lines.' -x
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l attempt -d 'Of this attempt, from 1; else of the latest.' -x
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l stdout -d 'Only stdout, of a split log.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l stderr -d 'Only stderr, of a split log.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l since -d 'All attempts that still ran at this time, or so long ago.' -x
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq logs"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l follow -s f -d 'Go on until the task has ended, over its retries.'
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l lines -s n -d 'Only the last N lines.' -x
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l attempt -d 'Of this attempt, from 1; else of the latest.' -x
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l stdout -d 'Only stdout, of a split log.'
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l stderr -d 'Only stderr, of a split log.'
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l since -d 'All attempts that still ran at this time, or so long ago.' -x
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq follow"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq follow"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l any -d 'Until one of them has ended; usually until all have.'
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l timeout -d 'Give up after this long, with exit status 124.' -x
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l quiet -s q -d 'Do not say how they ended.'
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l result -d 'Write the ended task to a file, as JSON.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq wait"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq wait"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq events"' -l pool -s p -d 'Events in this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq events"' -l status -s s -d 'Events that led to this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq events"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq events"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq events"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq events"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq events"' -l type -s T -d 'Events of this type, such as started or \'failed-*\'.' -x
complete -c cronoq -n '__cronoq_at "cronoq events"' -l since -d 'Events since this time, or since so long ago.' -x
complete -c cronoq -n '__cronoq_at "cronoq events"' -l follow -s f -d 'Go on with the events to come.'
complete -c cronoq -n '__cronoq_at "cronoq events"' -l after-seq -d 'Only events after this number.' -x
complete -c cronoq -n '__cronoq_at "cronoq events"' -s n -d 'How many: the last ones, or the first after --after-seq; 100.' -x
complete -c cronoq -n '__cronoq_at "cronoq events"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq events"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq events"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq events"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq stats"' -l window -d 'The last so long; 24h.' -x
complete -c cronoq -n '__cronoq_at "cronoq stats"' -l pool -s p -d 'Only this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq stats"' -l kind -d 'Only tasks of this kind.' -x
complete -c cronoq -n '__cronoq_at "cronoq stats"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq stats"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq stats"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq top"' -l read-only -s r -d 'Only look: no key changes anything.'
complete -c cronoq -n '__cronoq_at "cronoq top"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq top"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq metrics"' -l output -s o -d 'Write to this file, whole or not at all.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq metrics"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq metrics"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq metrics"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l dead -d 'Put them among the dead letters instead.'
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l grace -d 'Time between the stop signal and KILL; the task\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq cancel"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq hold"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq hold"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq release"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq release"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq release"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq release"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq release"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq release"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq release"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq release"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq release"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq release"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l failed -d 'Those that failed or are dead letters, all if none is named.'
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l with-dependents -d 'Also those that were skipped because of them.'
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq retry"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq retry"' -a '(__cronoq_ask ended , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq rerun"' -a '(__cronoq_ask ended , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq start-now"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq move"' -l first -d 'Before all others of the same priority.'
complete -c cronoq -n '__cronoq_at "cronoq move"' -l last -d 'Behind all others of the same priority.'
complete -c cronoq -n '__cronoq_at "cronoq move"' -l before -d 'Right before this task.' -r -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq move"' -l pool -s p -d 'Into this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq move"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq move"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq move"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq move"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq priority"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq priority"' -a '(__cronoq_ask live , "")' -a '(__cronoq_choose , "" critical high normal low)' -f
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq signal"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq signal"' -a '(__cronoq_ask running , "")' -a '(__cronoq_choose , "" HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l name -s n -d 'Name; the command\'s first word.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l pool -s p -d 'Pool it runs in; default.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l priority -s P -d 'critical, high, normal or low; normal.' -r -a '(__cronoq_choose "" "" critical high normal low)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l after -d 'Start when these succeeded: ids, runs, keys, last.' -r -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l after-any -d 'Start when these have ended in any way.' -r -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l after-fail -d 'Start when these have failed.' -r -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l in -d 'Start no sooner than this from now.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l at -d 'Start no sooner than this: 18:30, \'tomorrow 03:00\'.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l timeout -d 'Stop an attempt that runs longer than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l retries -d 'Try again this many times after a failure.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l tag -s t -d 'A tag; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l env -s E -d 'Set a variable, or take it over; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l cwd -s C -d 'Directory to run in; this one.' -r -a '(__fish_complete_directories)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l kill-at -d 'Stop it at this time, also when it waits.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l heartbeat -d 'Stop it when it says nothing for so long.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l stop-signal -d 'How it is asked to stop; TERM.' -r -a '(__cronoq_choose "" "" HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l grace -d 'Time between that and KILL; 10s.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l backoff -d 'Delay before a retry: exponential:10s..10m, fixed:D, linear:D..D, polynomial.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l retry-on -d 'Retry only these exit codes: 1,5-9.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l no-retry-on -d 'Never retry these exit codes.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l success-codes -d 'These exit codes are a success too.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l on-lost -d 'When machine or runner dies: count the attempt, requeue, or hold.' -r -a '(__cronoq_choose "" "" count requeue hold)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l slots -d 'Slots of the pool it takes; 1.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l env-file -d 'Set the variables of a file; repeatable.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l nice -d 'Niceness, 0 to 19; the daemon\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l shell -d 'Shell of a shell line; the pool\'s, /bin/sh.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l keep -d 'How long it is remembered after its end.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l deadline -d 'Be done by then: it gets more urgent, never ends.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l use -d 'Take so much of a resource while it runs; repeatable.' -r -a '(__cronoq_ask resource "" =)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l expires -d 'Drop it when it has not started by then.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l start-at -d 'Start then, with room kept for it.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l tolerance -d 'How late a fixed start may be; 1s.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l on-miss -d 'When it would be later still; run-late.' -r -a '(__cronoq_choose "" "" run-late skip fail)' -f
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l estimate -d 'How long it will run; learned from others.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l tenant -d 'Whose work it is, where a pool shares fairly.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l on -d 'Run only on workers with this label; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -s c -d 'A shell line, in place of COMMAND.' -x
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l exec -d 'Never use a shell, not for a single word either.'
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq edit"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq edit"' -a '(__cronoq_ask live , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l pool -s p -d 'Tasks of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l status -s s -d 'Tasks in this status (a comma list is any of them).' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l tag -s t -d 'Tasks with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l name -d 'Tasks whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l recurring -d 'Runs of this schedule, or * for those of any.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l all -s a -d 'All tasks this command can act on.'
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l cascade -d 'Also cancel the tasks that wait for them.'
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq rm"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq rm"' -a '(__cronoq_ask ended , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq prune"' -l older-than -d 'Those that ended longer ago than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq prune"' -l status -s s -d 'Only those that ended so.' -r -a '(__cronoq_choose , "" blocked scheduled ready running retrying succeeded failed dead-lettered cancelled skipped missed shed)' -f
complete -c cronoq -n '__cronoq_at "cronoq prune"' -l dry-run -d 'Only print how many that are.'
complete -c cronoq -n '__cronoq_at "cronoq prune"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq prune"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq prune"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq report"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq report"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq report"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq report"' -a '(__cronoq_choose "" = progress outcome message retry_after output.)' -f
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l workers -d 'So many workers, in every pool or in one.' -x
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l without -d 'As if these tasks were cancelled.' -r -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l resource -d 'So many permits, or tokens a second, of a resource.' -r -a '(__cronoq_ask resource "" =)' -f
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l recurring -d 'Run the schedules, or those of a crontab or export, instead of the queue.'
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l from -d 'With --recurring: begin then; now.' -x
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l for -d 'With --recurring: for so long; 24h.' -x
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l system -d 'FILE has a column with the user, as /etc/crontab.'
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l horizon -d 'Stop after so much virtual time.' -x
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l gantt -d 'Draw when each task waits and runs.'
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l limit -d 'Tasks to show; 50.' -x
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq simulate"' -F
complete -c cronoq -n '__cronoq_at "cronoq apply"' -l dry-run -d 'Only show what would change.'
complete -c cronoq -n '__cronoq_at "cronoq apply"' -l prune -d 'Remove schedules that the file does not have.'
complete -c cronoq -n '__cronoq_at "cronoq apply"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq apply"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq apply"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq apply"' -F
complete -c cronoq -n '__cronoq_at "cronoq export"' -l all -d 'Also what of pools and resources is as the configuration says.'
complete -c cronoq -n '__cronoq_at "cronoq export"' -l env -d 'Also the environments of schedules, with their values.'
complete -c cronoq -n '__cronoq_at "cronoq export"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq export"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq export"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq backup"' -l check -d 'Copy nothing: check the store, or FILE, page by page.'
complete -c cronoq -n '__cronoq_at "cronoq backup"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq backup"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq backup"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq backup"' -F
complete -c cronoq -n '__cronoq_at "cronoq restore"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq restore"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq restore"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq restore"' -F
complete -c cronoq -n '__cronoq_at "cronoq doctor"' -l quiet -s q -d 'Only what is wrong or worth knowing.'
complete -c cronoq -n '__cronoq_at "cronoq doctor"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq doctor"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq doctor"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq dead"' -a ls -d 'List dead letters'
complete -c cronoq -n '__cronoq_at "cronoq dead"' -a retry -d 'Run dead letters again under the same ids'
complete -c cronoq -n '__cronoq_at "cronoq dead"' -a rm -d 'Forget dead letters with their logs'
complete -c cronoq -n '__cronoq_at "cronoq dead"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq dead"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l pool -s p -d 'Those of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l tag -s t -d 'Those with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l name -d 'Those whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l all -s a -d 'All dead letters.'
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l limit -s l -d 'How many: a number, or all.' -x
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq dead ls"' -a '(__cronoq_ask task , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l pool -s p -d 'Those of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l tag -s t -d 'Those with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l name -d 'Those whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l all -s a -d 'All dead letters.'
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l with-dependents -d 'Also those that were skipped because of them.'
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq dead retry"' -a '(__cronoq_ask ended , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l pool -s p -d 'Those of this pool.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l tag -s t -d 'Those with this tag: K=V, or K for any value.' -x
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l name -d 'Those whose name matches the pattern.' -r -a '(__cronoq_ask name "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l all -s a -d 'All dead letters.'
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq dead rm"' -a '(__cronoq_ask ended , "")' -f
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a ls -d 'List the pools'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a show -d 'Show one pool'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a pause -d 'Start nothing more in these pools'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a resume -d 'Start tasks in these pools again'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a scale -d 'Change how many workers a pool has'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a set -d 'Change settings of a pool until it is reset or the configuration is read anew'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -a reset -d 'Go back to what the configuration says of these pools'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq pool"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq pool ls"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool ls"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool ls"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool show"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool show"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool show"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool show"' -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq pool pause"' -l all -s a -d 'All pools.'
complete -c cronoq -n '__cronoq_at "cronoq pool pause"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool pause"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool pause"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool pause"' -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq pool resume"' -l all -s a -d 'All pools.'
complete -c cronoq -n '__cronoq_at "cronoq pool resume"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool resume"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool resume"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool resume"' -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq pool scale"' -l min -d 'Never fewer than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq pool scale"' -l max -d 'Never more than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq pool scale"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool scale"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool scale"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool scale"' -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq pool set"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool set"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool set"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool set"' -a '(__cronoq_ask pool "" "")' -a '(__cronoq_choose "" = workers max_pending overflow fair_share weight max_hold reservable_fraction default_duration)' -f
complete -c cronoq -n '__cronoq_at "cronoq pool reset"' -l all -s a -d 'All pools.'
complete -c cronoq -n '__cronoq_at "cronoq pool reset"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq pool reset"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq pool reset"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq pool reset"' -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq resource"' -a ls -d 'List the resources'
complete -c cronoq -n '__cronoq_at "cronoq resource"' -a show -d 'Show one resource'
complete -c cronoq -n '__cronoq_at "cronoq resource"' -a set -d 'Change how much there is of a resource, until the configuration is read anew'
complete -c cronoq -n '__cronoq_at "cronoq resource"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq resource"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq resource ls"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq resource ls"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq resource ls"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq resource show"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq resource show"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq resource show"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq resource show"' -a '(__cronoq_ask resource "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -l permits -d 'Units of a semaphore.' -x
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -l rate -d 'What comes in: 10/s, 5/m, 100/h.' -x
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -l burst -d 'The most that gathers.' -x
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq resource set"' -a '(__cronoq_ask resource "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a start -d 'Start the daemon in the background and return when it is ready'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a stop -d 'Stop the daemon'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a restart -d 'Stop the daemon and start a new one'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a status -d 'Show the daemon\'s state, role, versions, and what its last start recovered'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a run -d 'Run the daemon in the foreground, as a service manager does'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a drain -d 'Start nothing more, and stop the daemon when all running tasks have ended by themselves'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a logs -d 'Show the daemon\'s own log'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a reload -d 'Read the configuration anew, whole or not at all'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a install -d 'Make the daemon a service of your systemd'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -a uninstall -d 'Take the service away and stop the daemon, if it runs'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq daemon"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq daemon start"' -l standby -d 'When one runs already: wait, and take over when it is gone.'
complete -c cronoq -n '__cronoq_at "cronoq daemon start"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon start"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon start"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon stop"' -l timeout -d 'How long tasks may take to end; 30s, or as configured.' -x
complete -c cronoq -n '__cronoq_at "cronoq daemon stop"' -l keep-tasks -d 'Leave running tasks to the runner.'
complete -c cronoq -n '__cronoq_at "cronoq daemon stop"' -l hand-over -d 'Leave standbys to take over.'
complete -c cronoq -n '__cronoq_at "cronoq daemon stop"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon stop"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon stop"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon restart"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon restart"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon restart"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon status"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon status"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon status"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon run"' -l standby -d 'When one runs already: wait, and take over when it is gone.'
complete -c cronoq -n '__cronoq_at "cronoq daemon run"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon run"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon drain"' -l timeout -d 'How long tasks may take to end; 30s, or as configured.' -x
complete -c cronoq -n '__cronoq_at "cronoq daemon drain"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon drain"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon drain"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon logs"' -l follow -s f -d 'Go on with what is still to come.'
complete -c cronoq -n '__cronoq_at "cronoq daemon logs"' -l lines -s n -d 'The last N lines; 100.' -x
complete -c cronoq -n '__cronoq_at "cronoq daemon logs"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon logs"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon logs"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon reload"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon reload"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon reload"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon install"' -l print -d 'Only print the unit.'
complete -c cronoq -n '__cronoq_at "cronoq daemon install"' -l no-start -d 'Leave the daemon as it is for now.'
complete -c cronoq -n '__cronoq_at "cronoq daemon install"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon install"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon install"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon uninstall"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq daemon uninstall"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq daemon uninstall"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a add -d 'Run a command again and again'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a ls -d 'List schedules'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a show -d 'Show everything about a schedule'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a history -d 'Show what became of a schedule\'s slots, newest last'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a next -d 'Show when a schedule or an expression fires next, in words and times, and what changes of the clock do to it'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a pause -d 'Let schedules rest'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a resume -d 'Let paused schedules go on'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a skip -d 'Leave out the next run of a schedule, or the one at a time'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a run -d 'Start a run now, beside the schedule'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a refresh -d 'Record environment, directory and umask anew'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a rm -d 'Forget schedules'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a edit -d 'Change schedules in $VISUAL or $EDITOR'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a import -d 'Make schedules of a crontab or of an export, and account for every line'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -a export -d 'Print schedules as a text that cronoq recurring import reads again'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq recurring"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l every -d 'Run by elapsed time instead of EXPR.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l seconds -d 'EXPR has six fields, seconds first.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l tz -d 'Zone of EXPR; the machine\'s, followed.' -r -a '(__cronoq_ask zone "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l overlap -d 'While the last one still runs: skip, allow, queue, queue-on-success or replace; skip.' -r -a '(__cronoq_choose "" "" skip allow queue queue-on-success replace)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l catch-up -d 'What was missed while nothing could run it: none, latest, all.' -r -a '(__cronoq_choose "" "" none latest all)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l catch-up-within -d 'Only slots missed so long ago; a period, at most 24h.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l jitter -d 'Start up to this later, the same for a name.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l until -d 'No slot after this.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l max-runs -d 'So many runs, then no more.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l pause-after-failures -d 'Pause it after so many in a row.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l reserve -d 'Keep room for each start, as --start-at does.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l tolerance -d 'How late a start may be.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l on-miss -d 'When it would be later still; run-late.' -r -a '(__cronoq_choose "" "" run-late skip fail)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l deadline-after -d 'Be done so long after the slot: gets more urgent.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l hook -d 'Shell line told of it: on_failure, on_success, on_missed, ...; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l ping -d 'Ask this URL at each start and end, as monitoring services want it.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l pool -s p -d 'Pool it runs in; default.' -r -a '(__cronoq_ask pool "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l priority -s P -d 'critical, high, normal or low; normal.' -r -a '(__cronoq_choose "" "" critical high normal low)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l timeout -d 'Stop an attempt that runs longer than this.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l retries -d 'Try again this many times after a failure.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l tag -s t -d 'A tag; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l env -s E -d 'Set a variable, or take it over; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l cwd -s C -d 'Directory to run in; this one.' -r -a '(__fish_complete_directories)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l heartbeat -d 'Stop it when it says nothing for so long.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l stop-signal -d 'How it is asked to stop; TERM.' -r -a '(__cronoq_choose "" "" HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l grace -d 'Time between that and KILL; 10s.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l backoff -d 'Delay before a retry: exponential:10s..10m, fixed:D, linear:D..D, polynomial.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l retry-on -d 'Retry only these exit codes: 1,5-9.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l no-retry-on -d 'Never retry these exit codes.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l success-codes -d 'These exit codes are a success too.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l on-lost -d 'When machine or runner dies: count the attempt, requeue, or hold.' -r -a '(__cronoq_choose "" "" count requeue hold)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l slots -d 'Slots of the pool it takes; 1.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l env-file -d 'Set the variables of a file; repeatable.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l nice -d 'Niceness, 0 to 19; the daemon\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l shell -d 'Shell of a shell line; the pool\'s, /bin/sh.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l keep -d 'How long it is remembered after its end.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l use -d 'Take so much of a resource while it runs; repeatable.' -r -a '(__cronoq_ask resource "" =)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l estimate -d 'How long it will run; learned from others.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l tenant -d 'Whose work it is, where a pool shares fairly.' -r -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l on -d 'Run only on workers with this label; repeatable.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l stdin -d 'Its input: a file opened at each attempt, or - to keep stdin.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l stdout -s o -d 'Append stdout to a file; {id} {attempt} {name}.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l stderr -s e -d 'Append stderr to a file, and split the log.' -r -F
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l kind -d 'Run times are learned by kind; the program\'s name.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l clean-env -d 'Take over only HOME, LOGNAME, PATH, SHELL and USER of the environment.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l umask -d 'File mode mask, octal; the caller\'s.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l split -d 'Keep stdout and stderr apart.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l on-success -d 'Then run this shell line.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l on-failure -d 'Run this when it failed.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l on-end -d 'Run this when it ended, however.' -r -a '(__fish_complete_command)' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -s c -d 'A shell line, in place of COMMAND.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l exec -d 'Never use a shell, not for a single word either.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l paused -d 'Add it paused: cronoq recurring resume starts it.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l dry-run -d 'Check all of it, add nothing, say when it would run.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring add"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring ls"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring ls"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring ls"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring ls"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring show"' -l env -d 'Also the recorded environment, with its values.'
complete -c cronoq -n '__cronoq_at "cronoq recurring show"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring show"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring show"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring show"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring history"' -l limit -s l -d 'So many, the newest; 20.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring history"' -l before -d 'Only slots due before this.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring history"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring history"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring history"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring history"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l tz -d 'The zone of the expression; else yours.' -r -a '(__cronoq_ask zone "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l after -d 'Runs after this time; else now.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l count -s n -d 'So many; 5.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l seconds -d 'Six fields, seconds first.'
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring next"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -l all -s a -d 'All schedules.'
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -l until -d 'Go on by itself then.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -l reason -d 'Why, for ls and show.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring pause"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring resume"' -l all -s a -d 'All schedules.'
complete -c cronoq -n '__cronoq_at "cronoq recurring resume"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring resume"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring resume"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring resume"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring skip"' -l count -s n -d 'So many runs; 1.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring skip"' -l at -d 'The run at this time.' -x
complete -c cronoq -n '__cronoq_at "cronoq recurring skip"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring skip"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring skip"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring skip"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -l wait -s w -d 'Wait for the end; exit as the task did.'
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -l follow -s f -d 'Show its output until the end; exit as it did.'
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -l quiet -s q -d 'Print nothing but errors.'
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring run"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring refresh"' -l all -s a -d 'All schedules.'
complete -c cronoq -n '__cronoq_at "cronoq recurring refresh"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring refresh"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring refresh"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring refresh"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring rm"' -l all -s a -d 'All schedules.'
complete -c cronoq -n '__cronoq_at "cronoq recurring rm"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring rm"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring rm"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring rm"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring edit"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring edit"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring edit"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring edit"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l crontab -d 'Your crontab, as crontab -l prints it; added paused.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l system -d 'The file has a column with the user, as /etc/crontab.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l takeover -d 'With --crontab: comment the lines out there and start them here.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l give-back -d 'With --crontab: undo --takeover; the lines run there again.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l dry-run -d 'Only say what would become of each line.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l paused -d 'Add new schedules paused.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring import"' -F
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -l toml -d 'TOML, which can say everything; the usual form.'
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -l crontab -d 'A crontab; what it cannot say stands in comments.'
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -l env -d 'Also the recorded environments, with their values.'
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq recurring export"' -a '(__cronoq_ask schedule "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq config"' -a init -d 'Write a configuration file in which comments explain every key'
complete -c cronoq -n '__cronoq_at "cronoq config"' -a check -d 'Read the configuration, or another file, and say what is wrong, with its line and key'
complete -c cronoq -n '__cronoq_at "cronoq config"' -a show -d 'Show the configuration in force'
complete -c cronoq -n '__cronoq_at "cronoq config"' -a path -d 'Print where the configuration file is, or would be'
complete -c cronoq -n '__cronoq_at "cronoq config"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq config"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq config init"' -l print -d 'Write it to standard output instead.'
complete -c cronoq -n '__cronoq_at "cronoq config init"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq config init"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq config init"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq config check"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq config check"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq config check"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq config check"' -F
complete -c cronoq -n '__cronoq_at "cronoq config show"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq config show"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq config show"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq config show"' -a '(__cronoq_ask setting "" "")' -f
complete -c cronoq -n '__cronoq_at "cronoq config path"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq config path"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq config path"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq completion"' -a install -d 'Put the completion where the shell looks for it, and print where that is'
complete -c cronoq -n '__cronoq_at "cronoq completion"' -a show -d 'Print the completion of a shell, to be read by it'
complete -c cronoq -n '__cronoq_at "cronoq completion"' -l help -s h -d 'Show this help.'
complete -c cronoq -n '__cronoq_at "cronoq completion"' -l help-all -d 'Show this help with all names of the commands.'
complete -c cronoq -n '__cronoq_at "cronoq completion install"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq completion install"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq completion install"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq completion install"' -a '(__cronoq_choose "" "" bash zsh fish)' -f
complete -c cronoq -n '__cronoq_at "cronoq completion show"' -l json -d 'Answer with one JSON document.'
complete -c cronoq -n '__cronoq_at "cronoq completion show"' -l help -s h -d 'Show the everyday options.'
complete -c cronoq -n '__cronoq_at "cronoq completion show"' -l help-all -d 'Show all options.'
complete -c cronoq -n '__cronoq_at "cronoq completion show"' -a '(__cronoq_choose "" "" bash zsh fish)' -f
