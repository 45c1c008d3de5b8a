"""The runner as a whole: loop, socket, journal and supervisor put together, and when it may leave."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterable
from typing import Final

from cronoq_cli.runner.attempt import format_started
from cronoq_cli.runner.journal import Journal
from cronoq_cli.runner.loop import Loop, Timer
from cronoq_cli.runner.orders import Orders
from cronoq_cli.runner.session import Report, Session
from cronoq_cli.runner.signals import watch_signals
from cronoq_cli.runner.supervisor import Supervisor
from cronoq_cli.runner.takeover import Takeover, get_boot_id
from cronoq_cli.runner.tree import find_ticks
from cronoq_cli.wire.runner import VERSION, Event, Message, encode_text, format_message

_IDLE_S: Final = 60.0
# Ends told within the hello itself; the rest follow as ordinary reports, in frames of bounded size.
_ENDS_IN_HELLO: Final = 5000


class Service:
    """A runner that listens on `listener` and has the lock of its journal."""

    def __init__(self, runner_id: str, listener: socket.socket, journal_path: bytes, journal: int) -> None:
        self._id = runner_id
        self._socket_path = ""
        self._boot_id = get_boot_id()
        self._loop = Loop()
        self._supervisor = Supervisor(self._loop, self._say, self._say_later)
        self._journal = Journal(journal_path, journal, self._list_live_records)
        self._supervisor.use_journal(self._journal)
        takeover = Takeover(self._loop, self._supervisor, self._boot_id, self._say_at_once)
        orders = Orders(self._supervisor, takeover)
        self._session = Session(self._loop, listener, self._open, orders.carry_out)
        self._idle_timer: Timer | None = None

    def run(self, socket_path: str) -> None:
        """Serve until there is nothing left to do, then leave no file behind."""
        self._socket_path = socket_path
        self._journal.append(self._format_boot())
        self._journal.flush()
        watch_signals(self._loop, {signal.SIGCHLD: self._supervisor.reap, signal.SIGTERM: self._leave_if_idle})
        self._loop.run(self._settle)

    def _say(self, text: str, *, at_once: bool = False) -> None:
        self._session.say(text, at_once=at_once)

    def _say_later(self, reports: Iterable[Report]) -> None:
        self._session.say_later(reports)

    def _say_at_once(self, text: str) -> None:
        self._session.say(text, at_once=True)

    def _open(self, message: Message) -> None:
        """A daemon has come: limits first, then everything that is known.

        It may come when another has closed this runner, with attempts that would not end: its starts are taken. They
        would be given back and ordered again without end."""
        self._supervisor.closing = False
        self._supervisor.reap()  # who asks anew after a freeze of both wants to hear of what has ended meanwhile
        lanes = message.get("lanes")
        if isinstance(lanes, dict):
            self._supervisor.lanes.set_capacities(lanes, only_these=True)
        ended = [ended.text for ended in self._supervisor.ended.values()]
        # Ends beyond the first thousands follow as reports: that they are known is said at once.
        later = list(self._supervisor.ended)[_ENDS_IN_HELLO:]
        head = {
            "event": Event.HELLO,
            "version": VERSION,
            "runner": self._id,
            "pid": os.getpid(),
            "boot_id": self._boot_id,
            "epoch": self._session.epoch,
            "waiting": self._supervisor.lanes.list_waiting(),
            "later": later,
        }
        running = ",".join(map(format_started, self._supervisor.running.values()))
        first = ",".join(ended[:_ENDS_IN_HELLO])
        self._say_at_once(f'{format_message(head)[:-1]},"running":[{running}],"ended":[{first}]}}')
        for text in ended[_ENDS_IN_HELLO:]:
            self._say_at_once(text)

    def _settle(self) -> None:
        self._supervisor.settle()
        self._session.settle(quiet=not self._supervisor.running)
        self._consider_leaving()

    def _consider_leaving(self) -> None:
        if self._supervisor.idle and self._supervisor.closing:
            self._leave()
        elif self._session.connected or not self._supervisor.idle:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
                self._idle_timer = None
        elif self._idle_timer is None:
            self._idle_timer = self._loop.call_after(_IDLE_S, self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        """Also on SIGTERM: nothing but a KILL ends a runner that somebody still needs."""
        if self._supervisor.idle:
            self._leave()

    def _leave(self) -> None:
        self._loop.stop()
        self._session.close()
        try:
            os.unlink(encode_text(self._socket_path))
        except OSError:
            pass
        self._supervisor.clean()
        self._journal.remove()

    def _list_live_records(self) -> list[str]:
        return [self._format_boot(), *self._supervisor.list_live_records()]

    def _format_boot(self) -> str:
        return format_message(
            {
                "record": "boot",
                "runner": self._id,
                "boot_id": self._boot_id,
                "pid": os.getpid(),
                "ticks": find_ticks(os.getpid()),
                "version": VERSION,
                "socket": self._socket_path,
            }
        )
