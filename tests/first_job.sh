#!/usr/bin/env bash
# What `make try` shows: real jobs through the installed command, in a home that is gone afterwards.
set -euo pipefail

cronoq=$(realpath -s "$1")
CRONOQ_HOME=$(mktemp -d "${TMPDIR:-/tmp}/cronoq-try.XXXXXX")
export CRONOQ_HOME

clean_up() {
    "$cronoq" daemon stop --timeout 5s >/dev/null 2>&1 || true
    rm -rf "$CRONOQ_HOME"
}
trap clean_up EXIT

show() {
    printf '\n$ cronoq'
    printf ' %q' "$@"
    printf '\n'
    "$cronoq" "$@"
}

show submit --name hello -- echo "hello from cronoq"
show wait last
show logs last
show submit --name count --key count 'for i in 1 2 3; do echo "step $i"; done'
show submit --name after-count --after count -- echo "count has succeeded, so this ran"
show wait last
show ls
show run -- sh -c 'echo "this one is watched to its end"; exit 0'

[ "$("$cronoq" logs last)" = "this one is watched to its end" ]

show recurring add nightly '30 2 * * *' -- echo "every night"
show recurring run -f nightly
show recurring ls

[ "$("$cronoq" recurring run -f nightly 2>/dev/null)" = "every night" ]
printf '\nIt works. The command is %s; its daemon and files of this trial are gone again.\n' "$cronoq"
