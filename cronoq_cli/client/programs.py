"""Programs that the client runs for its caller: the editor, `crontab`; and questions and copies around them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping

from cronoq_cli.errors import InvalidError, UsageError

USUAL_EDITOR = "vi"
CRONTAB_LIMIT_S = 30.0
_NO_CRONTAB = b"no crontab"


def edit_text(text: str, suffix: str, env: Mapping[str, str]) -> str:
    """The text as `$VISUAL`, `$EDITOR` or vi leaves it, surrogate-escaped.

    Raises InvalidError when the editor cannot be started or ends badly; the file with the text is kept then.
    """
    editor = env.get("VISUAL") or env.get("EDITOR") or USUAL_EDITOR
    descriptor, path = tempfile.mkstemp(prefix="cronoq-", suffix=suffix)
    with open(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    status = _run_editor(editor, path)
    if status != 0:
        raise InvalidError(f"the editor {editor!r} ended with status {status}", hint=f"the text is kept in {path}")
    with open(path, "rb") as file:
        edited = file.read().decode("utf-8", "surrogateescape")
    os.unlink(path)
    return edited


def _run_editor(editor: str, path: str) -> int:
    """The editor's exit status. It may be given with options, so it is a line for the shell, as crontab and git do it;
    Ctrl-C is the editor's own while it runs."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, lambda *_: None) if is_main else None
    try:
        return subprocess.call(["/bin/sh", "-c", f'{editor} "$1"', "sh", path])
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


def ask_yes(question: str) -> bool:
    """Whether the person at the terminal says yes (plain Enter does too); without a terminal nobody does."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [Y/n] ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line != "" and line.strip().lower() in ("", "y", "yes")


def read_crontab() -> bytes:
    """What `crontab -l` prints; empty for somebody who has none. Raises InvalidError."""
    done = _run_crontab("-l")
    if done.returncode != 0 and _NO_CRONTAB not in done.stderr.lower():
        raise InvalidError(f"crontab -l: {_said(done)}", hint="import the file itself: cronoq recurring import FILE")
    return done.stdout if done.returncode == 0 else b""


def write_crontab(data: bytes) -> None:
    """Make this the crontab, and see that it is. Raises InvalidError: then the old one is still there."""
    before = read_crontab()
    done = _run_crontab("-", data)
    if done.returncode != 0:
        raise InvalidError(f"crontab refused its new text: {_said(done)}", hint="it is as it was")
    after = read_crontab()
    if after == before != data:
        raise InvalidError("crontab took its new text but has not changed", hint="see whether you may change it")


def _run_crontab(word: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["crontab", word], input=data, capture_output=True, check=False, timeout=CRONTAB_LIMIT_S)
    except OSError as error:
        raise InvalidError(
            f"cannot run crontab: {error.strerror}", hint="import a file instead: cronoq recurring import FILE"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise InvalidError(
            f"crontab {word} has not answered within {CRONTAB_LIMIT_S:.0f} s", hint="try it by hand"
        ) from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(os.fsdecode(done.stderr).split()) or f"exit {done.returncode}"


def keep_copy(directory: str, data: bytes, name: str) -> str:
    """The path of a new private file `NAME-TIME` with the data, safely on the disk. Raises UsageError."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor, path = tempfile.mkstemp(prefix=f"{name}-{stamp}-", dir=directory)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(f"cannot keep a copy in {directory}: {error.strerror}", hint="nothing was changed") from error
    return path
