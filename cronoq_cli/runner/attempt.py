"""One attempt as the runner knows it, and the records it is told and journalled in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from cronoq_cli.wire.runner import Cause, Event, Message, format_message

_GRACE_S: Final = 10.0
_STOP_SIGNAL: Final = 15


def encode_text(text: str) -> bytes:
    """The operating system's bytes of a string, whatever locale the runner was started in.

    Raises UnicodeEncodeError for a surrogate that stands for no byte.
    """
    return text.encode("utf-8", "surrogateescape")


@dataclass(slots=True, frozen=True)
class Exit:
    """How a main process ended: wait status, moments, and what it used."""

    status: int
    at: float
    at_awake: float
    cpu_user_s: float
    cpu_system_s: float
    max_rss: int


@dataclass(slots=True, frozen=True)
class StartError:
    """Why an attempt could not be started; `exit_code` is 126 or 127 where a shell would say so."""

    kind: str
    errno: int | None
    message: str
    exit_code: int | None = None


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
        "logs",
        "order",
        "pid",
        "report",
        "started_at",
        "started_awake",
        "stop_signal",
        "ticks",
        "timers",
        "token",
        "width",
    )

    def __init__(self, order: Message, environment: dict[bytes, bytes] | None) -> None:
        self.token: str = order["token"]
        self.lane: str = order.get("lane") or ""
        self.width = int(order.get("width", 1))
        self.order: Message | None = order
        self.environment = environment
        self.stop_signal = int(order.get("stop_signal") or _STOP_SIGNAL)
        grace_s = order.get("grace_s")
        self.grace_s = _GRACE_S if grace_s is None else float(grace_s)
        self.kill_leftovers = order.get("leftovers") == "kill"
        limits = tuple(_parse_limit(order.get(name)) for name in ("timeout_s", "kill_at", "heartbeat_s"))
        self.limits = limits if limits != (None, None, None) else None
        self.begin = ""
        self.logs: tuple[bytes, ...] = ()
        report = order.get("report")
        self.report: bytes | None = encode_text(report) if report else None
        self.pid: int | None = None
        self.ticks: int | None = None
        self.started_at: float | None = None
        self.started_awake = 0.0
        self.exit: Exit | None = None
        self.cause: str | None = None
        self.left_behind = 0
        self.foreign = False
        self.timers: dict[str, Any] | None = None


def _parse_limit(value: Any) -> float | None:
    return None if value is None else float(value)


def format_begin(attempt: Attempt, now: float) -> str:
    """The journal's line that is written before the spawn: the stop ladder and what a later end needs."""
    order = attempt.order or {}
    return format_message(
        {
            "record": "begin",
            "token": attempt.token,
            "stop_signal": attempt.stop_signal,
            "grace_s": attempt.grace_s,
            "at": now,
            "awake": time.monotonic(),
            "log": order.get("log"),
            "stderr_log": order.get("stderr_log"),
            "report": order.get("report"),
        }
    )


def format_pid(attempt: Attempt) -> str:
    """The journal's line by which a later runner knows the main process again."""
    return format_message({"record": "pid", "token": attempt.token, "pid": attempt.pid, "ticks": attempt.ticks})


def format_started(attempt: Attempt) -> str:
    """The report of a start, also told in a hello."""
    return format_message(
        {"event": Event.STARTED, "token": attempt.token, "pid": attempt.pid, "at": attempt.started_at}
    )


def build_ended(attempt: Attempt) -> Message:
    """The end of an attempt that has run, with its exit where there is one."""
    exited = attempt.exit
    ended = _build_blank(attempt, exited.at if exited else time.time())
    if exited is not None:
        signalled = exited.status & 0x7F
        ended["exit_code"] = None if signalled else exited.status >> 8
        ended["signal"] = signalled or None
        ended["core"] = bool(exited.status & 0x80)
        ended["run_s"] = round(exited.at_awake - attempt.started_awake, 6)
        ended["cpu_user_s"] = exited.cpu_user_s
        ended["cpu_system_s"] = exited.cpu_system_s
        ended["max_rss"] = exited.max_rss
    ended["cause"] = attempt.cause
    ended["left_behind"] = attempt.left_behind
    return ended


def build_unstarted(attempt: Attempt, error: StartError) -> Message:
    """The end of an attempt that could not be started."""
    ended = _build_blank(attempt, time.time())
    ended["exit_code"] = error.exit_code
    ended["cause"] = Cause.SPAWN
    ended["error"] = {"kind": error.kind, "errno": error.errno, "message": error.message}
    return ended


def _build_blank(attempt: Attempt, at: float) -> Message:
    return {
        "event": Event.ENDED,
        "token": attempt.token,
        "started_at": attempt.started_at,
        "ended_at": at,
        "run_s": 0.0,
        "pid": attempt.pid,
        "exit_code": None,
        "signal": None,
        "core": False,
        "cause": None,
        "error": None,
        "report": [],
        "cpu_user_s": 0.0,
        "cpu_system_s": 0.0,
        "max_rss": 0,
        "log_size": 0,
        "left_behind": 0,
    }
