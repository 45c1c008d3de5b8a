"""Where cronoq's files are, and the directories they need. What is in the files lives elsewhere.

The rule is kept so simple that the hot entry repeats it on builtins: a test holds the two equal.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from cronoq_cli.errors import InvalidError, TryLaterError, UsageError

APP = "cronoq"
SOCKET_NAME = "cronoq.sock"
OWN_NAMES = frozenset({"config.toml", "cronoq.db", "daemon.lock", "logs"})
"""Names by which an existing directory is known to be a home of ours."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Every place of one cronoq: absolute paths, surrogate-escaped. `home` is None for the usual places."""

    home: str | None
    config_file: str
    state_dir: str
    runtime_dir: str

    @property
    def db(self) -> str:
        """The database."""
        return os.path.join(self.state_dir, "cronoq.db")

    @property
    def logs_dir(self) -> str:
        """The logs of the attempts."""
        return os.path.join(self.state_dir, "logs")

    @property
    def stdin_dir(self) -> str:
        """What was kept of the standard input of tasks (`--stdin -`)."""
        return os.path.join(self.state_dir, "stdin")

    @property
    def runner_dir(self) -> str:
        """The journals of the runners."""
        return os.path.join(self.state_dir, "runners")

    @property
    def lock_file(self) -> str:
        """The file whose lock makes one daemon the only one of this store."""
        return os.path.join(self.state_dir, "daemon.lock")

    @property
    def daemon_log(self) -> str:
        """The daemon's own log."""
        return os.path.join(self.state_dir, "daemon.log")

    @property
    def hooks_log(self) -> str:
        """What became of hooks and pings, and what hooks printed."""
        return os.path.join(self.state_dir, "hooks.log")

    @property
    def stopped_mark(self) -> str:
        """Exists after `daemon stop`: then reads and changes start no daemon."""
        return os.path.join(self.state_dir, "stopped")

    @property
    def socket(self) -> str:
        """The daemon's socket."""
        return os.path.join(self.runtime_dir, SOCKET_NAME)

    @property
    def state_socket(self) -> str:
        """Where the socket is for whoever has no runtime directory (a job of cron, `su`): often the same."""
        return os.path.join(self.state_dir, SOCKET_NAME)


def find_paths(home: str | None, env: Mapping[str, str]) -> Paths:
    """The places for `--home` (None: not given) and the environment; nothing is created.

    `home`, else CRONOQ_HOME, holds everything together. Else configuration and state are where platformdirs
    says for this process; the socket is in `$XDG_RUNTIME_DIR/cronoq` when that is set and absolute, or with
    the state.
    Raises UsageError for a home that cannot be a path.
    """
    chosen = home if home is not None else env.get("CRONOQ_HOME") or None
    if chosen is not None:
        root = _absolute(chosen)
        return Paths(root, os.path.join(root, "config.toml"), root, root)
    import platformdirs  # here, since the usual places are asked for once and a home is answered without it

    state = os.path.normpath(platformdirs.user_state_dir(APP, appauthor=False))
    config = os.path.normpath(platformdirs.user_config_dir(APP, appauthor=False))
    runtime = env.get("XDG_RUNTIME_DIR", "")
    runtime_dir = os.path.join(runtime, APP) if runtime.startswith("/") else state
    return Paths(None, os.path.join(config, "config.toml"), state, runtime_dir)


def _absolute(home: str) -> str:
    if not home or "\0" in home:
        raise UsageError(f"{home!r} cannot be cronoq's home", hint="name a directory")
    try:
        return os.path.abspath(home)
    except FileNotFoundError as error:
        raise UsageError(
            f"the home {home!r} is relative and the working directory is gone", hint="give an absolute path"
        ) from error


def prepare_dirs(paths: Paths) -> None:
    """Creates the directories of state, logs and socket with mode 0700, or finds them safe to use.

    Raises InvalidError where one is not a directory (a symbolic link is not), belongs to someone else, or can
    be written by others and is not ours alone; TryLaterError where there is no space. The umask is narrowed
    for the while.
    """
    before = os.umask(0o077)
    try:
        for directory in (paths.state_dir, paths.runtime_dir):
            _prepare_dir(directory, tighten=paths.home is None)
        for directory in (paths.logs_dir, paths.stdin_dir, paths.runner_dir):
            _prepare_dir(directory, tighten=True)
    finally:
        os.umask(before)


def _prepare_dir(directory: str, *, tighten: bool) -> None:
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _translate(directory, error) from error
    try:
        _check_dir(directory, handle, tighten=tighten)
    except OSError as error:
        raise _translate(directory, error) from error
    finally:
        os.close(handle)


def _check_dir(directory: str, handle: int, *, tighten: bool) -> None:
    """Owner and mode of an open directory; a loose mode is narrowed where the directory is ours alone.

    A home that holds other things as well (`--home /`) keeps its mode: narrowing it could lock out others.
    """
    found = os.fstat(handle)
    if found.st_uid != os.geteuid():
        raise InvalidError(
            f"{directory} belongs to user {found.st_uid}, not to user {os.geteuid()}",
            hint="cronoq uses only directories of its own user; set CRONOQ_HOME to one",
        )
    if not found.st_mode & 0o077:
        return
    names = os.listdir(handle)
    if tighten or not names or OWN_NAMES.intersection(names):
        os.fchmod(handle, 0o700)
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidError(
            f"{directory} can be written by others and holds other things", hint="use a directory of its own"
        )


def _translate(directory: str, error: OSError) -> InvalidError | TryLaterError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TryLaterError(f"no space to create {directory}", hint="make room", code="no-space")
    if os.path.islink(directory):
        return InvalidError(
            f"{directory} is a symbolic link",
            hint="set CRONOQ_HOME to the directory it leads to, or remove the link",
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return InvalidError(f"{directory} is not a directory, or lies below a file", hint="move the file away")
    return InvalidError(
        f"cannot use the directory {directory}: {error.strerror}",
        hint="set CRONOQ_HOME to a directory you may write",
    )
