"""What makes this process the one daemon of its store: the lock, the mark of a wanted stop, the word of readiness.

A held lock on a file decides, never a number in it. What the daemon does once it leads stands in `main`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import stat
import threading
from typing import Any

from cronoq_cli.errors import CronoqError, InvalidError
from cronoq_cli.logs.files import open_regular


class InstanceLock:
    """The lock of one store. It goes with the process, however that ends."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this process holds the lock."""
        return self._descriptor is not None

    def try_acquire(self) -> bool:
        """Whether the lock is ours now. Raises InvalidError when the file cannot be used."""
        return self.is_held or self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)

    async def wait(self) -> None:
        """Return when the lock is ours, without polling; may be cancelled. Raises InvalidError."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        wanted = threading.Event()
        wanted.set()

        def settle(error: CronoqError | None) -> None:
            if done.cancelled():
                self.release()
            elif error is not None:
                done.set_exception(error)
            else:
                done.set_result(None)

        def block() -> None:
            error = None
            try:
                while not self._take(fcntl.LOCK_EX):
                    pass
            except CronoqError as refused:
                error = refused
            if wanted.is_set():
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile, and the process with it
                    loop.call_soon_threadsafe(settle, error)
            else:
                self.release()

        # A thread that waits for a lock cannot be woken; this one does not keep the process from ending.
        threading.Thread(target=block, daemon=True, name="standby").start()
        try:
            await done
        except asyncio.CancelledError:
            wanted.clear()
            raise

    def _take(self, how: int) -> bool:
        """Lock the file that is at our path now; false when another holds it, or took the file away meanwhile."""
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise InvalidError(
                f"cannot lock {self.path}: {error.strerror}", hint="the state directory needs a file system with locks"
            ) from error
        if not _is_same(descriptor, self.path):
            os.close(descriptor)
            return self._take(how)
        self._descriptor = descriptor
        self._describe()
        return True

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(os.fsencode(self.path), flags, 0o600)
        except OSError as error:
            raise InvalidError(
                f"cannot open the lock {self.path}: {error.strerror}", hint="cronoq doctor looks at its file"
            ) from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            os.close(descriptor)
            raise InvalidError(f"{self.path} is no file of this user", hint="move it away")
        return descriptor

    def note_serving(self, path: str | None) -> None:
        """Say in the file on which socket requests are served, None: on none any more."""
        self._describe(**({} if path is None else {"serving": path}))

    def _describe(self, **more: Any) -> None:
        """Write who we are, for people and messages; nobody decides by it."""
        about = {"pid": os.getpid(), "host": os.uname().nodename, "boot_id": find_boot_id(), **more}
        if self._descriptor is None:
            return
        with contextlib.suppress(OSError):  # a full disk takes the information, not the lock
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(about).encode() + b"\n", 0)

    def release(self) -> None:
        """Give the lock back; the file stays, since removing it could part two daemons' locks."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def read_holder(self) -> dict[str, Any]:
        """What the file says of its holder (`pid`, `host`, `boot_id`); empty when it says nothing usable."""
        try:
            with open_regular(os.fsencode(self.path)) as file:
                found = json.loads(file.read(4096))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _is_same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(os.fsencode(path)))
    except OSError:
        return False


def find_boot_id() -> str | None:
    """The kernel's name for this run of the machine, or None where it has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip() or None
    except OSError:
        return None


# The mark of a wanted stop


def mark_stopped(path: str) -> None:
    """Note that the daemon was stopped on purpose: reads and changes start none until someone wants one again."""
    with contextlib.suppress(OSError):  # without the mark the daemon starts more easily: no reason to fail a stop
        os.close(os.open(os.fsencode(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def clear_stopped(path: str) -> bool:
    """Remove the mark; whether it was there."""
    try:
        os.unlink(os.fsencode(path))
    except OSError:
        return False
    return True


# Readiness


def announce_ready(descriptor: int | None, about: dict[str, Any]) -> None:
    """Tell the starting client, through its pipe, that requests are served from now on.

    `about` is the status document, as JSON can carry it.
    """
    _tell(descriptor, b"ready", about)


def announce_failure(descriptor: int | None, error: CronoqError) -> None:
    """Tell the starting client why there will be no daemon."""
    about = {"code": error.code, "message": error.message, "hint": error.hint, "exit": int(error.exit)}
    _tell(descriptor, b"error", about)


def _tell(descriptor: int | None, word: bytes, about: dict[str, Any]) -> None:
    if descriptor is None:
        return
    with contextlib.suppress(OSError), open(descriptor, "wb", buffering=0) as pipe:
        line = memoryview(word + b" " + json.dumps(about).encode() + b"\n")
        while line:
            line = line[pipe.write(line) or 0 :]
