"""The one door: event -> engine -> commit -> perform -> answer.

Everything that happens in one turn of the loop shares one commit. Nothing is performed and nobody is answered
before what it rests on is durable. What requests mean is in `handlers`, the runner's side in `runners`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from heapq import merge
from itertools import islice
from typing import Any, Protocol, TypeVar

from cronoq_cli.daemon.changes import collect_changes
from cronoq_cli.daemon.parked import AwaitRoom, NotYet, Parked, Ticket, Unsettled
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import (
    Action,
    ClockChanged,
    Effects,
    Event,
    LeasesRevoked,
    LeasesSettled,
    RunnerGone,
    TimePassed,
)
from cronoq_cli.errors import CronoqError, FencedError, StoreBusyError, StoreError, StoreFullError, TryLaterError
from cronoq_cli.model.notice import Notice
from cronoq_cli.model.ping import Ping
from cronoq_cli.model.task import TaskRecord, TaskSpec, Transition
from cronoq_cli.store.contract import Changes, NewTasks, Store

log = logging.getLogger(__name__)
T = TypeVar("T")

BUSY_RETRY_S = 0.05
FULL_RETRY_S = (1.0, 2.0, 5.0, 10.0, 15.0)
"""Seconds between tries to write again while the disk refuses: the last one repeats."""
SPECS_KEPT = 4096
"""So many specs of new tasks stay in memory: most are started soon, and need not be read from the store then."""
OUT_OF_MEMORY = "the daemon is out of memory"
LONGEST_SLEEP_S = 60.0
"""A timer never sleeps longer: a changed wall clock is noticed at the latest then."""

Done = Callable[[Any], None]


class Performer(Protocol):
    """What the scheduler sets in motion once it is committed."""

    def perform(self, actions: list[Action]) -> None:
        """Send orders to the runner."""
        ...

    def resize(self) -> None:
        """Tell the runners the pools' present sizes."""
        ...

    def ask_again(self) -> None:
        """Have every runner say once more what it knows (the engine was read anew from the store)."""
        ...


class Scheduler:
    """Drives one engine over one store on one event loop.

    `load` makes an engine from the store, at the start and after a commit that the disk refused. `on_commit` is
    told the transitions of each commit, `on_notices` and `on_pings` what others are to be told of it; `on_fatal` is
    called when this daemon must stop (fenced, store unreadable).
    """

    def __init__(self, store: Store, load: Callable[[], Engine], clock: Callable[[], Now]) -> None:
        self.store = store
        self.clock = clock
        self.performer: Performer | None = None
        self.on_commit: Callable[[Iterable[Transition]], None] = lambda transitions: None
        self.before_event: Callable[[], None] = lambda: None
        self.on_turn: Callable[[], None] = lambda: None
        self.on_notices: Callable[[list[Notice]], None] = lambda notices: None
        self.on_pings: Callable[[list[tuple[str, Ping]]], None] = lambda pings: None
        self.on_wake: Callable[[], object] = lambda: None
        self.on_ended: Callable[[], None] = lambda: None
        self.on_fatal: Callable[[CronoqError], None] = lambda error: None
        self.specs: dict[int, TaskSpec] = {}
        self.refusing: CronoqError | None = None
        self.commits = 0
        self._load = load
        self.engine = load()
        self._parked = Parked()
        self._answers: list[tuple[Done, Any]] = []
        self._extra = Changes()
        self._bulks: list[NewTasks] = []
        self._flush_handle: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._full_tries = 0
        self._needs_commit = False
        self._closed = False

    # -- events from inside --------------------------------------------------------------------------------------

    def apply(self, event: Event) -> Any:
        """Give the engine an event; what it changes is committed in this turn of the loop."""
        self.before_event()
        try:
            result = self.engine.handle(event, self.clock())
        except MemoryError as error:
            raise self._give_up_turn(error) from error
        self._schedule_flush()
        return result

    def add_rows(self, **rows: Any) -> None:
        """Have more rows written with the next commit: environments, kept input, removals."""
        for name, value in rows.items():
            kept = getattr(self._extra, name)
            kept.update(value) if isinstance(kept, dict) else kept.extend(value)
        self._schedule_flush()

    def must_commit(self) -> None:
        """The answer under way rests on changes: it waits for the commit."""
        self._needs_commit = True

    def check_writable(self) -> None:
        """Raises TryLaterError while the store refuses to write."""
        if self.refusing is not None:
            raise TryLaterError(self.refusing.message, hint="try again when there is space", code=self.refusing.code)

    # -- the door ------------------------------------------------------------------------------------------------

    def run(self, call: Callable[[], T], done: Callable[[T | BaseException], None]) -> Callable[[], None] | None:
        """Run `call` and hand its result to `done` when what it changed is committed.

        A call that must wait (Unsettled, NotYet) has changed nothing and is run again; what forgets it is returned."""
        ticket = Ticket()
        self._run(call, done, ticket)
        return None if ticket.number is None else lambda: self._forget(ticket)

    def _run(self, call: Callable[[], Any], done: Done, ticket: Ticket) -> None:
        self._needs_commit = False
        try:
            result: Any = call()
        except (Unsettled, NotYet, AwaitRoom) as reason:
            self._parked.add(reason, call, done, ticket)
            if isinstance(reason, Unsettled):
                self.apply(LeasesRevoked(ids=list(reason.ids)))
            return
        except MemoryError as error:
            result = self._give_up_turn(error) if self._has_pending() else TryLaterError(OUT_OF_MEMORY)
        except BaseException as error:  # handed to the one who asked, who knows what to say of it
            result = error
        if self._needs_commit and self._has_pending():
            self._answers.append((done, result))
        else:
            done(result)

    def _forget(self, ticket: Ticket) -> None:
        """The one who asked is gone."""
        reason = self._parked.forget(ticket.number)
        if isinstance(reason, Unsettled):
            self.apply(LeasesSettled(list(reason.ids)))

    def settle_parked(self) -> None:
        """Run again what waited for leases that are settled now (called after the runner's reports)."""
        for reason, call, done, ticket in self._parked.take_settled(self._is_leased):
            self._run(call, done, ticket)
            self.apply(LeasesSettled(list(reason.ids)))

    def release_parked(self, number: int) -> None:
        """Run again what waits for this task number."""
        for call, done, ticket in self._parked.take_ended([number]):
            self._run(call, done, ticket)

    def _is_leased(self, task_id: int) -> bool:
        task = self.engine.find(task_id)
        return task is not None and task.leased and not task.leaving

    # -- committing ----------------------------------------------------------------------------------------------

    def _has_pending(self) -> bool:
        return self._flush_handle is not None

    def _schedule_flush(self) -> None:
        if self._flush_handle is None and not self._closed:
            self._flush_handle = asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Commit everything pending, then perform and answer. Called by the loop; safe to call at any time."""
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        effects = self.engine.take_effects()
        changes = collect_changes(effects, self._extra)
        if changes:
            try:
                seqs = self.store.commit(changes)
            except StoreBusyError:
                self._keep_for_later(effects)
                return
            except (StoreFullError, FencedError, StoreError) as error:
                self._fail(error)
                return
            except Exception as error:  # clients wait for an answer, and the engine is ahead of the store
                self._give_up_turn(error)
                return
            self.commits += 1
            self._extra = Changes()
            self._publish(effects, seqs)
            self._bulks = changes.bulks
        self._finish_turn(effects)

    def _keep_for_later(self, effects: Effects) -> None:
        self.engine.state.effects = effects
        self._flush_handle = asyncio.get_running_loop().call_later(BUSY_RETRY_S, self.flush)

    def _publish(self, effects: Effects, seqs: list[int]) -> None:
        for transition, seq in zip(effects.transitions, seqs, strict=False):
            transition.seq = seq
        self._full_tries = 0
        self.specs.update(effects.new)
        for bulk in effects.bulks:
            self.specs.update(enumerate(bulk.specs[:SPECS_KEPT], bulk.first))
        for task_id in effects.edited:
            self.specs.pop(task_id, None)
        for task_id in effects.ended:
            self.specs.pop(task_id, None)

    def _finish_turn(self, effects: Effects) -> None:
        if effects.resized and self.performer is not None:
            self.performer.resize()
        if effects.actions and self.performer is not None:
            self.performer.perform(effects.actions)
        answers, self._answers = self._answers, []
        for done, result in answers:
            done(result)
        if effects.notices:
            self.on_notices(effects.notices)
        if effects.pings:
            self.on_pings(effects.pings)
        if effects.transitions or self._bulks:
            self.on_commit(_merge_events(effects.transitions, self._bulks))
            self._bulks = []
        if effects.ended:
            self.on_ended()
            for call, done, ticket in self._parked.take_ended(effects.ended):
                self._run(call, done, ticket)
        self._let_in()
        self._trim_specs()
        self._arm()
        self.on_turn()

    def _let_in(self) -> None:
        """Let submitters that wait for room try again, first come first served, as long as they get in."""
        while (found := self._parked.find_first_for_room(self._has_room)) is not None:
            call, done, ticket = found
            self._run(call, done, ticket)
            if ticket.number is not None:
                return

    def _has_room(self, name: str) -> bool:
        state = self.engine.state
        pool = state.pools.get(name)
        if pool is None or pool.plan.max_pending is None or pool.pending < pool.plan.max_pending:
            total = sum(one.pending for one in state.pools.values())
            return state.max_pending is None or total < state.max_pending
        return False

    def _trim_specs(self) -> None:
        # Listed first: looking for the front again after each deletion walks over all that were deleted before.
        for task_id in list(islice(self.specs, max(0, len(self.specs) - SPECS_KEPT))):
            del self.specs[task_id]

    # -- when the store refuses ------------------------------------------------------------------------------------

    def _fail(self, error: CronoqError) -> None:
        """Nothing of this turn is stored: everybody is told, and the engine is read anew, as after a crash."""
        answers, self._answers = self._answers, []
        refusal = TryLaterError(error.message, hint="nothing was queued or changed", code=error.code)
        for done, _ in answers:
            done(refusal)
        self._extra = Changes()
        if isinstance(error, FencedError) or not isinstance(error, StoreFullError):
            self.close()
            self.on_fatal(error)
            return
        if self.refusing is None:
            log.error("the store cannot be written: %s; new work is refused until it can", error.message)
        self.refusing = error
        self._reload()
        if self._retry is None and not self._closed:
            delay_s = FULL_RETRY_S[min(self._full_tries, len(FULL_RETRY_S) - 1)]
            self._full_tries += 1
            self._retry = asyncio.get_running_loop().call_later(delay_s, self._try_again)

    def _give_up_turn(self, error: Exception) -> TryLaterError:
        """Something broke within the door: nothing of this turn may stay in the engine. Returns what to say of it."""
        if isinstance(error, MemoryError):
            failure = StoreFullError(OUT_OF_MEMORY, code="no-memory")
        else:
            log.error("a commit failed by an internal error", exc_info=error)
            failure = StoreFullError(f"internal error in the daemon: {type(error).__name__}", code="internal")
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        self._fail(failure)
        return TryLaterError(failure.message, hint="nothing was queued or changed", code=failure.code)

    def _reload(self) -> None:
        self.specs.clear()
        try:
            self.engine = self._load()
        except (CronoqError, MemoryError) as error:
            self.close()
            self.on_fatal(error if isinstance(error, CronoqError) else TryLaterError(OUT_OF_MEMORY))

    def _try_again(self) -> None:
        """Write one small row; when that works, have the runners say again what became of everything."""
        self._retry = None
        if self._closed:
            return
        now = self.clock()
        probe = Transition(at=now.wall, type="store-writable", message="the store can be written again")
        try:
            self.store.commit(Changes(transitions=[probe]))
        except (StoreBusyError, StoreFullError) as error:
            self._fail(error if isinstance(error, StoreFullError) else StoreFullError(error.message))
            return
        except StoreError as error:
            self._fail(error)
            return
        except MemoryError as error:
            self._give_up_turn(error)
            return
        log.info("the store can be written again")
        self.refusing = None
        self._full_tries = 0
        self.apply(ClockChanged(able_since=now.wall))  # what fell due meanwhile could not be run
        if self.performer is not None:
            self.performer.ask_again()

    # -- time ------------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wait_s = self.engine.next_due_s(self.clock())
        if wait_s is not None and not self._closed:
            delay_s = min(wait_s, LONGEST_SLEEP_S)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake)

    def hear_first(self) -> None:
        """Nothing is decided or started until every runner has said anew what it knows: what ended while we stood still
        is in nobody's way."""
        if self.refusing is None:
            self.apply(RunnerGone())
            if self.performer is not None:
                self.performer.ask_again()

    def _wake(self) -> None:
        self._timer = None
        if self.refusing is None:
            self.on_wake()
            self.apply(TimePassed())

    def close(self) -> None:
        """Write nothing more: what is pending is dropped (it is committed already, or was refused)."""
        self._closed = True
        for handle in (self._timer, self._flush_handle, self._retry):
            if handle is not None:
                handle.cancel()
        self._timer = self._flush_handle = self._retry = None

    def start(self) -> None:
        """Begin to keep time."""
        self._schedule_flush()

    # -- looking -----------------------------------------------------------------------------------------------------

    def find_live(self, task_id: int) -> LiveTask | None:
        """The engine's task of that id, live or leaving."""
        return self.engine.find(task_id)

    def find_record(self, task_id: int) -> TaskRecord | None:
        """A task as it stands, also when its last change is not committed yet."""
        task = self.engine.state.effects.touched.get(task_id) or self.engine.find(task_id)
        if task is None:
            return self.store.find_task(task_id)
        spec = self.find_spec(task_id)
        return None if spec is None else task.to_record(spec)

    def find_spec(self, task_id: int) -> TaskSpec | None:
        """The spec of a task: newly submitted ones are at hand, others are read from the store."""
        effects = self.engine.state.effects
        spec = effects.find_spec(task_id) or self.specs.get(task_id)
        if spec is None:
            record = self.store.find_task(task_id)
            spec = None if record is None else record.spec
        return spec

    def list_records(self, ids: Iterable[int]) -> list[TaskRecord]:
        """Records of these tasks, in the order asked for; unknown ids are left out."""
        wanted = list(ids)
        effects = self.engine.state.effects
        pending = {i for i in wanted if i in effects.touched or effects.is_new(i)}
        stored = {record.id: record for record in self.store.list_tasks(i for i in wanted if i not in pending)}
        found = (stored.get(i) or (self.find_record(i) if i in pending else None) for i in wanted)
        return [record for record in found if record is not None]


def _merge_events(transitions: list[Transition], bulks: list[NewTasks]) -> Iterable[Transition]:
    """All lines of history of a commit in their order; those of bulks are made as they are asked for."""
    if not bulks:
        return transitions
    return merge(transitions, *(bulk.iter_events() for bulk in bulks), key=lambda event: event.seq)
