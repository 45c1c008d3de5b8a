"""What must hold in every history, after every step: checked against what truly happened, which the models know."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from cronoq_cli.engine.graph import decide_edge
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.resources import Semaphore
from cronoq_cli.model.lifecycle import FINAL, LIVE, Status
from cronoq_cli.model.places import parse_token
from cronoq_cli.model.task import AttemptRecord
from cronoq_cli.store.contract import Changes
from tests.engine.story import take_snapshot

if TYPE_CHECKING:
    from cronoq_cli.wire.requests import Reply
    from tests.simulation.runner_model import Message, Process
    from tests.simulation.world import World

Attempt = tuple[int, int]


class BrokenPromise(AssertionError):
    """Something that may never be, was."""


def demand(holds: object, promise: str, *facts: object) -> None:
    """Raises BrokenPromise where it does not hold."""
    if not holds:
        raise BrokenPromise(f"{promise}: {' '.join(map(str, facts))}")


class Promises:
    """The truth, and what is checked against it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.acknowledged: dict[int, str] = {}
        self.cancelled: set[int] = set()
        self.revived: Counter[int] = Counter()
        self._alive: dict[str, Process] = {}
        self._starts: set[Attempt] = set()
        self._ends: dict[Attempt, Message] = {}
        self._orphaned: set[Attempt] = set()
        self.schedules_go = False
        """Whether all schedules were removed, perhaps on the heels of their being added."""
        self._occurrences: set[tuple[str, float]] = set()

    # -- what truly happens ----------------------------------------------------------------------------------------

    def spawned(self, process: Process) -> None:
        """A process begins: its dispatch is durable, it is the first of its number, and it has what it takes."""
        attempt = (process.task, process.attempt)
        demand(attempt not in self._starts, "an attempt runs once", attempt)
        self._starts.add(attempt)
        task = self._world.base.tasks.get(process.task)
        demand(task is not None, "work starts after its commit", attempt)
        assert task is not None
        stored = self._world.base.pools.get(task.spec.pool, {})
        ahead = task.leased or task.id in cast(list[int], stored.get("leased", []))
        number = task.attempt + 1 if ahead else task.attempt
        demand(number == process.attempt, "work starts after its dispatch is committed", attempt, number, task.status)
        self._check_dependencies(process.task)
        self._alive[process.token] = process
        width = sum(one.width for one in self._alive.values() if one.lane == process.lane)
        demand(width <= self._world.workers[process.lane], "slots are not overdrawn", process.lane, width)
        units = Counter(unit for one in self._alive.values() for unit in one.units)
        demand(all(count == 1 for count in units.values()), "a unit is given once", units)

    def _check_dependencies(self, task_id: int) -> None:
        base = self._world.base
        for edge, _ in base.edges.iter_of(task_id):
            if edge.target is None or {task_id, edge.target} & self.revived.keys():
                continue
            target = base.tasks.get(edge.target)
            if target is not None:
                met = target.status in FINAL and decide_edge(edge.condition, target.status)
                demand(met, "no dependent runs against its condition", task_id, edge, target.status)

    def ended(self, process: Process, report: Message) -> None:
        """A process has ended so."""
        self._alive.pop(process.token, None)
        self._ends[process.task, process.attempt] = report

    def gone(self, token: str) -> None:
        """What a dead runner had left is gone."""
        self._alive.pop(token, None)

    def orphaned(self, tokens: set[str]) -> None:
        """Their runner died: nobody will know how these end."""
        for token in tokens:
            parsed = parse_token(token)
            assert parsed is not None
            self._orphaned.add(parsed[1:])

    def end_forgotten(self, token: str) -> None:
        """The runner may drop an end: it is in the store."""
        parsed = parse_token(token)
        assert parsed is not None
        record = self._world.base.attempts.get(parsed[1:])
        stored = record is not None and record.ended_at is not None
        demand(stored or parsed[1] not in self._world.base.tasks, "an end is acknowledged after its commit", token)

    # -- what people were told -------------------------------------------------------------------------------------

    def told_accepted(self, documents: list[dict[str, Any]]) -> None:
        """A submission was acknowledged: it is stored."""
        for document in documents:
            stored = self._world.base.tasks.get(document["id"])
            demand(stored is not None, "a submission is acknowledged after its commit", document["id"])
            assert stored is not None
            demand(document["duplicate"] or stored.spec.name == document["name"], "an id is given once", document["id"])
            self.acknowledged[stored.id] = stored.spec.name

    def told_scheduled(self, name: str) -> None:
        """A schedule was acknowledged: it is stored."""
        if self.schedules_go:
            return
        demand(name in self._world.base.schedules, "a schedule is acknowledged after its commit", name)

    def told_cancelled(self, ids: list[int], revived: Counter[int]) -> None:
        """A cancellation was acknowledged: it is stored, and holds. `revived`: how often tasks had been revived when it
        was asked for."""
        for task_id in ids:
            if self.revived[task_id] != revived[task_id]:
                continue  # a retry came on its heels
            status = self._world.base.tasks[task_id].status
            demand(status in FINAL, "a cancellation is acknowledged after its commit", task_id, status)
            self.cancelled.add(task_id)

    def told_list(self, reply: Reply) -> None:
        """All tasks were listed: each once, as it is stored, so that no crash can undo what was told."""
        documents = {document["id"]: document for document in reply.doc["tasks"]}
        demand(len(documents) == len(reply.doc["tasks"]), "a task is listed once")
        stored = self._world.base.tasks
        demand(
            documents.keys() == stored.keys(),
            "what is stored is listed, and nothing else",
            documents.keys() ^ stored.keys(),
        )
        for document in documents.values():
            self._check_told(document)

    def told_task(self, reply: Reply) -> None:
        """One task was shown, with its attempts."""
        self._check_told(reply.doc["task"])
        stored = [one for key, one in sorted(self._world.base.attempts.items()) if key[0] == reply.doc["task"]["id"]]
        told = [(one["number"], one["outcome"]) for one in reply.doc["task"]["attempts"]]
        demand(told == [(one.number, one.outcome) for one in stored], "attempts are told as they are stored", told)

    def _check_told(self, document: dict[str, Any]) -> None:
        stored = self._world.base.tasks[document["id"]]
        told = (document["status"], document["exit_code"], document["attempt"])
        demand(told == (stored.status.value, stored.exit_code, stored.attempt), "a task is told as it is stored", told)

    # -- what is written -------------------------------------------------------------------------------------------

    def committing(self, changes: Changes) -> None:
        """No row says what did not happen."""
        for attempt in changes.attempts:
            self._check_attempt(attempt)
        for record in [*changes.updated, *changes.respecced]:
            old = self._world.base.tasks.get(record.id)
            if old is not None and old.status in FINAL and record.id not in self.revived:
                demand(record.status is old.status, "an end stays", record.id, old.status, record.status)
            if record.id in self.cancelled:
                demand(record.status in FINAL, "what was cancelled stays so", record.id, record.status)

    def committed(self, changes: Changes) -> None:
        """These rows are stored now: none is the task of an occurrence that had one."""
        for record in changes.new:
            if record.spec.recurring and record.spec.slot is not None:
                occurrence = (record.spec.recurring, record.spec.slot)
                demand(occurrence not in self._occurrences, "each occurrence is a task once", occurrence)
                self._occurrences.add(occurrence)

    def _check_attempt(self, attempt: AttemptRecord) -> None:
        key = (attempt.task, attempt.number)
        if attempt.outcome in (None, "not-started"):
            return
        if attempt.cause == "lost" or attempt.outcome == "lost":
            demand(key in self._orphaned, "nothing is lost that is not", key)
            return
        report = self._ends.get(key)
        demand(report is not None, "no outcome is invented", key, attempt.outcome)
        assert report is not None
        told = (attempt.exit_code, attempt.signal, attempt.cause)
        demand(told == (report["exit_code"], report["signal"], report["cause"]), "no outcome is invented", key, told)
        if attempt.outcome == "succeeded":
            demand(report["exit_code"] == 0, "no outcome is invented", key, attempt.outcome)

    # -- after each step -------------------------------------------------------------------------------------------

    def check(self, *, whole: bool) -> None:
        """The state of everything; `whole` adds what is dear: the engine is as one made from the store."""
        lost = self.acknowledged.keys() - self._world.base.tasks.keys()
        demand(not lost, "nothing acknowledged is lost", lost)
        daemon = self._world.daemon
        if daemon is None:
            return
        state = daemon.scheduler.engine.state
        living = [task for task in state.tasks.values() if task.status in LIVE or task.leaving]
        holding = [task for task in living if takes_slots(task)]
        counts = Counter(task.pool for task in living if task.status in LIVE)
        busy = Counter(task.pool for task in holding for _ in range(task.slots))
        for name, pool in state.pools.items():
            demand(pool.busy == busy[name], "slots are conserved", name, pool.busy, busy[name])
            demand(sum(pool.counts[status] for status in LIVE) == counts[name], "tasks are counted", name)
        for name, known in state.resources.known.items():
            if isinstance(known, Semaphore):
                held = [unit for task in holding for unit in (task.units or {}).get(name, [])]
                demand(sorted(held) == known.units_out, "units are conserved", name, held, known.units_out)
        if whole and daemon.is_settled():
            self._check_twin(daemon)

    def _check_twin(self, daemon: Any) -> None:
        wall = self._world.clock.wall
        found, wanted = take_snapshot(daemon.load(), wall), take_snapshot(daemon.scheduler.engine, wall)
        for part in wanted:
            demand(found[part] == wanted[part], "the store tells all", part, found[part], wanted[part])

    def check_end(self) -> None:
        """When all faults are over and time has passed: everything has come to its end."""
        open_ones = [t for t in self._world.base.tasks.values() if t.status in LIVE or t.leaving]
        demand(not open_ones, "everything ends", [(t.id, t.status, t.reason, t.leaving) for t in open_ones])
        for task in self._world.base.tasks.values():
            if task.status is Status.SUCCEEDED:
                ends = [report for (one, _), report in self._ends.items() if one == task.id]
                demand(any(report["exit_code"] == 0 for report in ends), "no success is invented", task.id)


def takes_slots(task: LiveTask) -> bool:
    """Whether a task holds its slots."""
    return task.status is Status.RUNNING or (task.leaving and not task.leased)
