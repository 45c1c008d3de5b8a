"""The life of attempts in the runner: started from their lanes, reaped, stopped, and kept until acknowledged.

The one owner of what is waiting, running and ended. Orders come in as calls; the socket is not known here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from cronoq_cli.runner.attempt import (
    Attempt,
    Exit,
    Outcome,
    StartError,
    format_begin,
    format_ended,
    format_moment,
    format_pid,
    format_started,
    split_by_age,
)
from cronoq_cli.runner.environment import Environment
from cronoq_cli.runner.journal import Journal
from cronoq_cli.runner.ladder import Ladder, Ladders
from cronoq_cli.runner.lanes import Lanes
from cronoq_cli.runner.leftovers import Leftovers
from cronoq_cli.runner.limits import Limits
from cronoq_cli.runner.logcare import LogCare
from cronoq_cli.runner.loop import Loop, Timer
from cronoq_cli.runner.report import Reports, remove_report
from cronoq_cli.runner.spare import Spare
from cronoq_cli.runner.spawn import Spawner
from cronoq_cli.runner.streams import measure_files
from cronoq_cli.runner.tree import Census, FileId, find_file_id, find_ticks
from cronoq_cli.wire.runner import Cause, ErrorKind, Event, Message, encode_text, format_message

# So many starts at once, then ends and orders are looked at again.
_STARTS_A_TURN: Final = 16
# A main that lives longer than this gets its start time journalled; a shorter one is found by its token.
_NOTE_AFTER_S: Final = 0.05

Say = Callable[..., None]
SayLater = Callable[[Iterable[Callable[[], str | None]]], None]


class Ended:
    """An end the daemon has not acknowledged: its report as JSON text, and the file to remove afterwards."""

    __slots__ = ("report", "text")

    def __init__(self, text: str, report: bytes | None) -> None:
        self.text = text
        self.report = report


class Supervisor:
    """Starts, reaps and ends attempts. `say(text, at_once=...)` sends a report to whoever listens, `say_later` those
    that can wait, their texts made when they are sent."""

    def __init__(self, loop: Loop, say: Say, say_later: SayLater) -> None:
        self._loop = loop
        self._say = say
        self._say_later = say_later
        self._journal: Journal | None = None
        self.mains: dict[int, Attempt] = {}
        self.running: dict[str, Attempt] = {}
        self.ended: dict[str, Ended] = {}
        self.lanes = Lanes()
        spare = Spare()
        self.census = Census(self._find_logs, spare)
        self.ladders = Ladders(loop, self.census, self.mains, self._finish_stopped)
        self.on_foreign_gone: Callable[[Attempt], None] | None = None
        self._limits = Limits(loop, self._expire)
        self._leftovers = Leftovers(self.census, self.mains)
        self._logcare = LogCare(loop)
        self._reports = Reports(spare)
        self._spawner = Spawner(self._reports)
        self._starting: list[Attempt] = []
        self._begun: list[Attempt] = []
        """Started in this turn."""
        self._unnoted: list[Attempt] = []
        self._note_timer: Timer | None = None
        self._retry_timer: Timer | None = None
        self.closing = False

    def use_journal(self, journal: Journal) -> None:
        """Where everything is written from now on."""
        self._journal = journal

    @property
    def idle(self) -> bool:
        """Nothing runs and every end is acknowledged."""
        return not self.running and not self.ended

    # --- orders ---

    def start(self, order: Message, environment: Environment | None) -> None:
        """Queue an attempt in its lane; one that is known already is told again instead."""
        token = order["token"]
        if token in self.lanes or self.tell(token):
            return
        if self.closing:
            self._answer(Event.REVOKED, token)
            return
        try:
            attempt = Attempt(order, environment)
        except (OverflowError, TypeError, ValueError) as error:
            attempt = Attempt({"token": token}, None)
            self._refuse(attempt, StartError(ErrorKind.COMMAND, None, f"malformed order: {error}", 126))
            return
        self.lanes.add(attempt)

    def tell(self, token: str) -> bool:
        """Repeat what is known of a running or ended attempt; False when nothing is."""
        if token in self.running:
            self._say(format_started(self.running[token]), at_once=True)
        elif token in self.ended:
            self._say(self.ended[token].text, at_once=True)
        else:
            return False
        return True

    def stop(self, token: str, number: int | None, grace_s: float | None, cause: str | None) -> None:
        """Take a waiting start back, or end the tree of a running one; a second stop can only hurry."""
        if self.lanes.drop(token):
            self._answer(Event.REVOKED, token)
            return
        attempt = self.running.get(token)
        if attempt is None:
            if not self.tell(token):
                self._answer(Event.UNKNOWN, token)
        elif token in self.ladders:
            self.ladders.hurry(token, attempt.grace_s if grace_s is None else grace_s)
        else:
            self._bring_down(attempt, cause, number, grace_s)

    def revoke(self, token: str) -> None:
        """Take a start back if it still waits."""
        if self.lanes.drop(token):
            self._answer(Event.REVOKED, token)
        elif token in self.running or token in self.ended:
            self._answer(Event.KEPT, token)
        else:
            self._answer(Event.UNKNOWN, token)

    def signal(self, token: str, number: int) -> None:
        """One signal to the tree of a running attempt."""
        attempt = self.running.get(token)
        if attempt is not None:
            self.ladders.send(attempt, number)
        elif not self.tell(token):
            self._answer(Event.UNKNOWN, token)

    def forget(self, tokens: list[str]) -> None:
        """The daemon has committed these ends; an end that was told twice may be acknowledged twice."""
        known = [token for token in dict.fromkeys(tokens) if token in self.ended]
        for token in known:
            ended = self.ended.pop(token)
            if ended.report is not None:
                remove_report(ended.report)
        if known:
            self._append(format_message({"record": "forgot", "tokens": known}))

    def clean(self) -> None:
        """Delete what no daemon knows of; the runner leaves."""
        self._reports.clear()

    def close(self) -> None:
        """Start nothing more."""
        self.closing = True
        for token in self.lanes.drain():
            self._answer(Event.REVOKED, token)

    def _answer(self, event: Event, token: str) -> None:
        self._say(format_message({"event": event, "token": token}), at_once=True)

    def _find_logs(self) -> dict[FileId, bytes]:
        """The log files of what runs. A file of the user's own proves nothing: others may write to it."""
        found = {}
        for attempt in self.running.values():
            for path in attempt.logs:
                log = find_file_id(path)
                if log is not None:
                    found[log] = encode_text(attempt.token)
        return found

    # --- starting ---

    def settle(self) -> None:
        """The end of a turn: start what fits, and write what is to be kept."""
        if self.lanes.have_changes:
            self._start_fitting()
        self.flush()
        if self._begun:
            self._say_later([partial(self._tell_started, attempt) for attempt in self._begun])
            self._begun.clear()

    def _start_fitting(self) -> None:
        """Start what fits. A failed start frees its slots at once, so the next turn looks again."""
        batch = self.lanes.take(_STARTS_A_TURN)
        if not batch:
            return
        self._starting = batch
        at, awake = format_moment(time.time()), format_moment(time.monotonic())
        for attempt in batch:
            attempt.begin = format_begin(attempt, at, awake)
            self._append(attempt.begin)
        if self.flush():
            refused = self._spawner.start(batch)
        else:
            refused = [(attempt, self._explain_journal()) for attempt in batch]
        for attempt in batch:
            if attempt.pid is not None:
                self._begin(attempt, attempt.pid)
        for attempt, error in refused:
            self._refuse(attempt, error)
            self.lanes.free(attempt)
        self._starting = []
        if self.lanes.have_changes:
            self._loop.turn_again()

    def _begin(self, attempt: Attempt, pid: int) -> None:
        """An attempt runs."""
        self.mains[pid] = attempt
        self.running[attempt.token] = attempt
        self._limits.arm(attempt)
        self._logcare.begin(attempt)
        attempt.order = attempt.environment = None
        self._begun.append(attempt)
        self._note_later(attempt)

    def _tell_started(self, attempt: Attempt) -> str | None:
        """The report of a start, unless its end is told already: that says all of it."""
        return format_started(attempt) if attempt.token in self.running else None

    def _refuse(self, attempt: Attempt, error: StartError) -> None:
        attempt.cause = Cause.SPAWN
        self.keep(attempt.token, Ended(format_ended(attempt, Outcome(error)), attempt.report))

    def _explain_journal(self) -> StartError:
        trouble = self._journal.trouble if self._journal is not None else None
        reason = trouble.strerror if trouble is not None else "unknown"
        number = trouble.errno if trouble is not None else None
        return StartError(ErrorKind.MACHINE, number, f"cannot write the runner's journal: {reason}")

    # --- the journal ---

    def _append(self, line: str) -> None:
        if self._journal is not None:
            self._journal.append(line)

    def flush(self) -> bool:
        """Whether the journal has everything; if not, it is tried again in a moment."""
        if self._journal is None or self._journal.flush():
            return True
        retry_in_s = self._journal.retry_in_s
        if retry_in_s is not None and (self._retry_timer is None or self._retry_timer.cancelled):
            self._retry_timer = self._loop.call_after(retry_in_s, lambda: None)
        return False

    def list_live_records(self) -> Iterator[str]:
        """The journal's lines that still matter, for its compaction."""
        for attempt in self._starting:
            yield attempt.begin
        for attempt in self.running.values():
            if attempt.foreign:
                continue  # still in the journal of the runner that started it
            yield attempt.begin
            if attempt.ticks is not None:
                yield format_pid(attempt)
        for ended in self.ended.values():
            yield ended.text

    def _note_later(self, attempt: Attempt) -> None:
        self._unnoted.append(attempt)
        if self._note_timer is None:
            self._note_timer = self._loop.call_after(_NOTE_AFTER_S, self._note_pids)

    def _note_pids(self) -> None:
        living = [attempt for attempt in self._unnoted if attempt.exit is None]
        old, self._unnoted = split_by_age(living, _NOTE_AFTER_S)
        self._note_timer = None
        if self._unnoted:
            self._note_timer = self._loop.call_at(self._unnoted[0].started_awake + _NOTE_AFTER_S, self._note_pids)
        if old:
            with self.census.spare:
                for attempt in old:
                    attempt.ticks = find_ticks(attempt.pid or 0)
                    self._append(format_pid(attempt))

    # --- ending ---

    def reap(self) -> None:
        """Take up every child that has ended: the one place that waits."""
        ended: list[Attempt] = []
        now, awake = time.time(), time.monotonic()
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            attempt = self.mains.pop(pid, None)
            if attempt is None:
                self._leftovers.note_reaped(pid)
                continue
            attempt.exit = Exit(status, now, awake, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)
            if attempt.token not in self.ladders:
                ended.append(attempt)
        if ended:
            self._end_by_themselves(ended)
        self.ladders.look_soon()

    def _end_by_themselves(self, ended: list[Attempt]) -> None:
        finished = []
        for attempt, left_behind in zip(ended, self._leftovers.count(ended), strict=True):
            attempt.left_behind = left_behind
            if left_behind and attempt.kill_leftovers:
                self._bring_down(attempt, None, None, None)
            else:
                finished.append(attempt)
                self.lanes.free(attempt)
        try:
            if len(finished) == 1:
                # What waits for the slot first: it shall not stand empty while the end is written up. Where several
                # end at once slots are not what is short, and one line of the journal for all is less work.
                self._start_fitting()
        finally:
            for attempt in finished:
                self._finish(attempt)

    def _expire(self, attempt: Attempt, cause: Cause) -> None:
        if attempt.token in self.running and attempt.token not in self.ladders:
            self._bring_down(attempt, cause, None, None)

    def _bring_down(self, attempt: Attempt, cause: str | None, number: int | None, grace_s: float | None) -> Ladder:
        self._limits.disarm(attempt)
        return self.ladders.begin(
            attempt,
            attempt.stop_signal if number is None else number,
            attempt.grace_s if grace_s is None else grace_s,
            cause,
        )

    def adopt(self, attempt: Attempt, main_alive: bool) -> None:
        """Bring down what a dead runner has left of an attempt; `on_foreign_gone` is told when it is gone."""
        self.running[attempt.token] = attempt
        ladder = self._bring_down(attempt, Cause.LOST, None, None)
        ladder.led = main_alive

    def _finish_stopped(self, attempt: Attempt) -> None:
        """A ladder has come to its end."""
        self._finish(attempt)
        if not attempt.foreign:
            self.lanes.free(attempt)

    def _finish(self, attempt: Attempt) -> None:
        """An attempt is over, its tree too where that was asked for."""
        self._limits.disarm(attempt)
        self.running.pop(attempt.token, None)
        if attempt.foreign:
            if self.on_foreign_gone is not None:
                self.on_foreign_gone(attempt)
            return
        self.keep_end(attempt)

    def keep_end(self, attempt: Attempt, run_s: float | None = None) -> None:
        """Complete the record of an end, and keep it; `run_s` where no exit says how long it ran."""
        log_size = measure_files(attempt.logs)
        self._logcare.end(attempt, log_size)
        path = attempt.report
        report = self._reports.read(path) if path is not None else []
        if path is not None and report is None and attempt.cause is None and not attempt.left_behind:
            path = None if self._reports.reuse(path) else path
        outcome = Outcome(None, log_size, report, run_s)
        self.keep(attempt.token, Ended(format_ended(attempt, outcome), path))

    def keep(self, token: str, ended: Ended) -> None:
        """Journal an end, tell it, and repeat it in every hello until it is forgotten."""
        self.ended[token] = ended
        self._append(ended.text)
        self._say(ended.text)
