"""Pings: what is asked of a monitoring service when an occurrence starts and ends. URLs only; who asks is elsewhere.

The form is that of healthchecks-type services: the URL itself says success, `/start` and `/fail` the rest.
"""

from __future__ import annotations

from enum import StrEnum

from cronoq_cli.errors import UsageError

LONGEST_URL = 2000
PING_HINT = "write it like https://hc-ping.com/UUID"


class Ping(StrEnum):
    """What is told."""

    START = "start"
    SUCCESS = "success"
    FAILURE = "failure"


_SUFFIXES = {Ping.START: "/start", Ping.SUCCESS: "", Ping.FAILURE: "/fail"}


def parse_ping_url(text: str) -> str:
    """The URL itself. Raises UsageError where it is none, or not one of http or https."""
    from urllib.parse import urlsplit  # with it a start takes 4 ms more, and few ping

    text = text.strip()
    try:
        parts = urlsplit(text)
        host = parts.hostname
        _ = parts.port  # raises where it is no number
    except ValueError as error:
        raise UsageError(f"{text[:80]!r} is not a URL to ping: {error}", hint=PING_HINT) from error
    if not text.isascii() or not text.isprintable() or " " in text or len(text) > LONGEST_URL:
        raise UsageError(f"{text[:80]!r} is not a URL to ping", hint="printable ASCII without blanks, at most 2000")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{text[:80]!r} is not a URL to ping", hint=PING_HINT)
    return text


def ping_url(base: str, ping: Ping) -> str:
    """The URL to ask for; what stands behind `?` stays behind it."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(base)
    path = parts.path.rstrip("/") + _SUFFIXES[ping] if ping is not Ping.SUCCESS else parts.path
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
