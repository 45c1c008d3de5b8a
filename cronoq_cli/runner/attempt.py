"""One attempt as the runner knows it, and the records it is told and journalled in."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import Any, Final, NamedTuple

from cronoq_cli.runner.environment import Environment
from cronoq_cli.wire.runner import Message, encode_text, format_message, format_text, format_value

_GRACE_S: Final = 10.0
_STOP_SIGNAL: Final = 15
_LIMITS: Final = frozenset({"timeout_s", "kill_at", "heartbeat_s"})


class Exit(NamedTuple):
    """How a main process ended: wait status, moments, and what it used."""

    status: int
    at: float
    at_awake: float
    cpu_user_s: float
    cpu_system_s: float
    max_rss: int


class StartError(NamedTuple):
    """Why an attempt could not be started; `exit_code` is 126 or 127 where a shell would say so."""

    kind: str
    errno: int | None
    message: str
    exit_code: int | None = None


class Outcome(NamedTuple):
    """What is found out about an attempt at its end, beside its exit."""

    error: StartError | None = None
    log_size: int = 0
    report: list[tuple[str, str]] | None = None
    run_s: float | None = None


class Attempt:
    """What is kept of an attempt from its start order to its end."""

    __slots__ = (
        "begin",
        "cause",
        "environment",
        "exit",
        "foreign",
        "grace_s",
        "kill_leftovers",
        "lane",
        "left_behind",
        "limits",
        "log_cap",
        "logs",
        "order",
        "pid",
        "quoted",
        "report",
        "slot",
        "started_at",
        "started_awake",
        "stop_signal",
        "ticks",
        "timers",
        "token",
        "width",
    )

    def __init__(self, order: Message, environment: Environment | None) -> None:
        self.token: str = order["token"]
        self.quoted = format_text(self.token)
        """The token as JSON: every record has it."""
        self.lane: str = order.get("lane") or ""
        self.width = int(order.get("width", 1))
        self.order: Message | None = order
        self.environment = environment
        self.stop_signal = int(order.get("stop_signal") or _STOP_SIGNAL)
        grace_s = order.get("grace_s")
        self.grace_s = _GRACE_S if grace_s is None else float(grace_s)
        self.kill_leftovers = order.get("leftovers") == "kill"
        self.limits = None if _LIMITS.isdisjoint(order) else _parse_limits(order)
        self.begin = ""
        self.logs: tuple[bytes, ...] = ()
        log_cap = order.get("log_cap")
        self.log_cap: int | None = int(log_cap) if log_cap else None
        report = order.get("report")
        self.report: bytes | None = encode_text(report) if report else None
        self.slot: int | None = None
        self.pid: int | None = None
        self.ticks: int | None = None
        self.started_at: float | None = None
        self.started_awake = 0.0
        self.exit: Exit | None = None
        self.cause: str | None = None
        self.left_behind = 0
        self.foreign = False
        self.timers: dict[str, Any] | None = None


def _parse_limits(order: Message) -> tuple[float | None, ...]:
    limits = order.get("timeout_s"), order.get("kill_at"), order.get("heartbeat_s")
    return tuple(None if value is None else float(value) for value in limits)


def split_by_age(attempts: list[Attempt], age_s: float) -> tuple[list[Attempt], list[Attempt]]:
    """Of attempts in the order of their starts those that have run so long, and the others."""
    since = time.monotonic() - age_s
    place = bisect_right(attempts, since, key=_get_start)
    return attempts[:place], attempts[place:]


def _get_start(attempt: Attempt) -> float:
    return attempt.started_awake


def format_moment(seconds: float) -> str:
    """A finite time as JSON, to the microsecond: by whole numbers, since so many decimals of a float take ten times as
    long."""
    if not 1 <= seconds < 1e12:
        return repr(seconds)  # no time of ours: a journal that lay on a disk may say anything
    digits = str(int(seconds * 1e6))
    return f"{digits[:-6]}.{digits[-6:]}"


def format_begin(attempt: Attempt, at: str, awake: str) -> str:
    """The journal's line that is written before the spawn: the stop ladder and what a later end needs.

    `at` and `awake`: the wall clock and CLOCK_MONOTONIC, as texts."""
    order = attempt.order or {}
    return (
        f'{{"record":"begin","token":{attempt.quoted},"stop_signal":{attempt.stop_signal},'
        f'"grace_s":{attempt.grace_s!r},"at":{at},"awake":{awake},'
        f'"log":{format_text(order.get("log"))},"stderr_log":{format_text(order.get("stderr_log"))},'
        f'"report":{format_text(order.get("report"))}}}'
    )


def format_pid(attempt: Attempt) -> str:
    """The journal's line by which a later runner knows the main process again."""
    return format_message({"record": "pid", "token": attempt.token, "pid": attempt.pid, "ticks": attempt.ticks})


def format_started(attempt: Attempt) -> str:
    """The report of a start, also told in a hello."""
    at = _format_start(attempt)
    pid = "null" if attempt.pid is None else attempt.pid
    slot = "null" if attempt.slot is None else attempt.slot
    return f'{{"event":"started","token":{attempt.quoted},"pid":{pid},"at":{at},"slot":{slot}}}'


def format_ended(attempt: Attempt, outcome: Outcome) -> str:
    """The report of an end, also its line in the journal: the exit if there was one, and what was found."""
    exited, error = attempt.exit, outcome.error
    code: int | None = error.exit_code if error is not None else None
    number, core, usage, run_s = None, False, (0.0, 0.0, 0), 0.0
    if exited is not None:
        number = (exited.status & 0x7F) or None
        code = None if number else exited.status >> 8
        core = bool(exited.status & 0x80)
        usage = (exited.cpu_user_s, exited.cpu_system_s, exited.max_rss)
        run_s = exited.at_awake - attempt.started_awake
    elif outcome.run_s is not None:
        run_s = outcome.run_s
    at = time.time() if exited is None else exited.at
    return (
        f'{{"event":"ended","token":{attempt.quoted},"started_at":{_format_start(attempt)},'
        f'"ended_at":{format_moment(at)},"run_s":{run_s:.6f},"pid":{_format_number(attempt.pid)},"exit_code":{_format_number(code)},'
        f'"signal":{_format_number(number)},"core":{"true" if core else "false"},'
        f'"cause":{format_text(attempt.cause)},"error":{_format_error(error)},'
        f'"report":{format_value(outcome.report) if outcome.report else "[]"},'
        f'"cpu_user_s":{usage[0]:.6f},"cpu_system_s":{usage[1]:.6f},"max_rss":{usage[2]},'
        f'"log_size":{outcome.log_size},"left_behind":{attempt.left_behind}}}'
    )


def _format_start(attempt: Attempt) -> str:
    return "null" if attempt.started_at is None else format_moment(attempt.started_at)


def _format_number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _format_error(error: StartError | None) -> str:
    if error is None:
        return "null"
    return format_value({"kind": error.kind, "errno": error.errno, "message": error.message})
