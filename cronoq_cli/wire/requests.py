"""The requests a client (or a forwarded command line) makes of the daemon, as typed messages.

One struct a request, tagged by `type`. What a request does lives in daemon/handlers, how it is framed in `codec`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.task import Backoff, Dependency, TaskSpec
from cronoq_cli.wire.schedules import ScheduleHistory, ScheduleRequests, Schedules


class Selector(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Which tasks a verb takes; all given restrictions hold together, ids and refs are alternatives of each other.

    `refs`: ids, runs `3-8`, keys and `last`, as typed. `all`: every task the verb can act on.
    """

    refs: list[str] = []
    pools: list[str] = []
    statuses: list[str] = []
    tags: dict[str, str | None] = {}
    name_glob: str | None = None
    all: bool = False

    def is_empty(self) -> bool:
        """Whether nothing at all was said."""
        return self == Selector()


class _Request(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True):
    """Base of all requests: the tag is the request's name."""


class Submit(_Request, tag="submit"):
    """Queue tasks, all or none. A `Dependency.ref` of `#N` means the N-th spec of this request (from 0).

    `envs`: the environments that specs name, by id (hash). `stdins`: kept input by index of the spec. `batch`:
    the ids are a batch that can be referred to; `limit` and `max_fails` belong to it. `lines`: for each spec the
    line of the batch file it came from, for messages. `kept_out`: from the index on, specs are reactions and
    not members of the batch.
    """

    specs: list[TaskSpec]
    envs: dict[str, bytes] = {}
    stdins: dict[int, bytes] = {}
    batch: bool = False
    limit: int | None = None
    max_fails: int | None = None
    lines: list[int] | None = None
    members: int | None = None
    """How many of the specs, from the front, are the batch; the rest are reactions."""
    dry_run: bool = False
    no_wait: bool = False
    """Refused at once where the overflow policy would have the submitter wait for room."""
    brief: bool = False
    """The answer names ids and no documents."""


class ListTasks(_Request, tag="list"):
    """Documents of tasks: without a selector what runs, the next `limit` waiting in order, the last 10 ended."""

    select: Selector = msgspec.field(default_factory=Selector)
    limit: int | None = 50
    """None: all."""
    finished: bool = False
    after_id: int | None = None


class ShowWindow(_Request, tag="window"):
    """What a live view needs, bounded however many tasks there are: `limit` of them from `offset` on, pools, counts.

    In order: what runs, the next waiting, the last ended, newest first. `select`: its pools and statuses only. `text`:
    only tasks that have it in name, key or command, upper or lower case. `brief`: of those waiting and those ended at
    most so many. The answer has `tasks`, `offset`, `total` (how long the whole list is), `more` (how many that wait are
    not in it), `summary`, `pools`, and `seq`: the last stored transition.
    """

    select: Selector = msgspec.field(default_factory=Selector)
    text: str | None = None
    offset: int = 0
    limit: int = 50
    brief: int | None = None


class ShowTasks(_Request, tag="show"):
    """Whole documents of the selected tasks with their attempts; `env` adds the environment's values."""

    select: Selector
    env: bool = False


class WaitTasks(_Request, tag="wait"):
    """Answered when all (or `any`) of the selected tasks are final, with their documents.

    `now`: answered at once, by a refusal when they are not. `brief`: of several that succeeded it is only told that.
    """

    select: Selector
    any: bool = False
    now: bool = False
    brief: bool = False


class Cancel(_Request, tag="cancel"):
    """Cancel live tasks; `dead`: put them among the dead letters instead. `grace_s` overrides the task's."""

    select: Selector
    dead: bool = False
    grace_s: float | None = None


class Hold(_Request, tag="hold"):
    """Hold waiting tasks."""

    select: Selector


class Release(_Request, tag="release"):
    """Release held tasks."""

    select: Selector


class Retry(_Request, tag="retry"):
    """Run final tasks again under the same id; `with_dependents` revives those skipped because of them."""

    select: Selector
    with_dependents: bool = False


class Rerun(_Request, tag="rerun"):
    """Submit copies of tasks under new ids."""

    select: Selector


class StartNow(_Request, tag="start-now"):
    """Skip the waiting time of scheduled and retrying tasks, not the limits."""

    select: Selector


class Move(_Request, tag="move"):
    """Change the place of waiting tasks: exactly one of `first`, `last`, `before`, `pool`."""

    select: Selector
    first: bool = False
    last: bool = False
    before: str | None = None
    pool: str | None = None


class TaskChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What `edit` changes of a waiting task: UNSET is left as it is, None clears."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    command: list[str] | msgspec.UnsetType = msgspec.UNSET
    shell_line: str | msgspec.UnsetType = msgspec.UNSET
    shell: str | msgspec.UnsetType = msgspec.UNSET
    cwd: str | msgspec.UnsetType = msgspec.UNSET
    env_changes: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET
    pool: str | msgspec.UnsetType = msgspec.UNSET
    priority: int | msgspec.UnsetType = msgspec.UNSET
    slots: int | msgspec.UnsetType = msgspec.UNSET
    after: list[Dependency] | msgspec.UnsetType = msgspec.UNSET
    not_before: float | msgspec.UnsetType | None = msgspec.UNSET
    kill_at: float | msgspec.UnsetType | None = msgspec.UNSET
    timeout_s: float | msgspec.UnsetType | None = msgspec.UNSET
    heartbeat_s: float | msgspec.UnsetType | None = msgspec.UNSET
    retries: int | msgspec.UnsetType = msgspec.UNSET
    backoff: Backoff | msgspec.UnsetType = msgspec.UNSET
    retry_on: list[int] | msgspec.UnsetType | None = msgspec.UNSET
    no_retry_on: list[int] | msgspec.UnsetType | None = msgspec.UNSET
    success_codes: list[int] | msgspec.UnsetType | None = msgspec.UNSET
    on_lost: str | msgspec.UnsetType = msgspec.UNSET
    stop_signal: int | msgspec.UnsetType = msgspec.UNSET
    grace_s: float | msgspec.UnsetType = msgspec.UNSET
    tags: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    keep_s: float | msgspec.UnsetType | None = msgspec.UNSET
    nice: int | msgspec.UnsetType | None = msgspec.UNSET
    tenant: str | msgspec.UnsetType = msgspec.UNSET
    labels: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    uses: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    start_at: float | msgspec.UnsetType | None = msgspec.UNSET
    tolerance_s: float | msgspec.UnsetType = msgspec.UNSET
    on_miss: str | msgspec.UnsetType = msgspec.UNSET
    deadline: float | msgspec.UnsetType | None = msgspec.UNSET
    expires_at: float | msgspec.UnsetType | None = msgspec.UNSET
    estimate_s: float | msgspec.UnsetType | None = msgspec.UNSET


class Edit(_Request, tag="edit"):
    """Change waiting tasks."""

    select: Selector
    changes: TaskChanges


class EditEach(_Request, tag="edit-each"):
    """Change several waiting tasks, each in its own way: all of them, or none."""

    edits: list[Edit]


class Signal(_Request, tag="signal"):
    """Send one signal to the process trees of running tasks."""

    select: Selector
    signal: int


class Remove(_Request, tag="rm"):
    """Forget finished tasks; `cascade`: cancel the live tasks that wait for them too."""

    select: Selector
    cascade: bool = False


class Prune(_Request, tag="prune"):
    """Forget finished tasks older than `older_than_s`, of these statuses (all when empty)."""

    older_than_s: float
    statuses: list[str] = []
    dry_run: bool = False


class Events(_Request, tag="events"):
    """Stored transitions after `after_seq`, oldest first; None: the last `limit`. With a filter whoever asks looks
    through the store itself. The document has the `last_seq` of the history beside them: where to go on."""

    after_seq: int | None = None
    limit: int | None = 100
    select: Selector | None = None
    filter: EventFilter | None = None


class Stats(_Request, tag="stats"):
    """Figures over the last `window_s` seconds, in total, by pool and by kind; of one pool, of one kind. Whoever asks
    reads them from the store itself, so that a long history never holds up the daemon."""

    window_s: float = 86_400.0
    pool: str | None = None
    kind: str | None = None


class Throughput(_Request, tag="throughput"):
    """What ended and how long what started had waited over the last `window_s` seconds, in steps of `step_s`: for a
    chart that goes on with the events behind `last_seq` of the answer. Read from the store like Stats."""

    window_s: float
    step_s: float


class Watch(_Request, tag="watch"):
    """A stream: transitions after `after_seq` (None: from now on) as they are committed, of the selected tasks or of
    all, those that the filter wants, until the client goes away. The first message is
    `{"watching": seq, "tasks": [ids]}`."""

    after_seq: int | None = None
    select: Selector | None = None
    filter: EventFilter | None = None


class Pools(_Request, tag="pools"):
    """Documents of all pools, or of `name`."""

    name: str | None = None


class PausePool(_Request, tag="pool-pause"):
    """No new starts in these pools; `all` when the list is empty."""

    names: list[str] = []


class ResumePool(_Request, tag="pool-resume"):
    """Starts again in these pools; `all` when the list is empty."""

    names: list[str] = []


class ScalePool(_Request, tag="pool-scale"):
    """Another size of a pool: a number of `workers`, or a range from `min` to `max`; a None of a range stays."""

    name: str
    workers: int | None = None
    min: int | None = None
    max: int | None = None


class SetPool(_Request, tag="pool-set"):
    """Change settings of a pool until they are reset: plain values by key, as `config/live` judges them."""

    name: str
    changes: dict[str, Any]


class ResetPool(_Request, tag="pool-reset"):
    """Back to what the configuration says in these pools; `all` when the list is empty."""

    names: list[str] = []


class Resources(_Request, tag="resources"):
    """Documents of all resources, or of `name`."""

    name: str | None = None


class SetResource(_Request, tag="resource-set"):
    """Change a resource: `permits` of a semaphore; `rate_s` (units a second) and `burst` of a token bucket."""

    name: str
    permits: int | None = None
    rate_s: float | None = None
    burst: float | None = None


class Explain(_Request, tag="explain"):
    """Why the selected tasks wait, when they are expected to start, or what decided their end."""

    select: Selector


class Metrics(_Request, tag="metrics"):
    """What monitoring wants to know, as families of samples (`model/metrics`)."""


class Complete(_Request, tag="complete"):
    """Words that begin with `prefix` and can stand where a shell completes one of these `kinds` (commands/candidates);
    the answer has `words`: pairs of a word and what it is."""

    kinds: list[str]
    prefix: str = ""


class DaemonStatus(_Request, tag="daemon-status"):
    """What the daemon is and what its last start recovered."""


class DaemonStop(_Request, tag="daemon-stop"):
    """Stop the daemon. `mode`: stop (tasks are stopped), keep (tasks go on under the runner), drain (tasks end by
    themselves first). Answered when the tasks are dealt with and nothing more will be written."""

    mode: str = "stop"
    timeout_s: float | None = None
    hand_over: bool = False
    restart: bool = False


class Reload(_Request, tag="reload"):
    """Read the configuration anew, whole or not at all."""


Request = (
    Submit
    | ListTasks
    | ShowWindow
    | ShowTasks
    | WaitTasks
    | Cancel
    | Hold
    | Release
    | Retry
    | Rerun
    | StartNow
    | Move
    | Edit
    | EditEach
    | Signal
    | Remove
    | Prune
    | Events
    | Stats
    | Throughput
    | Watch
    | Pools
    | PausePool
    | ResumePool
    | ScalePool
    | SetPool
    | ResetPool
    | Resources
    | SetResource
    | Explain
    | Metrics
    | Complete
    | DaemonStatus
    | DaemonStop
    | Reload
    | ScheduleRequests
)

READS = (
    ListTasks,
    ShowTasks,
    Events,
    Stats,
    Throughput,
    Metrics,
    Pools,
    Resources,
    Explain,
    Complete,
    Schedules,
    ScheduleHistory,
    DaemonStatus,
)
"""Requests that change nothing: answered from the store when no daemon runs (client/offline)."""


def is_read_from_store(request: Request) -> bool:
    """Whether the client answers a read from the store also while a daemon runs: what may take long to find."""
    return isinstance(request, Stats | Throughput) or (isinstance(request, Events) and request.filter is not None)


ANY_VERSION = (DaemonStatus, DaemonStop)
"""Requests an old daemon answers to a new client, and the reverse."""


class Reply(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The answer to a request: `doc` is the JSON document of the specification without `schema` (`{"tasks": [...]}`,
    `{"task": {...}}`, `{"pools": [...]}`, ...), `notes` are lines for stderr, `exit` the exit status."""

    doc: dict[str, Any] = {}
    notes: list[str] = []
    exit: int = 0
