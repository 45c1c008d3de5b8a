"""`ls -f`: the listing stays on the screen of the client, drawn anew when the stream of events tells of a change.

How it is drawn lives in render/screen. While tasks run it is also looked at once a second, for their progress.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.screen import Screen, fit_tasks
from cronoq_cli.commands.render.style import Style, style_of
from cronoq_cli.commands.render.tables import say_none, summary_lines, task_lines
from cronoq_cli.commands.render.text import cut_to_width, escape_for_terminal
from cronoq_cli.errors import CronoqError, NoDaemonError, NotFoundError
from cronoq_cli.wire.requests import ListTasks, Selector, Watch

TICK_S = 1.0
"""So often times and progress are shown anew while there is something that moves by itself."""
GATHER_S = 0.05
"""Events within this time are shown together: a burst of them costs a few looks, not thousands."""
USUAL_SIZE = os.terminal_size((80, 24))

_ENDS = (signal.SIGTERM, signal.SIGHUP)

Inbox = queue.SimpleQueue[tuple[str, Any]]


def watch_list(context: Context, request: ListTasks) -> int:
    """Show what `request` lists until Ctrl-C or a signal to end; the exit status.

    Raises what the stream of events raises.
    """
    inbox: Inbox = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(context, inbox), daemon=True, name="watch").start()
    former = {signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: inbox.put(("resize", None)))}
    for number in _ENDS:  # the terminal must be left as it was
        former[number] = signal.signal(number, lambda number, _: inbox.put(("end", number)))
    try:
        with Screen(context.out) as screen:
            return _go_on(context, request, inbox, screen)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _listen(context: Context, inbox: Inbox) -> None:
    try:
        for message in context.need_streams().watch(Watch()):
            inbox.put(("change", message))
        inbox.put(
            ("error", NoDaemonError("the daemon ended the stream of events", hint="the same command goes on from here"))
        )
    except CronoqError as error:
        inbox.put(("error", error))


def _go_on(context: Context, request: ListTasks, inbox: Inbox, screen: Screen) -> int:
    kind, value = inbox.get()  # the stream is there: no change after the first look is missed
    doc: Mapping[str, Any] = {"tasks": []}
    while True:
        if kind == "end":
            return 128 + int(value)
        if kind == "error":
            raise value
        if kind == "resize":
            screen.forget()
        if kind != "resize" or not doc["tasks"]:
            doc = _look(context, request)
        size = _find_size()
        screen.draw(frame_lines(doc, style_of(msgspec.structs.replace(context, columns=size.columns)), size.lines))
        kind, value = _next(inbox, moving=any(task["started_at"] and not task["finished_at"] for task in doc["tasks"]))


def _next(inbox: Inbox, *, moving: bool) -> tuple[str, Any]:
    """The next message, those that come close behind it taken with it; a tick when it is time for one."""
    try:
        found = inbox.get(timeout=TICK_S if moving else None)
    except queue.Empty:
        return "tick", None
    until = time.monotonic() + GATHER_S
    while found[0] == "change" and (left_s := until - time.monotonic()) > 0:
        try:
            found = inbox.get(timeout=left_s)
        except queue.Empty:
            break
    return found


def _look(context: Context, request: ListTasks) -> Mapping[str, Any]:
    """What there is now; a filter that nothing matches may match something later."""
    try:
        return context.gateway.ask(request).doc
    except NotFoundError:
        if request.select.refs or request.select == Selector():
            raise
        return {"tasks": [], "more": 0}


def _find_size() -> os.terminal_size:
    """The size the terminal has now."""
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return USUAL_SIZE
    return size if size.columns and size.lines else USUAL_SIZE


def frame_lines(doc: Mapping[str, Any], style: Style, rows: int) -> list[str]:
    """The lines of one picture, at most `rows` of them, the summary on the last."""
    summary = summary_lines(doc["summary"], style) if doc.get("summary") and rows >= 6 else []
    room = rows - len(summary) - bool(summary)
    if not doc["tasks"]:
        lines = [cut_to_width(escape_for_terminal(say_none(doc)), style.columns or 80, style.mark)]
    else:
        lines = task_lines(fit_tasks(doc, room - 1), style)[: max(room, 1)]
    return [*lines, *([""] if summary else []), *summary][: max(rows, 1)]
