"""From a runner's report to an event of the engine. No I/O."""

from __future__ import annotations

from typing import Any

from cronoq_cli.engine.messages import AttemptEnded, AttemptStarted, LeaseReturned
from cronoq_cli.model.places import parse_token
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.wire.runner import Event

MALFORMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
"""What a report of the wrong shape raises, here and in whoever reads more of it."""


def read_report_event(message: dict[str, Any]) -> AttemptStarted | AttemptEnded | LeaseReturned | None:
    """The event of a started, ended or revoked report; None for what needs no event (`kept`).

    Raises one of MALFORMED for a malformed one."""
    parsed = parse_token(message["token"])
    if parsed is None:
        raise ValueError("no token of ours")
    _, task, attempt = parsed
    match message["event"]:
        case Event.STARTED:
            return AttemptStarted(task, attempt, message.get("pid"), float(message["at"]), message.get("slot"))
        case Event.ENDED:
            return AttemptEnded(task, attempt, _read_end(message))
        case Event.REVOKED:
            return LeaseReturned(task, attempt)
        case _:
            return None


def _read_end(message: dict[str, Any]) -> AttemptEnd:
    error = message.get("error") or {}
    return AttemptEnd(
        started_at=message.get("started_at"),
        ended_at=float(message["ended_at"]),
        run_s=float(message.get("run_s") or 0.0),
        pid=message.get("pid"),
        exit_code=message.get("exit_code"),
        signal=message.get("signal"),
        core=bool(message.get("core")),
        cause=message.get("cause"),
        error_kind=error.get("kind"),
        error_message=error.get("message"),
        report=[(str(name), str(value)) for name, value in message.get("report") or []],
        cpu_user_s=message.get("cpu_user_s"),
        cpu_system_s=message.get("cpu_system_s"),
        max_rss=message.get("max_rss"),
        log_size=message.get("log_size"),
        left_behind=int(message.get("left_behind") or 0),
    )
