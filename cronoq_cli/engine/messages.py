"""What goes into the engine (events, in the past tense) and what comes out (actions, as orders; effects).

Values only: the engine touches nothing else, the daemon commits the effects and performs the actions. What every task's
way has many of are msgspec structs, made in a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import NamedTuple

import msgspec

from cronoq_cli.engine.autoscale import MachineSeen
from cronoq_cli.engine.edge_changes import EdgeChanges
from cronoq_cli.engine.gathering import GroupTemplate
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.pools import Leases, PoolPlan
from cronoq_cli.engine.resources import Resource
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.notice import Incident, Notice, Told
from cronoq_cli.model.ping import Ping
from cronoq_cli.model.policy import AttemptEnd, Policy
from cronoq_cli.model.recurring import PassedSlots, Schedule, ScheduleSpec
from cronoq_cli.model.task import AttemptRecord, Batch, Condition, Edge, TaskRecord, TaskSpec, Transition

# -- events ------------------------------------------------------------------------------------------------------


class WantedEdge(msgspec.Struct):
    """A dependency whose reference is resolved: another member of the same submission (`index`), a task (`target`, with
    its status when it is final and no longer in the engine), or a key nobody has yet (`awaited`)."""

    condition: Condition
    index: int | None = None
    target: int | None = None
    final: Status | None = None
    awaited: str | None = None


class Newcomer(msgspec.Struct):
    """One task of a submission. `existing` is a task that stands for it already (a duplicate outside the engine), with
    its status when that is final: others of the same submission may depend on it. `reason`: why it starts, of an
    occurrence of a schedule."""

    spec: TaskSpec
    edges: list[WantedEdge] = []
    existing: int | None = None
    fingerprint: str | None = None
    existing_final: Status | None = None
    reason: str | None = None


class Submitted(msgspec.Struct):
    """Tasks were submitted, all or none. The first `members` of them are a batch, if it is one."""

    newcomers: list[Newcomer]
    batch: bool = False
    members: int = 0
    limit: int | None = None
    max_fails: int | None = None


class Cancelled(msgspec.Struct):
    """People cancelled tasks; `dead`: to the dead letters. `grace_s` overrides the tasks' own."""

    ids: list[int]
    dead: bool = False
    grace_s: float | None = None
    reason: str = "cancelled by the user"


class Held(msgspec.Struct):
    """Waiting tasks were held."""

    ids: list[int]


class Released(msgspec.Struct):
    """Held tasks were released."""

    ids: list[int]


class StartedNow(msgspec.Struct):
    """The waiting time of scheduled and retrying tasks was skipped."""

    ids: list[int]


class Revival(msgspec.Struct):
    """One final task that is to live again, with the edges that count from now on, and its batch if it is of one."""

    record: TaskRecord
    edges: list[WantedEdge] = []
    batch: Batch | None = None


class Retried(msgspec.Struct):
    """Final tasks were revived under their own ids."""

    revivals: list[Revival]


class Edited(msgspec.Struct):
    """The spec of a waiting task was changed; `edges` is None when the dependencies stay."""

    id: int
    spec: TaskSpec
    edges: list[WantedEdge] | None = None


class EditedTogether(msgspec.Struct):
    """Several waiting tasks were changed: all of them, or none when one cannot be."""

    edits: list[Edited]


class Moved(msgspec.Struct):
    """Waiting tasks changed place in their class: to the front, to the end, or before the task `before`."""

    ids: list[int]
    first: bool = False
    before: int | None = None


class Signalled(msgspec.Struct):
    """A signal was asked for the trees of running tasks."""

    ids: list[int]
    signal: int


class AttemptStarted(msgspec.Struct):
    """The runner started an attempt."""

    task: int
    attempt: int
    pid: int | None
    at: float
    slot: int | None = None


class AttemptEnded(msgspec.Struct):
    """The runner reported the end of an attempt (it may repeat itself)."""

    task: int
    attempt: int
    end: AttemptEnd


class LeaseReturned(msgspec.Struct):
    """The runner gave an order back that it had not started."""

    task: int
    attempt: int


class RunnersCompared(msgspec.Struct):
    """All runners have said what they know: what nobody knows of never started, or is lost when a start was seen.

    `several`: more than one lives, so none can tell by its own whether a pool has room."""

    known: set[tuple[int, int]]
    several: bool = False


class RunnerGone(msgspec.Struct):
    """A runner died: nothing starts until its journal has been read and the runners compared. `trouble`: why no other
    could be started yet."""

    trouble: str | None = None


class LeasesRevoked(msgspec.Struct):
    """Leased tasks are to come back from the runner (None: all of the pool or of all pools)."""

    ids: list[int] | None = None
    pool: str | None = None


class LeasesSettled(msgspec.Struct):
    """The change that leases were called back for is made (or given up)."""

    ids: list[int]


class PoolPaused(msgspec.Struct):
    """No new starts in a pool."""

    pool: str


class PoolResumed(msgspec.Struct):
    """Starts again in a pool."""

    pool: str


class PoolResized(msgspec.Struct):
    """A pool has another number of workers."""

    pool: str
    workers: int


class MetersRead(msgspec.Struct):
    """What the pools have offered and used is to be written down now."""


class StopBegan(msgspec.Struct):
    """The daemon stops: no new starts, leases back, and the running tasks stopped, now (`hurry`) or by their ladder."""

    hurry: bool = False


class DrainBegan(msgspec.Struct):
    """No new starts; what runs ends by itself."""


class PoolReplanned(msgspec.Struct):
    """The configuration of a pool was read anew, or changed by command (`changes`); a new pool is added."""

    pool: str
    plan: PoolPlan
    changes: dict[str, object] = {}


class GroupsReplanned(msgspec.Struct):
    """The configuration of the groups was read anew."""

    groups: Mapping[str, GroupTemplate]


class ResourcesReplanned(msgspec.Struct):
    """The configuration of the resources was read anew: these are all there are."""

    resources: Mapping[str, Resource]


class RulesReplanned(msgspec.Struct):
    """What a spec means and how tasks are scored was read anew; tasks that are there keep their policies."""

    policy_of: Callable[[TaskSpec], Policy]
    scoring: Scoring


class TotalsReplanned(msgspec.Struct):
    """What holds for all pools was read anew: workers (None: no bound), how they are shared, waiting tasks, leases."""

    workers: int | None = None
    strict: bool = False
    max_pending: int | None = None
    leases: Leases = "auto"


class ResourceChanged(msgspec.Struct):
    """A resource has other numbers: `permits`, or `rate` (a second) with `burst`."""

    name: str
    permits: int | None = None
    rate: float | None = None
    burst: float | None = None


class NoticesReplanned(msgspec.Struct):
    """Which notices hooks want of the tasks of each pool was read anew; pools without hooks are left out."""

    by_pool: Mapping[str, frozenset[Told]]


class MachineLooked(msgspec.Struct):
    """The machine's load and memory were read."""

    seen: MachineSeen


class SchedulesApplied(msgspec.Struct):
    """Schedules were added, replaced and removed. New ones are `paused` (with a reason) when asked. One equal to
    what is there changes nothing but a broken chain. `refreshed`: only their templates are other ones, counts go on.
    `pausing` and `resuming` are names of what is there then that rest from now on, or go on."""

    specs: list[ScheduleSpec] = []
    removed: list[str] = []
    paused: bool = False
    pause_reason: str | None = None
    refreshed: bool = False
    pausing: list[str] = []
    resuming: list[str] = []


class SchedulesPaused(msgspec.Struct):
    """No new occurrences of these (all when empty), until `until` (unix seconds) where given."""

    names: list[str]
    until: float | None = None
    reason: str | None = None


class SchedulesResumed(msgspec.Struct):
    """Occurrences again, of these (all when empty); broken chains begin anew, nothing is made up for."""

    names: list[str]


class SlotsSkipped(msgspec.Struct):
    """Slots of a schedule are to be left out: instants of a cron schedule, or so many points of an interval."""

    name: str
    slots: list[float] = []
    points: int = 0


class OccurrenceAsked(msgspec.Struct):
    """A person wants an occurrence of a schedule now, outside of every chain. The result is its id."""

    name: str


class ZoneChanged(msgspec.Struct):
    """The machine's zone is another one: schedules without a zone of their own follow it from now on. `message` is the
    line for the event history; None: none."""

    zone: tzinfo
    message: str | None = None


class ClockChanged(msgspec.Struct):
    """The wall clock was set, or the machine slept. Slots before `able_since` (unix seconds, by the clock as it is now:
    the end of the suspend, the far side of a jump forward) that are not decided were missed and are left to catch-up;
    None: the clock went back, nothing was missed and nothing decided is repeated. All schedules are looked at anew.

    The engine also sees by itself, whenever something falls due, that the two clocks have parted (`occurrences`); this
    event is for who notices at once. It may come twice for one jump. `message` is a line of the event history, of the
    type `kind` (as in `model.clock`); None: none."""

    able_since: float | None = None
    kind: str = "clock-stepped"
    message: str | None = None


class TimePassed(msgspec.Struct):
    """Something may have become due."""


Event = (
    Submitted
    | Cancelled
    | Held
    | Released
    | StartedNow
    | Retried
    | Edited
    | EditedTogether
    | Moved
    | Signalled
    | AttemptStarted
    | AttemptEnded
    | LeaseReturned
    | RunnersCompared
    | RunnerGone
    | LeasesRevoked
    | LeasesSettled
    | PoolPaused
    | PoolResumed
    | PoolResized
    | MetersRead
    | StopBegan
    | DrainBegan
    | PoolReplanned
    | GroupsReplanned
    | ResourcesReplanned
    | RulesReplanned
    | TotalsReplanned
    | ResourceChanged
    | NoticesReplanned
    | MachineLooked
    | SchedulesApplied
    | SchedulesPaused
    | SchedulesResumed
    | SlotsSkipped
    | OccurrenceAsked
    | ZoneChanged
    | ClockChanged
    | TimePassed
)

# -- actions -----------------------------------------------------------------------------------------------------


class Start(msgspec.Struct):
    """Order an attempt; `ahead`: given ahead of need, as a lease."""

    task: int
    attempt: int
    pool: str
    slots: int
    ahead: bool


class Stop(msgspec.Struct):
    """Stop an attempt's whole process tree: `signal`, then KILL after `grace_s`. An order not started is dropped."""

    task: int
    attempt: int
    signal: int
    grace_s: float
    cause: str


class Revoke(msgspec.Struct):
    """Take an order back if it has not started."""

    task: int
    attempt: int


class SendSignal(msgspec.Struct):
    """One signal to the tree of a running attempt."""

    task: int
    attempt: int
    signal: int


class Forget(msgspec.Struct):
    """The end of an attempt is committed: the runner may drop it."""

    task: int
    attempt: int


Action = Start | Stop | Revoke | SendSignal | Forget


class Bulk(NamedTuple):
    """New tasks, many, with ids from `first` on, that were ready at once. `samples`: a task like those of each kind, of
    which it is the first; `kinds`: the kind of each task, None where there is but one. `told`: how many lines of the
    history, of those beside theirs, come before them."""

    first: int
    specs: list[TaskSpec]
    samples: list[LiveTask]
    kinds: list[int] | None
    told: int

    def has(self, task_id: int) -> bool:
        """Whether the task is one of these."""
        return self.first <= task_id < self.first + len(self.specs)


class Effects(msgspec.Struct, eq=False):
    """What one or many events changed, to be committed together, and the actions to perform after that.

    `touched`: tasks whose state changed, by id; `new`, `edited`: the specs of those that are new or were edited.
    `bulks`: new tasks by the hundred, which are in neither.
    `schedules`: those that changed, None: removed; `passed`: slots that became no task, by schedule, first and status.
    """

    touched: dict[int, LiveTask] = {}
    new: dict[int, TaskSpec] = {}
    bulks: list[Bulk] = []
    edited: dict[int, TaskSpec] = {}
    attempts: dict[tuple[int, int], AttemptRecord] = {}
    edges: EdgeChanges = msgspec.field(default_factory=EdgeChanges)
    batches: dict[int, Batch] = {}
    transitions: list[Transition] = []
    pools: dict[str, dict[str, object] | None] = {}
    leasing: set[str] = set()
    """Pools of which other tasks are given ahead than before: that is kept with the pool, one row for all of them."""
    ended: list[int] = []
    resized: bool = False
    """Whether a pool has another size, of which the runners are to be told."""
    run_times: dict[tuple[str, str], list[float]] = {}
    incidents: dict[str, Incident | None] = {}
    notices: list[Notice] = []
    """What hooks are to be told once this is committed."""
    pings: list[tuple[str, Ping]] = []
    """Base URLs that are to be told of starts and ends then."""
    schedules: dict[str, Schedule | None] = {}
    passed: dict[tuple[str, float, str], PassedSlots] = {}
    actions: list[Action] = []

    def find_spec(self, task_id: int) -> TaskSpec | None:
        """The spec of a task that is new or was edited."""
        spec = self.edited.get(task_id) or self.new.get(task_id)
        if spec is None and self.bulks:
            found = (bulk.specs[task_id - bulk.first] for bulk in self.bulks if bulk.has(task_id))
            spec = next(found, None)
        return spec

    def list_new(self, before: int, most: int) -> list[int]:
        """The newest of the new tasks with an id below `before`, newest first."""
        ids = [task_id for task_id in self.new if task_id < before]
        for bulk in self.bulks:
            end = min(before, bulk.first + len(bulk.specs))
            ids += range(max(bulk.first, end - most), end)
        return sorted(ids, reverse=True)[:most]

    def is_new(self, task_id: int) -> bool:
        """Whether no store knows the task yet."""
        return task_id in self.new or any(bulk.has(task_id) for bulk in self.bulks)

    @property
    def edges_opened(self) -> list[Edge]:
        """Edges to write first, as open."""
        return self.edges.list_opened()

    @property
    def edges_closed(self) -> list[Edge]:
        """Edges to close after that."""
        return self.edges.list_closed()

    @property
    def forgotten_edges(self) -> list[int]:
        """Tasks whose edges are all to be closed last."""
        return self.edges.list_forgotten()


class SchedulesKept(msgspec.Struct):
    """The result of SchedulesApplied: names of what was added, replaced, left as it was, and removed."""

    added: list[str] = []
    replaced: list[str] = []
    unchanged: list[str] = []
    removed: list[str] = []


class Accepted(msgspec.Struct):
    """The result of a submission: for each newcomer its id, and which of them stood there before."""

    ids: list[int]
    duplicates: set[int] = set()
    batch: int | None = None
