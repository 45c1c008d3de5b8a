"""From a runner's report to an event of the engine. No I/O."""

from __future__ import annotations

from typing import Any

import msgspec

from cronoq_cli.engine.messages import AttemptEnded, AttemptStarted, LeaseReturned
from cronoq_cli.model.places import parse_token
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.wire.runner import Event

MALFORMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError, msgspec.ValidationError)
"""What a report of the wrong shape raises, here and in whoever reads more of it."""
STARTED, ENDED, REVOKED = Event.STARTED.value, Event.ENDED.value, Event.REVOKED.value
REPORTS = frozenset({STARTED, ENDED, REVOKED})
"""The reports that are events of the engine."""


def read_report_event(message: dict[str, Any]) -> AttemptStarted | AttemptEnded | LeaseReturned:
    """The event of a started, ended or revoked report. Raises one of MALFORMED for a malformed one."""
    parsed = parse_token(message["token"])
    if parsed is None:
        raise ValueError("no token of ours")
    _, task, attempt = parsed
    event = message["event"]
    if event == ENDED:
        return AttemptEnded(task, attempt, _read_end(message))
    if event == STARTED:
        return AttemptStarted(task, attempt, message.get("pid"), float(message["at"]), message.get("slot"))
    if event == REVOKED:
        return LeaseReturned(task, attempt)
    raise ValueError(f"{event!r} is no report of an attempt")


def _read_end(message: dict[str, Any]) -> AttemptEnd:
    """What an ended report tells has the names of an end's own fields, but for the error."""
    end = msgspec.convert(message, AttemptEnd)
    error = message.get("error")
    if error:
        end.error_kind, end.error_message = error.get("kind"), error.get("message")
    return end
