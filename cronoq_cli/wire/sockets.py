"""Unix sockets: bound and connected also where the path is too long for a socket address, and who is on the
other side. Standard library only: daemon and runner both import this module.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator
from typing import Final

# sun_path holds 108 bytes with the end byte; some room for what other tools add.
_LONGEST_PATH: Final = 100
_CREDENTIALS: Final = struct.Struct("3i")


@contextlib.contextmanager
def _open_address(path: str) -> Iterator[bytes]:
    """An address for `path` that fits, as long as the context is open."""
    raw = path.encode("utf-8", "surrogateescape")
    if len(raw) <= _LONGEST_PATH:
        yield raw
        return
    directory, name = os.path.split(raw)
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield b"/proc/self/fd/%d/%s" % (descriptor, name)
    finally:
        os.close(descriptor)


def bind_unix(path: str, *, backlog: int = 128) -> socket.socket:
    """A listening socket at `path` with mode 0600, close-on-exec.

    A socket left there by a dead process is replaced: the caller holds the lock that makes it the only owner
    of the path. Raises OSError, also when something other than a socket is there. Changes the umask for a
    moment, so no other thread may create files meanwhile.
    """
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path.encode("utf-8", "surrogateescape")).st_mode):
            os.unlink(path.encode("utf-8", "surrogateescape"))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o177)
    try:
        with _open_address(path) as address:
            listener.bind(address)
        listener.listen(backlog)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(umask)
    return listener


def connect_unix(path: str, *, timeout_s: float | None = None) -> socket.socket:
    """A connected socket, blocking with `timeout_s`. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        with _open_address(path) as address:
            connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def get_peer_uid(connection: socket.socket) -> int:
    """The user id the kernel noted for the other side when it connected. Raises OSError."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])
