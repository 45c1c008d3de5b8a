"""The full way of a command line: everything built here, in the client; and the one place that ends the process's
run: whatever goes wrong is one line on stderr and an exit status, never a traceback (unless CRONOQ_DEBUG is set).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from cronoq_cli.client import head_start
from cronoq_cli.client.gateway import SocketGateway
from cronoq_cli.client.streams import ClientStreams
from cronoq_cli.commands.app import find_home, run_line
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.notes import print_error, print_notes
from cronoq_cli.config.paths import find_paths
from cronoq_cli.errors import CronoqError, ExitStatus

BROKEN_PIPE = 141
"""As the shell shows a program that SIGPIPE ended, which is what most do then."""


def main(argv: Sequence[str] | None = None, *, unanswered: bool = False) -> int:
    """Run one command line (the process's own by default) and return its exit status; everything is flushed.

    `unanswered`: a daemon has had this line already and went away over it, so it may have been carried out.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    out, err = _prepare_stream(sys.stdout, 1), _prepare_stream(sys.stderr, 2)
    try:
        with build_context(words, out, err, unanswered=unanswered) as context:
            status = _run_safely(context, lambda: run_line(words, context))
            return _flush(context, status)
    finally:
        head_start.drop()


@contextlib.contextmanager
def build_context(words: Sequence[str], out: IO[str], err: IO[str], *, unanswered: bool = False) -> Iterator[Context]:
    """The context of a command line on the client's side; its connection is closed at the end."""
    cwd = find_cwd()
    home = find_home(words, cwd)
    gateway = SocketGateway(
        lambda: find_paths(home, os.environ),
        os.environ,
        lambda text: print_notes(context, [text]),
        unanswered=unanswered,
    )
    context = Context(
        gateway=gateway,
        cwd=cwd,
        umask=_read_umask(),
        env=os.environ,
        out=out,
        err=err,
        now=time.time,
        stdin_tty=_is_tty(0),
        stdout_tty=_is_tty(1),
        stderr_tty=_is_tty(2),
        columns=_find_columns(),
        home=home,
        streams=ClientStreams(gateway),
    )
    with contextlib.closing(gateway):
        yield context


def find_cwd() -> str:
    """The working directory; one that was deleted by the name it had, so that what is queued there says so."""
    try:
        return os.getcwd()
    except OSError:
        named = os.environ.get("PWD", "")
        return named if named.startswith("/") else "/"


def _read_umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _is_tty(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def _find_columns() -> int | None:
    try:
        return os.get_terminal_size(1).columns or None
    except OSError:
        return None


def _prepare_stream(stream: IO[str] | None, number: int) -> IO[str]:
    """The standard stream as UTF-8 that passes foreign bytes on; a closed one fails when it is written to."""
    if stream is None:
        raw = io.FileIO(number, "w", closefd=False)
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="surrogateescape")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return stream


def _run_safely(context: Context, run: Callable[[], int]) -> int:
    """The status that `run` ends in, or that of what it raised, told in one line."""
    try:
        return run()
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except CronoqError as error:
        _tell(context, error)
        return error.exit
    except Exception as error:
        if os.environ.get("CRONOQ_DEBUG", "") not in ("", "0"):
            raise
        _tell(context, _explain(error))
        return ExitStatus.INTERNAL


def _explain(error: Exception) -> CronoqError:
    """A failure nobody translated, as a line."""
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return CronoqError(f"{where}{error.strerror}")
    said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return CronoqError(f"internal error: {said}", hint="CRONOQ_DEBUG=1 shows where")


def _tell(context: Context, error: CronoqError) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody can be told that nobody can be told
        print_error(context, error)
        context.err.flush()
        if context.json:
            print_error(context, error, as_json=True)


def _flush(context: Context, status: int) -> int:
    """Flush both streams; `status`, unless the answer could not be written."""
    with contextlib.suppress(OSError, ValueError):
        context.err.flush()
    try:
        context.out.flush()
    except BrokenPipeError:
        status = BROKEN_PIPE
    except OSError as error:
        _tell(context, CronoqError(f"cannot write the answer: {error.strerror}"))
        status = ExitStatus.INTERNAL
    except KeyboardInterrupt:
        status = ExitStatus.INTERRUPTED
    return int(status)
