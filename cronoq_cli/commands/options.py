"""The options that describe a task, as they are offered: each a field under its long name, with its help.

What they mean stands in `spec_options`; the options of a single verb stand in its file.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from cronoq_cli.commands.declare import option

Words = list[str] | None
Word = str | None


class EditableOptions(msgspec.Struct):
    """The options that describe a task and that `edit` may change; None and False: not given."""

    name: Annotated[Word, option("--name", "-n", help="Name; the command's first word.", metavar="NAME")] = None
    pool: Annotated[Word, option("--pool", "-p", help="Pool it runs in; default.", metavar="POOL")] = None
    priority: Annotated[
        Word,
        option("--priority", "-P", help="critical, high, normal or low; normal.", metavar="LEVEL"),
    ] = None
    after: Annotated[
        Words,
        option("--after", help="Start when these succeeded: ids, runs, keys, last.", metavar="REF[,REF]"),
    ] = None
    after_any: Annotated[
        Words, option("--after-any", help="Start when these have ended in any way.", metavar="REF[,REF]")
    ] = None
    after_fail: Annotated[Words, option("--after-fail", help="Start when these have failed.", metavar="REF[,REF]")] = (
        None
    )
    in_: Annotated[Word, option("--in", help="Start no sooner than this from now.", metavar="DUR")] = None
    at: Annotated[Word, option("--at", help="Start no sooner than this: 18:30, 'tomorrow 03:00'.", metavar="TIME")] = (
        None
    )
    timeout: Annotated[Word, option("--timeout", help="Stop an attempt that runs longer than this.", metavar="DUR")] = (
        None
    )
    retries: Annotated[Word, option("--retries", help="Try again this many times after a failure.", metavar="N")] = None
    tag: Annotated[Words, option("--tag", "-t", help="A tag; repeatable.", metavar="K=V")] = None
    env: Annotated[
        Words, option("--env", "-E", help="Set a variable, or take it over; repeatable.", metavar="K[=V]")
    ] = None
    cwd: Annotated[Word, option("--cwd", "-C", help="Directory to run in; this one.", metavar="DIR")] = None
    kill_at: Annotated[
        Word, option("--kill-at", help="Stop it at this time, also when it waits.", metavar="TIME", more=True)
    ] = None
    heartbeat: Annotated[
        Word,
        option("--heartbeat", help="Stop it when it says nothing for so long.", metavar="DUR", more=True),
    ] = None
    stop_signal: Annotated[
        Word, option("--stop-signal", help="How it is asked to stop; TERM.", metavar="SIG", more=True)
    ] = None
    grace: Annotated[Word, option("--grace", help="Time between that and KILL; 10s.", metavar="DUR", more=True)] = None
    backoff: Annotated[
        Word,
        option(
            "--backoff",
            help="Delay before a retry: exponential:10s..10m, fixed:D, linear:D..D, polynomial.",
            metavar="KIND",
            more=True,
        ),
    ] = None
    retry_on: Annotated[
        Words, option("--retry-on", help="Retry only these exit codes: 1,5-9.", metavar="CODES", more=True)
    ] = None
    no_retry_on: Annotated[
        Words, option("--no-retry-on", help="Never retry these exit codes.", metavar="CODES", more=True)
    ] = None
    success_codes: Annotated[
        Words, option("--success-codes", help="These exit codes are a success too.", metavar="CODES", more=True)
    ] = None
    on_lost: Annotated[
        Word,
        option(
            "--on-lost",
            help="When machine or runner dies: count the attempt, requeue, or hold.",
            metavar="count|requeue|hold",
            more=True,
        ),
    ] = None
    slots: Annotated[Word, option("--slots", help="Slots of the pool it takes; 1.", metavar="N", more=True)] = None
    env_file: Annotated[
        Words, option("--env-file", help="Set the variables of a file; repeatable.", metavar="FILE", more=True)
    ] = None
    nice: Annotated[Word, option("--nice", help="Niceness, 0 to 19; the daemon's.", metavar="N", more=True)] = None
    shell: Annotated[
        Word, option("--shell", help="Shell of a shell line; the pool's, /bin/sh.", metavar="PATH", more=True)
    ] = None
    keep: Annotated[
        Word, option("--keep", help="How long it is remembered after its end.", metavar="DUR", more=True)
    ] = None
    deadline: Annotated[
        Word, option("--deadline", help="Be done by then: it gets more urgent, never ends.", metavar="TIME|+DUR")
    ] = None
    use: Annotated[
        Words, option("--use", help="Take so much of a resource while it runs; repeatable.", metavar="NAME=AMOUNT")
    ] = None
    expires: Annotated[
        Word,
        option("--expires", help="Drop it when it has not started by then.", metavar="TIME|+DUR", more=True),
    ] = None
    start_at: Annotated[
        Word, option("--start-at", help="Start then, with room kept for it.", metavar="TIME", more=True)
    ] = None
    tolerance: Annotated[
        Word, option("--tolerance", help="How late a fixed start may be; 1s.", metavar="DUR", more=True)
    ] = None
    on_miss: Annotated[
        Word,
        option("--on-miss", help="When it would be later still; run-late.", metavar="run-late|skip|fail", more=True),
    ] = None
    estimate: Annotated[
        Word, option("--estimate", help="How long it will run; learned from others.", metavar="DUR", more=True)
    ] = None
    tenant: Annotated[
        Word, option("--tenant", help="Whose work it is, where a pool shares fairly.", metavar="NAME", more=True)
    ] = None
    on: Annotated[
        Words, option("--on", help="Run only on workers with this label; repeatable.", metavar="K=V", more=True)
    ] = None


class SpecOptions(EditableOptions):
    """All options that describe a task, with those that are decided once, at submission."""

    key: Annotated[
        Word, option("--key", "-k", help="Its own name among live tasks, to refer to it.", metavar="KEY")
    ] = None
    stdin: Annotated[
        Word,
        option("--stdin", help="Its input: a file opened at each attempt, or - to keep stdin.", metavar="FILE|-"),
    ] = None
    stdout: Annotated[
        Word,
        option("--stdout", "-o", help="Append stdout to a file; {id} {attempt} {name}.", metavar="FILE"),
    ] = None
    stderr: Annotated[
        Word, option("--stderr", "-e", help="Append stderr to a file, and split the log.", metavar="FILE")
    ] = None
    hold: Annotated[bool, option("--hold", help="Hold it until it is released.")] = False
    once: Annotated[bool, option("--once", help="The key must not be among remembered tasks either.", more=True)] = (
        False
    )
    unique: Annotated[
        Word,
        option("--unique", help="One with the same command, directory and pool within DUR.", metavar="DUR", more=True),
    ] = None
    if_exists: Annotated[
        Word,
        option(
            "--if-exists",
            help="When it exists: return its id, refuse, or replace it.",
            metavar="return|refuse|replace",
            more=True,
        ),
    ] = None
    kind: Annotated[
        Word,
        option("--kind", help="Run times are learned by kind; the program's name.", metavar="KIND", more=True),
    ] = None
    await_deps: Annotated[
        Word,
        option("--await-deps", help="Wait this long for a key that does not exist yet.", metavar="DUR", more=True),
    ] = None
    group: Annotated[
        Word,
        option("--group", help="Gather it with others; the group's command runs for all.", metavar="NAME", more=True),
    ] = None
    clean_env: Annotated[
        bool,
        option("--clean-env", help="Take over only HOME, LOGNAME, PATH, SHELL and USER of the environment.", more=True),
    ] = False
    umask: Annotated[
        Word, option("--umask", help="File mode mask, octal; the caller's.", metavar="MASK", more=True)
    ] = None
    split: Annotated[bool, option("--split", help="Keep stdout and stderr apart.", more=True)] = False
    on_success: Annotated[Words, option("--on-success", help="Then run this shell line.", metavar="CMD", more=True)] = (
        None
    )
    on_failure: Annotated[Words, option("--on-failure", help="Run this when it failed.", metavar="CMD", more=True)] = (
        None
    )
    on_end: Annotated[Words, option("--on-end", help="Run this when it ended, however.", metavar="CMD", more=True)] = (
        None
    )
