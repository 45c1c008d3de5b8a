"""Reading what the caller names: its stdin and descriptors in the client, ordinary files on either side."""

from __future__ import annotations

import os
import re
import stat
import sys

from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.errors import InvalidError, UsageError

MOST_STDIN = 16 * 1024 * 1024
"""Bytes of input kept with a task (specification section 2, `--stdin -`)."""
MOST_IN_DAEMON = 64 * 1024
"""A larger file is read and taken apart by the client: the daemon's loop must not wait for it."""

_OWN = re.compile(r"/dev/(?:stdin|stdout|stderr|tty|fd/.*)|/proc/(?:self|thread-self)/.*")


def is_callers_own(path: str) -> bool:
    """Whether the path means a descriptor of the caller (`-`, `/dev/stdin`, `/dev/fd/N`): only the client has it."""
    return path == "-" or _OWN.fullmatch(path) is not None


def read_text(context: Context, path: str) -> str:
    """The text of a file, or of stdin for `-`, surrogate-escaped. Raises InvalidError when it cannot be read."""
    if is_callers_own(path):
        return _read_own(context, path, None).decode("utf-8", "surrogateescape")
    full = os.path.join(context.cwd, path)
    if context.in_daemon and not _is_small_file(full):
        raise NeedsClient
    try:
        with open(full, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        if context.in_daemon:
            raise NeedsClient from error
        raise InvalidError(
            f"cannot read {path}: {error.strerror}", hint="name a readable file, or - for stdin"
        ) from error


def read_kept_stdin(context: Context, path: str) -> bytes:
    """The input to keep with a task. Raises UsageError when it is more than 16 MiB."""
    data = _read_own(context, path, MOST_STDIN + 1)
    if len(data) > MOST_STDIN:
        raise UsageError("--stdin: more than 16 MiB of input", hint="put it into a file and use --stdin FILE")
    return data


def _is_small_file(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= MOST_IN_DAEMON


def _read_own(context: Context, path: str, most: int | None) -> bytes:
    if context.in_daemon:
        raise NeedsClient
    stream = context.stdin
    try:
        if stream is None and path in ("-", "/dev/stdin"):
            if sys.stdin is None:
                raise InvalidError("stdin is closed", hint="redirect a file or a pipe to it")
            stream = sys.stdin.buffer
        if stream is not None:
            return stream.read(-1 if most is None else most)
        with open(path, "rb") as file:
            return file.read(-1 if most is None else most)
    except OSError as error:
        raise InvalidError(f"cannot read {path}: {error.strerror}", hint="name something readable") from error
