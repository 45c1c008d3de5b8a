"""What `doctor` finds out about one cronoq: its files, its daemon, its store. The machine around is in `surroundings`.

Nothing here changes anything, and nothing starts a daemon.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cronoq_cli.client import surroundings
from cronoq_cli.client.connection import ConnectionLost, find_connection
from cronoq_cli.client.living_runners import list_living_runners
from cronoq_cli.commands.context import Finding
from cronoq_cli.commands.render.style import moment_of
from cronoq_cli.config.loading import load_settings
from cronoq_cli.config.mounts import find_network_file_system
from cronoq_cli.config.paths import Paths
from cronoq_cli.config.settings import Settings
from cronoq_cli.config.space import decide_guard, read_space
from cronoq_cli.errors import CronoqError, NotFoundError
from cronoq_cli.logs.files import open_regular
from cronoq_cli.model.words import format_size
from cronoq_cli.store.sqlite.keeping import check_store
from cronoq_cli.wire.requests import DaemonStatus
from cronoq_cli.wire.version import PROTOCOL, VERSION, is_newer

OK, NOTE, PROBLEM = "ok", "note", "problem"
ANSWERS_WITHIN_S = 5.0
MOST_READ = 512 * 1024 * 1024
"""Bytes of a store that are read for a look: a second or two."""
LARGE_WAL = 512 * 1024 * 1024


@dataclass(slots=True)
class _Daemon:
    """What is known of the daemon: its status document (None: none answers), and the pid that holds the lock."""

    about: dict[str, Any] | None = None
    holder: int | None = None


def examine(paths: Paths, env: Mapping[str, str]) -> Iterator[Finding]:
    """All findings, those on cronoq's own files first."""
    settings = Settings()
    try:
        settings = load_settings(paths.config_file)
        yield _found_configuration(paths)
    except CronoqError as error:
        yield Finding("configuration", PROBLEM, error.line(), "mend it; cronoq config check tells whether it is right")
    yield from _examine_directories(paths)
    daemon = _Daemon(holder=find_holder(paths))
    yield from _examine_socket(paths, daemon)
    yield from _examine_lock(paths, daemon)
    yield from _examine_daemon(paths, daemon)
    yield _examine_store(paths)
    yield from _examine_space(paths, settings)
    pid = daemon.holder if daemon.about is None else int(daemon.about["pid"])
    yield from surroundings.examine(paths, env, pid)


# Files


def _found_configuration(paths: Paths) -> Finding:
    there = os.path.exists(os.fsencode(paths.config_file))
    said = paths.config_file if there else f"none at {paths.config_file}, so all is at its default"
    return Finding("configuration", OK, said)


def _examine_directories(paths: Paths) -> Iterator[Finding]:
    if not os.path.isdir(os.fsencode(paths.state_dir)):
        yield Finding("directories", NOTE, f"no {paths.state_dir} yet: nothing has been queued here")
        return
    places = (paths.state_dir, paths.runtime_dir, paths.logs_dir, paths.db, paths.socket)
    wrong = [trouble for place in dict.fromkeys(places) if (trouble := _find_trouble(place)) is not None]
    yield from wrong
    if not wrong:
        yield Finding("directories", OK, f"{paths.state_dir} is its owner's alone")
    network = find_network_file_system(paths.state_dir)
    if network is not None:
        yield Finding(
            "directories",
            PROBLEM,
            f"{paths.state_dir} is on a network file system ({network}): locks and the database are unsafe",
            "set CRONOQ_HOME, or XDG_STATE_HOME, to a local disk",
        )


def _find_trouble(place: str) -> Finding | None:
    """What is wrong with owner, kind and mode of a file or directory; None when nothing is, or it is not there."""
    try:
        found = os.lstat(os.fsencode(place))
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return Finding("directories", PROBLEM, f"{place} is a symbolic link", "put the thing itself there")
    if found.st_uid != os.geteuid():
        hint = f"give it back: chown -R {os.geteuid()} {place}"
        return Finding("directories", PROBLEM, f"{place} belongs to user {found.st_uid}", hint)
    if found.st_mode & 0o077:
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        return Finding("directories", PROBLEM, f"{place} has mode {mode}: others can look in", f"chmod go= {place}")
    if not os.access(os.fsencode(place), os.W_OK):
        return Finding("directories", PROBLEM, f"{place} cannot be written", f"chmod u+rw {place}")
    return None


# The daemon


def find_holder(paths: Paths) -> int | None:
    """The pid of whoever holds the daemon's lock; None when nobody does. The file is not made."""
    try:
        with open_regular(os.fsencode(paths.lock_file)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                digits = file.read(4096).partition(b'"pid":')[2].strip().partition(b",")[0].strip(b" }\n")
                return int(digits) if digits.isdigit() else 0
    except OSError:
        pass
    return None


def _examine_socket(paths: Paths, daemon: _Daemon) -> Iterator[Finding]:
    """Whether a daemon answers; its status goes into `daemon`."""
    try:
        connection = find_connection(paths)
    except CronoqError as error:
        yield Finding("socket", PROBLEM, error.line(), "remove it; the next daemon makes its own")
        return
    if connection is not None:
        with connection:
            try:
                daemon.about = connection.ask(DaemonStatus(), timeout_s=ANSWERS_WITHIN_S).doc["daemon"]
                yield Finding("socket", OK, f"the daemon answers at {daemon.about['socket']}")
            except (CronoqError, ConnectionLost, KeyError) as error:
                said = f"the daemon, process {connection.pid}, does not answer: {error}"
                yield Finding("socket", PROBLEM, said, f"look at its log; kill {connection.pid} ends it, tasks go on")
        return
    left = [place for place in (paths.socket, paths.state_socket) if os.path.lexists(os.fsencode(place))]
    if daemon.holder is not None:
        hint = f"kill -HUP {daemon.holder} makes it open the socket again"
        yield Finding("socket", PROBLEM, f"a daemon runs, with pid {daemon.holder}, but listens nowhere", hint)
    elif left:
        yield Finding("socket", OK, f"{left[0]} was left by a daemon that is gone; the next one replaces it")
    else:
        yield Finding("socket", OK, "no daemon runs, and none has left a socket")


def _examine_lock(paths: Paths, daemon: _Daemon) -> Iterator[Finding]:
    if daemon.holder is not None:
        yield Finding("lock", OK, f"held by process {daemon.holder}")
    elif daemon.about is not None:
        said = f"the daemon runs, and does not hold {paths.lock_file}: the file was replaced, and a second could start"
        yield Finding("lock", PROBLEM, said, "cronoq daemon restart")


def _examine_daemon(paths: Paths, daemon: _Daemon) -> Iterator[Finding]:
    if daemon.about is None:
        yield from _examine_absence(paths, daemon)
        return
    about = daemon.about
    yield _compare_versions(str(about.get("version")), about.get("protocol"))
    if about.get("refusing"):
        yield Finding("daemon", PROBLEM, f"it takes nothing new: {about['refusing']}", "make room on the disk")
    if about.get("recovered", {}).get("set_aside"):
        count = about["recovered"]["set_aside"]
        yield Finding("daemon", NOTE, f"{count} damaged tasks were set aside as failed", "daemon.log has the reasons")
    changed = _find_change(paths.config_file)
    read_at = about.get("configured_at")
    if changed is not None and isinstance(read_at, str) and changed > moment_of(read_at):
        yield Finding("configuration", NOTE, "it was changed since the daemon read it", "cronoq daemon reload")
    runners = about.get("runners") or []
    if runners:
        yield Finding("runner", OK, f"process {', '.join(map(str, runners))}")
    else:
        yield Finding("runner", PROBLEM, "the daemon has no runner", "cronoq daemon restart; its log may say why")


def _find_change(place: str) -> float | None:
    try:
        return os.stat(os.fsencode(place)).st_mtime
    except OSError:
        return None


def _compare_versions(version: str, protocol: object) -> Finding:
    if version == VERSION and protocol == PROTOCOL:
        return Finding("versions", OK, f"client and daemon are cronoq {VERSION}")
    said = f"the daemon is cronoq {version}, this is {VERSION}"
    newer = is_newer(version, VERSION)
    return Finding("versions", PROBLEM, said, "use the newer command" if newer else "cronoq daemon restart")


def _examine_absence(paths: Paths, daemon: _Daemon) -> Iterator[Finding]:
    if daemon.holder is not None:
        return  # the socket's finding has said all
    if os.path.lexists(os.fsencode(paths.stopped_mark)):
        said = "it was stopped, so only a new submission or daemon start brings it back"
        yield Finding("daemon", NOTE, said, "cronoq daemon start")
    else:
        yield Finding("daemon", OK, "none runs; the next command that needs one starts it")
    if list_living_runners(paths):
        yield Finding("runner", NOTE, "tasks go on without a daemon", "cronoq daemon start takes them over")


# Store and space


def _examine_store(paths: Paths) -> Finding:
    size = _size_of(paths.db)
    try:
        if size > MOST_READ:
            said = f"{paths.db}, {format_size(size)}, too large to be read through here"
            return Finding("store", OK, said, "cronoq backup --check reads every page")
        troubles = check_store(paths.db, quick=True)
    except NotFoundError:
        return Finding("store", OK, "there is none yet")
    except CronoqError as error:
        return Finding("store", PROBLEM, error.message, error.hint or "cronoq restore FILE puts a backup back")
    if troubles:
        hint = "stop the daemon, then: cronoq restore FILE puts a backup back, and keeps this one aside"
        return Finding("store", PROBLEM, f"it is damaged: {troubles[0]}", hint)
    with contextlib.suppress(OSError):
        wal = os.path.getsize(paths.db + "-wal")
        if wal > LARGE_WAL:
            said = f"{paths.db}-wal has grown to {format_size(wal)}: something reads the store and does not end"
            return Finding("store", NOTE, said, f"fuser {paths.db} shows who")
    return Finding("store", OK, f"{paths.db}, {format_size(size)}, every page in order")


def _size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _examine_space(paths: Paths, settings: Settings) -> Iterator[Finding]:
    place = paths.state_dir
    while not os.path.isdir(place) and place != "/":
        place = os.path.dirname(place)
    try:
        free, total = read_space(place)
    except OSError as error:
        yield Finding("disk", PROBLEM, f"{place} cannot be seen: {error.strerror}")
        return
    guard = decide_guard(settings.logs.min_free, total)
    said = f"{format_size(free)} of {format_size(total)} free in {place}"
    if free < guard:
        hint = "make room, or lower logs.min_free"
        yield Finding("disk", PROBLEM, f"{said}: below {format_size(guard)} nothing new is taken", hint)
    elif free < 2 * guard:
        yield Finding("disk", NOTE, f"{said}; below {format_size(guard)} nothing new is taken", "make room soon")
    else:
        yield Finding("disk", OK, said)
