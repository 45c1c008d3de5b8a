"""Process trees: a census of /proc, who belongs to an attempt, and signals that reach only whom they mean."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Container, Iterable
from typing import Final, NamedTuple

from cronoq_cli.errors import LACKING
from cronoq_cli.runner.spare import Spare
from cronoq_cli.runner.spawn import TOKEN_VARIABLE

# After so many readings without a token a process is believed to have none: it has long executed its program.
_READINGS: Final = 3
_TOKEN_SIGN: Final = f"\0{TOKEN_VARIABLE}=".encode()
_CHUNK: Final = 128 * 1024


class Process(NamedTuple):
    """One line of the census; `ticks` is the start time, which with the pid names a process for ever."""

    pid: int
    parent: int
    group: int
    session: int
    ticks: int
    dead: bool


class Root(NamedTuple):
    """What is known of an attempt whose processes are sought.

    `main` is the pid that leads its session and group, `led` whether these numbers are still its own,
    `known` are members seen earlier, by pid with their start ticks.
    """

    token: bytes
    main: int | None
    led: bool
    known: dict[int, int]


def find_process(pid: int) -> Process | None:
    """The process as it is now, or None when there is none of that number. Raises OSError where the machine lacks what
    is needed to look: that says nothing of the process."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in LACKING:
            raise
        return None
    try:
        line = os.read(descriptor, 4096)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # The name in parentheses may hold anything, also parentheses and blanks.
    fields = line[line.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Process(
        pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), fields[0] in (b"Z", b"X", b"x")
    )


def find_ticks(pid: int) -> int | None:
    """Start time of a process in ticks since boot, or None. Raises OSError as `find_process` does."""
    process = find_process(pid)
    return process.ticks if process is not None else None


FileId = tuple[int, int]
"""Device and inode of a file."""


class Census:
    """All processes at one moment, and the tokens in their environments, remembered between moments.

    `find_logs` tells the log files of running attempts with their tokens: a process that has thrown its environment
    away and left session and parent is still known by the log it writes to. `spare` is entered by whoever uses it.
    """

    def __init__(self, find_logs: Callable[[], dict[FileId, bytes]] = dict, spare: Spare | None = None) -> None:
        self.spare = spare or Spare()
        self._find_logs = find_logs
        self._logs: dict[FileId, bytes] | None = None
        self._tokens: dict[tuple[int, int], bytes | None] = {}
        self._readings: dict[tuple[int, int], int] = {}
        self._self = os.getpid()
        self.processes: dict[int, Process] = {}
        self._children: dict[int, list[int]] = {}

    def take(self) -> None:
        """Read /proc anew. Raises OSError where the machine lacks what that takes."""
        processes = {}
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                process = find_process(int(name))
                if process is not None:
                    processes[process.pid] = process
                    children.setdefault(process.parent, []).append(process.pid)
        self.processes, self._children = processes, children
        self._logs = None
        living = {(process.pid, process.ticks) for process in processes.values()}
        self._tokens = {key: token for key, token in self._tokens.items() if key in living}
        self._readings = {key: count for key, count in self._readings.items() if key in living}

    def list_descendants(self, pids: Iterable[int]) -> set[int]:
        """These and all below them, never the runner itself."""
        found: set[int] = set()
        waiting = list(pids)
        while waiting:
            pid = waiting.pop()
            if pid not in found and pid != self._self:
                found.add(pid)
                waiting.extend(self._children.get(pid, ()))
        return found

    def list_own(self) -> set[int]:
        """All descendants of the runner: whatever its tasks start ends up below it, since it is a subreaper."""
        return self.list_descendants(self._children.get(self._self, ()))

    def find_token(self, pid: int) -> bytes | None:
        """The attempt's token in the environment of a process, else that of the attempt whose log it writes to, as
        far as either may be read.
        """
        process = self.processes.get(pid)
        if process is None or process.dead:
            return None
        key = (pid, process.ticks)
        if key in self._tokens:
            return self._tokens[key]
        token = _read_token(pid) or self._find_writer(pid)
        count = self._readings.get(key, 0) + 1
        self._readings[key] = count
        if token is not None or count >= _READINGS:
            self._tokens[key] = token
        return token

    def _find_writer(self, pid: int) -> bytes | None:
        if self._logs is None:
            self._logs = self._find_logs()
        for number in (1, 2):
            found = find_file_id(f"/proc/{pid}/fd/{number}")
            if found is not None and found in self._logs:
                return self._logs[found]
        return None

    def list_trees(self, roots: list[Root], among: Iterable[int], sessions: Container[int]) -> list[list[Process]]:
        """For each root the living processes among these pids that it leads, that carry its token, that were
        known before, or that descend from one of these. `sessions` are the mains of all attempts: what is in
        the session of another attempt need not be asked for its token.
        """
        by_leader = {root.main: index for index, root in enumerate(roots) if root.led}
        # A process without a token is nobody's, whatever an order or a journal says.
        by_token = {root.token: index for index, root in enumerate(roots) if root.token}
        by_known = {pid: index for index, root in enumerate(roots) for pid in root.known}
        seeds: list[list[int]] = [[] for _ in roots]
        for pid in among:
            process = self.processes.get(pid)
            if process is None:
                continue
            index = by_known.get(pid)
            if index is None or roots[index].known[pid] != process.ticks:
                index = by_leader.get(process.session, by_leader.get(process.group))
            if index is None and process.session not in sessions:
                index = by_token.get(self.find_token(pid) or b"")
            if index is not None:
                seeds[index].append(pid)
        return [self._list_living(self.list_descendants(pids)) for pids in seeds]

    def _list_living(self, pids: Iterable[int]) -> list[Process]:
        found = (self.processes.get(pid) for pid in pids)
        return [process for process in found if process is not None and not process.dead]


def find_file_id(path: str | bytes) -> FileId | None:
    """Which file that is, links followed; None where it cannot be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read_token(pid: int) -> bytes | None:
    try:
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    data = b"\0"
    try:
        while chunk := os.read(descriptor, _CHUNK):
            data += chunk
    except OSError:
        pass
    finally:
        os.close(descriptor)
    start = data.find(_TOKEN_SIGN)
    if start < 0:
        return None
    start += len(_TOKEN_SIGN)
    end = data.find(b"\0", start)
    return data[start:] if end < 0 else data[start:end]


def send_signals(process: Process, numbers: Iterable[int]) -> bool:
    """Send to exactly this process; False when the kernel forbids it. A process that is gone is no error."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError as error:
        if error.errno == errno.ESRCH:
            return True
        return _send_by_pid(process, numbers)
    try:
        # The descriptor holds whatever has the pid now; the start time says whether that is who was meant.
        if find_ticks(process.pid) != process.ticks:
            return True
        for number in numbers:
            signal.pidfd_send_signal(descriptor, number)
    except OSError as error:
        return error.errno != errno.EPERM
    finally:
        os.close(descriptor)
    return True


def _send_by_pid(process: Process, numbers: Iterable[int]) -> bool:
    """Where the kernel or a sandbox has no pidfd: checked as late as can be."""
    try:
        for number in numbers:
            if find_ticks(process.pid) != process.ticks:
                return True
            os.kill(process.pid, number)
    except OSError as error:
        return error.errno != errno.EPERM
    return True


def send_to_group(leader: int, numbers: Iterable[int]) -> None:
    """Signal a process group at one stroke; `leader` must be an unreaped child that leads it.

    A group that is gone is no error, and the runner's own group is never meant.
    """
    if leader <= 1 or leader == os.getpgrp():
        return
    for number in numbers:
        try:
            os.killpg(leader, number)
        except OSError:
            return


def has_group(leader: int) -> bool:
    """Whether the process group of that number has a member."""
    try:
        os.killpg(leader, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
