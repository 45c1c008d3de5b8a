"""Backoff as text: `exponential:10s..10m` and its kin. What it means in seconds is decided in `policy`."""

from __future__ import annotations

from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import format_duration, parse_duration
from cronoq_cli.model.task import Backoff
from cronoq_cli.model.words import suggest

KINDS = ("exponential", "fixed", "linear", "polynomial")
HINT = "write it like exponential:10s..10m, fixed:30s, linear:10s..5m or polynomial"


def parse_backoff(text: str) -> Backoff:
    """The backoff of `exponential[:FIRST[..MOST]]`, `fixed:DELAY`, `linear:FIRST..MOST` or `polynomial`.

    A bare `exponential` or one without its end takes the rest from the default. Only `fixed` may be zero.
    Raises UsageError.
    """
    kind, colon, rest = text.strip().partition(":")
    if kind not in KINDS:
        near = suggest(kind, KINDS)
        raise _wrong(text, f"did you mean {near}?" if near else HINT)
    if kind == "polynomial":
        if colon:
            raise _wrong(text, "polynomial takes no durations")
        return Backoff(kind="polynomial")
    if kind == "fixed":
        delay = _read_duration(text, rest)
        return Backoff(kind="fixed", first_s=delay, most_s=delay)
    return _parse_growing(text, kind, rest if colon else None)


def _parse_growing(text: str, kind: str, rest: str | None) -> Backoff:
    default = Backoff()
    if rest is None and kind == "exponential":
        return default
    first_text, dots, most_text = (rest or "").partition("..")
    if not dots and kind == "linear":
        raise _wrong(text, HINT)
    first = _read_duration(text, first_text)
    most = _read_duration(text, most_text) if dots else max(first, default.most_s)
    if not 0 < first <= most:
        raise _wrong(text, "the first delay is more than zero, the last no shorter than the first")
    return Backoff(kind=kind, first_s=first, most_s=most)


def _read_duration(text: str, part: str) -> float:
    try:
        return parse_duration(part)
    except UsageError as error:
        raise _wrong(text, HINT) from error


def _wrong(text: str, hint: str) -> UsageError:
    return UsageError(f"{text!r} is not a backoff", hint=hint)


def format_backoff(backoff: Backoff) -> str:
    """The text that parses back to this backoff."""
    if backoff.kind == "polynomial":
        return backoff.kind
    if backoff.kind == "fixed":
        return f"fixed:{format_duration(backoff.first_s)}"
    return f"{backoff.kind}:{format_duration(backoff.first_s)}..{format_duration(backoff.most_s)}"
