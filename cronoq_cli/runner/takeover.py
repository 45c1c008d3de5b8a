"""Taking over the journal of a dead runner: its ends are told again, its trees ended, its attempts lost.

What the records of a journal mean stands in `records`.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from typing import Final

from cronoq_cli.errors import LACKING
from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.journal import Record
from cronoq_cli.runner.loop import Loop
from cronoq_cli.runner.records import Contents, open_contents, restore_attempt
from cronoq_cli.runner.supervisor import Ended, Supervisor
from cronoq_cli.runner.tree import find_ticks
from cronoq_cli.wire.runner import Cause, Event, encode_text, format_message

_RETRY_S: Final = 1.0
# So often a journal is tried that the disk does not give; what the machine lacks is waited for as long as it takes.
_MOST_TRIES: Final = 30


def get_boot_id() -> str:
    """What the kernel calls this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()


class Dead:
    """A journal that is being taken over, its lock held, and the attempts whose trees still live."""

    __slots__ = ("descriptor", "open", "path", "same_boot", "socket")

    def __init__(self, path: str, descriptor: int, contents: Contents, same_boot: bool) -> None:
        self.path = path
        self.descriptor = descriptor
        self.same_boot = same_boot
        self.socket = contents.boot.get("socket")
        self.open = set(contents.list_open())


class Takeover:
    """Serves the order "find"; a journal goes away when all it holds has an end in our own."""

    def __init__(self, loop: Loop, supervisor: Supervisor, boot_id: str, say: Callable[[str], None]) -> None:
        self._loop = loop
        self._supervisor = supervisor
        self._boot_id = boot_id
        self._say = say
        self._dead: dict[str, Dead] = {}
        self._tries: dict[str, int] = {}
        supervisor.on_foreign_gone = self._end_lost

    def find(self, path: str) -> None:
        """Report what a dead runner's journal holds, then "found"; told at once when nobody is to be ended."""
        if path in self._dead:
            return
        try:
            descriptor, contents = open_contents(encode_text(path))
        except FileNotFoundError:
            self._tell_found(path, None)
            return
        except OSError as error:
            self._find_later(path, error)
            return
        self._tries.pop(path, None)
        if descriptor is None:
            self._tell_found(path, "its runner is alive")
            return
        dead = Dead(path, descriptor, contents, contents.boot.get("boot_id") == self._boot_id)
        self._dead[path] = dead
        self._take_ends(contents)
        with self._supervisor.census.spare:
            for token in list(dead.open):
                self._take_start(dead, contents.begun[token], contents.pids.get(token))
        self._finish_if_done(dead)

    def _find_later(self, path: str, error: OSError) -> None:
        """A journal that cannot be read now may tell of processes that live: nothing starts until it is read, or the
        disk has had its chance."""
        tries = self._tries[path] = self._tries.get(path, 0) + 1
        if error.errno in LACKING or (error.errno == errno.EIO and tries < _MOST_TRIES):
            self._loop.call_after(_RETRY_S, lambda: self.find(path))
            return
        del self._tries[path]
        self._tell_found(path, error.strerror)

    def _take_ends(self, contents: Contents) -> None:
        for token, record in contents.ended.items():
            report = contents.begun.get(token, {}).get("report")
            if not self._supervisor.tell(token):
                ended = Ended(format_message(record), encode_text(report) if report else None)
                self._supervisor.keep(token, ended)

    def _take_start(self, dead: Dead, begin: Record, noted: Record | None) -> None:
        """An attempt whose end nobody saw: its tree is ended first, if it can still be there."""
        if self._supervisor.tell(begin["token"]):
            dead.open.discard(begin["token"])
            return
        attempt = restore_attempt(begin, noted)
        if dead.same_boot:
            alive = attempt.pid is not None and attempt.ticks == find_ticks(attempt.pid)
            self._supervisor.adopt(attempt, alive)
        else:
            self._end_lost(attempt)

    def _end_lost(self, attempt: Attempt) -> None:
        dead = next((dead for dead in self._dead.values() if attempt.token in dead.open), None)
        attempt.cause = Cause.LOST
        comparable = dead is not None and dead.same_boot
        run_s = max(time.monotonic() - attempt.started_awake, 0.0) if comparable else 0.0
        self._supervisor.keep_end(attempt, run_s)
        if dead is not None:
            dead.open.discard(attempt.token)
            # Not from within: a look at all trees may be telling several ends.
            self._loop.call_after(0.0, lambda: self._finish_if_done(dead))

    def _finish_if_done(self, dead: Dead) -> None:
        if dead.open or dead.path not in self._dead:
            return
        if not self._supervisor.flush():
            self._loop.call_after(_RETRY_S, lambda: self._finish_if_done(dead))
            return
        del self._dead[dead.path]
        _remove(encode_text(dead.path))
        if dead.socket:
            _remove_socket(encode_text(dead.socket))
        os.close(dead.descriptor)
        self._tell_found(dead.path, None)

    def _tell_found(self, path: str, error: str | None) -> None:
        self._say(format_message({"event": Event.FOUND, "journal": path, "error": error}))


def _remove(path: bytes) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _remove_socket(path: bytes) -> None:
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)
    except OSError:
        return
