"""The context of one command line: words in, streams out, and the gateway that answers requests.

The same commands run on two sides: in the daemon for forwarded command lines (everything into buffers, nothing
that needs the caller's descriptors), and in the client in full. This module says what a side provides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from typing import IO, TYPE_CHECKING, Any, Protocol

import msgspec

from cronoq_cli.commands.zone import load_caller_zone
from cronoq_cli.wire.requests import Reply, Request

if TYPE_CHECKING:
    from cronoq_cli.commands.planning import QueueSnapshot
    from cronoq_cli.config.effective import Changes


class NeedsClient(Exception):
    """Raised on the daemon's side by a command that only the client can carry out: streams, stdin, an editor, Rich."""


class Finding(msgspec.Struct, frozen=True):
    """One finding of `doctor`. `level`: ok, note (worth knowing) or problem; `hint`: what to do, None when nothing."""

    subject: str
    level: str
    message: str
    hint: str | None = None


class Gateway(Protocol):
    """What answers requests: the daemon's handlers, the socket, or the store read-only when no daemon runs."""

    def ask(self, request: Request) -> Reply:
        """The reply to `request`. Raises a CronoqError when it is refused."""
        ...


class Streams(Protocol):
    """What only the client can do: follow, wait with Ctrl-C and reconnection, start and stop daemons."""

    def wait(self, request: Request, timeout_s: float | None) -> Reply:
        """Wait for tasks (WaitTasks); reconnects for 30 s when the daemon goes away. Raises WaitTimeoutError."""
        ...

    def watch(self, request: Request) -> Iterable[dict[str, Any]]:
        """The messages of a Watch stream, reconnecting from the last seq seen."""
        ...

    def show_dashboard(self, context: Context, *, read_only: bool) -> int:
        """Show the dashboard on the terminal until it is left; the exit status."""
        ...

    def start_daemon(self, *, standby: bool = False) -> dict[str, Any]:
        """Start a daemon process unless one runs; its status document, with `started` true or false."""
        ...

    def run_daemon(self, *, standby: bool = False) -> int:
        """Become the daemon in the foreground; the exit status at its end."""
        ...

    def stop_daemon(self, request: Request) -> Reply:
        """Ask the running daemon to stop and wait until its process is gone. Raises NoDaemonError when none runs."""
        ...

    def load_queue(self) -> QueueSnapshot:
        """The queue as it is stored now, and the configuration. Changes nothing. Raises InvalidError, StoreError."""
        ...

    def edit_text(self, text: str, suffix: str) -> str:
        """The text as the caller's editor leaves it. Raises InvalidError when the editor fails."""
        ...

    def ask_yes(self, question: str) -> bool:
        """Whether the person at the terminal says yes; without a terminal nobody does."""
        ...

    def read_crontab(self) -> bytes:
        """The caller's crontab; empty when there is none. Raises InvalidError when there is no crontab program."""
        ...

    def write_crontab(self, data: bytes) -> None:
        """Make this the caller's crontab. Raises InvalidError when it was not taken."""
        ...

    def keep_copy(self, data: bytes, name: str) -> str:
        """Keep a copy in a file of its own beside the store, which only its owner can read; its path."""
        ...

    def housekeeping(self) -> Housekeeping:
        """What is done with the files themselves."""
        ...


class Housekeeping(Protocol):
    """What the client does with the files of a cronoq itself, whether a daemon runs or not."""

    def load_changes(self) -> Changes:
        """What was changed of the configuration by command. Raises StoreError."""
        ...

    def back_up(self, target: str) -> None:
        """Copy the store to a new file. Raises StoreError, ConflictError where it exists, NotFoundError."""
        ...

    def check_store(self, path: str | None) -> tuple[str, list[str]]:
        """The store (None: the present one) that was checked, and what is wrong with it. Raises StoreError."""
        ...

    def restore(self, backup: str) -> str | None:
        """Put a backup in the place of the store; where that now is, None when there was none.

        Raises ConflictError while a daemon or a runner lives, StoreError with nothing changed."""
        ...

    def examine(self) -> Iterable[Finding]:
        """What there is to say of this cronoq and this machine (`doctor`)."""
        ...

    def format_unit(self) -> str:
        """The unit that makes the daemon a service of the user's systemd."""
        ...

    def install_unit(self) -> str:
        """Write the unit and have it start at login; where it is. Raises ConflictError."""
        ...

    def start_unit(self) -> None:
        """Start the daemon by its unit, for one that runs already too. Raises ConflictError."""
        ...

    def uninstall_unit(self) -> str | None:
        """Take the unit away; where it was, None when there was none. Raises ConflictError."""
        ...


class Context(msgspec.Struct):
    """One command line on one side.

    `env` is the caller's environment (surrogate-escaped), `columns` its terminal width or None. `now` and `zone`
    are functions so that the value is taken when it is needed. `streams` is None on the daemon's side. `stdin` is
    set by tests; None is the process's own. `json`: the answer is to be a document. `one_task`: the exit status is
    that of one task, and an error of ours is 125. `extras["color"]` is what `--color` said: auto, always, never.
    """

    gateway: Gateway
    cwd: str
    umask: int
    env: Mapping[str, str]
    out: IO[str]
    err: IO[str]
    now: Callable[[], float]
    stdin_tty: bool = False
    stdout_tty: bool = False
    stderr_tty: bool = False
    columns: int | None = None
    home: str | None = None
    streams: Streams | None = None
    exit: int = 0
    stdin: IO[bytes] | None = None
    json: bool = False
    one_task: bool = False
    extras: dict[str, Any] = {}

    def zone(self) -> tzinfo:
        """The zone the caller reads and writes times in: its TZ, else the machine's."""
        return load_caller_zone(self.env)

    @property
    def in_daemon(self) -> bool:
        """Whether this side is the daemon answering a forwarded command line."""
        return self.streams is None

    def need_streams(self) -> Streams:
        """The client's abilities; on the daemon's side the command line goes back to the client instead."""
        if self.streams is None:
            raise NeedsClient
        return self.streams
