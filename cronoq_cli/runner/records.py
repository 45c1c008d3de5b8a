"""What the records of a dead runner's journal come to. They lay on a disk: each is judged before it counts.

How a journal is opened, and what follows from its contents, is decided elsewhere.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from typing import Final

from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.journal import Record, open_locked, read_records
from cronoq_cli.wire.runner import Event, encode_text

_MALFORMED: Final = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
_NUMBER: Final = (int, float)
# What an end may hold, apart from None; what is not named here may be anything.
_END_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "started_at": _NUMBER, "ended_at": _NUMBER, "run_s": _NUMBER, "pid": (int,), "exit_code": (int,), "signal": (int,),
    "cause": (str,), "error": (dict,), "report": (list,), "cpu_user_s": _NUMBER, "cpu_system_s": _NUMBER,
    "max_rss": (int,), "log_size": (int,), "left_behind": (int,),
}  # fmt: skip


_BEGIN_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "at": _NUMBER, "awake": _NUMBER, "grace_s": _NUMBER, "stop_signal": (int,), "log": (str,), "stderr_log": (str,),
    "report": (str,),
}  # fmt: skip


class Contents:
    """Unforgotten ends, and starts without an end."""

    def __init__(self) -> None:
        self.boot: Record = {}
        self.begun: dict[str, Record] = {}
        self.pids: dict[str, Record] = {}
        self.ended: dict[str, Record] = {}

    def add(self, record: Record) -> None:
        """Take one record, in the order of the file. Raises KeyError, OverflowError, TypeError or ValueError for what
        is none."""
        kind = record.get("record") or record.get("event")
        if kind == "boot":
            self.boot = record
        elif kind == "begin":
            restore_attempt(record, None)
            self.begun[record["token"]] = record
        elif kind == "pid":
            _check(record, {"pid": (int,), "ticks": (int,)})
            self.pids[record["token"]] = record
        elif kind == Event.ENDED:
            _check_end(record)
            self.ended[record["token"]] = record
        elif kind == "forgot":
            for token in record["tokens"]:
                self.begun.pop(token, None)
                self.ended.pop(token, None)

    def list_open(self) -> list[str]:
        """Tokens of starts without an end."""
        return [token for token in self.begun if token not in self.ended]


def read_contents(descriptor: int) -> Contents:
    """What a journal holds; a record that is none of ours is told on stderr and passed over. Raises OSError."""
    contents = Contents()
    for record in read_records(descriptor):
        try:
            contents.add(record)
        except _MALFORMED as error:
            sys.stderr.write(f"cronoq runner: a record of a journal is malformed ({error!r}): {str(record)[:200]!r}\n")
            sys.stderr.flush()
    return contents


def open_contents(path: bytes) -> tuple[int | None, Contents]:
    """The locked journal of a dead runner and what it holds; no descriptor where a living one has it.

    Raises OSError."""
    descriptor = open_locked(path, os.O_RDWR)
    if descriptor is None:
        return None, Contents()
    try:
        return descriptor, read_contents(descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def restore_attempt(begin: Record, noted: Record | None) -> Attempt:
    """The attempt of a start whose end nobody saw. Raises KeyError, OverflowError, TypeError or ValueError."""
    _check(begin, _BEGIN_TYPES)
    attempt = Attempt(begin, None)
    if not 0 < attempt.stop_signal < signal.NSIG:
        raise ValueError("stop_signal")
    attempt.foreign = True
    attempt.started_at = begin.get("at")
    attempt.started_awake = float(begin.get("awake") or 0.0)
    logs = (begin.get("log"), begin.get("stderr_log"))
    attempt.logs = tuple(encode_text(path) for path in logs if path)
    if noted is not None:
        attempt.pid, attempt.ticks = noted.get("pid"), noted.get("ticks")
    return attempt


def _check_end(record: Record) -> None:
    _check(record, _END_TYPES)
    if not isinstance(record.get("core", False), bool):
        raise ValueError("core")
    if record["ended_at"] is None:
        raise ValueError("ended_at")
    for pair in record.get("report") or []:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)):
            raise ValueError("report")


def _check(record: Record, types: dict[str, tuple[type, ...]]) -> None:
    """Raises ValueError where a field is none of its types, or no number that counts; KeyError without a token."""
    token = record["token"]
    store, task, attempt = token.split(":")
    if not (encode_text(store) and task.isdecimal() and attempt.isdecimal()):
        raise ValueError("token")
    for name, wanted in types.items():
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(name)
