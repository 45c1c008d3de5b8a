"""Telling hooks: a notice is stored with the end it tells, its command run after that commit, and then it is dropped.

So a crash between may tell it again, under the same id, but never loses it. Nothing here holds up a task or the loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from cronoq_cli.commands.render.text import escape_for_terminal
from cronoq_cli.config.hooks import HOOK_LIMIT_S
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.recurring import describe_schedules
from cronoq_cli.daemon.hook_process import NOTICE_VARIABLE, HookCall, HookEnd, HookProcesses, end_orphans
from cronoq_cli.daemon.orders import DEFAULT_SHELL
from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.notice import HOOK_NAMES, Notice, describe_notice
from cronoq_cli.model.task import TaskRecord

MOST_AT_ONCE = 4
MOST_QUEUED = 1000
LACKING_RETRY_S = 5.0
"""Until a hook is tried again for which the machine lacked processes, descriptors or memory."""
CLOSE_WITHIN_S = 2.0
"""How long an ending daemon waits for hooks under way; what is cut short is told again by the next one."""

KEPT_VARIABLES = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
)
"""Of the daemon's environment: what finds programs, the person, their desktop, and the same cronoq."""
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


class HookTeller:
    """Runs the hooks of one daemon."""

    def __init__(self, desk: Desk, log: logging.Logger, environ: Mapping[str, str]) -> None:
        self._desk = desk
        self._log = log
        self._base = {name: environ[name] for name in KEPT_VARIABLES if name in environ}
        self._base.setdefault("PATH", DEFAULT_PATH)
        if desk.paths.home is not None:
            self._base["CRONOQ_HOME"] = desk.paths.home
        self._processes = HookProcesses(MOST_AT_ONCE)
        self._queue: deque[tuple[Notice, bool]] = deque()
        self._told: list[str] = []
        self._open = False
        self._add(desk.scheduler.store.list_notices(), again=True)
        desk.scheduler.on_notices = self.tell

    def start(self) -> None:
        """Begin, with what an earlier daemon did not get told, or may have; its hooks for that are ended first."""
        ended = end_orphans({notice.id for notice, _ in self._queue})
        if ended:
            self._log.warning("ended %d hooks of a daemon that is gone, to tell their notices again", ended)
        self._open = True
        self._go_on()

    def tell(self, notices: Iterable[Notice]) -> None:
        """Run the hooks of these notices, in their order, some at once."""
        self._add(notices, again=False)
        self._go_on()

    def _add(self, notices: Iterable[Notice], *, again: bool) -> None:
        for notice in notices:
            if len(self._queue) < MOST_QUEUED:
                self._queue.append((notice, again))
            else:
                self._log.warning("%s: dropped, %d notices wait already", notice.id, MOST_QUEUED)
                self._told.append(notice.id)

    def _go_on(self) -> None:
        while self._queue and self._processes.has_room and self._open:
            notice, again = self._queue.popleft()
            with self._desk.scheduler.looking():
                call = self._build(notice, again=again)
            if call is None:
                self._told.append(notice.id)  # nobody wants to be told any more
            else:
                self._processes.start(call, partial(self._finish, notice))
        self._forget_told()

    def _forget_told(self) -> None:
        """Drop what is told with the next commit; while the disk refuses, it waits."""
        if self._told and self._desk.scheduler.refusing is None:
            told, self._told = self._told, []
            self._desk.scheduler.add_rows(notices=dict.fromkeys(told))

    def _finish(self, notice: Notice, end: HookEnd) -> None:
        note_hook_end(self._log, notice.id, end)
        if end.lacking:
            asyncio.get_running_loop().call_later(LACKING_RETRY_S, self._tell_again, notice)
        elif not end.cut_short:
            self._told.append(notice.id)
        self._go_on()

    def _tell_again(self, notice: Notice) -> None:
        """What the machine could not start then; it is stored until it is told."""
        self._queue.appendleft((notice, False))
        self._go_on()

    async def close(self) -> None:
        """Start no more hooks, wait a moment for those under way, end the rest."""
        self._open = False
        await self._processes.close(CLOSE_WITHIN_S)

    # -- one call ------------------------------------------------------------------------------------------------

    def _build(self, notice: Notice, *, again: bool) -> HookCall | None:
        hooks = self._desk.settings.find_hooks(notice.pool)
        command = self._find_own(notice) or hooks.find_command(notice.told)
        if command is None:
            return None
        record = None if notice.task is None else self._find_record(notice.task)
        task = None
        if record is not None:
            attempts = self._desk.scheduler.store.list_attempts(record.id)
            task = self._desk.describe(record, attempts=attempts)
        document = describe_notice(notice, task=task, schedule=self._describe_schedule(notice), again=again)
        home = self._base.get("HOME", "/")
        return HookCall(
            argv=[DEFAULT_SHELL, "-c", command] if isinstance(command, str) else list(command),
            env=self._build_env(notice, record),
            cwd=home if os.path.isdir(home) else "/",
            payload=json.dumps(document).encode("ascii") + b"\n",
            timeout_s=hooks.timeout_s or HOOK_LIMIT_S,
        )

    def _find_own(self, notice: Notice) -> str | None:
        """The hook that the schedule itself has for this."""
        one = self._desk.scheduler.engine.state.schedules.by_name.get(notice.schedule or "")
        return None if one is None else one.spec.hooks.get(HOOK_NAMES[notice.told])

    def _describe_schedule(self, notice: Notice) -> dict[str, Any] | None:
        known = notice.schedule in self._desk.scheduler.engine.state.schedules.by_name
        return describe_schedules(self._desk, [notice.schedule])[0] if known and notice.schedule else None

    def _find_record(self, task_id: int) -> TaskRecord | None:
        try:
            return self._desk.get_record(task_id)
        except NotFoundError:
            return None

    def _build_env(self, notice: Notice, record: TaskRecord | None) -> dict[str, str]:
        """What a hook finds in its environment; the number of the task is not there: a hook is no task."""
        own = {"CRONOQ_EVENT": notice.told.value, NOTICE_VARIABLE: notice.id, "CRONOQ_POOL": notice.pool}
        if notice.schedule is not None:
            own["CRONOQ_RECURRING"] = notice.schedule
        log = None if record is None else self._desk.find_log(record)
        if log is not None:
            own["CRONOQ_LOG"] = log
        return {**self._base, **own}


def note_hook_end(log: logging.Logger, name: str, end: HookEnd) -> None:
    """Write how a hook ended and what it printed."""
    if end.error is not None:
        log.warning("%s: not started: %s", name, end.error)
    elif end.cut_short:
        log.warning("%s: ended with the daemon after %.1f s", name, end.run_s)
    elif end.timed_out:
        log.warning("%s: ended at its time limit, after %.1f s", name, end.run_s)
    elif end.exit_code:
        code = end.exit_code
        log.warning("%s: %s after %.1f s", name, f"exit {code}" if code > 0 else f"signal {-code}", end.run_s)
    else:
        log.info("%s: done in %.1f s", name, end.run_s)
    for line in end.output.decode("utf-8", "backslashreplace").splitlines():
        log.info("%s: | %s", name, escape_for_terminal(line))
