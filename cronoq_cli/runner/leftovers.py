"""What tasks leave running when they end by themselves: found cheaply, since mostly there is nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.tree import Census, Root, has_group
from cronoq_cli.wire.runner import encode_text


class Leftovers:
    """Knows the orphans the runner has adopted. `mains` are the main processes that run now."""

    def __init__(self, census: Census, mains: Mapping[int, Attempt]) -> None:
        self._census = census
        self._mains = mains
        self._orphans: dict[int, bytes | None] = {}
        self._children = _open_children()

    def note_reaped(self, pid: int) -> None:
        """A child that was no main is gone."""
        self._orphans.pop(pid, None)

    def count(self, ended: list[Attempt]) -> list[int]:
        """How many processes each of these ended attempts has left running.

        Whatever outlives a main process is either still in its group or has become a child of the runner, so
        /proc is read only when one of the two shows something. Where the machine lacks what that takes, none are seen:
        no end may be lost for it.
        """
        try:
            fresh = self._list_fresh()
            suspects = self._list_suspects(ended, fresh)
            if not suspects:
                return [0] * len(ended)
            with self._census.spare:
                return self._count(ended, suspects, fresh)
        except OSError:
            return [0] * len(ended)

    def _list_suspects(self, ended: list[Attempt], fresh: list[int]) -> list[Attempt]:
        if fresh:
            return ended
        if self._children is not None and not self._orphans:
            # All that a task starts has the runner above it, a subreaper wherever the kernel keeps that list.
            return []
        tokens = {token for token in self._orphans.values() if token is not None}
        return [
            attempt
            for attempt in ended
            if (tokens and encode_text(attempt.token) in tokens) or has_group(attempt.pid or 0)
        ]

    def _count(self, ended: list[Attempt], suspects: list[Attempt], fresh: list[int]) -> list[int]:
        self._census.take()
        self._adopt(fresh)
        roots = [Root(encode_text(attempt.token), attempt.pid, has_group(attempt.pid or 0), {}) for attempt in suspects]
        trees = self._census.list_trees(roots, self._census.list_own(), self._mains)
        counts = {attempt.token: len(tree) for attempt, tree in zip(suspects, trees, strict=True)}
        return [counts.get(attempt.token, 0) for attempt in ended]

    def _list_fresh(self) -> list[int]:
        """Children of the runner that are neither mains nor known orphans."""
        if self._children is None:
            return []
        data = b""
        while chunk := os.pread(self._children, 65536, len(data)):
            data += chunk
        pids = map(int, data.split())
        return [pid for pid in pids if pid not in self._mains and pid not in self._orphans]

    def _adopt(self, pids: list[int]) -> None:
        for pid in pids:
            process = self._census.processes.get(pid)
            if process is None:
                continue
            owner = self._mains.get(process.session)
            self._orphans[pid] = encode_text(owner.token) if owner else self._census.find_token(pid)


def _open_children() -> int | None:
    """The kernel's list of this process's children; None where it keeps none."""
    pid = os.getpid()
    try:
        return os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
