"""What the dashboard shows, as plain values: the window of tasks, the pools, the chosen task, the
state of the connection.

Pure: answers of the daemon and events come in with the moment they came at. Drawing is the panels'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from cronoq_cli.client.dashboard.history import History
from cronoq_cli.client.dashboard.log_text import LogText
from cronoq_cli.client.dashboard.scroll import Scroll
from cronoq_cli.commands.render.style import moment_of
from cronoq_cli.model.lifecycle import FINAL, WAITING, Status
from cronoq_cli.wire.requests import Selector, ShowWindow

Document = Mapping[str, Any]

BRIEF = 50
"""Of the waiting and of the ended so many stand in the list of all tasks."""
LEAST_ROWS = 40


class Panel(StrEnum):
    """The parts of the screen that can have the keys."""

    POOLS = "pools"
    TASKS = "tasks"
    RECURRING = "recurring"
    PANE = "pane"


class Pane(StrEnum):
    """What the lower part shows of the selected task."""

    LOG = "log"
    DETAILS = "details"
    EXPLAIN = "explain"


PARTS: Mapping[str, tuple[str, ...]] = {
    "all": (),
    "running": (Status.RUNNING,),
    "waiting": tuple(sorted(WAITING)),
    "ready": (Status.READY,),
    "blocked": (Status.BLOCKED,),
    "scheduled": (Status.SCHEDULED, Status.RETRYING),
    "ended": tuple(sorted(FINAL)),
    "succeeded": (Status.SUCCEEDED,),
    "failed": (Status.FAILED, Status.DEAD_LETTERED),
    "cancelled": (Status.CANCELLED, Status.SKIPPED, Status.MISSED, Status.SHED),
}
"""The parts of the queue that can be chosen, and the statuses in them."""
SPANS_S = (300.0, 1800.0, 3600.0, 6 * 3600.0)
"""How far back the chart can look."""


@dataclass(frozen=True, slots=True)
class View:
    """Which tasks are listed: a part of PARTS, of one pool or of all, and those that have a text."""

    part: str = "all"
    pool: str | None = None
    text: str = ""


@dataclass(slots=True)
class Link:
    """How it stands with the daemon. `since`: unix seconds since when it is away. `notice`: the last thing said."""

    state: str = "connecting"
    since: float | None = None
    trouble: str | None = None
    restarts: int = 0


@dataclass(slots=True)
class Chosen:
    """What is known of the selected task beyond its row: its whole document, explanation and output."""

    id: int | None = None
    task: Document | None = None
    explanation: Document | None = None
    trouble: str | None = None
    log: LogText = field(default_factory=LogText)
    log_path: str | None = None


@dataclass(slots=True)
class Board:
    """Everything on screen. `tasks`: the loaded part of the list, from row `offset` on; `fetched_at`: unix seconds."""

    read_only: bool = False
    view: View = field(default_factory=View)
    tasks: list[Document] = field(default_factory=list)
    offset: int = 0
    more: int = 0
    seq: int = -1
    fetched_at: float = 0.0
    loaded: bool = False
    summary: Mapping[str, int] = field(default_factory=dict)
    pools: list[Document] = field(default_factory=list)
    schedules: list[Document] | None = None
    """None: not asked for yet."""
    marked: dict[int, Document] = field(default_factory=dict)
    rows: Scroll = field(default_factory=Scroll)
    pool_rows: Scroll = field(default_factory=Scroll)
    schedule_rows: Scroll = field(default_factory=Scroll)
    pane_rows: Scroll = field(default_factory=Scroll)
    pane_at_end: bool = True
    panel: Panel = Panel.TASKS
    shows_recurring: bool = False
    pane: Pane = Pane.LOG
    wants_stderr: bool = False
    is_zoomed: bool = False
    span: int = 0
    link: Link = field(default_factory=Link)
    chosen: Chosen = field(default_factory=Chosen)
    history: History = field(default_factory=History)
    message: tuple[str, str] | None = None
    """The last thing that was done or refused, and its look."""
    _follows: int | None = None

    # -- the list of tasks ---------------------------------------------------------------------------------------

    def wanted(self) -> ShowWindow:
        """The request for what is on screen, with a page before and behind it."""
        height = max(self.rows.height, 1)
        limit = max(3 * height, LEAST_ROWS)
        view = self.view
        return ShowWindow(
            select=Selector(statuses=list(PARTS[view.part]), pools=[view.pool] if view.pool else []),
            text=view.text or None,
            offset=max(0, self.rows.top - height),
            limit=limit,
            brief=BRIEF if view.part == "all" else None,
        )

    def take_window(self, doc: Document, now: float) -> None:
        """Show an answer to `wanted`: the cursor stays on the task it was moved to as long as that is listed."""
        self.tasks, self.offset, self.more = list(doc["tasks"]), doc["offset"], doc["more"]
        self.seq, self.fetched_at, self.loaded = doc["seq"], now, True
        self.summary, self.pools = doc["summary"], list(doc["pools"])
        self.history.see_waiting(self.tasks, now)
        self.marked.update({task["id"]: task for task in self.tasks if task["id"] in self.marked})
        self.pool_rows.resize(len(self.pools), self.pool_rows.height)
        distance = self.rows.cursor - self.rows.top
        self.rows.resize(doc["total"], self.rows.height)
        place = next((n for n, task in enumerate(self.tasks) if task["id"] == self._follows), None)
        if place is not None and self._follows is not None:
            self.rows.cursor = self.offset + place
            if self.rows.top:  # who looks at the head of the list goes on seeing it
                self.rows.top = self.rows.cursor - distance
            self.rows.settle()
        elif self.tasks:
            self._follows = None

    def task_at(self, row: int) -> Document | None:
        """The task in a row of the list, None when it is not loaded (yet)."""
        place = row - self.offset
        return self.tasks[place] if 0 <= place < len(self.tasks) else None

    @property
    def selected(self) -> Document | None:
        """The task under the cursor."""
        return self.task_at(self.rows.cursor)

    def is_missing_rows(self) -> bool:
        """Whether rows are on screen that are not loaded."""
        last = min(self.rows.top + self.rows.height, self.rows.count)
        return self.rows.top < self.offset or last > self.offset + len(self.tasks)

    def move(self, rows: int) -> None:
        """Move the cursor in the list of tasks."""
        self.rows.move(rows)
        self._follow()

    def go(self, row: int) -> None:
        """Put the cursor on a row of the list of tasks."""
        self.rows.go(row)
        self._follow()

    def stay(self) -> None:
        """The cursor keeps its row, whatever becomes of the task there, until it is moved again."""
        self._follows = None

    def _follow(self) -> None:
        task = self.selected
        self._follows = None if task is None else task["id"]

    def choose_view(self, **changes: Any) -> None:
        """List other tasks, from the first one on."""
        self.view = replace(self.view, **changes)
        self.tasks, self.offset, self.loaded, self.more = [], 0, False, 0
        self.rows.cursor = self.rows.top = self.rows.count = 0
        self._follows = None

    def targets(self) -> list[Document]:
        """The tasks a key acts on: the marked ones, as they were last seen, else the one under the cursor."""
        if self.marked:
            return list(self.marked.values())
        return [] if self.selected is None else [self.selected]

    def toggle_mark(self) -> None:
        """Mark the task under the cursor, or no more."""
        task = self.selected
        if task is not None and self.marked.pop(task["id"], None) is None:
            self.marked[task["id"]] = task

    # -- pools ---------------------------------------------------------------------------------------------------

    @property
    def chosen_pool(self) -> Document | None:
        """The pool a key acts on: the one under the cursor of the pools when they have the keys, else the task's."""
        if self.panel is Panel.POOLS or self.selected is None:
            return self.pools[self.pool_rows.cursor] if self.pool_rows.cursor < len(self.pools) else None
        name = self.selected["pool"]
        return next((pool for pool in self.pools if pool["name"] == name), None)

    @property
    def chosen_schedule(self) -> Document | None:
        """The recurring job under the cursor."""
        schedules = self.schedules or []
        return schedules[self.schedule_rows.cursor] if self.schedule_rows.cursor < len(schedules) else None

    @property
    def span_s(self) -> float:
        """How far back the chart looks, in seconds."""
        return SPANS_S[self.span]

    # -- the stream ----------------------------------------------------------------------------------------------

    def note_events(self, events: Sequence[Document]) -> bool:
        """Count events; whether what is shown may be older than one of them."""
        newest = 0
        for event in events:
            self.history.note(event)
            newest = max(newest, event["seq"])
        return newest > self.seq

    def concerns_chosen(self, events: Sequence[Document]) -> bool:
        """Whether one of the events is about the selected task."""
        return any(event["id"] == self.chosen.id for event in events)

    @property
    def is_moving(self) -> bool:
        """Whether something listed runs, so that its progress and the pools' load move without an event."""
        return bool(self.summary.get("running"))

    def choose(self, task_id: int | None) -> bool:
        """Have the lower part show another task; whether it is another one."""
        if task_id == self.chosen.id:
            return False
        self.chosen = Chosen(id=task_id)
        self.pane_rows = Scroll(height=self.pane_rows.height)
        self.pane_at_end = True
        return True


def age_task(task: Document, fetched_at: float, now: float) -> Document:
    """The document of a task as it would be now: how long it runs and waits goes on."""
    passed = max(0.0, now - fetched_at)
    if task["status"] == Status.RUNNING and task["started_at"] is not None:
        return {**task, "run_s": max(0.0, now - moment_of(task["started_at"]))}
    if task["status"] in WAITING and task["wait_s"] is not None:
        return {**task, "wait_s": task["wait_s"] + passed}
    return task
