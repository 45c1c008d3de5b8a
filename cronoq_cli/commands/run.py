"""`cronoq run`: submit, follow and wait in one; what Ctrl-C and other signals mean meanwhile."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from types import FrameType
from typing import Annotated, Any

import msgspec
import typer

from cronoq_cli.commands.answers import ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.following import Follower, outputs_of, silent
from cronoq_cli.commands.keys import Keys
from cronoq_cli.commands.options import SpecOptions
from cronoq_cli.commands.own_slot import warn_of_own_slot
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.submission import CommandOptions, ManyOptions, build_submission
from cronoq_cli.commands.submit import finish, submitted_ids
from cronoq_cli.errors import CronoqError, ExitStatus
from cronoq_cli.logs.tail import Sink
from cronoq_cli.wire.requests import Cancel, Selector

EXAMPLES = ("cronoq run -- ./backup.sh", "cronoq run --timeout 1h 'make && make test'")
AGAIN_WITHIN_S = 2.0
"""How soon a second Ctrl-C must follow to cancel the task."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class RunOptions(msgspec.Struct):
    """What is shown, and where the result goes."""

    no_wait: Annotated[
        bool, option("--no-wait", help="Be refused at once (75) where a full pool would have this wait.", more=True)
    ] = False
    quiet: Annotated[bool, option("--quiet", "-q", help="No notes on stderr, only the task's own output.")] = False
    result: Annotated[
        str | None, option("--result", help="Write the ended task to a file, as JSON.", metavar="FILE")
    ] = None
    json: Annotated[bool, option("--json", help="Answer with the ended task as JSON; its output stays in its log.")] = (
        False
    )


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "run", examples=EXAMPLES, words_follow=True, panel="Submit tasks")(run)


def run(
    context: Context,
    spec: SpecOptions,
    command: CommandOptions,
    options: RunOptions,
    words: Annotated[list[str] | None, argument("COMMAND [ARG]...", help="What to execute.")] = None,
) -> int | None:
    """Queue a command, show its output while it runs, and exit as it did.

    On a terminal Ctrl-C asks first: again to cancel, d to detach. Without a terminal INT and TERM cancel the task. For
    its own exit codes beside those of cronoq use --result.
    """
    context.json = options.json
    context.need_streams()
    context.one_task = True
    spec.split = True
    request = build_submission(context, spec, command, ManyOptions(), words or [])
    request.no_wait, request.brief = options.no_wait, True
    ids = submitted_ids(ask(context, request))
    if not options.quiet:
        warn_of_own_slot(context, Selector(refs=[str(ids[0])]))
    return _Run(context, ids[0], options).to_the_end()


def _speaks_for_itself(task: Mapping[str, Any]) -> bool:
    """Whether the exit status alone tells how the task ended, as after any command: then no line of ours is added."""
    code = task["exit_code"]
    return task["status"] in ("failed", "dead_lettered") and bool(code) and task["message"] in (None, f"exit {code}")


class _Run:
    """One task that somebody waits for, and what that person's signals ask of it."""

    def __init__(self, context: Context, task_id: int, options: RunOptions) -> None:
        self.context = context
        self.options = options
        self.outputs = outputs_of(context)
        sinks: tuple[Sink, Sink] = (silent, silent) if options.json else self.outputs
        self.follower = Follower(context, task_id, sinks=sinks)
        self.interactive = context.stdin_tty and context.stderr_tty
        self.keys = Keys(lambda key: self.follower.inbox.put(("key", key)))
        self.asked_at: float | None = None
        self.cancelled_by: int | None = None
        self.detached_by: int | None = None

    def to_the_end(self) -> int:
        """Follow the task until it has ended, or until it was let go; the exit status."""
        handlers = self._take_signals()
        try:
            task = self.follower.run(self._on_other)
        finally:
            self.keys.stop()
            for number, handler in handlers.items():
                signal.signal(number, handler)
            for output in self.outputs:
                output.end()
        return self._answer(task)

    def _answer(self, task: Mapping[str, Any]) -> int:
        if self.detached_by is not None:
            self._note(f"task {self.follower.task_id} goes on; see cronoq logs -f {self.follower.task_id}")
            return 0 if self.detached_by == 0 else 128 + self.detached_by
        if self.options.json:
            print_json(self.context, {"task": task})
        quiet = self.options.quiet or self.options.json or _speaks_for_itself(task)
        status = finish(self.context, [task], result=self.options.result, quiet=quiet)
        return status if self.cancelled_by is None else 128 + self.cancelled_by

    def _take_signals(self) -> dict[int, Any]:
        """Signals become messages to the follower. Only a process's main thread can take them."""
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, self._on_signal) for number in SIGNALS}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.follower.inbox.put(("signal", number))

    def _on_other(self, kind: str, value: Any) -> bool:
        """Decide what a signal or a key means; true ends the following."""
        if kind == "key":
            self.detached_by = 0 if value in ("d", "D") else None
            return self.detached_by is not None
        if value == signal.SIGHUP:
            self.detached_by = value
            return True
        if value == signal.SIGINT and self.interactive and not self._asked_just_now():
            self._ask_again()
        else:
            self._cancel(value)
        return False

    def _asked_just_now(self) -> bool:
        return self.asked_at is not None and time.monotonic() - self.asked_at <= AGAIN_WITHIN_S

    def _ask_again(self) -> None:
        self.asked_at = time.monotonic()
        self.keys.watch(AGAIN_WITHIN_S)  # first: whoever reads the note may be quick
        self._note(f"again within {AGAIN_WITHIN_S:.0f} s to cancel, d to detach")

    def _cancel(self, number: int) -> None:
        """The first time with the task's own grace; once more hurries it."""
        hurry = self.cancelled_by is not None
        self.cancelled_by = self.cancelled_by or number
        self.follower.until_gone = True
        select_task = Selector(refs=[str(self.follower.task_id)])
        try:
            self.context.gateway.ask(Cancel(select=select_task, grace_s=0.0 if hurry else None))
        except CronoqError as error:
            if error.exit not in (ExitStatus.CONFLICT, ExitStatus.NOT_FOUND):
                raise  # Else it has ended meanwhile.
        finally:
            self.follower.inbox.put(("event", None))

    def _note(self, text: str) -> None:
        if not self.options.quiet:
            print_notes(self.context, [text])
            self.context.err.flush()
