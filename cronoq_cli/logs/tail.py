"""A log that may still grow, read piece by piece from where the last reading ended.

Who asks again, and when, is the caller's; nothing here waits.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from cronoq_cli.logs.files import BLOCK, cut_notice, find_data, find_tail_offset, open_regular
from cronoq_cli.model.log_cap import HEAD_KEPT

Sink = Callable[[bytes], None]


class Tail:
    """One log file. It may not exist yet; `lines` begins that many lines before its end (None: at its beginning).

    `most`: bytes that one look passes on, the newest; what it leaves out is told by a notice (None: everything).
    Only ordinary files are read: what a task writes into a pipe or a terminal is for whoever is there.
    """

    def __init__(self, path: str, sink: Sink, *, lines: int | None = None, most: int | None = None) -> None:
        self.path = path
        self.sink = sink
        self._lines = lines
        self._most = most
        self._file: BinaryIO | None = None
        self._offset = 0

    def pump(self) -> int:
        """Pass on what is new since the last time; how many bytes that was. Raises OSError when unreadable."""
        if self._file is None and not self._open():
            return 0
        passed = self._jump()
        while piece := self._read():
            passed += len(piece)
            self.sink(piece)
            if self._most is not None and passed >= self._most:
                break  # one who writes faster than we read would keep us here for ever
        return passed

    def _jump(self) -> int:
        """Pass over what is more than `most`; the bytes of the notice about it."""
        if self._most is None or self._file is None:
            return 0
        excess = os.fstat(self._file.fileno()).st_size - self._offset - self._most
        if excess <= 0:
            return 0
        self._offset += excess
        notice = b"\n[cronoq: %d bytes left out]\n" % excess
        self.sink(notice)
        return len(notice)

    def renew(self) -> None:
        """Go on with the file that has taken this one's place, when the log was rotated."""
        if self._file is None:
            return
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return
        if not os.path.samestat(there, os.fstat(self._file.fileno())):
            self.close()
            self._offset, self._lines = 0, None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> bool:
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                return False
            self._file = open_regular(self.path)
        except FileNotFoundError:
            return False
        if self._lines is not None:
            self._offset = find_tail_offset(self._file, self._lines)
        return True

    def _read(self) -> bytes:
        file = self._file
        if file is None:
            return b""
        descriptor, notice = file.fileno(), b""
        while True:
            data_at = find_data(descriptor, self._offset)
            if data_at > self._offset:
                notice += cut_notice(data_at - self._offset)
                self._offset = data_at
            # A piece never reaches from the head into the part that may be cut out.
            room = HEAD_KEPT - self._offset
            piece = os.pread(descriptor, min(BLOCK, room) if room > 0 else BLOCK, self._offset)
            # Cut out while it was read: what has come are zeros nobody wrote.
            if not piece or find_data(descriptor, self._offset) == self._offset:
                self._offset += len(piece)
                return notice + piece
