"""The runner as the protocol describes it, without processes: orders in, reports out, a journal that outlives it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from cronoq_cli.daemon.orders import OrderMessage
from cronoq_cli.model.places import parse_token
from cronoq_cli.wire.runner import VERSION, Event, Order

if TYPE_CHECKING:
    from tests.simulation.world import World

Message = dict[str, Any]
LIVE_REPORTS = (Event.STARTED, Event.ENDED)


@dataclass
class Process:
    """One attempt that truly runs."""

    token: str
    task: int
    attempt: int
    lane: str
    width: int
    pid: int
    started_at: float
    units: frozenset[str]
    slot: int
    stopping: str | None = None


@dataclass
class Journal:
    """What a dead runner has left: ends nobody acknowledged, starts without an end, and processes still alive."""

    path: str
    ended: dict[str, Message] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    orphans: dict[str, Process] = field(default_factory=dict)


class Link:
    """One connection; a frame on its way may be lost only with the connection."""

    def __init__(self, world: World, runner: RunnerModel) -> None:
        self.to_runner: deque[list[Message]] = deque()
        self.to_daemon: deque[list[Message]] = deque()
        self.open = True
        self._world = world
        self._runner = runner

    def send(self, messages: Sequence[OrderMessage]) -> None:
        """The daemon's side: queue one frame."""
        self._world.seam("order")
        if self.open:
            self.to_runner.append([msgspec.to_builtins(message) for message in messages])

    def cut(self) -> None:
        """Both sides will notice; what is under way is lost."""
        self.open = False
        self.to_runner.clear()
        self.to_daemon.clear()


class RunnerModel:
    """One runner that lives."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.journal = f"/sim/{name}.journal"
        self.world = world
        self.link: Link | None = None
        self.version = VERSION
        self.epoch = -1
        self.lanes: dict[str, int] = {}
        self.waiting: dict[str, Message] = {}
        self.running: dict[str, Process] = {}
        self.ended: dict[str, Message] = {}
        self.begun: set[str] = set()
        self.taken: dict[str, Journal] = {}
        self.foreign: dict[str, Process] = {}
        self.closing = False

    @property
    def idle(self) -> bool:
        """Nothing runs, nothing is unacknowledged."""
        return not (self.running or self.ended or self.foreign)

    # -- reports ---------------------------------------------------------------------------------------------------

    def say(self, message: Message) -> None:
        """Tell the daemon, if one listens."""
        if self.link is not None and self.link.open:
            self.link.to_daemon.append([message])

    def _answer(self, event: Event, token: str) -> None:
        self.say({"event": event, "token": token})

    def _tell(self, token: str) -> bool:
        if token in self.running:
            self.say(started(self.running[token]))
        elif token in self.foreign:
            self.say(started(self.foreign[token]))
        elif token in self.ended:
            self.say(self.ended[token])
        else:
            return False
        return True

    # -- orders ----------------------------------------------------------------------------------------------------

    def receive(self, messages: list[Message]) -> None:
        """One frame of orders."""
        for message in messages:
            self._obey(message)
        self.start_fitting()

    def _obey(self, message: Message) -> None:
        token = message.get("token", "")
        match message["order"]:
            case Order.OPEN:
                self._open(message)
            case Order.LANES:
                self.lanes.update(message["lanes"])
            case Order.START:
                if token not in self.waiting and not self._tell(token):
                    self._take_start(token, message)
            case Order.STOP:
                self._stop(token, message)
            case Order.REVOKE:
                self._revoke(token)
            case Order.FIND:
                self._find(message["journal"])
            case Order.FORGET:
                for one in message["tokens"]:
                    self._forget(one)
            case Order.CLOSE:
                self.closing = True
                for one in list(self.waiting):
                    self._revoke(one)

    def _open(self, message: Message) -> None:
        if message["epoch"] < self.epoch or message["version"] != self.version:
            self.say({"event": Event.REFUSED, "epoch": self.epoch, "version": self.version})
            return
        self.epoch, self.lanes, self.closing = message["epoch"], dict(message["lanes"]), False
        self.say(
            {
                "event": Event.HELLO,
                "version": self.version,
                "runner": self.name,
                "pid": 1,
                "epoch": self.epoch,
                "running": [started(process) for process in [*self.running.values(), *self.foreign.values()]],
                "waiting": list(self.waiting),
                "ended": list(self.ended.values()),
                "later": [],
            }
        )

    def _take_start(self, token: str, message: Message) -> None:
        if self.closing:
            self._answer(Event.REVOKED, token)
        else:
            self.waiting[token] = message

    def _stop(self, token: str, message: Message) -> None:
        if self.waiting.pop(token, None) is not None:
            self._answer(Event.REVOKED, token)
        elif token in self.running:
            self.running[token].stopping = self.running[token].stopping or message["cause"]
        elif not self._tell(token):
            self._answer(Event.UNKNOWN, token)

    def _revoke(self, token: str) -> None:
        if self.waiting.pop(token, None) is not None:
            self._answer(Event.REVOKED, token)
        elif token in self.running or token in self.ended or token in self.foreign:
            self._answer(Event.KEPT, token)
        else:
            self._answer(Event.UNKNOWN, token)

    def _forget(self, token: str) -> None:
        if token in self.ended:
            self.world.promises.end_forgotten(token)
            del self.ended[token]
            self.begun.discard(token)

    def _find(self, path: str) -> None:
        if path in self.taken:
            return
        journal = self.world.journals.get(path)
        held = any(path in other.taken for other in self.world.runners.values())
        if journal is None or held:
            self.say({"event": Event.FOUND, "journal": path, "error": "its runner is alive" if held else None})
            return
        self.taken[path] = journal
        for token, report in list(journal.ended.items()):
            self.keep_end(token, report)
            del journal.ended[token]
        for token in list(journal.begun):
            if token in journal.orphans:
                self.foreign[token] = journal.orphans.pop(token)
                self.foreign[token].stopping = "lost"
            else:
                self._lose(token)
        self._finish_finding()

    def _lose(self, token: str) -> None:
        """A start record without a process."""
        self.keep_end(token, ended(token, None, self.world.clock.wall, cause="lost"))
        for journal in self.taken.values():
            journal.begun.discard(token)

    def _finish_finding(self) -> None:
        for path, journal in list(self.taken.items()):
            if not journal.begun:
                del self.taken[path]
                self.world.journals.pop(path, None)
                self.say({"event": Event.FOUND, "journal": path})

    # -- what happens to processes ---------------------------------------------------------------------------------

    def start_fitting(self) -> None:
        """Start what has room, in each lane in order."""
        full: set[str] = set()
        for token, order in list(self.waiting.items()):
            lane, width = order["lane"], order["width"]
            mine = [process for process in self.running.values() if process.lane == lane]
            if lane in full or sum(process.width for process in mine) + width > self.lanes.get(lane, 10**9):
                full.add(lane)
                continue
            del self.waiting[token]
            self._spawn(token, order, {process.slot for process in mine})

    def _spawn(self, token: str, order: Message, slots: set[int]) -> None:
        self.begun.add(token)
        process = make_process(token, order, self.world, slots)
        self.running[token] = process
        self.world.promises.spawned(process)
        self.say(started(process))

    def end(self, token: str, code: int) -> None:
        """A process ends: by itself, or because it was told to."""
        process = self.running.pop(token, None)
        if process is None:
            self.foreign.pop(token)
            self._lose(token)
            self.world.promises.gone(token)
            self._finish_finding()
            return
        signal = 15 if process.stopping is not None and code % 2 else None
        report = ended(token, process, self.world.clock.wall, code=code, signal=signal, cause=process.stopping)
        self.world.promises.ended(process, report)
        self.keep_end(token, report)
        self.start_fitting()

    def keep_end(self, token: str, report: Message) -> None:
        """Journal an end and tell it."""
        self.ended[token] = report
        self.say(report)

    def die(self) -> Journal:
        """SIGKILL: the journal stays, and the processes."""
        journal = Journal(self.journal, dict(self.ended), self.begun - set(self.ended), dict(self.running))
        for taken in self.taken.values():
            taken.orphans.update({t: p for t, p in self.foreign.items() if t in taken.begun})
        if self.link is not None:
            self.link.cut()
        return journal


def make_process(token: str, order: Message, world: World, slots: set[int]) -> Process:
    """The process of a start order."""
    parsed = parse_token(token)
    assert parsed is not None
    _, task, attempt = parsed
    units = order["vars"].get("CRONOQ_RESOURCE_GPU", "")
    slot = next(number for number in range(1000) if number not in slots)
    return Process(
        token, task, attempt, order["lane"], order["width"], world.next_pid(), world.clock.wall,
        frozenset(filter(None, units.split(","))), slot,
    )  # fmt: skip


def started(process: Process) -> Message:
    """The report of a start."""
    return {
        "event": Event.STARTED,
        "token": process.token,
        "pid": process.pid,
        "at": process.started_at,
        "slot": process.slot,
    }


def ended(
    token: str,
    process: Process | None,
    at: float,
    *,
    code: int | None = None,
    signal: int | None = None,
    cause: str | None = None,
) -> Message:
    """The report of an end."""
    return {
        "event": Event.ENDED,
        "token": token,
        "started_at": None if process is None else process.started_at,
        "ended_at": at,
        "run_s": 0.01,
        "pid": None if process is None else process.pid,
        "exit_code": None if signal else code,
        "signal": signal,
        "cause": cause,
    }
