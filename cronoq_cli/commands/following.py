"""Following one task to its end in the client: its output as it comes, over all attempts, and its final document.

The daemon tells by a stream what happens to the task; its log files are read here, and looked at again in short
waits only while it runs. Reading itself lives in logs/tail.
"""

from __future__ import annotations

import os
import queue
import stat
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from cronoq_cli.commands.answers import tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.outcome import is_final
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.errors import CronoqError, NoDaemonError, NotFoundError
from cronoq_cli.logs.tail import Sink, Tail
from cronoq_cli.wire.requests import Selector, ShowTasks, Watch

LOOK_EVERY_S = 0.1
"""How often the log of a running task is looked at."""


class Output:
    """One of the caller's streams as a sink of raw bytes; a broken pipe makes it silent."""

    def __init__(self, stream: IO[str], *, terminal: bool) -> None:
        self._stream = stream
        self._terminal = terminal
        self._last = b"\n"
        self.broken = False

    def __call__(self, piece: bytes) -> None:
        """Pass the bytes on at once, as they are."""
        if self.broken or not piece:
            return
        self._last = piece[-1:]
        try:
            write_raw(self._stream, piece)
        except BrokenPipeError:
            self.broken = True

    def is_in(self, path: str) -> bool:
        """Whether the stream goes into that very file: passing the file on to it would never end."""
        try:
            mine, there = os.fstat(self._stream.fileno()), os.stat(path)
        except (OSError, ValueError):
            return False
        return stat.S_ISREG(mine.st_mode) and os.path.samestat(mine, there)

    def end(self) -> None:
        """On a terminal the prompt that follows begins on a line of its own."""
        if self._terminal and self._last != b"\n":
            self(b"\n")


def write_raw(stream: IO[str], piece: bytes) -> None:
    """Write bytes to a text stream without any change, where it has bytes below it."""
    raw = getattr(stream, "buffer", None)
    if raw is None:
        stream.write(piece.decode("utf-8", "surrogateescape"))
    else:
        stream.flush()
        raw.write(piece)
    stream.flush()


def is_own_output(context: Context, path: str, sinks: tuple[Sink, ...]) -> bool:
    """Whether one of the sinks writes into that file (`run -o FILE ... >> FILE`), which is said in a note then."""
    if not any(isinstance(sink, Output) and sink.is_in(path) for sink in sinks):
        return False
    print_notes(context, [f"{path} is what this command writes to, so it is not shown"])
    return True


def silent(piece: bytes) -> None:
    """A sink for output that is not to be shown."""


class Follower:
    """One task on its way to the end.

    `latest_only`: begin with the attempt that is the latest now, not with the first. `lines`: begin with its last
    lines. What a caller puts into `inbox` is handed to the `on_other` of `run`, between two looks at the logs.
    """

    def __init__(
        self,
        context: Context,
        task_id: int,
        *,
        sinks: tuple[Sink, Sink],
        latest_only: bool = False,
        lines: int | None = None,
    ) -> None:
        self.context = context
        self.task_id = task_id
        self.inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.task: Mapping[str, Any] = {}
        self.until_gone = False
        """Go on until the processes of a task that was cancelled are gone too."""
        self._sinks = sinks
        self._lines = lines
        self._first_attempt: int | None = None if latest_only else 0
        self._tails: dict[str, Tail] = {}
        self._unread: set[str] = set()

    def run(self, on_other: Callable[[str, Any], bool] | None = None) -> Mapping[str, Any]:
        """The document of the ended task, all its output passed on; `on_other` ends it earlier by a true result.

        Raises what the stream of events raises.
        """
        threading.Thread(target=self._listen, daemon=True, name="watch").start()
        try:
            self._go_on(on_other)
        finally:
            for tail in self._tails.values():
                tail.close()
        return self.task

    def _go_on(self, on_other: Callable[[str, Any], bool] | None) -> None:
        while not self._is_over():
            kind, value = self._next()
            if kind == "error":
                raise value
            if kind == "event" or (kind == "look" and self._is_leaving()):
                self._refresh()
            elif on_other is not None and kind != "look" and on_other(kind, value):
                return
            self.pump()

    def pump(self) -> None:
        """Pass on the output that has come since the last time, attempt after attempt."""
        for tail in list(self._tails.values()):
            tail.pump()

    def _is_over(self) -> bool:
        return bool(self.task) and is_final(self.task) and not self._is_leaving()

    def _is_leaving(self) -> bool:
        """Whether the task has ended for everybody but its processes, and that matters here."""
        if not (self.until_gone and is_final(self.task)):
            return False
        attempts = list(self.task.get("attempts") or ())
        return bool(attempts) and attempts[-1]["finished_at"] is None

    def _next(self) -> tuple[str, Any]:
        """The next message, or a look when the logs may have grown meanwhile."""
        moving = bool(self.task) and (self.task["status"] == "running" or self._is_leaving())
        try:
            return self.inbox.get(timeout=LOOK_EVERY_S if moving else None)
        except queue.Empty:
            return "look", None

    def _listen(self) -> None:
        watch = Watch(select=Selector(refs=[str(self.task_id)]))
        try:
            for message in self.context.need_streams().watch(watch):
                self.inbox.put(("event", message))
            self.inbox.put(
                (
                    "error",
                    NoDaemonError("the daemon ended the stream of events", hint="the same command goes on from here"),
                )
            )
        except CronoqError as error:
            self.inbox.put(("error", error))

    def _refresh(self) -> None:
        request = ShowTasks(select=Selector(refs=[str(self.task_id)]))
        found = tasks_of(self.context.gateway.ask(request).doc)
        if not found:
            raise NotFoundError(f"task {self.task_id} is gone", hint="it was removed while it was followed")
        self.task = found[0]
        attempts = self.task.get("attempts") or ()
        if self._first_attempt is None:
            self._first_attempt = max((attempt["number"] for attempt in attempts), default=0)
        for attempt in attempts:
            if attempt["number"] >= self._first_attempt:
                self._add(attempt["log"], self._sinks[0])
                self._add(attempt["stderr_log"], self._sinks[1])
        if attempts:
            self._lines = None

    def _add(self, path: str | None, sink: Sink) -> None:
        if path is None or path in self._tails or path in self._unread or sink is silent:
            return
        if is_own_output(self.context, path, self._sinks):
            self._unread.add(path)
            return
        self._tails[path] = Tail(path, sink, lines=self._lines)


def outputs_of(context: Context) -> tuple[Output, Output]:
    """The caller's two streams as sinks."""
    return (
        Output(context.out, terminal=context.stdout_tty),
        Output(context.err, terminal=context.stderr_tty),
    )


def follow_one(context: Context, task_id: int) -> Mapping[str, Any]:
    """Show the output of a task, each stream on its own, until it has ended; its final document."""
    outputs = outputs_of(context)
    try:
        return Follower(context, task_id, sinks=outputs).run()
    finally:
        for output in outputs:
            output.end()
