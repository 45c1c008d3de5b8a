"""The stop ladder: signal, grace, KILL, for the whole tree of an attempt, until nothing of it is left."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from typing import Final

from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.loop import Loop, Timer
from cronoq_cli.runner.tree import Census, Process, Root, send_signals, send_to_group
from cronoq_cli.wire.runner import encode_text

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 1.0
# Members of a dead runner's tree are nobody's children here: no signal tells of their end.
_FOREIGN_PAUSE_S: Final = 0.1
# A look at /proc may take at most this part of the time, however many processes the machine has.
_LOOKING_SHARE: Final = 0.2


class Ladder:
    """One attempt on its way down."""

    __slots__ = ("attempt", "cause", "deadline", "killing", "known", "led", "look_at", "pause_s", "signal", "told")

    def __init__(self, attempt: Attempt, number: int, grace_s: float, cause: str | None = None) -> None:
        now = time.monotonic()
        self.attempt = attempt
        self.cause = cause
        self.signal = number
        self.deadline = now + grace_s
        self.known: dict[int, int] = {}
        self.led = True
        self.told = False
        self.killing = False
        self.pause_s = _FIRST_PAUSE_S
        self.look_at = now

    @property
    def main_alive(self) -> bool:
        """Whether the main process is our child and not reaped yet."""
        return self.attempt.exit is None and not self.attempt.foreign


class Ladders:
    """All ladders under way; one look at /proc serves them all. `on_gone` is called when a tree has ended."""

    def __init__(
        self, loop: Loop, census: Census, mains: Mapping[int, Attempt], on_gone: Callable[[Attempt], None]
    ) -> None:
        self._loop = loop
        self._census = census
        self._mains = mains
        self._on_gone = on_gone
        self._ladders: dict[str, Ladder] = {}
        self._timer: Timer | None = None
        self._looked_at = 0.0
        self._looking_s = 0.0

    def __contains__(self, token: object) -> bool:
        return token in self._ladders

    def begin(self, attempt: Attempt, number: int, grace_s: float, cause: str | None) -> Ladder:
        """Start to end a tree; the signal goes out at the end of this turn, with one look for all.

        The attempt gets its cause with the first signal: what ends by itself before has none.
        """
        ladder = Ladder(attempt, number, grace_s, cause)
        self._ladders[attempt.token] = ladder
        self._loop.turn_again()
        self._arm(ladder.look_at)
        return ladder

    def hurry(self, token: str, grace_s: float) -> None:
        """Shorten the grace of a ladder under way; it is never made longer."""
        ladder = self._ladders[token]
        now = time.monotonic()
        if now + grace_s < ladder.deadline:
            ladder.deadline = now + grace_s
            ladder.look_at = min(ladder.look_at, ladder.deadline)
            self._arm(ladder.look_at)

    def look_soon(self) -> None:
        """A child has ended: perhaps it was the last of a tree."""
        if self._ladders:
            for ladder in self._ladders.values():
                ladder.look_at = 0.0
            self._arm(self._looked_at + self._looking_s / _LOOKING_SHARE)

    def send(self, attempt: Attempt, number: int) -> None:
        """One signal to every process of an attempt, and no ladder."""
        with self._census.spare:
            self._census.take()
            ladder = self._ladders.get(attempt.token) or Ladder(attempt, number, 0.0)
            members = self._list_trees([ladder])[0]
            _send(ladder, members, (number,))

    def _arm(self, at: float) -> None:
        if self._timer is not None and not self._timer.cancelled:
            if self._timer.at <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        # Whatever goes wrong in a look, there will be another.
        self._arm(time.monotonic() + _LONGEST_PAUSE_S)
        began = time.monotonic()
        ladders = list(self._ladders.values())
        with self._census.spare:
            self._census.take()
            for ladder, members in zip(ladders, self._list_trees(ladders), strict=True):
                self._step(ladder, members)
        self._looked_at = time.monotonic()
        self._looking_s = self._looked_at - began
        if self._ladders:
            soonest = min(min(ladder.look_at, ladder.deadline) for ladder in self._ladders.values())
            self._arm(max(soonest, self._looked_at + self._looking_s / _LOOKING_SHARE))

    def _list_trees(self, ladders: list[Ladder]) -> list[list[Process]]:
        foreign = any(ladder.attempt.foreign for ladder in ladders)
        among = list(self._census.processes) if foreign else self._census.list_own()
        return self._census.list_trees([self._get_root(ladder) for ladder in ladders], among, self._mains)

    def _get_root(self, ladder: Ladder) -> Root:
        attempt = ladder.attempt
        # Once the main is reaped its number may come back, as the pid of another attempt's main.
        if ladder.led and not ladder.main_alive and self._mains.get(attempt.pid or 0) is not None:
            ladder.led = False
        return Root(encode_text(attempt.token), attempt.pid, ladder.led, ladder.known)

    def _step(self, ladder: Ladder, members: list[Process]) -> None:
        main = ladder.attempt.pid
        if ladder.led and not ladder.main_alive:
            # A session without members cannot come back; its number may, as somebody else's.
            ladder.led = any(main in (process.session, process.group) for process in members)
        ladder.known = {process.pid: process.ticks for process in members}
        now = time.monotonic()
        if not ladder.told and any(process.pid == main for process in members):
            ladder.attempt.cause = ladder.cause
        if not members and not ladder.main_alive:
            self._finish(ladder, 0)
        elif now >= ladder.deadline:
            self._kill(ladder, members, now)
        else:
            if not ladder.told:
                ladder.told = True
                # A stopped process acts on the signal only when it is continued.
                _send(ladder, members, (ladder.signal, signal.SIGCONT))
            _pause(ladder, now)

    def _kill(self, ladder: Ladder, members: list[Process], now: float) -> None:
        if not ladder.killing:
            ladder.killing = True
            ladder.pause_s = _FIRST_PAUSE_S
        ladder.deadline = now + ladder.pause_s
        if _send(ladder, members, (signal.SIGKILL,)) or ladder.main_alive:
            _pause(ladder, now)
        else:
            # All that is left belongs to another user now (a set-user-id program): nobody here can end it.
            self._finish(ladder, len(members))

    def _finish(self, ladder: Ladder, left_behind: int) -> None:
        del self._ladders[ladder.attempt.token]
        ladder.attempt.left_behind = left_behind
        self._on_gone(ladder.attempt)


def _pause(ladder: Ladder, now: float) -> None:
    ladder.look_at = now + ladder.pause_s
    longest = _FOREIGN_PAUSE_S if ladder.attempt.foreign else _LONGEST_PAUSE_S
    ladder.pause_s = min(ladder.pause_s * 1.5, longest)


def _send(ladder: Ladder, members: list[Process], numbers: tuple[int, ...]) -> bool:
    """Whether any member could be signalled. The main's group is signalled at one stroke, so that nothing
    forked meanwhile escapes; each process gets each signal once.
    """
    main = ladder.attempt.pid
    grouped = ladder.main_alive and main is not None
    if grouped and main is not None:
        send_to_group(main, numbers)
    sent = [send_signals(process, numbers) for process in members if not grouped or process.group != main]
    return any(sent) or (grouped and any(process.group == main for process in members))
