"""From an action of the engine to the runner's orders: the command, its environment, its files and limits.

Everything a start needs is read here, at the last moment; how orders are sent is in `runners`.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cronoq_cli.config.paths import Paths
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.demand import WORKERS
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import Action, Forget, Revoke, SendSignal, Start, Stop
from cronoq_cli.engine.resources import CATCH_UP
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.places import fill_place, format_token, log_name, report_name
from cronoq_cli.model.resource import format_units, variable_of
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.contract import iter_env
from cronoq_cli.wire.runner import ENVIRONMENTS_KEPT, Order

DEFAULT_SHELL = "/bin/sh"
FORGOTTEN_AT_ONCE = 1000
UNREADABLE = "echo 'cronoq: the stored task is damaged and cannot be read' >&2; exit 126"
_NO_POOL = PoolSettings(workers=0)


class StartOrder(msgspec.Struct, omit_defaults=True, tag_field="order", tag=Order.START.value):
    """A start, in the words the runner reads (`runner/orders`): what is None is left out. A struct is made and written
    in a fraction of what a dictionary takes."""

    token: str
    lane: str
    width: int
    argv: list[str]
    env: str
    vars: dict[str, str]
    cwd: str
    umask: int
    report: str
    log: str
    stop_signal: int
    grace_s: float
    leftovers: str
    nice: int | None = None
    stdin: str | None = None
    timeout_s: float | None = None
    kill_at: float | None = None
    heartbeat_s: float | None = None
    log_cap: int | None = None
    rlimits: Mapping[str, Any] | None = None
    stderr_log: str | None = None
    stdout: str | None = None
    stderr: str | None = None


OrderMessage = dict[str, Any] | StartOrder
"""One order as it goes into a frame."""


class SentEnvironments:
    """Which environments one runner has: the same rule as its own (the most recently used are kept)."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, None] = OrderedDict()

    def use(self, env_id: str) -> bool:
        """Note a use; whether the environment has to be sent first."""
        sent = self._sent
        if env_id in sent:
            sent.move_to_end(env_id)
            return False
        sent[env_id] = None
        if len(sent) > ENVIRONMENTS_KEPT:
            sent.popitem(last=False)
        return True


class Orders:
    """Builds the orders of one store."""

    def __init__(self, scheduler: Scheduler, paths: Paths, settings: Settings, store_id: str) -> None:
        self.settings = settings
        self._scheduler = scheduler
        self._paths = paths
        self._store_id = store_id
        self._logs_dir = paths.logs_dir
        self._vars: OrderedDict[str, list[str]] = OrderedDict()

    def token(self, task_id: int, attempt: int) -> str:
        """The token of an attempt."""
        return format_token(self._store_id, task_id, attempt)

    def fetch_specs(self, actions: Sequence[Action]) -> None:
        """Have at hand what these starts are to execute: one reading for all, not one for each."""
        specs = self._scheduler.specs
        missing = [action.task for action in actions if isinstance(action, Start) and action.task not in specs]
        if len(missing) > 1:
            specs.update((record.id, record.spec) for record in self._scheduler.store.list_tasks(missing))

    def build(self, action: Action, sent: SentEnvironments) -> list[OrderMessage]:
        """The orders for one action: none when its task is no more."""
        token = self.token(action.task, action.attempt)
        if isinstance(action, Start):
            return self._build_start(action, token, sent)
        match action:
            case Stop():
                stop = {"signal": action.signal, "grace_s": action.grace_s, "cause": action.cause}
                return [{"order": Order.STOP, "token": token, **stop}]
            case Revoke():
                return [{"order": Order.REVOKE, "token": token}]
            case SendSignal():
                return [{"order": Order.SIGNAL, "token": token, "signal": action.signal}]
            case Forget():
                return []  # all of a turn are one order

    def build_forgets(self, actions: Sequence[Action]) -> list[dict[str, Any]]:
        """The orders that acknowledge these ends, as few as can be."""
        tokens = [self.token(action.task, action.attempt) for action in actions if isinstance(action, Forget)]
        return [
            {"order": Order.FORGET, "tokens": tokens[at : at + FORGOTTEN_AT_ONCE]}
            for at in range(0, len(tokens), FORGOTTEN_AT_ONCE)
        ]

    def _build_start(self, action: Start, token: str, sent: SentEnvironments) -> list[OrderMessage]:
        task = self._scheduler.find_live(action.task)
        spec = self._scheduler.find_spec(action.task)
        if task is None or spec is None:
            return []
        if spec.members:
            spec = self._place_group(spec)
        pool = self.settings.pools.get(task.pool, _NO_POOL)
        report = f"{self._logs_dir}/{report_name(task.id, action.attempt)}"
        start = StartOrder(
            token,
            task.pool,
            task.slots,
            build_argv(spec, pool),
            spec.env,
            self._build_vars(task, spec, action.attempt, report),
            spec.cwd,
            spec.umask,
            report,
            f"{self._logs_dir}/{log_name(task.id, action.attempt)}",
            spec.stop_signal,
            spec.grace_s,
            pool.leftovers,
            spec.nice,
            self._find_stdin(task.id, spec),
            pool.timeout_s if spec.timeout_s is None else spec.timeout_s,
            task.kill_at,
            pool.heartbeat_s if spec.heartbeat_s is None else spec.heartbeat_s,
            self.settings.logs.cap or None,
            pool.rlimits or None,
        )
        if spec.split or spec.stdout or spec.stderr:
            self._add_outputs(start, task.id, action.attempt, spec)
        if sent.use(spec.env):
            return [{"order": Order.ENV, "id": spec.env, "vars": self._find_vars(spec.env)}, start]
        return [start]

    def _place_group(self, spec: TaskSpec) -> TaskSpec:
        """A group's task runs where its first member was submitted, with that one's environment."""
        first = self._scheduler.find_spec(spec.members[0])
        if first is None:
            return spec
        return msgspec.structs.replace(spec, cwd=first.cwd, umask=first.umask, env=first.env)

    def _add_outputs(self, start: StartOrder, task_id: int, attempt: int, spec: TaskSpec) -> None:
        if spec.split:
            start.stderr_log = f"{self._logs_dir}/{log_name(task_id, attempt, stderr=True)}"
        if spec.stdout:
            start.stdout = fill_place(spec.stdout, task_id, attempt, spec.name)
        if spec.stderr:
            start.stderr = fill_place(spec.stderr, task_id, attempt, spec.name)

    def _find_vars(self, env_id: str) -> list[str]:
        found = self._vars.get(env_id)
        if found is None:
            blob = self._scheduler.store.find_env(env_id) if env_id else b""
            found = [os.fsdecode(name + b"=" + value) for name, value in iter_env(blob or b"")]
            self._vars[env_id] = found
            if len(self._vars) > ENVIRONMENTS_KEPT:
                self._vars.popitem(last=False)
        return found

    def _find_stdin(self, task_id: int, spec: TaskSpec) -> str | None:
        """The file the task reads: what was kept with it is laid out once, what it gathers anew for each attempt."""
        if not spec.stdin_kept and spec.stdin_text is None and not spec.members:
            return spec.stdin
        path = os.path.join(self._paths.stdin_dir, str(task_id))
        if spec.members:
            _write_private(path, self._describe_members(task_id, spec.members))
        elif not os.path.exists(path):
            _write_private(path, self._find_input(task_id, spec))
        return path

    def _find_input(self, task_id: int, spec: TaskSpec) -> bytes:
        if spec.stdin_text is not None:
            return os.fsencode(spec.stdin_text)
        return self._scheduler.store.find_stdin(task_id) or b""

    def _describe_members(self, task_id: int, members: Sequence[int]) -> bytes:
        """What a gathering task reads: one JSON line a member (specification section 5), in their order.

        Only those are on it that end as the task does: not who was cancelled or missed since they were gathered."""
        lines = []
        for record in self._scheduler.list_records(members):
            if record.gathered_by != task_id or record.status in FINAL:
                continue
            command = build_argv(record.spec, self.settings.pools.get(record.spec.pool, _NO_POOL))
            lines.append(json.dumps({"id": record.id, "command": command, "tags": record.spec.tags}))
        return "".join(f"{line}\n" for line in lines).encode("ascii")

    def _build_vars(self, task: LiveTask, spec: TaskSpec, attempt: int, report: str) -> dict[str, str]:
        own = {
            "CRONOQ_TASK_ID": str(task.id),
            "CRONOQ_ATTEMPT": str(attempt),
            "CRONOQ_MAX_ATTEMPTS": str(task.max_attempts),
            "CRONOQ_POOL": task.pool,
            "CRONOQ_NAME": spec.name,
            "CRONOQ_REASON": task.start_reason,
            "CRONOQ_REPORT": report,
        }
        if spec.key is not None:
            own["CRONOQ_KEY"] = spec.key
        if spec.array_index is not None:
            own["CRONOQ_ARRAY_INDEX"] = str(spec.array_index)
        if self._paths.home is not None:
            own["CRONOQ_HOME"] = self._paths.home
        if task.units or task.times is not None or spec.recurring or spec.not_before is not None:
            _add_scheduling(own, spec, task.units)
        if not spec.env_changes:
            return own
        return {name: value for name, value in spec.env_changes.items() if value is not None} | own


def _add_scheduling(own: dict[str, str], spec: TaskSpec, units: Mapping[str, list[int]] | None) -> None:
    """What the scheduler decided of this attempt: the start it was to have, its deadline, the units it was given."""
    if spec.recurring:
        own["CRONOQ_RECURRING"] = spec.recurring
    due_at = spec.not_before if spec.start_at is None else spec.start_at
    if spec.slot is not None:
        due_at = spec.slot
    if due_at is not None:
        own["CRONOQ_SCHEDULED_AT"] = format_utc(due_at)
    if spec.deadline is not None:
        own["CRONOQ_DEADLINE"] = format_utc(spec.deadline)
    for name, given in (units or {}).items():
        if name not in (WORKERS, CATCH_UP):
            own[variable_of(name)] = format_units(given)


def build_argv(spec: TaskSpec, pool: PoolSettings) -> list[str]:
    """The words to execute: those given, or the shell with its line; what could not be read fails for good."""
    if spec.command is not None:
        return spec.command
    if spec.shell_line is None:
        return [DEFAULT_SHELL, "-c", UNREADABLE]
    return [spec.shell or pool.shell or DEFAULT_SHELL, "-c", spec.shell_line or ""]


def _write_private(path: str, content: bytes) -> None:
    """Write a file of mode 0600 whole or not at all."""
    part = f"{path}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
