"""The machine's zone: what /etc/localtime says, and the kernel's word when that file becomes another.

The daemon's own TZ is not asked: it is whoever's shell happened to start it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Final, NamedTuple

from cronoq_cli.commands.zone import MACHINE_ZONE, find_zone_name

LARGEST_ZONE = 1 << 20
_IN_CLOSE_WRITE: Final = 0x8
_IN_MOVED_TO: Final = 0x80
_IN_CREATE: Final = 0x100
_IN_DELETE: Final = 0x200
_IN_ATTRIB: Final = 0x4


class MachineZone(NamedTuple):
    """The machine's zone as it is told apart: its name where the link tells one, and the rules in the file."""

    name: str | None
    rules: bytes

    def __str__(self) -> str:
        """The name, or that there is none."""
        return self.name or ("one without a name" if self.rules else "UTC")


def read_machine_zone(path: str = MACHINE_ZONE) -> MachineZone:
    """What the file at `path` says now; without one the zone is UTC."""
    try:
        with open(path, "rb") as stream:
            rules = stream.read(LARGEST_ZONE)
    except OSError:
        return MachineZone(None, b"")
    return MachineZone(find_zone_name(path), rules)


class FileWatch:
    """An inotify of one file's directory, so that a file that is replaced is seen as well.

    `descriptor` is readable when something in the directory changed, until `accept`. Raises OSError."""

    def __init__(self, path: str) -> None:
        directory, name = os.path.split(path)
        self._name = os.fsencode(name)
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        wanted = _IN_CLOSE_WRITE | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE | _IN_ATTRIB
        if libc.inotify_add_watch(self.descriptor, os.fsencode(directory), wanted) < 0:
            number = ctypes.get_errno()
            self.close()
            raise OSError(number, f"{directory}: {os.strerror(number)}")

    def accept(self) -> bool:
        """Take what was said; whether any of it was about the file."""
        said = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.descriptor, 65_536):
                said += part
        return self._name in said

    def close(self) -> None:
        """Watch no more."""
        os.close(self.descriptor)
