"""Throughput and waits over time, gathered from the events of the stream. Pure: moments come in with the events.

Kept in steps of a few seconds for some hours; a chart adds steps up to as many bars as it has columns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cronoq_cli.commands.render.style import moment_of

STEP_S = 5
KEPT_S = 6 * 3600
_KNOWN_READY = 20_000
"""Of so many waiting tasks the moment they became ready is remembered."""
_GOOD = frozenset({"succeeded"})
_BAD = frozenset({"failed", "dead_lettered"})


@dataclass(slots=True)
class Bar:
    """What happened in one stretch of time. Waits in seconds, of the tasks that started then."""

    ended: int = 0
    failed: int = 0
    started: int = 0
    waits: int = 0
    wait_sum_s: float = 0.0

    def add(self, other: Bar) -> None:
        """Add another stretch to this one."""
        self.ended += other.ended
        self.failed += other.failed
        self.started += other.started
        self.waits += other.waits
        self.wait_sum_s += other.wait_sum_s

    @property
    def wait_s(self) -> float | None:
        """The mean wait before the start, None when nothing started whose wait is known."""
        return self.wait_sum_s / self.waits if self.waits else None


class History:
    """The steps of the last hours. `since`: unix seconds from which on everything is known."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.last_seq = 0
        self._steps: OrderedDict[int, Bar] = OrderedDict()
        self._ready: OrderedDict[int, float] = OrderedDict()

    def note(self, event: Mapping[str, Any]) -> None:
        """Count one event; one that was counted already is left out."""
        if event["seq"] <= self.last_seq:
            return
        self.last_seq = event["seq"]
        task_id, status = event["id"], event["status"]
        if task_id is None or status is None:
            return
        at = moment_of(event["at"])
        if status == "ready":
            self._remember(task_id, at)
        elif status == "running":
            self._count_start(task_id, event["attempt"], at)
        else:
            self._ready.pop(task_id, None)
            if status in _GOOD or status in _BAD:
                step = self._step(at)
                step.ended += 1
                step.failed += status in _BAD

    def see_waiting(self, tasks: list[Mapping[str, Any]], now: float) -> None:
        """Learn since when listed tasks have been ready: those that were so before the stream began."""
        for task in tasks:
            if task["status"] == "ready" and task["wait_s"] is not None:
                self._remember(task["id"], now - task["wait_s"])

    def begin(self, at: float) -> None:
        """From `at` on everything is known, unless that was so from earlier on."""
        if self.since is None or at < self.since:
            self.since = at

    def fill(self, steps: Sequence[Sequence[Any]], last_seq: int) -> None:
        """Take what the store has summed up (number, then the fields of a Step): all up to the event `last_seq`."""
        for number, ended, failed, waits, wait_s in steps:
            self._step(number * STEP_S).add(Bar(ended, failed, 0, waits, wait_s))
        self.last_seq = max(self.last_seq, last_seq)

    def chart(self, span_s: float, width: int, now: float) -> list[Bar | None]:
        """`width` bars that end now and together cover `span_s` seconds; None where nothing is known."""
        bar_s = span_s / width
        # Bars begin at multiples of their length: what is in one does not move into another as time goes on.
        end = (int(now / bar_s) + 1) * bar_s
        bars: list[Bar | None] = []
        for place in range(width):
            begin = end - (width - place) * bar_s
            known = self.since is not None and begin + bar_s > self.since
            bars.append(Bar() if known else None)
        for number, step in self._steps.items():
            place = int((number * STEP_S + STEP_S / 2 - (end - span_s)) / bar_s)
            if 0 <= place < width and (bar := bars[place]) is not None:
                bar.add(step)
        return bars

    def total(self, span_s: float, now: float) -> Bar:
        """Everything of the last `span_s` seconds together."""
        together = Bar()
        first = int((now - span_s) / STEP_S)
        for number in reversed(self._steps):
            if number <= first:
                break
            together.add(self._steps[number])
        return together

    def _count_start(self, task_id: int, attempt: int | None, at: float) -> None:
        step = self._step(at)
        step.started += 1
        ready_at = self._ready.pop(task_id, None)
        if ready_at is not None and attempt == 1:
            step.waits += 1
            step.wait_sum_s += max(at - ready_at, 0.0)

    def _remember(self, task_id: int, at: float) -> None:
        if task_id not in self._ready:
            self._ready[task_id] = at
            if len(self._ready) > _KNOWN_READY:
                self._ready.popitem(last=False)

    def _step(self, at: float) -> Bar:
        number = int(at // STEP_S)
        step = self._steps.get(number)
        if step is None:
            step = self._steps[number] = Bar()
            self._drop_old(number)
        return step

    def _drop_old(self, newest: int) -> None:
        while self._steps and next(iter(self._steps)) < newest - KEPT_S // STEP_S:
            self._steps.popitem(last=False)
