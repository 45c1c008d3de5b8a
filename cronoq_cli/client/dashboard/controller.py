"""Keeps the board in step with the daemon: asks for what is on screen when events say that it changed, and not more
often than the answers cost. Nothing of Textual here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from time import monotonic

from cronoq_cli.client.dashboard.actions import Proposal
from cronoq_cli.client.dashboard.board import Board, Document, Pane, Panel
from cronoq_cli.client.dashboard.feed import BACK, Event, Feed
from cronoq_cli.client.dashboard.history import KEPT_S, STEP_S
from cronoq_cli.commands.answers import tasks_of
from cronoq_cli.commands.render.style import moment_of
from cronoq_cli.errors import CronoqError, NoDaemonError, NotFoundError
from cronoq_cli.logs.tail import Tail
from cronoq_cli.model.ids import format_ids
from cronoq_cli.model.lifecycle import LIVE, WAITING
from cronoq_cli.wire.requests import Cancel, Explain, Reply, Request, Selector, ShowTasks, Throughput
from cronoq_cli.wire.schedules import Schedules

LEAST_PAUSE_S = 0.25
"""Between two answers to the same question at least so long, however many events come."""
MOST_PAUSE_S = 10.0
SHARE = 9
"""How many times as long as an answer took there is a pause: we take at most a tenth of the daemon's time."""
PULSE_S = 2.0
"""While tasks run their progress and the pools' load are asked for so often; else every so many pulses."""
IDLE_PULSES = 5
SETTLE_S = 0.12
"""How long the cursor has to rest on a task before it is asked about."""
LOG_BYTES = 256 * 1024
"""Of what a task wrote since the last look at most so much is read."""
AGAIN_S = 1.0
PATIENCE_S = 5.0
"""An answer that takes longer is told of."""


class Controller:
    """One dashboard's way between board and feed. `changed` is called when there is something to draw."""

    def __init__(self, board: Board, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self.board = board
        self._clock = clock
        self._changed = changed
        self._feed: Feed | None = None
        self._list_wanted = asyncio.Event()
        self._chosen_wanted = asyncio.Event()
        self._hurry = asyncio.Event()
        self._up = asyncio.Event()
        self._early: list[Event] | None = []
        self._tail: Tail | None = None
        self._asked_at: list[float] = []
        """When the questions were asked that are not answered yet, the oldest first: they are answered in order."""

    async def run(self, feed: Feed) -> None:
        """Keep the board in step until cancelled."""
        self._feed = feed
        feed.start()
        try:
            async with asyncio.TaskGroup() as group:
                for work in (self._load_past, self._keep_list, self._keep_chosen, self._pulse):
                    group.create_task(work())
        finally:
            feed.stop()
            self._close_log()

    # -- what the feed says ----------------------------------------------------------------------------------------

    def note_events(self, events: Sequence[Event]) -> None:
        """Count events; what they touch is asked for."""
        if self._early is not None:  # stored events come first
            self._early += events
            self._list_wanted.set()
            return
        if self.board.note_events(events):
            self._list_wanted.set()
        if self.board.concerns_chosen(events):
            self._chosen_wanted.set()
        self._changed()

    def note_link(self, word: str, trouble: str | None) -> None:
        """The daemon went away, or is there."""
        link = self.board.link
        if word == BACK:
            if link.state == "lost":
                self.board.message = ("the daemon is back", "green")
                link.restarts += 1
            link.state, link.since, link.trouble = "up", None, None
            self._up.set()
            self._list_wanted.set()
            self._chosen_wanted.set()
        else:
            self._up.clear()
            link.since = link.since or self._clock()
            link.state, link.trouble = "lost", trouble or link.trouble
        self._changed()

    # -- what the screen says --------------------------------------------------------------------------------------

    def look_again(self) -> None:
        """Another view, or rows that are not loaded: ask without a pause."""
        self._list_wanted.set()
        self._hurry.set()

    def choose_selected(self) -> None:
        """The lower part shows the task under the cursor."""
        selected = self.board.selected
        if self.board.rows.count and selected is None:
            return  # its row is on the way
        if self.board.choose(None if selected is None else selected["id"]):
            self._close_log()
            self._chosen_wanted.set()

    def look_closer(self) -> None:
        """Another kind of lower part."""
        self._chosen_wanted.set()

    def show_log_of(self, *, stderr: bool) -> None:
        """The other stream of a task whose streams are apart."""
        self.board.wants_stderr = stderr
        self._open_log()

    async def carry_out(self, proposal: Proposal) -> None:
        """Do it, and say what came of it."""
        try:
            reply = await self._ask(proposal.request)
        except CronoqError as error:
            self.board.message = (error.line(), "red")
        else:
            ids = [task["id"] for task in tasks_of(reply.doc)]
            pools = [pool["name"] for pool in reply.doc.get("pools") or ()]
            about = format_ids(sorted(ids)) if ids else ", ".join(pools)
            self.board.message = ("; ".join([f"{proposal.done} {about}".strip(), *reply.notes]), "green")
            self.board.marked.clear()
            if isinstance(proposal.request, Cancel):
                self.board.stay()
        self.look_again()
        self._changed()

    # -- asking ----------------------------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> Reply:
        assert self._feed is not None
        self._asked_at.append(monotonic())
        try:
            return await self._feed.ask(request)
        finally:
            self._asked_at.pop(0)

    async def _load_past(self) -> None:
        """What the chart begins with: all that the store has of the hours it can show."""
        await self._up.wait()
        history = self.board.history
        with contextlib.suppress(CronoqError):
            past = (await self._ask(Throughput(window_s=KEPT_S, step_s=STEP_S))).doc
            history.fill(past["steps"], past["last_seq"])
            if past["since"] is not None:
                history.begin(moment_of(past["since"]))
        history.begin(self._clock())
        early, self._early = self._early or [], None
        self.note_events(early)

    async def _keep_list(self) -> None:
        while True:
            await self._list_wanted.wait()
            await self._up.wait()
            self._list_wanted.clear()
            self._hurry.clear()
            began = monotonic()
            await self._load_list()
            await self._rest(monotonic() - began)

    async def _load_list(self) -> None:
        view, wanted = self.board.view, self.board.wanted()
        try:
            reply = await self._ask(wanted)
        except CronoqError as error:
            await self._stumble(error)
            self._list_wanted.set()
            return
        if self.board.view != view:
            self.look_again()  # something else is wanted meanwhile
            return
        self.board.take_window(reply.doc, self._clock())
        if self.board.is_missing_rows() and self.board.wanted() != wanted:
            self.look_again()
        self.choose_selected()
        if self.board.shows_recurring:
            await self._load_schedules()
        self._changed()

    async def _load_schedules(self) -> None:
        try:
            self.board.schedules = list((await self._ask(Schedules())).doc["recurring"])
        except CronoqError as error:
            self.board.message = (error.line(), "red")

    async def _stumble(self, error: CronoqError) -> None:
        if not isinstance(error, NoDaemonError):
            self.board.message = (error.line(), "red")
        self._changed()
        await asyncio.sleep(AGAIN_S)

    async def _rest(self, cost_s: float) -> None:
        pause_s = min(max(LEAST_PAUSE_S, SHARE * cost_s), MOST_PAUSE_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), pause_s)

    async def _pulse(self) -> None:
        beats = 0
        while True:
            await asyncio.sleep(PULSE_S)
            beats += 1
            self._note_silence()
            if self.board.is_moving or self.board.panel is Panel.RECURRING or beats % IDLE_PULSES == 0:
                self._list_wanted.set()
            if self._is_chosen_moving():
                self._chosen_wanted.set()

    def _note_silence(self) -> None:
        """Say that the daemon takes its time; one that went away is told of otherwise."""
        silent_s = monotonic() - self._asked_at[0] if self._asked_at else 0.0
        if silent_s > PATIENCE_S and self.board.link.state == "up":
            self.board.message = (f"the daemon has not answered for {silent_s:.0f} s", "yellow")
            self._changed()

    def _is_chosen_moving(self) -> bool:
        """Whether what the lower part shows changes without an event: a place in line, a progress."""
        task = self.board.chosen.task
        if task is None:
            return False
        moving = {Pane.EXPLAIN: WAITING, Pane.DETAILS: LIVE}
        return task["status"] in moving.get(self.board.pane, ())

    # -- the selected task -----------------------------------------------------------------------------------------

    async def _keep_chosen(self) -> None:
        while True:
            await self._chosen_wanted.wait()
            await asyncio.sleep(SETTLE_S)
            await self._up.wait()
            self._chosen_wanted.clear()
            began = monotonic()
            if self.board.chosen.id is not None:
                await self._load_chosen(self.board.chosen.id)
            self._changed()
            await asyncio.sleep(min(max(SETTLE_S, SHARE * (monotonic() - began)), MOST_PAUSE_S))

    async def _load_chosen(self, task_id: int) -> None:
        chosen = self.board.chosen
        select = Selector(refs=[str(task_id)])
        try:
            reply = await self._ask(ShowTasks(select=select))
            tasks = tasks_of(reply.doc)
            chosen.task = tasks[0] if tasks else None
            if self.board.pane is Pane.EXPLAIN:
                chosen.explanation = (await self._ask(Explain(select=select))).doc["explain"]
        except NotFoundError:
            chosen.trouble = f"task {task_id} is gone: it was removed"
        except NoDaemonError:
            self._chosen_wanted.set()
        except CronoqError as error:
            chosen.trouble = error.line()
        if chosen is self.board.chosen:
            self._open_log()

    def _open_log(self) -> None:
        """Read the log of the newest attempt, when it is not the one that is read."""
        chosen = self.board.chosen
        path = None if chosen.task is None else self._find_log(chosen.task)
        if path == chosen.log_path:
            self.read_log()
            return
        self._close_log()
        chosen.log_path = path
        chosen.log.clear()
        if path is not None:
            self._tail = Tail(path, chosen.log.feed, most=LOG_BYTES)
            self.read_log()

    def _find_log(self, task: Document) -> str | None:
        attempts = task["attempts"]
        if not attempts:
            return None
        path: str | None = attempts[-1]["stderr_log" if self.board.wants_stderr else "log"] or attempts[-1]["log"]
        return path if path is None or os.path.exists(path) or task["status"] == "running" else None

    def read_log(self) -> None:
        """Take in what the log has more than at the last look."""
        if self._tail is None:
            return
        try:
            if self._tail.pump():
                self._changed()
        except OSError as error:
            self.board.chosen.trouble = f"cannot read {self._tail.path}: {error.strerror}"
            self._close_log()
            self._changed()

    def _close_log(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None
